"""The page of known faults of Apache Kafka: what its entries name, and how runs are counted."""

import pytest

from benchmarks.kafka_bugs import page
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
