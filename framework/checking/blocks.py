"""Shuffling Arrow tables as blocks: one Spark row holds a whole table, not one operation.

A job has two steps. `produce` turns each source (a range of a file, a folder) into tables, each
for a stage and a bucket; what belongs together goes to the same bucket. The reduce of a stage
gets all tables of one bucket as one table, in the order of the sources. Spark moves serialized
tables of at most `BLOCK_BYTES` between the two, so that neither a JVM row nor a Python object is
made for an operation, and no block comes near Arrow's limit of 2 GiB, however hot a bucket is.

Without Spark the same functions run here, in threads of this process, and return the same: kernels
and Arrow hold no interpreter lock.

What is too much to be gathered stays where it is, dealt out anew by those who judge: `Later` is
handed it (`Dealt`), and visits it as often as it wants to, with what it has learnt by then.
"""

import os
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.pool import ThreadPool
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.checking.workers import settle_in
from framework.errors import EngineError
from framework.plugins.checker import DataFrame, SparkSession

Source: TypeAlias = Any
"""Anything that can be pickled."""
Produce: TypeAlias = Callable[[Any], Iterable[tuple[str, int, pa.Table]]]
"""(stage, bucket, table) of a source. The tables of a stage have one schema."""
Reduce: TypeAlias = Callable[[pa.Table], pa.Table | Iterable[tuple[str, int, pa.Table]]]
"""What becomes of one bucket: a result of its stage, or (stage, bucket, table) of any. The tables
of a stage have one schema."""


class Dealt(Protocol):
    """The tables of a stage by bucket, wherever they are."""

    def visit(self, see: Callable[[pa.Table], pa.Table]) -> pa.Table:
        """What `see` makes of each bucket, sorted by all columns. It is pickled."""


Later: TypeAlias = Callable[[Dealt], pa.Table]
"""The result of a stage that is not gathered."""
T = TypeVar("T")
R = TypeVar("R")

BLOCK_BYTES: Final = 4 << 20
_BLOCKS_AT_ONCE: Final = 8
"""Blocks that Spark hands to Python in one batch."""
_TASKS_PER_CORE: Final = 16
_BLOCK: Final = pa.schema(
    {
        "stage": pa.string(),
        "bucket": pa.int64(),
        "source": pa.int64(),
        "part": pa.int64(),
        "payload": pa.binary(),
    }
)
_SPARK_BLOCK: Final = "stage string, bucket long, source long, part long, payload binary"
_WRITE: Final = pa.ipc.IpcWriteOptions(compression="lz4")
_ROWS_CONF: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"


def exchange(
    spark: SparkSession | None,
    sources: Sequence[Source],
    produce: Produce,
    reduces: Mapping[str, Reduce],
    *,
    partitions: int | None = None,
    later: Mapping[str, Later] | None = None,
) -> dict[str, pa.Table]:
    """The results of each stage that had any, sorted by all their columns.

    One Spark job; `spark` None: in this process. `partitions`: how many tasks reduce (default:
    as many as there are cores, times four). `later`: of stages that reduces yield, and that stay
    where they are. `produce` and `reduces` are pickled: functions at the top level of a module,
    bound with `functools.partial`. Raises `EngineError` with the first
    line of what failed in a worker.
    """
    made = (
        _exchange_here(sources, produce, reduces, later or {})
        if spark is None
        else _exchange_on_spark(spark, sources, produce, reduces, partitions, later or {})
    )
    return {stage: _sorted(pa.concat_tables(tables)) for stage, tables in sorted(made.items())}


def bucket_of(text: str, buckets: int) -> int:
    """The bucket of a key: the same on every machine and in every process."""
    return zlib.crc32(text.encode()) % buckets


