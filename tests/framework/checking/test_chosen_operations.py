"""Checkers that judge by key have those columns and kinds of operations read that they look at."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.cloudpickle import register_pickle_by_value

from benchmarks.long_run import EVENTS, make
from benchmarks.operations_read import by_python
from checkers import kafka_log
from checkers.kafka_log import LOOKED_AT, KafkaLog
from checkers.linearizability.encoding.models import KAFKA_TOPICS, REGISTER
from checkers.linearizability.kernel import COLUMNS
from checkers.register_linearizability import RegisterLinearizability
from checkers.topic_linearizability import TopicLinearizability
from framework.checking import operations
from framework.checking.operations import chosen_operations
from framework.checking.runs import FAULTS, read_run
from framework.checking.stored import Held, hold, of_run, tables
from framework.history.assemble import process_texts
from framework.history.columns import OPERATIONS
from framework.plugins.checker import DataFrame, Table

register_pickle_by_value(sys.modules[__name__])

ALL = set(OPERATIONS.names) - {"run"}


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


def read_by_spark(frame: DataFrame) -> tuple[set[str], set[str]]:
    """Columns of operations that its plan reads of files, and the kinds by which row groups are
    left out."""
    for name in ("maxMetadataStringLength", "debug.maxToStringFields"):
        frame.sparkSession.conf.set(f"spark.sql.{name}", 10_000)
    plan = str(frame._jdf.queryExecution().executedPlan().toString())
    scan = next((line for line in plan.splitlines() if "operations.parquet" in line), "")
    columns = re.findall(r"(\w+):", "".join(re.findall("ReadSchema: struct<(.*?)>", scan)))
    kinds = "".join(re.findall(r"In\(f, \[(.*?)\]\)", scan))
    return set(columns), {each.strip() for each in kinds.split(",") if each}


@pytest.mark.parametrize("planted", [False, True])
@pytest.mark.parametrize(
    ("checker", "module", "fs", "columns"),
    [
        (TopicLinearizability(), operations, KAFKA_TOPICS.fs, {*COLUMNS, "f", "key"}),
        (RegisterLinearizability(), operations, REGISTER.fs, {*COLUMNS, "f", "key"}),
        (KafkaLog(), kafka_log, LOOKED_AT, ALL),
    ],
    ids=["topics", "registers", "log"],
)
def test_what_a_checker_looks_at_is_read_and_no_more(
    spark: Any,
    monkeypatch: pytest.MonkeyPatch,
    held: Held,
    checker: Any,
    module: Any,
    fs: Iterable[str],
    columns: set[str],
    planted: bool,
) -> None:
    """Of a long run: by Spark, which sees from the files where none of it is."""
    if planted:
        monkeypatch.setattr(module, "chosen_operations", by_python)
    read = read_by_spark(checker.check(tables(spark, [held])))
    assert (read == (columns, set(fs))) is not planted


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
    fs, columns = ("create", "metadata"), ("index", "process", "value")
    run = held.place.open()
    there = process_texts(of_run(run, run.operations)).select(OPERATIONS.names)
    expected = there.filter(pc.field("f").isin(fs)).select(["run", *columns]).sort_by("index")
    assert 0 < len(expected) < len(there)
    found = chosen_operations(tables(spark, [held]), fs, columns).toArrow().sort_by("index")
    assert found.to_pylist() == expected.to_pylist()


def test_a_column_that_was_not_asked_for_is_not_there(spark: Any, held: Held) -> None:
    found = chosen_operations(tables(spark, [held]), ("create",), ("index",))
    assert found.columns == ["run", "index"]
    assert set(operations.COLUMNS) == ALL
