"""The page of known faults of Apache Kafka: what its entries name, and how runs are counted."""

import json
from pathlib import Path

import pytest

from benchmarks.kafka_bugs import judged, page, shows
from benchmarks.known_kafka_bugs import BUGS, Bug
from framework.checking.clauses import ClauseResult
from framework.checking.results import CheckerResult, KeyedFinding
from framework.plugins import registry
from framework.verdict import Verdict
from nodes.kafka import releases


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.id)
def test_an_entry_names_what_there_is(bug: Bug) -> None:
    checker, clause = bug.found_by
    assert clause in {each.name for each in registry.load("checkers", checker).clauses}
    assert bug.releases.keys() <= set(releases.versions())
    assert list(bug.releases) == [each for each in releases.versions() if each in bug.releases]
    assert any(bug.releases.values())


@pytest.mark.parametrize("known", [True, False])
def test_a_run_is_judged_by_the_checker_of_its_entry(tmp_path: Path, known: bool) -> None:
    """That of Kafka logs, which judges no run by itself: what was aborted is read."""
    (bug,) = [each for each in BUGS if each.id == "KAFKA-17754"]
    folder = tmp_path / bug.id / "3.9.1" / "20260101T000000Z-1"
    folder.mkdir(parents=True)
    plan = {"seed": 1, "workloads": ["txn"], "nodes": {}, "time_zero_ns": 0, "system": "kafka"}
    (folder / "plan.json").write_text(json.dumps(plan))
    ended = "ok" if known else "fail"
    lines = [
        {"process": 0, "type": "invoke", "f": "txn", "value": [["send", "a/0", 1]]},
        {"process": 0, "type": ended, "f": "txn", "value": [["send", "a/0", [0, 1]]]},
        {"process": 1, "type": "invoke", "f": "txn", "value": [["poll"]]},
        {"process": 1, "type": "ok", "f": "txn", "value": [["poll", {"a/0": [[0, 1]]}]]},
    ]
    history = [{"index": index, "time": index, **line} for index, line in enumerate(lines)]
    (folder / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in history))
    ((where, (result,)),) = judged(tmp_path).items()
    assert where == (bug.id, "3.9.1")
    assert shows(result, bug) is not known
    said = "\n".join(page({where: [result]}))
    assert ("G1a" in said) is not known


def run(broken: str | None = None) -> CheckerResult:
    """Two clauses, of which this one is broken."""
    clauses = [
        ClauseResult(
            name=name,
            says="",
            verdict=Verdict.INVALID if name == broken else Verdict.VALID,
            compared=1,
            floor=1,
            compares="",
        )
        for name in ("let-go", "heard")
    ]
    findings = [KeyedFinding(key="", message=f"{broken} is broken", clause=broken)]
    return CheckerResult(
        name="observed-cluster",
        summary="",
        verdict=Verdict.INVALID if broken else Verdict.VALID,
        seen=1,
        keys=0,
        clauses=clauses,
        findings=findings if broken else [],
    )


def row(*runs: CheckerResult) -> str:
    lines = "\n".join(page({("KAFKA-15489", "3.6.2"): runs})).splitlines()
    return next(line for line in lines if line.startswith("| 3.6.2"))


def test_runs_are_counted_in_which_the_clause_of_the_entry_is_broken() -> None:
    assert row(run()) == "| 3.6.2 | yes | 0 of 1 | - |"
    assert row(run("heard")) == "| 3.6.2 | yes | 0 of 1 | - |"
    found = row(run(), run("heard"), run("let-go"), run("let-go"))
    assert found == "| 3.6.2 | yes | 2 of 4 | let-go is broken |"


def test_what_was_not_run_is_not_on_the_page() -> None:
    text = "\n".join(page({("KAFKA-15489", "3.6.2"): [run()]}))
    assert "KAFKA-15489" in text
    assert "| 3.7.0" not in text
    assert "deleted-configuration" not in text


def test_what_was_run_before_and_is_not_there_stays_on_the_page() -> None:
    first, second = BUGS[:2]
    both = {(bug.id, next(iter(bug.releases))): [run()] for bug in (first, second)}
    before = "\n".join(page(both)).rstrip() + "\n"
    assert "\n".join(page({}, before)).rstrip() + "\n" == before
    again = {(first.id, next(iter(first.releases))): [run(), run()]}
    after = "\n".join(page(again, before))
    assert "0 of 2" in after and "0 of 1" in after
    assert after.index(first.title) < after.index(second.title)
