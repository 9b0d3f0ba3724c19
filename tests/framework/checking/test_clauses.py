"""Clauses: what was compared is held against floors, over all parts of a run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from framework.checking.clauses import page, share
from framework.checking.findings import finding, weighed
from framework.checking.keyed import outcome_row
from framework.checking.results import CheckerResult, checker_result, verdict_document
from framework.checking.results import run_result as of_run
from framework.plugins.checker import CLIENTS, DISKS, Clause, Count
from framework.verdict import Verdict

DOCS = Path(__file__).parents[3] / "docs" / "clauses.md"
VOTES = Clause(
    name="one-vote",
    says="A voter votes once in an epoch",
    compares="votes in an epoch",
    floor=2,
    because="one vote is no second one",
    sources=(DISKS,),
)
READS = Clause(
    name="fresh-reads",
    says="A read shows what was acknowledged before",
    compares="reads after a write",
    floor=3,
    because="fewer may all have met the same node",
    sources=(CLIENTS,),
)


def judged(*parts: Mapping[str, Count], broken: str = "", key: str = "p") -> CheckerResult:
    rows = []
    for at, counts in enumerate(parts):
        found = [finding("two votes", clause=broken)] if broken and at == 0 else []
        rows.append(outcome_row("r", "c", f"{key}{at}", weighed(counts, found)))
    return checker_result("c", "", rows, clauses=(VOTES, READS))


def verdicts(result: CheckerResult) -> dict[str, Verdict | None]:
    return {each.name: each.verdict for each in result.clauses}


def test_a_clause_is_valid_from_its_floor_on() -> None:
    result = judged({"one-vote": 2, "fresh-reads": 3})
    assert result.verdict is Verdict.VALID and result.seen == 5
    assert set(verdicts(result).values()) == {Verdict.VALID}


def test_a_clause_below_its_floor_makes_the_checker_unknown_and_says_what_was_too_little() -> None:
    result = judged({"one-vote": 2, "fresh-reads": 2})
    assert result.verdict is Verdict.UNKNOWN
    assert verdicts(result) == {"one-vote": Verdict.VALID, "fresh-reads": Verdict.UNKNOWN}
    assert "fresh-reads: 2 reads after a write" in result.note and "3" in result.note


def test_what_a_rule_does_not_count_was_not_compared() -> None:
    assert verdicts(judged({"one-vote": 2}))["fresh-reads"] is Verdict.UNKNOWN


def test_parts_of_a_run_are_added_up_before_the_floor_is_asked() -> None:
    result = judged({"one-vote": 1, "fresh-reads": 1}, {"one-vote": 1, "fresh-reads": 2})
    assert result.verdict is Verdict.VALID


def test_a_clause_without_an_occasion_is_not_applicable_and_counts_for_nothing() -> None:
    result = judged({"one-vote": 2, "fresh-reads": "nobody read"})
    assert result.verdict is Verdict.VALID
    assert verdicts(result) == {"one-vote": Verdict.VALID, "fresh-reads": None}
    assert result.clauses[1].note == "nobody read"


def test_an_occasion_in_one_part_is_one_for_the_run() -> None:
    for parts in (("nobody read", 2), (2, "nobody read")):
        result = judged(*({"one-vote": 2, "fresh-reads": each} for each in parts))
        assert verdicts(result)["fresh-reads"] is Verdict.UNKNOWN


def test_a_run_may_ask_for_more_than_the_floor() -> None:
    assert judged({"one-vote": (2, 2), "fresh-reads": 3}).verdict is Verdict.VALID
    result = judged({"one-vote": (2, 3), "fresh-reads": 3})
    assert result.verdict is Verdict.UNKNOWN and "no fewer than 3" in result.note
    result = judged({"one-vote": (0, 0), "fresh-reads": 3})
    assert verdicts(result)["one-vote"] is Verdict.UNKNOWN, "never below the clause's own"
    result = judged(*[{"one-vote": (2, 2), "fresh-reads": 3}] * 2)
    assert result.clauses[0].compared == result.clauses[0].floor == 4


def test_no_occasion_for_anything_is_unknown() -> None:
    result = judged({"one-vote": "nobody voted", "fresh-reads": "nobody read"})
    assert result.verdict is Verdict.UNKNOWN
    assert "nobody voted" in result.note


def test_a_finding_breaks_its_clause_and_no_other() -> None:
    result = judged({"one-vote": 1, "fresh-reads": 3}, broken="one-vote")
    assert result.verdict is Verdict.INVALID
    assert verdicts(result) == {"one-vote": Verdict.INVALID, "fresh-reads": Verdict.VALID}


def test_a_checker_without_clauses_is_one() -> None:
    row = outcome_row("r", "c", "", weighed({"c": 2}, []))
    assert checker_result("c", "All is well", [row]).verdict is Verdict.VALID
    once = outcome_row("r", "c", "", weighed({"c": 1}, []))
    assert checker_result("c", "All is well", [once]).verdict is Verdict.UNKNOWN
    (clause,) = checker_result("c", "All is well", [row]).clauses
    assert clause.says == "All is well" and clause.compared == 2


def test_verdict_json_has_them_and_the_table_their_share() -> None:
    result = judged({"one-vote": 2, "fresh-reads": 1})
    document: Any = verdict_document(of_run("r", Path("r"), [result]))
    clauses = document["checkers"][0]["clauses"]
    assert [(each["name"], each["verdict"]) for each in clauses] == [
        ("one-vote", "VALID"),
        ("fresh-reads", "UNKNOWN"),
    ]
    assert share(each["verdict"] for each in clauses) == "1/2"
    unused = judged({"one-vote": 2, "fresh-reads": "nobody read"})
    assert share(each.verdict for each in unused.clauses) == "1/1"


@pytest.mark.parametrize("floor", [1, 2])
def test_the_note_of_a_part_that_failed_stays(floor: int) -> None:
    failed = {**outcome_row("r", "c", "p", weighed({}, [])), "verdict": "UNKNOWN", "note": "broke"}
    done = outcome_row("r", "c", "q", weighed({"one-vote": floor, "fresh-reads": 3}, []))
    result = checker_result("c", "", [failed, done], clauses=(VOTES, READS))
    assert result.verdict is Verdict.UNKNOWN and "p: broke" in result.note


def test_the_page_of_clauses_is_up_to_date() -> None:
    assert DOCS.read_text() == page(), "python -m framework.checking.clauses > docs/clauses.md"
