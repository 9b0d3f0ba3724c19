"""Spark beside a run practises on what there is by then."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from framework.run import judging
from framework.run.judging import WARM_UP_S, Judging
from framework.run.store import RunFolder


@pytest.mark.parametrize(
    ("limit_s", "readable", "expected"),
    [
        (WARM_UP_S, True, ["copied", "copy: b1"]),
        (WARM_UP_S, False, ["copied", "copy: b1", "run: "]),
        (WARM_UP_S - 1, True, ["first query"]),
    ],
)
def test_it_practises_on_a_copy_with_what_nodes_wrote(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    limit_s: float,
    readable: bool,
    expected: list[str],
) -> None:
    """Where that cannot be read, on the run itself; a short run leaves no time for either."""
    done: list[str] = []

    def so_far(folder: RunFolder) -> None:
        folder.node("b1").mkdir(parents=True)
        done.append("copied")

    def practise(session: Any, folder: Path, checkers: Any) -> bool:
        nodes = sorted(each.name for each in folder.glob("nodes/*"))
        done.append(f"{'run' if folder == tmp_path else 'copy'}: {' '.join(nodes)}")
        return readable

    monkeypatch.setattr(judging, "warm_up_checkers", practise)
    monkeypatch.setattr(judging, "warm_up", lambda session: done.append("first query"))
    test = SimpleNamespace(options=SimpleNamespace(time_limit_s=limit_s), checkers=["one-vote"])
    beside = Judging.__new__(Judging)
    beside._test = test  # type: ignore[assignment]
    beside._recorded = SimpleNamespace(is_set=lambda: False)  # type: ignore[assignment]
    beside._practise("session", RunFolder(tmp_path), so_far)
    assert done == expected
