"""All that is asked of some runs, in one job of Spark's, whose outcomes come as its tasks end.

A job gives its rows when all of it has ended. So tasks hand theirs over at their own end
(`handed_over`): of thousands of runs none waits for the others, what is judged stays judged when
the rest is interrupted, and of what a run has the driver holds no more than it has not fetched yet.
Frames, of checkers that ask for many runs at once, are part of the job, and come with its end.

What fails a job is not an error of a rule, which is an outcome, but the end of a worker, as for
want of memory. Then what is left is done in halves, until whoever does it is alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final, TypeAlias

import pyarrow as pa

from framework.checking.assignments import Assignment
from framework.checking.handed_over import HandOver, handed_over
from framework.checking.keyed import OUTCOME_ARROW, note_of, outcome_row, reason, unknown
from framework.checking.reading import cited_rows
from framework.checking.results import operations_named
from framework.checking.stored import of_run
from framework.checking.workers import numbered
from framework.errors import EngineError
from framework.history.columns import OPERATIONS
from framework.plugins.checker import DataFrame, SparkSession, Table

_MOST_RUNS: Final = 8
"""Of one task: so many are judged again where a check is interrupted."""
_MOST_FAILURES: Final = 64
"""Jobs: enough to find the few among thousands of runs on which workers end. With more of them it
is the machine, and no run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """What came of an assignment. units: how much of its run that was, each checker as often as it
    judges; cited: operations that findings name."""

    number: int
    units: int
    outcomes: Table
    cited: Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Framed:
    """A frame, of many runs, that Spark computes. name: of its checker."""

    name: str
    runs: Sequence[str]
    frame: DataFrame


Came: TypeAlias = Delivered | Table
"""Of an assignment, or of all frames: their outcomes."""


def judged_in_one_job(
    spark: SparkSession, assignments: Sequence[Assignment], frames: Sequence[Framed] = ()
) -> Iterator[Came]:
    """Outcomes as they come; of each assignment once, of each run of a frame at least one."""
    left = dict(enumerate(assignments))
    try:
        yield from _done(spark, left, frames)
        return
    except Exception as error:
        why = error
    for each in frames:
        try:
            yield _collected([_columns(each.name, each.frame)])
        except Exception as error:
            yield unknown_rows([each.name], each.runs, reason(error))
    if frames:
        left = dict(enumerate(left.values()))
        try:
            yield from _done(spark, left)
            return
        except Exception as error:
            why = error
    yield from _in_halves(spark, list(left.values()), why, [_MOST_FAILURES])


def _in_halves(
    spark: SparkSession, some: Sequence[Assignment], why: Exception, patience: list[int]
) -> Iterator[Delivered]:
    """Of what failed together. `patience`: so many jobs may fail yet."""
    if len(some) == 1:
        apart = some[0].apart()
        some = apart if len(apart) > 1 else some
    if len(some) == 1 or patience[0] <= 0 or not _answers(spark):
        yield from (_failed(each, why) for each in some)
        return
    middle = len(some) // 2
    for half in (some[:middle], some[middle:]):
        left = dict(enumerate(half))
        try:
            yield from _done(spark, left)
        except Exception as error:
            patience[0] -= 1
            yield from _in_halves(spark, list(left.values()), error, patience)


def _answers(spark: SparkSession) -> bool:
    try:
        return bool(spark.range(1).count())
    except Exception:
        return False


def _failed(assignment: Assignment, why: Exception) -> Delivered:
    return Delivered(
        number=assignment.number,
        units=len(assignment.names),
        outcomes=unknown_rows(assignment.names, [assignment.run], reason(why)),
        cited=OPERATIONS.empty_table(),
    )


def unknown_rows(names: Iterable[str], runs: Iterable[str], note: str) -> Table:
    made = [outcome_row(run, name, "", unknown(note)) for run in runs for name in set(names)]
    return pa.Table.from_pylist(made, OUTCOME_ARROW)


# --- one job ------------------------------------------------------------------------------


def _done(
    spark: SparkSession, left: dict[int, Assignment], frames: Sequence[Framed] = ()
) -> Iterator[Came]:
    """What comes of one job; what is not done by its end stays in `left`. Raises what it does."""
    rows: list[Table] = []

    def job(hand_over: HandOver) -> None:
        own = [_frame(spark, left, hand_over)] if left else []
        rows.append(_collected([*own, *(_columns(each.name, each.frame) for each in frames)]))

    if left or frames:
        for place, came in handed_over(spark, job):
            del left[place]
            yield came
        if left:  # Spark does not fail a job whose accumulators it cannot update
            raise EngineError(f"the outcomes of {len(left)} tasks did not arrive")
        yield from rows if frames else ()


def _frame(spark: SparkSession, left: dict[int, Assignment], hand_over: HandOver) -> DataFrame:
    """Without rows: what its tasks do is handed over."""
    assignments = list(left.values())

    def done(place: int) -> Sequence[pa.RecordBatch]:
        hand_over([(place, delivered(assignments[place]))])
        return ()

    count = len(assignments)
    return numbered(spark, count, done, OUTCOME_ARROW, tasks=-(-count // _MOST_RUNS))


def delivered(assignment: Assignment) -> Delivered:
    """In a task. What cannot be read, or fails, is UNKNOWN by whom it keeps from judging."""
    found: list[Table] = []
    cited: list[Table] = []
    try:
        run = assignment.place.open()
        for judge in assignment.judges:
            try:
                found += judge.rows(run)
            except Exception as error:
                found.append(unknown_rows(judge.names, [assignment.run], note_of(error)))
        if named := operations_named(found):
            rows = [of_run(run, table) for table in cited_rows(run, named)]
            cited += [table.select(OPERATIONS.names).cast(OPERATIONS) for table in rows]
    except Exception as error:
        found = found or [unknown_rows(assignment.names, [assignment.run], note_of(error))]
    return Delivered(
        number=assignment.number,
        units=len(assignment.names),
        outcomes=pa.concat_tables([OUTCOME_ARROW.empty_table(), *found]),
        cited=pa.concat_tables([OPERATIONS.empty_table(), *cited]),
    )


# --- frames -------------------------------------------------------------------------------


def _collected(frames: Sequence[DataFrame]) -> Table:
    union: DataFrame = reduce(lambda left, right: left.unionAll(right), frames)
    return union.toArrow().select(OUTCOME_ARROW.names).cast(OUTCOME_ARROW)


def _columns(name: str, frame: DataFrame) -> DataFrame:
    """Those of outcomes, under the name by which the checker was asked for."""
    counted = "clauses" if "clauses" in frame.columns else "cast(null as string) as clauses"
    return frame.selectExpr("run", f"'{name}' as checker", *_COLUMNS, counted)


_COLUMNS: Final = (
    "key",
    "verdict",
    "cast(seen as long) as seen",
    "findings",
    "figures",
    "note",
)
