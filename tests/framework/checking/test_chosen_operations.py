"""Checkers that judge by key have those columns and kinds of operations read that they look at."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.cloudpickle import register_pickle_by_value

from benchmarks.long_run import EVENTS, make
from checkers import kafka_log
from checkers.kafka_log import LOOKED_AT, KafkaLog
from checkers.linearizability.encoding.models import KAFKA_TOPICS, REGISTER
from checkers.linearizability.kernel import COLUMNS
from checkers.register_linearizability import RegisterLinearizability
from checkers.topic_linearizability import TopicLinearizability
from framework.checking import operations
from framework.checking.operations import chosen_operations
from framework.checking.runs import FAULTS, read_run
from framework.checking.stored import Held, hold, operation_rows, tables
from framework.history.columns import OPERATIONS
from framework.plugins.checker import DataFrame, EachRun, RunData, Table, Tables

register_pickle_by_value(sys.modules[__name__])

ALL = set(OPERATIONS.names) - {"run"}


@dataclass(frozen=True, slots=True)
class Noting:
    """Runs whose tasks note in a file which columns they read, and how many rows they hand on."""

    runs: EachRun
    notes: Path

    def map(self, make: Callable[[RunData], Iterable[Table]], schema: pa.Schema) -> DataFrame:
        return self.runs.map(partial(noting, make, str(self.notes)), schema)

    def told(self) -> tuple[set[str], int]:
        notes = [json.loads(line) for line in self.notes.read_text().splitlines()]
        columns = {name for note in notes for name in note["columns"]}
        return columns, sum(note["rows"] for note in notes)


def noting(make: Callable[[RunData], Iterable[Table]], notes: str, run: RunData) -> Iterator[Table]:
    with columns_read() as columns:
        made = list(make(run))
    with Path(notes).open("a") as file:
        note = {"columns": sorted(columns), "rows": sum(map(len, made))}
        file.write(json.dumps(note) + "\n")
    yield from made


@contextmanager
def columns_read() -> Iterator[set[str]]:
    """The columns of Parquet files that are read meanwhile, of any row."""
    found: set[str] = set()

    def spied(real: Callable[..., Table]) -> Callable[..., Table]:
        def read(file: Any, of: Any, columns: Any = None, **given: Any) -> Table:
            found.update(columns or file.schema_arrow.names)
            return real(file, of, columns, **given)

        return read

    with pytest.MonkeyPatch.context() as patched:
        for name in ("read_row_group", "read_row_groups"):
            patched.setattr(pq.ParquetFile, name, spied(getattr(pq.ParquetFile, name)))
        yield found


@pytest.fixture(scope="module")
def held(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Held:
    folder = tmp_path_factory.mktemp("run")
    make(folder, 50 * EVENTS)
    (found,) = hold(spark, [read_run(folder).info])
    assert isinstance(found, Held)
    return found


def formerly(tables: Tables, fs: Iterable[str], columns: object = None) -> DataFrame:
    """All of all operations, of which the JVM takes those that are looked at."""
    return tables.operations.where(f"f in {tuple(fs)}")


@pytest.mark.parametrize("planted", [False, True])
@pytest.mark.parametrize(
    ("checker", "module", "fs", "columns"),
    [
        (TopicLinearizability(), operations, KAFKA_TOPICS.fs, set(COLUMNS)),
        (RegisterLinearizability(), operations, REGISTER.fs, {"f"}),
        (KafkaLog(), kafka_log, LOOKED_AT, ALL),
    ],
    ids=["topics", "nothing of the kind", "log"],
)
def test_what_a_checker_looks_at_is_read_and_no_more(
    spark: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    held: Held,
    checker: Any,
    module: Any,
    fs: Iterable[str],
    columns: set[str],
    planted: bool,
) -> None:
    if planted:
        monkeypatch.setattr(module, "chosen_operations", formerly)
    stored = tables(spark, [held])
    assert stored.operation_reads is not None
    noted = Noting(stored.operation_reads, tmp_path / "notes")
    frame = noted.map(operation_rows, OPERATIONS)
    long = replace(stored, operations=frame, operation_reads=noted)
    checker.check(long).collect()
    there = held.manifest.counts.operations
    wanted = sum(there.get(f, 0) for f in fs)
    assert 0 <= wanted < sum(there.values()) / 2
    read, rows = noted.told()
    assert (rows > wanted) is planted
    assert (read > columns) is (planted and columns != ALL)
    assert planted or (read, rows) == (columns, wanted)


@pytest.mark.parametrize(
    ("checker", "columns"),
    [
        (TopicLinearizability(), set(COLUMNS)),
        (RegisterLinearizability(), {"f"}),
        (KafkaLog(), ALL),
    ],
    ids=["topics", "nothing of the kind", "log"],
)
def test_a_short_run_is_judged_where_it_is_read_as_a_long_one_is(
    spark: Any, held: Held, checker: Any, columns: set[str]
) -> None:
    """Of its operations no more is read."""
    with columns_read() as read:
        found = checker.judge_run(held.place.open(), 10.0)
    framed = checker.check(tables(spark, [held])).toArrow()
    assert told(found) == told(framed.select(found.schema.names))
    assert read - LEDGERS == columns


LEDGERS = {*FAULTS.names} - ALL
"""Columns of what faults were injected, which some look at, too."""


def told(outcomes: Table) -> list[dict[str, Any]]:
    """Without what hangs on how long it took."""
    found = outcomes.to_pylist()
    assert len({(row["run"], row["key"]) for row in found}) == len(found)
    return sorted(({**row, "figures": ""} for row in found), key=lambda row: row["key"])


def test_what_is_chosen_is_what_there_is(spark: Any, held: Held) -> None:
    """Of files, and of a table in memory."""
    stored = tables(spark, [held])
    fs, columns = ("create", "metadata"), ("index", "process", "value")
    every = stored.operations.toArrow()
    expected = every.filter(pc.field("f").isin(fs)).select(["run", *columns]).sort_by("index")
    assert 0 < len(expected) < len(every)
    for given in (stored, replace(stored, operation_reads=None)):
        found = chosen_operations(given, fs, columns).toArrow()
        assert found.sort_by("index").equals(expected)


def test_a_column_that_was_not_asked_for_is_not_there(spark: Any, held: Held) -> None:
    found = chosen_operations(tables(spark, [held]), ("create",), ("index",))
    assert found.columns == ["run", "index"]
    assert set(operations.COLUMNS) == ALL
