"""Results that are packed are the results that they were."""

import tracemalloc
from pathlib import Path

from framework.checking.clauses import ClauseResult
from framework.checking.packed import Packed
from framework.checking.results import CheckerResult, KeyedFinding, RunResult
from framework.history.pairing import Operation
from framework.verdict import Verdict


def result(name: str, verdict: Verdict = Verdict.VALID) -> RunResult:
    """With something in each of its fields."""
    op = Operation(index=3, end=4, process=0, f="read", key="k", type="ok", result=1)
    finding = KeyedFinding(key="k", message="m", operations=(3,), events=({"seq": 1},))
    clause = ClauseResult(
        name="c", says="It is so", verdict=None, compared=7, floor=1, compares="reads"
    )
    checker = CheckerResult(
        name="one",
        summary="It is so",
        verdict=verdict,
        seen=7,
        keys=1,
        figures={"p99_ms": 1.5},
        findings=[finding] * 50,
        clauses=[clause],
    )
    return RunResult(
        run=name,
        path=Path("/results") / name,
        verdict=verdict,
        checkers=[checker],
        timings={"check_s": 1.0},
        cited={3: op},
        not_applicable={"other": "why"},
    )


def test_they_come_back_as_they_were_by_path_and_again() -> None:
    given = [result("b"), result("a", Verdict.INVALID)]
    packed = Packed(given)
    assert (list(packed), packed.paths) == (given, [each.path for each in given])
    packed.extend([result("0")])
    packed.sort()
    expected = [result("0"), result("a", Verdict.INVALID), result("b")]
    assert list(packed) == list(packed) == expected and len(packed) == 3


def test_they_take_no_memory() -> None:
    many = Packed([result("a")])
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        many.extend(result(str(number)) for number in range(300))
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(many) == 301
    assert after - before < 300 * 1_000
