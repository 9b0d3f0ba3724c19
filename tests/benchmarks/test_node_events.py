"""The run that `benchmarks.node_events` makes is healthy, and every rule sees what it looks for."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.long_run import EVENTS, make
from benchmarks.node_events import added, checkers, judge, opened, tasks
from framework.checking import run_checks
from framework.checking.cuts import MOST_ROWS, parts
from framework.checking.engine import check_runs
from framework.checking.keyed import FAILED
from framework.checking.run_checks import looked_at
from framework.checking.runs import read_run
from framework.checking.sealing import seal
from framework.evidence.requests import Served
from framework.evidence.rows import EvidenceRows
from framework.evidence.run_events import Part
from framework.verdict import Verdict


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long") / "run"
    folder.mkdir()
    assert make(folder, 50 * EVENTS) == pytest.approx(50 * EVENTS, rel=0.4)
    seal(read_run(folder).info)
    return folder


def test_no_rule_accuses_it(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_checks, "MOST_OBJECTS", 0)
    results = {name: added(name, [judge(run, (name, Part()))[1]]) for name in checkers()}
    assert {name for name, each in results.items() if each["verdict"] == "INVALID"} == set()
    assert [name for name, each in results.items() if FAILED in str(each["said"])] == []
    of_plan = set(read_run(run).info.plan["checkers"]) & set(results)
    assert len(of_plan) > 20
    assert {name for name in of_plan if results[name]["verdict"] != "VALID"} == set()


@pytest.mark.nightly
def test_check_takes_it_as_any_run(spark: Any, run: Path) -> None:
    """By every checker of its plan, rules or not."""
    [result] = check_runs(spark, [run])
    assert {each.verdict for each in result.checkers} == {Verdict.VALID}
    assert "topic-linearizability" in {each.name for each in result.checkers}


def test_a_long_run_is_judged_in_parts_where_it_can_be(run: Path) -> None:
    names = ["fenced-serve-nothing", "log-matching"]
    given = tasks(names, 3 * MOST_ROWS)
    assert [name for name, _ in given] == ["fenced-serve-nothing"] * 3 + ["log-matching"]
    found = {name: [judge(run, each)[1] for each in given if each[0] == name] for name in names}
    whole = {name: [judge(run, (name, Part()))[1]] for name in names}
    for name in names:
        assert {**added(name, found[name]), **SPENT} == {**added(name, whole[name]), **SPENT}
        assert added(name, whole[name])["verdict"] == "VALID"


SPENT = dict.fromkeys(("parts", "processor_s", "peak_mib", "read_mib"), 0)


def test_a_part_is_handed_its_own_columns(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_checks, "MOST_OBJECTS", 0)
    check = checkers()["fenced-serve-nothing"].check_run
    given = [looked_at(opened(run), [check], part) for part in parts(3)]
    assert all(isinstance(each.evidence, EvidenceRows) for each in given)
    served = [{row.node for row in each.of(Served)} for each in given]
    assert sorted(node for nodes in served for node in nodes) == ["b1", "b2", "b3"]
