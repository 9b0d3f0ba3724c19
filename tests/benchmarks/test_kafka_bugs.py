"""The page of known faults of Apache Kafka: what its entries name, and how runs are counted."""

from pathlib import Path

import pytest

from benchmarks.kafka_bugs import page
from benchmarks.known_kafka_bugs import BUGS, Bug
from framework.checking.clauses import ClauseResult
from framework.checking.results import CheckerResult, RunResult
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


def run(**broken: str) -> RunResult:
    """By checker the one clause that was broken."""
    checkers = [
        CheckerResult(
            name=checker.replace("_", "-"),
            summary="",
            verdict=Verdict.INVALID,
            seen=1,
            keys=0,
            clauses=[clause_result(clause, Verdict.INVALID), clause_result("x", Verdict.VALID)],
        )
        for checker, clause in broken.items()
    ]
    return RunResult(run="r", path=Path(), verdict=Verdict.INVALID, checkers=checkers)


def clause_result(name: str, verdict: Verdict) -> ClauseResult:
    return ClauseResult(name=name, says="", verdict=verdict, compared=1, floor=1, compares="")


def row(*runs: RunResult) -> str:
    lines = "\n".join(page({("KAFKA-15489", "3.6.2"): runs})).splitlines()
    return next(line for line in lines if line.startswith("| 3.6.2"))


def test_runs_are_counted_in_which_the_clause_of_the_entry_is_broken() -> None:
    shown, other = run(observed_cluster="let-go"), run(observed_cluster="heard")
    elsewhere = run(one_vote="let-go")
    assert "| 1 of 1 | - |" in row(shown)
    assert "| 0 of 1 | - |" in row(run())
    found = row(shown, other, elsewhere, shown)
    assert "| 2 of 4 | observed-cluster (heard), one-vote (let-go) |" in found


def test_what_was_not_run_is_not_on_the_page() -> None:
    text = "\n".join(page({("KAFKA-15489", "3.6.2"): [run()]}))
    assert "KAFKA-15489" in text
    assert "| 3.7.0" not in text
    assert "KAFKA-14616" not in text
