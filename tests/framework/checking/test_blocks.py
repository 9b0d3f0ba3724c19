"""The exchange of blocks: the same result here and on Spark, whatever the partitions."""

import gc
import sys
import threading
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.cloudpickle import register_pickle_by_value

from framework.checking import blocks
from framework.checking.blocks import Dealt, bucket_of, exchange, split
from framework.errors import EngineError

# Workers cannot import a test module, so its functions travel by value.
register_pickle_by_value(sys.modules[__name__])

ROWS = 3_000
SCHEMA = pa.schema({"key": pa.string(), "number": pa.int64(), "order": pa.string()})


def numbers(buckets: int, source: int) -> Iterable[tuple[str, int, pa.Table]]:
    draw = np.random.default_rng(source)
    keys = pa.array([f"k{key}" for key in draw.integers(0, 20, ROWS)])
    table = pa.table({"key": keys, "number": pa.array(np.arange(ROWS) + source * ROWS)})
    for bucket, rows in split(table, "key", buckets):
        yield "numbers", bucket, rows
    yield "sources", 0, pa.table({"source": [source]})


def by_key(table: pa.Table) -> pa.Table:
    """How many each key has, and whether they came in the order of the sources."""
    found = []
    for key in sorted(set(table.column("key").to_pylist())):
        mine = table.filter(pc.equal(table.column("key"), key)).column("number").to_numpy()
        found.append((key, int(mine.sum()), str(bool((np.diff(mine) > 0).all()))))
    return pa.Table.from_pylist(
        [dict(zip(SCHEMA.names, row, strict=True)) for row in found], SCHEMA
    )


def as_it_is(table: pa.Table) -> pa.Table:
    return table


REDUCES = {"numbers": by_key, "sources": as_it_is}


def test_here_and_on_spark_the_same(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    here = exchange(None, range(5), partial(numbers, 3), REDUCES)
    assert here["numbers"].num_rows == 20
    assert set(here["numbers"].column("order").to_pylist()) == {"True"}
    assert sum(here["numbers"].column("number").to_pylist()) == sum(range(5 * ROWS))
    assert here["sources"].column("source").to_pylist() == list(range(5))
    for buckets, partitions in [(1, 1), (8, 1), (7, 3)]:
        there = exchange(spark, range(5), partial(numbers, buckets), REDUCES, partitions=partitions)
        assert {stage: table.to_pydict() for stage, table in there.items()} == {
            stage: table.to_pydict() for stage, table in here.items()
        }


def test_who_gives_up_here_waits_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one that fails, as of Ctrl-C: another thread may have long to work."""
    monkeypatch.setattr(blocks, "cores", lambda: 2)
    goes_on = threading.Event()

    def fails(source: int) -> Iterable[tuple[str, int, pa.Table]]:
        if source == 0:
            raise ValueError
        goes_on.wait()
        return []

    with pytest.raises(ValueError):
        exchange(None, [0, 1], fails, REDUCES)
    assert not goes_on.is_set()
    goes_on.set()


def dealt_anew(table: pa.Table) -> Iterable[tuple[str, int, pa.Table]]:
    """How many numbers there are; and the numbers themselves, by their last digit."""
    yield "counts", 0, pa.table({"rows": [table.num_rows]})
    digit = table.column("number").to_numpy() % 10
    for each in range(10):
        yield "digits", each, table.select(["number"]).filter(pa.array(digit == each))


def at_least(table: pa.Table, least: int) -> pa.Table:
    numbers = table.column("number").to_numpy()
    return pa.table({"digit": [numbers[0] % 10], "sum": [numbers[numbers >= least].sum()]})


def twice(dealt: Dealt) -> pa.Table:
    """A second visit knows what the first has learnt."""
    first = dealt.visit(partial(at_least, least=0))
    return dealt.visit(partial(at_least, least=first.num_rows))


def test_what_is_dealt_anew_is_visited_where_it_is(spark: Any) -> None:
    reduces = {"numbers": dealt_anew, "sources": as_it_is}
    for session, partitions in ((None, None), (spark, 1), (spark, 3)):
        made = exchange(
            session,
            range(2),
            partial(numbers, 3),
            reduces,
            partitions=partitions,
            later={"digits": twice},
        )
        assert set(made) == {"counts", "digits", "sources"}
        assert sum(made["counts"].column("rows").to_pylist()) == 2 * ROWS
        assert made["digits"].column("digit").to_pylist() == list(range(10))
        every = np.arange(10, 2 * ROWS)
        sums = [int(every[every % 10 == digit].sum()) for digit in range(10)]
        assert made["digits"].column("sum").to_pylist() == sums
        none = exchange(session, [0], partial(numbers, 1), REDUCES, later={"digits": twice})
        assert "digits" not in none


def test_many_blocks_a_table() -> None:
    table = pa.table({"text": ["x" * 1_000] * 20_000})
    parts = list(blocks._blocks(table))
    assert len(parts) == 5 and pa.concat_tables(parts).equals(table)
    assert max(part.nbytes for part in parts) <= blocks.BLOCK_BYTES
    assert [part.num_rows for part in blocks._blocks(table.slice(0, 0))] == [0]


def test_split_keeps_keys_together_and_rows_in_order() -> None:
    keys = pa.chunked_array([["a", "b", None], ["b", "a", "c"]])
    for column in (keys, keys.dictionary_encode()):
        table = pa.table({"key": column, "row": range(6)})
        found = {bucket: part.column("row").to_pylist() for bucket, part in split(table, "key", 64)}
        assert found[bucket_of("a", 64)] == [0, 4]
        assert found[bucket_of("b", 64)] == [1, 3]
        assert sorted(row for rows in found.values() for row in rows) == list(range(6))


def set_apart(table: pa.Table) -> pa.Table:
    return pa.table({"objects": [gc.get_freeze_count()]})


def test_a_worker_does_not_look_for_garbage_in_modules(spark: Any) -> None:
    reduces = {"numbers": set_apart, "sources": as_it_is}
    found = exchange(spark, range(2), partial(numbers, 3), reduces)["numbers"]
    assert min(found.column("objects").to_pylist()) > 10_000


def test_no_sources(spark: Any) -> None:
    assert exchange(spark, [], partial(numbers, 1), REDUCES) == {}
    assert exchange(None, [], partial(numbers, 1), REDUCES) == {}


def broken(source: int) -> Iterable[tuple[str, int, pa.Table]]:
    raise ValueError("out of luck")


def test_what_fails_in_a_worker_is_named(spark: Any) -> None:
    with pytest.raises(EngineError, match="ValueError: out of luck") as failure:
        exchange(spark, [1], broken, REDUCES)
    assert "\n" not in str(failure.value)


def test_splitting_keeps_every_row_once_and_in_order() -> None:
    draw = np.random.default_rng(1)
    for keys in (["hot"] * 50, [f"k{key}" for key in draw.integers(0, 9, 50)], [None, "a"] * 5, []):
        table = pa.table({"key": pa.array(keys, pa.string()), "row": np.arange(len(keys))})
        for buckets in (1, 3, 64):
            parts = list(split(table, "key", buckets))
            rows = [part["row"].to_pylist() for _, part in parts]
            assert all(each == sorted(each) for each in rows)
            assert sorted(row for each in rows for row in each) == list(range(len(keys)))
            placed = {key: bucket for bucket, part in parts for key in part["key"].to_pylist()}
            assert sum(len(set(part["key"].to_pylist())) for _, part in parts) == len(placed)
            assert buckets == 1 or all(
                bucket == bucket_of(key or "", buckets) for key, bucket in placed.items()
            )
