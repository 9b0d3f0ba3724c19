"""Histories of Kafka logs made by number: clean ones, or with one thing planted.

    python -m benchmarks.kafka_log OPERATIONS FILE.parquet [PLANT]

In the form of the `log` workload, as tables of operations (`framework.checking.runs.OPERATIONS`).
`CLIENTS` processes go in rounds: all invoke, all return. Half of the operations produce to a
partition at random, half fetch from one on behalf of one of `CONSUMERS`, which is handed all that
was produced since it last asked. At the end all is read from the beginning. A share of the produces
takes effect without an answer.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from framework.history.columns import OPERATIONS

Ints: TypeAlias = NDArray[np.int64]
Plant: TypeAlias = Literal["none", "lost-write", "G1a", "int-nonmonotonic-poll", "two-values"]
"""An acknowledged value that no answer holds; one that was refused, and is read; two records of an
answer that change places; a record whose value another answer has different."""

CLIENTS: Final = 20
CONSUMERS: Final = 3
FINAL_RECORDS: Final = 500
"""Of one fetch at the end."""
TABLE_OPERATIONS: Final = 1 << 18
STEP_NS: Final = 20_000


@dataclass(frozen=True, slots=True)
class _Story:
    """All operations by number; the last ones are the final fetches."""

    produces: NDArray[np.bool_]
    part: Ints
    consumer: Ints
    begin: Ints
    """Of a produce its offset, of a fetch where it begins."""
    end: Ints
    """Of a fetch: its position after it."""
    there: Ints
    """How many records the partition has then."""
    base: Ints
    """By partition: where its values begin in `values`."""
    values: Ints
    """By partition and offset."""
    silent: NDArray[np.bool_]
    final: Ints
    """The number of the first final fetch."""
    victim: int
    """The operation that something is planted in or about."""


def tables(
    operations: int,
    partitions: int = 100,
    *,
    seed: int = 0,
    silent: float = 0.01,
    plant: Plant = "none",
    run: str = "log",
) -> Iterator[pa.Table]:
    """The history in tables of at most `TABLE_OPERATIONS`, and of the final fetches. `silent`: the
    share of produces without an answer."""
    story = _story(operations, partitions, seed, silent, plant)
    count = len(story.part)
    for first in range(0, count, TABLE_OPERATIONS):
        yield _table(story, first, min(count, first + TABLE_OPERATIONS), plant, run)


def table(operations: int, partitions: int = 100, **options: object) -> pa.Table:
    """The history as one table."""
    return pa.concat_tables(tables(operations, partitions, **options))  # type: ignore[arg-type]


def write(path: Path, operations: int, partitions: int = 100, **options: object) -> int:
    """The history as a Parquet file; how many operations it has."""
    written = 0
    with pq.ParquetWriter(path, OPERATIONS, compression="zstd") as writer:
        for each in tables(operations, partitions, **options):  # type: ignore[arg-type]
            writer.write_table(each, row_group_size=TABLE_OPERATIONS // 4)
            written += each.num_rows
    return written


def _story(operations: int, partitions: int, seed: int, silent: float, plant: Plant) -> _Story:
    rng = np.random.default_rng(seed)
    produces = rng.random(operations) < 0.5
    part = rng.integers(0, partitions, operations)
    consumer = rng.integers(0, CONSUMERS, operations)
    by_part = np.argsort(part, kind="stable")
    there = np.empty(operations, np.int64)  # before the operation
    total: Ints = np.cumsum(produces[by_part]) - produces[by_part]
    base = np.zeros(partitions + 1, np.int64)
    base[1:] = np.cumsum(np.bincount(part[produces], minlength=partitions))
    there[by_part] = total - base[part[by_part]]

    fetches = np.flatnonzero(~produces)
    reader = part[fetches] * CONSUMERS + consumer[fetches]
    by_reader = np.argsort(reader, kind="stable")
    begin = there.copy()
    chosen = fetches[by_reader]
    before = np.concatenate([[0], there[chosen][:-1]])
    same = np.concatenate([[False], reader[by_reader][1:] == reader[by_reader][:-1]])
    begin[chosen] = np.where(same, before, 0)

    values = np.argsort(np.where(produces, part, partitions), kind="stable")[: base[-1]]
    chunks = -(-np.diff(base) // FINAL_RECORDS)
    last_part = np.repeat(np.arange(partitions), chunks)
    chunk = np.arange(len(last_part)) - np.repeat(np.cumsum(chunks) - chunks, chunks)
    last_end = np.minimum((chunk + 1) * FINAL_RECORDS, np.diff(base)[last_part])
    silences = produces & (rng.random(operations) < silent)
    silences = np.concatenate([silences, np.zeros(len(last_part), np.bool_)])
    known = np.flatnonzero(produces & ~silences[:operations])
    fat = np.flatnonzero(~produces & (there - begin > 2))
    chosen = fat if plant in ("int-nonmonotonic-poll", "two-values") else known
    return _Story(
        np.concatenate([produces, np.zeros(len(last_part), np.bool_)]),
        np.concatenate([part, last_part]),
        np.concatenate([consumer, np.full(len(last_part), CONSUMERS)]),
        np.concatenate([begin, chunk * FINAL_RECORDS]),
        np.concatenate([there, last_end]),
        np.concatenate([there, np.diff(base)[last_part]]),
        base,
        values,
        silences,
        np.int64(operations),  # type: ignore[arg-type]
        int(chosen[len(chosen) // 2]) if len(chosen) else -1,
    )


def _table(story: _Story, first: int, last: int, plant: Plant, run: str) -> pa.Table:
    rows = np.arange(first, last)
    produces = story.produces[rows]
    turn, client = rows // CLIENTS, rows % CLIENTS
    index, end = turn * 2 * CLIENTS + client, (turn * 2 + 1) * CLIENTS + client
    failed = rows == (story.victim if plant == "G1a" else -1)
    silent = story.silent[rows]
    answered = pa.array(~(silent | failed))
    done = pa.array(np.where(failed, "fail", np.where(silent, "info", "ok")))
    reported = pc.if_else(produces, _produced(story, rows), _fetched(story, rows, plant))
    keys = pa.array([f'"t/{number}"' for number in range(len(story.base) - 1)])
    nothing = pa.nulls(len(rows), pa.string())
    columns = {
        "run": pa.repeat(run, len(rows)),
        "index": index,
        "end": end,
        "process": client.astype(str),
        "f": np.where(produces, "produce", "fetch"),
        "key": keys.take(pa.array(story.part[rows])),
        "value": pc.if_else(produces, _produce(rows), _fetch(story, rows)),
        "type": done,
        "result": pc.if_else(answered, reported, "null"),
        "node": pa.repeat("b1", len(rows)),
        "invoked_ns": index * STEP_NS,
        "completed_ns": end * STEP_NS,
        "phase": np.where(rows >= story.final, "final", "main"),
    }
    made = [pa.array(columns.get(name, nothing)) for name in OPERATIONS.names]
    return pa.table(
        [column.cast(field.type) for column, field in zip(made, OPERATIONS, strict=True)],
        schema=OPERATIONS,
    )


def _join(*parts: object) -> pa.Array:
    """Texts put together, row by row."""
    texts = [
        part if isinstance(part, str) else pc.cast(pa.array(part), pa.string()) for part in parts
    ]
    return pc.binary_join_element_wise(*texts, "")


def _produce(rows: Ints) -> pa.Array:
    return _join('{"acks":"all","idempotent":true,"value":', rows, "}")


def _produced(story: _Story, rows: Ints) -> pa.Array:
    offset = story.begin[rows]
    return _join('{"acks":"all","idempotent":true,"offset":', offset, ',"value":', rows, "}")


def _fetch(story: _Story, rows: Ints) -> pa.Array:
    names = pa.array(["a", "b", "c", "final"]).take(pa.array(story.consumer[rows]))
    return _join('{"consumer":"', names, '","from":', story.begin[rows], "}")


def _fetched(story: _Story, rows: Ints, plant: Plant) -> pa.Array:
    """Answers of all rows, of which those of fetches are taken."""
    fetches = ~story.produces[rows]
    counts = np.where(fetches, story.end[rows] - story.begin[rows], 0)
    starts = np.concatenate([[0], np.cumsum(counts)])
    of = np.repeat(np.arange(len(rows)), counts)
    offset = np.arange(starts[-1]) - starts[of] + story.begin[rows][of]
    value = story.values[story.base[story.part[rows]][of] + offset]
    victim = story.victim - rows[0]
    if plant in ("int-nonmonotonic-poll", "two-values") and 0 <= victim < len(rows):
        place = starts[victim]
        if plant == "two-values":
            value[place] = -1
        else:
            for column in (offset, value):
                column[[place, place + 1]] = column[[place + 1, place]]
    records = _join("[", offset, ",", value, "]")
    if plant == "lost-write":
        kept = value != story.victim
        records = records.filter(pa.array(kept))
        starts = np.concatenate([[0], np.cumsum(kept)])[starts]
    lists = pa.ListArray.from_arrays(pa.array(starts, pa.int32()), records)
    return _join(
        '{"high_watermark":',
        story.there[rows],
        ',"leader_epoch":0,"log_start":0,"position":',
        story.end[rows],
        ',"records":[',
        pc.binary_join(lists, ","),
        "]}",
    )


if __name__ == "__main__":
    plant = sys.argv[3] if len(sys.argv) > 3 else "none"
    assert plant in get_args(Plant), f"plants: {', '.join(get_args(Plant))}"
    print(write(Path(sys.argv[2]), int(sys.argv[1]), plant=plant))
