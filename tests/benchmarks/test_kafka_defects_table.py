"""The table of defects: which were found, in how many runs, by whom."""

from pathlib import Path

from benchmarks.kafka_defects import HEADER, table
from framework.checking.clauses import ClauseResult
from framework.checking.results import CheckerResult, RunResult
from framework.verdict import Verdict
from nodes.kafka.defects.catalogue import DEFECTS


def clause(name: str, verdict: Verdict) -> ClauseResult:
    return ClauseResult(name=name, says="", verdict=verdict, compared=9, floor=2, compares="things")


HEALTHY, BROKEN = clause("shown", Verdict.VALID), clause("kept", Verdict.INVALID)


def result(checker: str, *clauses: ClauseResult) -> RunResult:
    wrong = any(each.verdict is Verdict.INVALID for each in clauses)
    verdict = Verdict.INVALID if wrong else Verdict.VALID
    said = CheckerResult(name=checker, summary="", verdict=verdict, seen=9, keys=1, clauses=clauses)
    return RunResult(run="r", path=Path("r"), verdict=verdict, checkers=(said,))


def test_only_the_checkers_that_are_to_find_a_defect_count_as_hits() -> None:
    assert "groups" in DEFECTS["drop-commits"].found_by
    runs = {
        "drop-commits": [result("groups", HEALTHY, BROKEN), result("groups", HEALTHY)],
        "drop-configs": [result("availability", BROKEN)],
    }
    lines = list(table(runs))
    assert lines[: len(HEADER)] == list(HEADER)
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]
    assert [(row[0], *row[3:]) for row in rows] == [
        ("`drop-configs`", "0 of 1", "`availability` (kept)"),
        ("`drop-commits`", "1 of 2", "`groups` (kept)"),
    ]


def test_a_run_in_which_nobody_found_anything_is_shown() -> None:
    (row,) = list(table({"vote-twice": [result("groups", HEALTHY)]}))[2:]
    assert row.endswith("| 0 of 1 | - |")