def split(table: pa.Table, by: str, buckets: int, salt: str = "") -> Iterator[tuple[int, pa.Table]]:
    """The rows of each bucket, in order, by the text of one column (null: as the empty text).
    `salt` keeps equal keys of different histories apart."""
    if buckets == 1:
        yield 0, table
        return
    keys = table.column(by).combine_chunks()
    if not pa.types.is_dictionary(keys.type):
        keys = keys.dictionary_encode()
    if isinstance(keys, pa.ChunkedArray):
        keys = keys.unify_dictionaries().combine_chunks()
    texts = [*keys.dictionary.to_pylist(), ""]
    number = np.array([bucket_of(f"{salt}{text or ''}", buckets) for text in texts], np.int64)
    codes = pc.fill_null(keys.indices, len(texts) - 1).to_numpy(zero_copy_only=False)
    of_row = number[codes]
    if len(of_row) and (of_row == of_row[0]).all():  # as where a key is hot
        yield int(of_row[0]), table
        return
    # Small numbers are sorted by counting them.
    order = np.argsort(of_row.astype(np.uint16) if buckets < 1 << 16 else of_row, kind="stable")
    ends = np.cumsum(np.bincount(of_row, minlength=buckets))
    arranged = table.take(pa.array(order))
    begin = 0
    for bucket, end in enumerate(ends.tolist()):
        if end > begin:
            yield bucket, arranged.slice(begin, end - begin)
        begin = end


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0))


def _exchange_here(
    sources: Sequence[Source],
    produce: Produce,
    reduces: Mapping[str, Reduce],
    later: Mapping[str, Later],
) -> dict[str, list[pa.Table]]:
    tables: dict[tuple[str, int], list[pa.Table]] = {}
    for produced in _on_all_cores(lambda source: list(produce(source)), sources):
        for stage, bucket, table in produced:
            tables.setdefault((stage, bucket), []).append(table)

    def reduced(place: tuple[str, int]) -> list[tuple[str, int, pa.Table]]:
        return list(_results(reduces[place[0]](pa.concat_tables(tables.pop(place))), *place))

    places = sorted(tables)
    made: dict[str, list[pa.Table]] = {}
    dealt: dict[str, _DealtHere] = {stage: _DealtHere({}) for stage in later}
    for results in _on_all_cores(reduced, places):
        for stage, bucket, table in results:
            if stage in dealt:
                dealt[stage].tables.setdefault(bucket, []).append(table)
            else:
                made.setdefault(stage, []).append(table)
    return made | {stage: [later[stage](each)] for stage, each in dealt.items() if each.tables}


def _results(
    made: pa.Table | Iterable[tuple[str, int, pa.Table]], stage: str, bucket: int
) -> Iterable[tuple[str, int, pa.Table]]:
    return [(stage, bucket, made)] if isinstance(made, pa.Table) else made


@dataclass(frozen=True, slots=True)
class _DealtHere:
    tables: dict[int, list[pa.Table]]

    def visit(self, see: Callable[[pa.Table], pa.Table]) -> pa.Table:
        each = [see(pa.concat_tables(self.tables[bucket])) for bucket in sorted(self.tables)]
        return _sorted(pa.concat_tables(each))


