"""Spark's Python workers: how they are given numbered things to do, and what makes them quick to
come back for the next task."""

import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Final

import pyarrow as pa

from framework.plugins.checker import DataFrame, SparkSession

_TASKS_PER_CORE: Final = 16


def settle_in() -> None:
    """To be called by what runs in a worker.

    After every task a worker looks for garbage, among all objects that live: with our modules and
    compiled kernels that takes longer than a small task. What modules have made is no garbage, so
    it is set apart, once, and again when more have been loaded.
    """
    _set_apart(len(sys.modules))


@cache
def _set_apart(modules: int) -> None:
    gc.collect()
    gc.freeze()


def numbered(
    spark: SparkSession,
    count: int,
    make: Callable[[int], Iterable[pa.RecordBatch]],
    schema: pa.Schema,
    tasks: int = 0,
) -> DataFrame:
    """What tasks make of the numbers below `count`: rows of `schema`. There are as many tasks as
    keep all cores at work, or `tasks` where that is more, and no more than numbers."""
    from pyspark.sql.pandas.types import from_arrow_schema

    def made(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle_in()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from make(number)

    most = max(tasks, _TASKS_PER_CORE * spark.sparkContext.defaultParallelism)
    numbers = spark.range(0, count, 1, max(1, min(count, most)))
    return numbers.mapInArrow(made, from_arrow_schema(schema))


@contextmanager
def by_reference_counts() -> Iterator[None]:
    """Memory comes back by reference counts alone: who makes millions of objects that refer to
    nothing back need not have all that live looked through again and again."""
    sought = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if sought:
            gc.enable()
