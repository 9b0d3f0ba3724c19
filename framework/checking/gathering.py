"""Runs to one job of Spark's, and what comes of each until all of it is there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.checking.asked import Asked
from framework.checking.assignments import Assigning, Assignment
from framework.checking.elsewhere import within_reach
from framework.checking.keyed import budget_s, reason
from framework.checking.one_job import Delivered, Framed, judged_in_one_job, unknown_rows
from framework.checking.stored import spread, tables
from framework.plugins.checker import SparkSession, Table, Tables


@dataclass(slots=True)
class Gathered:
    """What there is of a run so far. left: how much is still to come of tasks."""

    asked: Asked
    left: int = 0
    outcomes: list[Table] = field(default_factory=list)
    cited: list[Table] = field(default_factory=list)

    def add(self, came: Delivered) -> None:
        self.left -= came.units
        self.outcomes.append(came.outcomes)
        self.cited.append(came.cited)


def gathered(spark: SparkSession, asked: Sequence[Asked]) -> Iterator[list[Gathered]]:
    """What comes of runs, some at a time, of which all is there: of one that tasks judge as soon as
    they have, of those that frames are asked of at the end."""
    waiting = {each.number: Gathered(each) for each in asked}
    cores = spark.sparkContext.defaultParallelism // max(1, len(asked))
    assignments, framed = dealt_out(spark, asked, cores)
    for each in assignments:
        waiting[each.number].left += len(each.names)
    early = waiting.keys() - {each.number for own in framed.values() for each in own}
    frames, broken = _frames(spark, framed)
    runs = {each.run.info.run: each.number for each in asked}
    with spread(spark, [each.held for own in framed.values() for each in own]):
        for came in chain(broken, judged_in_one_job(spark, assignments, frames)):
            if isinstance(came, Delivered):
                waiting[came.number].add(came)
                if came.number in early and not waiting[came.number].left:
                    yield [waiting.pop(came.number)]
            else:
                for run, rows in _by_run(came).items():
                    waiting[runs[run]].outcomes.append(rows)
    if waiting:
        yield list(waiting.values())


def dealt_out(
    spark: SparkSession, asked: Sequence[Asked], cores: int
) -> tuple[list[Assignment], dict[tuple[str, int], list[Asked]]]:
    """What tasks do, and by checker, and its options, the runs of which it wants a frame."""
    assigning = Assigning(cores, budget_s(spark))
    assignments: list[Assignment] = []
    framed: dict[tuple[str, int], list[Asked]] = {}
    places = within_reach(spark, [each.held.place for each in asked])
    for each, place in zip(asked, places, strict=True):
        tasks, others = assigning.split(each.held, each.plugins)
        run = each.run.info.run
        assignments += [
            Assignment(number=each.number, run=run, place=place, judges=judges) for judges in tasks
        ]
        for name, checker in others.items():
            framed.setdefault((name, id(checker)), []).append(each)
    return assignments, framed


def _frames(
    spark: SparkSession, framed: Mapping[tuple[str, int], Sequence[Asked]]
) -> tuple[list[Framed], list[Table]]:
    """And what is UNKNOWN by checkers that cannot even say what they want."""
    frames, broken = [], []
    made: dict[tuple[int, ...], Tables] = {}
    for (name, _), own in framed.items():
        runs = [each.run.info.run for each in own]
        numbers = tuple(each.number for each in own)
        try:
            if numbers not in made:
                made[numbers] = tables(spark, [each.held for each in own])
            frame = own[0].plugins[name].check(made[numbers])
            frames.append(Framed(name=name, runs=runs, frame=frame))
        except Exception as error:
            broken.append(unknown_rows([name], runs, reason(error)))
    return frames, broken


def _by_run(rows: pa.Table) -> dict[str, pa.Table]:
    """Run -> its rows."""
    ordered = rows.sort_by("run")
    counted = pc.value_counts(ordered.column("run"))
    ends = np.cumsum(counted.field("counts").to_numpy()).tolist()
    names = counted.field("values").to_pylist()
    return {
        name: ordered.slice(begin, end - begin)
        for name, begin, end in zip(names, [0, *ends], ends, strict=False)
    }
