"""What a report is drawn of is the same of a run that is sealed, of which it reads far less."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parent))
from sample_runs import write_run

from framework.checking import runs
from framework.checking.sealing import EVENTS, SEALED, seal
from framework.report import evidence
from framework.report.data import read_run
from framework.report.messages import KINDS
from framework.report.nodes import DOWN, IN_LANES


@pytest.mark.parametrize("invalid", [True, False])
def test_sealed_or_not_the_same_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invalid: bool
) -> None:
    """Of nodes that are killed and come back; with findings, whose moments show messages."""
    folder = write_run(tmp_path / "made" / "up", seconds=40, invalid=invalid)
    written = read_run(folder)
    seal(runs.read_run(folder).info)
    monkeypatch.setattr(evidence, "_written", None)
    sealed = read_run(folder)
    assert sealed.spans == written.spans and sealed.missing == written.missing
    assert any(span.state == DOWN for span in sealed.spans)
    assert [*map(told_alone, sealed.evidence)] == [*map(told_alone, written.evidence)]
    assert bool(sealed.evidence) is invalid


def told_alone(each: Any) -> Any:
    return replace(each, ref="")


def test_of_a_sealed_run_only_what_is_drawn_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_run(tmp_path / "made" / "up", seconds=40)
    seal(runs.read_run(folder).info)
    made: list[type] = []
    real = evidence.rows_of
    monkeypatch.setattr(
        evidence, "rows_of", lambda kind, table: (made.append(kind), real(kind, table))[1]
    )
    read_run(folder)
    there = {path.name.partition(".")[0] for path in (folder / SEALED / EVENTS).iterdir()}
    assert set(made) == {kind for kind in IN_LANES if kind.kind in there}
    assert len(there) > len(made) and set(KINDS) - set(IN_LANES)


@pytest.mark.parametrize("broken", ["manifest.json", "events"])
def test_where_that_cannot_be_read_the_files_are(tmp_path: Path, broken: str) -> None:
    folder = write_run(tmp_path / "made" / "up", seconds=20, invalid=True)
    written = read_run(folder)
    seal(runs.read_run(folder).info)
    target = folder / SEALED / broken
    for path in [target] if target.is_file() else sorted(target.iterdir()):
        path.write_bytes(b"no table")
    found = read_run(folder)
    assert (found.spans, found.missing) == (written.spans, written.missing)