def _on_all_cores(act: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
    """The results in order. Nobody who gives up waits for threads that still work."""
    if len(items) < 2 or cores() < 2:
        yield from map(act, items)
        return
    with ThreadPool(min(cores(), len(items))) as pool:
        yield from pool.imap(act, items)


def _exchange_on_spark(
    spark: SparkSession,
    sources: Sequence[Source],
    produce: Produce,
    reduces: Mapping[str, Reduce],
    partitions: int | None,
    later: Mapping[str, Later],
) -> dict[str, list[pa.Table]]:
    if not sources:
        return {}
    cores = spark.sparkContext.defaultParallelism
    kept, stages = list(sources), dict(reduces)

    def produced(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _produced(number, kept[number], produce)

    def reduced(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _reduced(batches, stages)

    tasks = min(len(kept), _TASKS_PER_CORE * cores)
    blocks = spark.range(0, len(kept), 1, tasks).mapInArrow(produced, _SPARK_BLOCK)
    tasks = partitions or 4 * cores
    judged = blocks.repartition(tasks, "bucket", "stage").mapInArrow(reduced, _SPARK_BLOCK)
    with _small_batches(spark):
        try:
            if not later:
                return _gathered(judged.toArrow())
            return _gathered_and_dealt(judged, tasks, later)
        except Exception as error:
            raise EngineError(f"the job failed on Spark: {last_line(error)}") from error


def _gathered_and_dealt(
    judged: DataFrame, tasks: int, later: Mapping[str, Later]
) -> dict[str, list[pa.Table]]:
    """What several jobs look at is kept, on disk."""
    from pyspark import StorageLevel

    stages = ", ".join(f"'{stage}'" for stage in later)
    kept = [judged.persist(StorageLevel.DISK_ONLY)]
    try:
        made = _gathered(judged.where(f"stage not in ({stages})").toArrow())
        for stage, conclude in later.items():
            dealt = judged.where(f"stage = '{stage}'").repartition(tasks, "bucket")
            kept.append(dealt.persist(StorageLevel.DISK_ONLY))
            if not dealt.isEmpty():
                made[stage] = [conclude(_DealtOnSpark(dealt))]
    finally:
        for each in kept:
            each.unpersist()
    return made


@dataclass(frozen=True, slots=True)
class _DealtOnSpark:
    frame: DataFrame

    def visit(self, see: Callable[[pa.Table], pa.Table]) -> pa.Table:
        def seen(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return _reduced(batches, defaultdict(lambda: see))

        [tables] = _gathered(self.frame.mapInArrow(seen, _SPARK_BLOCK).toArrow()).values()
        return _sorted(pa.concat_tables(tables))


def _gathered(rows: pa.Table) -> dict[str, list[pa.Table]]:
    made: dict[str, list[pa.Table]] = {}
    places = zip(
        *(rows.column(name).to_pylist() for name in ("stage", "bucket", "part")), strict=True
    )
    for (stage, _, _), row in sorted((place, row) for row, place in enumerate(places)):
        made.setdefault(stage, []).append(_read(rows.column("payload")[row]))
    return made


def _produced(number: int, source: Source, produce: Produce) -> Iterator[pa.RecordBatch]:
    settle_in()
    part = 0
    for stage, bucket, table in produce(source):
        for block in _blocks(table):
            yield _block(stage, bucket, number, part, block)
            part += 1


def _reduced(
    batches: Iterator[pa.RecordBatch], reduces: Mapping[str, Reduce]
) -> Iterator[pa.RecordBatch]:
    """Blocks are kept as they came, compressed, until all of the partition are there."""
    settle_in()
    kept: dict[tuple[str, int], list[tuple[int, int, Any]]] = {}
    for batch in batches:
        stages, buckets, sources, parts = (batch.column(each).to_pylist() for each in range(4))
        for row, place in enumerate(zip(stages, buckets, strict=True)):
            payload = batch.column(4)[row].as_buffer().to_pybytes()
            kept.setdefault(place, []).append((sources[row], parts[row], payload))
    for stage, bucket in sorted(kept):
        blocks = sorted(kept.pop((stage, bucket)), key=lambda block: block[:2])
        blocks.reverse()
        tables = []
        while blocks:
            tables.append(_read_bytes(blocks.pop()[2]))
        whole = pa.concat_tables(tables)
        del tables
        number = 0
        for to, at, table in _results(reduces[stage](whole), stage, bucket):
            for block in _blocks(table):
                yield _block(to, at, bucket, number, block)
                number += 1


def _blocks(table: pa.Table) -> Iterator[pa.Table]:
    """The table in parts of about `BLOCK_BYTES`; at least one, so that the schema travels."""
    rows = max(1, table.num_rows * BLOCK_BYTES // max(BLOCK_BYTES, table.nbytes))
    for begin in range(0, max(1, table.num_rows), rows):
        yield table.slice(begin, rows)


def _block(stage: str, bucket: int, source: int, part: int, table: pa.Table) -> pa.RecordBatch:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_WRITE) as writer:
        writer.write_table(table.unify_dictionaries().combine_chunks())
    row = (stage, bucket, source, part, sink.getvalue().to_pybytes())
    columns = [pa.array([value], field.type) for value, field in zip(row, _BLOCK, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=_BLOCK)


def _read(payload: pa.Scalar) -> pa.Table:
    return pa.ipc.open_stream(payload.as_buffer()).read_all()


def _read_bytes(payload: bytes) -> pa.Table:
    return pa.ipc.open_stream(payload).read_all()


def _sorted(table: pa.Table) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in table.schema.names])


@contextmanager
def _small_batches(spark: SparkSession) -> Iterator[None]:
    """A batch that Spark hands to Python is rows of megabytes here, not of bytes."""
    before = spark.conf.get(_ROWS_CONF)
    spark.conf.set(_ROWS_CONF, str(_BLOCKS_AT_ONCE))
    try:
        yield
    finally:
        spark.conf.set(_ROWS_CONF, before)


def last_line(error: Exception) -> str:
    """What says most in an error of Spark's: the last line that is neither a frame nor a code."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(("File ", "at ", "SQLSTATE"))]
    return f"{type(error).__name__}: {(telling or ['?'])[-1]}"[:500]
