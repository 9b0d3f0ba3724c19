"""The run that `benchmarks.node_events` makes is healthy, and every rule sees what it looks for."""

from pathlib import Path

import pytest

from benchmarks.long_run import EVENTS, make
from benchmarks.node_events import checkers, judge, opened
from framework.checking import run_checks
from framework.evidence.rows import EvidenceRows


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    assert make(folder, 50 * EVENTS) == pytest.approx(50 * EVENTS, rel=0.3)
    return folder


def test_no_rule_accuses_it(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_checks, "MOST_OBJECTS", 0)
    results = dict(judge(run, name) for name in sorted(checkers()))
    accused = {name: each for name, each in results.items() if each["verdict"] == "INVALID"}
    assert accused == {}
    failed = [name for name, each in results.items() if "checker failed" in str(each["said"])]
    assert failed == []
    valid = {name for name, each in results.items() if each["verdict"] == "VALID"}
    assert {"committed-never-lost", "log-matching", "replay-invariants", "isr-chain"} <= valid


def test_rules_are_handed_columns(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_checks, "MOST_OBJECTS", 0)
    events = opened(run, checkers()["log-matching"].check_run)
    assert isinstance(events.evidence, EvidenceRows) and events.operations == []
    nodes = {each.node for each in events.evidence}
    assert nodes == {"c1", "c2", "c3", "b1", "b2", "b3"}
