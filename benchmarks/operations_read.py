"""What checkers that judge by key have read of stored runs' operations, and handed to the JVM.

    python -m benchmarks.operations_read RUN...

Three rows a checker: *whole*, if Spark's workers read all operations and the JVM took those that
are looked at; *chosen*, as of long runs, those operations and columns alone, for others to judge;
*in place*, as of short runs, judged by the task that reads them. Bytes of Parquet that are read
(columns of row groups), what Python workers returned to the JVM and what was shuffled, both by
Spark's own event log.
"""

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.spark_log import logging
from checkers import kafka_log
from checkers.kafka_log import LOOKED_AT, KafkaLog
from checkers.linearizability.encoding.models import KAFKA_TOPICS
from checkers.linearizability.kernel import COLUMNS as OF_KEYS
from checkers.topic_linearizability import TopicLinearizability
from framework.checking import operations
from framework.checking.assignments import ByItself
from framework.checking.keyed import DEFAULT_BUDGET_S, OUTCOME_ARROW
from framework.checking.operations import COLUMNS, chosen_operations
from framework.checking.runs import read_runs
from framework.checking.spark import running
from framework.checking.stored import Held, hold, tables
from framework.plugins.checker import DataFrame, Tables

Way: TypeAlias = Callable[[Tables, Collection[str], Sequence[str]], DataFrame]
_CHECKERS: Final = (
    (TopicLinearizability(), operations, KAFKA_TOPICS.fs, OF_KEYS),
    (KafkaLog(), kafka_log, LOOKED_AT, COLUMNS),
)
_RETURNED: Final = "data returned from Python workers"


def whole(tables: Tables, fs: Collection[str], columns: Sequence[str] = COLUMNS) -> DataFrame:
    """All columns of all operations, of which the JVM takes those kinds."""
    return tables.operations.where(f"f in {tuple(fs)}")


_WAYS: Final[dict[str, Way | None]] = {
    "whole": whole,
    "chosen": chosen_operations,
    "in place": None,
}
"""By name. None: by the task that reads them."""


def read_bytes(held: Sequence[Held], fs: Collection[str], columns: Collection[str]) -> int:
    """Of the columns of the row groups that have any such operation; `f` of all."""
    total = 0
    for run in held:
        with pq.ParquetFile(run.sealed / "operations.parquet") as file:
            for group in range(file.num_row_groups):
                found = file.read_row_group(group, ["f"]).column("f")
                asked = {*columns} if pc.any(pc.is_in(found, pa.array(fs))).as_py() else set()
                said = file.metadata.row_group(group)
                sizes = map(said.column, range(said.num_columns))
                total += sum(
                    each.total_compressed_size
                    for each in sizes
                    if each.path_in_schema in asked | {"f"}
                )
    return total


def moved(log: Path) -> tuple[Counter[str], Counter[str]]:
    """By what was asked: bytes that Python returned to the JVM, and that were shuffled."""
    asked: dict[int, str] = {}
    returned, shuffled = Counter[str](), Counter[str]()
    with log.open() as lines:
        for event in map(json.loads, lines):
            if event["Event"] == "SparkListenerStageSubmitted":
                said = event.get("Properties") or {}
                asked[event["Stage Info"]["Stage ID"]] = said.get("spark.job.description", "")
            elif event["Event"] == "SparkListenerTaskEnd":
                name = asked[event["Stage ID"]]
                written = (event.get("Task Metrics") or {}).get("Shuffle Write Metrics") or {}
                shuffled[name] += written.get("Shuffle Bytes Written", 0)
                returned[name] += sum(
                    int(each["Update"])
                    for each in event["Task Info"]["Accumulables"]
                    if each.get("Name") == _RETURNED
                )
    return returned, shuffled


def main(paths: Sequence[str]) -> None:
    read: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as scratch:
        settings, logs = logging(Path(scratch))
        os.environ.update(settings)
        with running("local[2]") as spark:
            runs = [each.info for each in read_runs(map(Path, paths))]
            held = [each for each in hold(spark, runs) if isinstance(each, Held)]
            for checker, module, fs, columns in _CHECKERS:
                for name, way in _WAYS.items():
                    module.chosen_operations = way  # type: ignore[attr-defined]
                    what = f"{checker.name} | {name}"
                    spark.sparkContext.setJobDescription(what)
                    there = tables(spark, held)
                    judge = ByItself(checker.name, checker, DEFAULT_BUDGET_S)
                    asked = there.each.map(judge.rows, OUTCOME_ARROW)
                    (asked if way is None else checker.check(there)).collect()
                    read[what] = read_bytes(held, fs, COLUMNS if way is whole else columns)
        (log,) = logs.iterdir()
        returned, shuffled = moved(log)
    print(f"{sum(each.manifest.counts.rows for each in held)} operations")
    print("| checker | read | of files, KiB | to the JVM, KiB | shuffled, KiB |")
    print("| --- | --- | ---: | ---: | ---: |")
    for what, size in read.items():
        sizes = (each / 2**10 for each in (size, returned[what], shuffled[what]))
        print(f"| {what} | {' | '.join(f'{each:,.1f}' for each in sizes)} |")


if __name__ == "__main__":
    main(sys.argv[1:])
