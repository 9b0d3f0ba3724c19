"""Runs that were recorded when there were other checkers."""

from pathlib import Path
from typing import Any

import pytest

from framework.checking.runs import StoredRun
from framework.plugins.checker import RunInfo

PARTED = ["isr-linearizability"]


@pytest.mark.parametrize(
    ("plan", "checkers"),
    [
        ({"checkers": PARTED}, {*PARTED, "isr-chain"}),
        ({"checkers": PARTED, "not_applicable": {"isr-chain": "no log"}}, set(PARTED)),
        ({"checkers": ["one-vote"]}, {"one-vote"}),
    ],
)
def test_what_was_made_of_a_checker_since_judges_its_older_runs(
    plan: dict[str, Any], checkers: set[str], tmp_path: Path
) -> None:
    info = RunInfo(run="r", path=str(tmp_path), plan=plan)
    assert StoredRun(info=info).checkers() == checkers
