"""How checkers that judge by key come by stored runs' operations, and what each way moves.

    python -m benchmarks.operations_read RUN... [--times 3]

Three rows a checker: *by Python*, if tasks read all operations and hand them to the JVM, which
takes those that are looked at; *by Spark*, as of long runs, `spark.read` of those operations and
columns, for others to judge; *in place*, as of short runs, judged by the task that reads them. What
Python workers returned to the JVM, what it sent to them and what was shuffled, by Spark's own event
log; and the processor time of all processes, the least of several in a warm session.
"""

import argparse
import json
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from benchmarks.check_scale import processor_s, tree
from benchmarks.spark_log import logging
from checkers import kafka_log
from checkers.kafka_log import KafkaLog
from checkers.topic_linearizability import TopicLinearizability
from framework.checking import operations
from framework.checking.assignments import ByItself
from framework.checking.keyed import DEFAULT_BUDGET_S, OUTCOME_ARROW
from framework.checking.operations import COLUMNS, chosen_operations
from framework.checking.runs import read_runs
from framework.checking.spark import running
from framework.checking.stored import Held, hold, of_run, spread, tables
from framework.history.assemble import process_texts
from framework.history.columns import OPERATIONS
from framework.plugins.checker import DataFrame, RunData, Table, Tables

Way: TypeAlias = Callable[[Tables, Collection[str], Sequence[str]], DataFrame]
_CHECKERS: Final = ((TopicLinearizability(), operations), (KafkaLog(), kafka_log))
"""And the module that asks for their operations."""
_MOVED: Final = {
    "data returned from Python workers": "to the JVM",
    "data sent to Python workers": "from the JVM",
}
"""Spark's own names of what goes between a worker and the JVM."""


def by_python(tables: Tables, fs: Collection[str], columns: Sequence[str] = COLUMNS) -> DataFrame:
    """Rows that tasks make, of which the JVM takes those kinds."""
    return tables.each.map(every, OPERATIONS).where(f"f in {tuple(fs)}").select("run", *columns)


def every(run: RunData) -> Iterator[Table]:
    """All columns of all operations."""
    yield of_run(run, process_texts(run.operations))


_WAYS: Final[dict[str, Way | None]] = {
    "by Python": by_python,
    "by Spark": chosen_operations,
    "in place": None,
}
"""By name. None: by the task that reads them."""


def moved(log: Path) -> dict[str, Counter[str]]:
    """By what was asked, bytes that went to the JVM and from it, and that were shuffled."""
    asked: dict[int, str] = {}
    found: dict[str, Counter[str]] = {}
    with log.open() as lines:
        for event in map(json.loads, lines):
            if event["Event"] == "SparkListenerStageSubmitted":
                said = event.get("Properties") or {}
                asked[event["Stage Info"]["Stage ID"]] = said.get("spark.job.description", "")
            elif event["Event"] == "SparkListenerTaskEnd":
                own = found.setdefault(asked[event["Stage ID"]], Counter())
                written = (event.get("Task Metrics") or {}).get("Shuffle Write Metrics") or {}
                own["shuffled"] += written.get("Shuffle Bytes Written", 0)
                for each in event["Task Info"]["Accumulables"]:
                    if each.get("Name") in _MOVED:
                        own[_MOVED[each["Name"]]] += int(each["Update"])
    return found


def spent_s() -> float:
    """Processor time of this process and all that it started."""
    return sum(map(processor_s, tree(os.getpid())))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--times", type=int, default=3)
    given = parser.parse_args(arguments)
    took: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        settings, logs = logging(Path(scratch))
        os.environ.update(settings)
        with running("local[2]") as spark:
            infos = [each.info for each in read_runs(given.runs)]
            held = [each for each in hold(spark, infos) if isinstance(each, Held)]
            for time in range(1 + given.times):  # the first time everybody learns
                for checker, module in _CHECKERS:
                    for name, way in _WAYS.items():
                        module.chosen_operations = way  # type: ignore[attr-defined]
                        what = f"{checker.name} | {name}"
                        spark.sparkContext.setJobDescription(what if time == 1 else "")
                        began, there = spent_s(), tables(spark, held)
                        judge = ByItself(checker.name, checker, DEFAULT_BUDGET_S)
                        asked = there.each.map(judge.rows, OUTCOME_ARROW)
                        with spread(spark, held):
                            (asked if way is None else checker.check(there)).collect()
                        took.setdefault(what, []).append(spent_s() - began)
        (log,) = logs.iterdir()
        found = moved(log)
    print(f"{sum(each.manifest.counts.rows for each in held):,} operations")
    shown = (*_MOVED.values(), "shuffled")
    print(f"| checker | read | {', KiB | '.join(shown)}, KiB | processor, s |")
    print("| --- | --- |" + " ---: |" * (len(shown) + 1))
    for what, times in took.items():
        sizes = " | ".join(f"{found[what][each] / 2**10:,.1f}" for each in shown)
        print(f"| {what} | {sizes} | {min(times[1:]):.2f} |")


if __name__ == "__main__":
    main()
