"""One cell in a process of its own, so that its memory is its own.

    python -m benchmarks.checking.child JOB

JOB is JSON: `cell` (its name), `limit_s`, `limit_mib` of a key, `rows` (a file for another checker,
or null), `end_to_end` (null, "here", or "spark"), `processor_time` (of the kernels, not the
clock's), `without` (names of methods that are not asked). Prints one line of JSON, an `Outcome`.
"""

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any, Final

from benchmarks.checking.cells import named
from benchmarks.checking.peer import rows_of
from checkers.linearizability.decide import decide, decide_small
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import EncodedHistory, EncodedKeys
from checkers.linearizability.methods.grow_only import METHOD as GROW_ONLY
from checkers.linearizability.methods.grow_only import SetHistory, grow_only
from checkers.linearizability.methods.table import METHODS, Method
from checkers.linearizability.precompile import precompile
from framework.verdict import worst

_REPEAT_S: Final = 0.5
_REPEATS: Final = 5


class ProcessorBudget(Budget):
    """In time of the processor, not by the clock: the machine has other work."""

    def __init__(self, seconds: float, max_bytes: int) -> None:
        super().__init__(seconds, max_bytes, thread_time())

    @property
    def left_s(self) -> float:
        return self.seconds - (thread_time() - self.began)


@dataclass(slots=True)
class Outcome:
    """What is known of a cell."""

    verdict: str
    seconds: float
    """Of all methods that were asked, over all keys, on one core: the quickest of some runs."""
    peak_bytes: int
    """The greatest resident memory while they ran, arrays and libraries included."""
    before_bytes: int
    """The same before: what arrays and libraries take."""
    methods: dict[str, int] = field(default_factory=dict)
    """Keys, by the method that decided."""
    note: str = ""
    end_to_end_s: float | None = None
    """From a Parquet file to the verdict and its explanation."""
    end_to_end_verdict: str = ""


def main(argv: Sequence[str]) -> None:
    job = json.loads(argv[0])
    cell = named(job["cell"])
    keys = cell.histories()
    if job["rows"]:
        Path(job["rows"]).write_bytes(rows_of(keys).tobytes())
    for method in METHODS:
        if method.name not in job["without"]:
            precompile(method.decide)
    by_processor = job["processor_time"]
    clock, budget = (thread_time, ProcessorBudget) if by_processor else (perf_counter, Budget)
    limits = job["limit_s"], job["limit_mib"] << 20
    outcome = answer(keys, cell.sets(), *limits, budget, clock, job["without"])
    if job["end_to_end"]:
        end_to_end(cell.model, keys, job["end_to_end"] == "spark", job["limit_s"], outcome)
    print(json.dumps(asdict(outcome)))


def answer(
    keys: Sequence[EncodedHistory],
    sets: Sequence[SetHistory],
    limit_s: float,
    max_bytes: int,
    budget: Callable[[float, int], Budget],
    clock: Callable[[], float],
    without: Collection[str] = (),
) -> Outcome:
    """What the methods say of a cell's histories, but for some that are not asked."""
    if sets and GROW_ONLY not in without:
        decided_sets(named("grow-only-set/1/20/5/unique/0/none").sets())  # compiles
        return measured(lambda: decided_sets(sets), clock)
    joined = EncodedKeys.of(keys)
    methods = [method for method in METHODS if method.name not in without]
    return measured(lambda: decided(joined, methods, lambda: budget(limit_s, max_bytes)), clock)


def decided(
    keys: EncodedKeys, methods: Sequence[Method], budget: Callable[[], Budget]
) -> list[Decision]:
    """All keys, one after the other."""
    return [
        known or decide(keys[key], budget(), methods).decision
        for key, known in enumerate(decide_small(keys, methods))
    ]


def decided_sets(sets: Sequence[SetHistory]) -> list[Decision]:
    return [Decision(grow_only(each).verdict, GROW_ONLY) for each in sets]


def measured(decide_all: Callable[[], Sequence[Decision]], clock: Callable[[], float]) -> Outcome:
    """As often as half a second allows."""
    _forget_peak()
    before = _peak_bytes()
    best, spent, runs = float("inf"), 0.0, 0
    while runs == 0 or (runs < _REPEATS and spent < _REPEAT_S):
        began = clock()
        made = decide_all()
        took = clock() - began
        best, spent, runs = min(best, took), spent + took, runs + 1
    return Outcome(
        worst(each.verdict for each in made).value,
        best,
        _peak_bytes(),
        before,
        dict(Counter(each.method for each in made)),
        next((each.note for each in made if each.note), ""),
    )


def end_to_end(
    model: str, keys: Sequence[EncodedHistory], on_spark: bool, limit_s: float, outcome: Outcome
) -> None:
    """From a Parquet file to verdict and explanation, in this process or by Spark; warm: the
    same was done before with a small history."""
    from benchmarks.history_files import events_of, write_parquet

    with tempfile.TemporaryDirectory() as folder:
        small, whole = (Path(folder) / name / "history.parquet" for name in ("small", "whole"))
        for path, histories in ((small, named(f"{model}/1/1000/5/unique/0/none").histories()),
                                (whole, keys)):  # fmt: skip
            path.parent.mkdir()
            write_parquet(events_of(histories), path)
        if not on_spark:
            _timed(None, model, small, whole, limit_s, outcome)
            return
        from framework.checking.spark import running

        with running() as session:
            _timed(session, model, small, whole, limit_s, outcome)


def _timed(
    spark: Any | None, model: str, small: Path, whole: Path, limit_s: float, outcome: Outcome
) -> None:
    from framework.checking.foreign import check_histories, find_histories

    for _ in range(2):
        check_histories(spark, find_histories([small.parent]), model, limit_s)
    began = perf_counter()
    (result,) = check_histories(spark, find_histories([whole.parent]), model, limit_s)
    outcome.end_to_end_s = perf_counter() - began
    outcome.end_to_end_verdict = result.verdict.value


def _forget_peak() -> None:
    """The high-water mark of resident memory begins again (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def _peak_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) << 10


if __name__ == "__main__":
    main(sys.argv[1:])
