"""Histories of transactions on Kafka logs, made by number: clean ones, or with a cycle planted.

    python -m benchmarks.kafka_transactions OPERATIONS FILE.parquet [PLANT]

As `benchmarks.kafka_log`, in Jepsen's form. `CLIENTS` processes go in rounds: all invoke, all
return, and in between take effect in an order of their own. Each transaction polls one of the
partitions that its client is assigned, for all that is there by then, and sends to two of all. At
the end clients poll until nothing is left. A share of transactions sends only, and has no answer.
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

from benchmarks.kafka_log import STEP_NS, TABLE_OPERATIONS
from framework.history.columns import OPERATIONS

Ints: TypeAlias = NDArray[np.int64]
Plant: TypeAlias = Literal["none", "G1c", "G1c-realtime"]
"""Two transactions of one round that polled each other's values; one that polled a value which was
sent a round later."""

CLIENTS: Final = 20
ASSIGNED: Final = 5
"""Partitions of a client."""
PARTITIONS: Final = CLIENTS * ASSIGNED
SENDS: Final = 2
_LAST_ROUNDS: Final = 2 * ASSIGNED


@dataclass(frozen=True, slots=True)
class _Story:
    """All transactions by number."""

    sends: Ints
    """By transaction and send: the partition."""
    offset: Ints
    """By transaction and send."""
    begin: Ints
    """Where the poll of a transaction begins in its partition, and where it ends."""
    end: Ints
    base: Ints
    """By partition: where its values begin in `values`."""
    values: Ints
    """By partition and offset."""
    silent: NDArray[np.bool_]
    last: int
    """The first transaction that only polls."""
    victim: int
    """The transaction that polls, beside its own, `stolen`: a value of another's, by place in
    `values`."""
    stolen: int


def tables(
    operations: int, *, seed: int = 0, silent: float = 0.01, plant: Plant = "none", run: str = "txn"
) -> Iterator[pa.Table]:
    """The history in tables of at most `TABLE_OPERATIONS` transactions. `operations`: of them, but
    for those of the end. `silent`: the share without an answer."""
    story = _story(operations, seed, silent, plant)
    yield _assigns(run)
    for first in range(0, len(story.begin), TABLE_OPERATIONS):
        yield _table(story, first, min(len(story.begin), first + TABLE_OPERATIONS), run)


def write(path: Path, operations: int, **options: object) -> int:
    """The history as a Parquet file; how many operations it has."""
    written = 0
    with pq.ParquetWriter(path, OPERATIONS, compression="zstd") as writer:
        for each in tables(operations, **options):  # type: ignore[arg-type]
            writer.write_table(each, row_group_size=TABLE_OPERATIONS // 4)
            written += each.num_rows
    return written


def _story(operations: int, seed: int, silent: float, plant: Plant) -> _Story:
    rng = np.random.default_rng(seed)
    turns = ASSIGNED * -(-operations // (CLIENTS * ASSIGNED))  # each partition as often as others
    last = turns * CLIENTS
    count = last + _LAST_ROUNDS * CLIENTS
    number = np.arange(count)
    rank = np.empty(count, np.int64)
    rank[np.lexsort((rng.random(count), number // CLIENTS))] = number

    sends = rng.integers(0, PARTITIONS, (last, SENDS))
    sends[:, 1] = (sends[:, 0] + 1 + sends[:, 1] % (PARTITIONS - 1)) % PARTITIONS
    at = rank[:last, None] * SENDS + np.arange(SENDS)
    values = np.lexsort((at.ravel(), sends.ravel()))
    base = np.zeros(PARTITIONS + 1, np.int64)
    base[1:] = np.cumsum(np.bincount(sends.ravel(), minlength=PARTITIONS))
    offset = np.empty(last * SENDS, np.int64)
    offset[values] = np.arange(last * SENDS) - base[sends.ravel()[values]]

    silences = rng.random(count) < silent
    silences[last:] = False
    polled = _polled(number)
    sent = sends.ravel()[values] * count + at.ravel()[values] // SENDS
    there = np.searchsorted(sent, polled * count + rank) - base[polled]
    there[silences] = 0
    turn = np.maximum.accumulate(there.reshape(-1, ASSIGNED * CLIENTS), axis=0)
    before = np.concatenate([np.zeros((1, ASSIGNED * CLIENTS), np.int64), turn[:-1]])
    victim, stolen = _planted(rank[:last], silences[:last], sends, offset + base[sends.ravel()])
    return _Story(
        sends,
        offset.reshape(last, SENDS),
        before.ravel(),
        turn.ravel(),
        base,
        values,
        silences,
        last,
        *((-1, -1) if plant == "none" else victim if plant == "G1c" else stolen),
    )


def _polled(number: Ints) -> Ints:
    made: Ints = number % CLIENTS + CLIENTS * (number // CLIENTS % ASSIGNED)
    return made


def _planted(
    rank: Ints, silent: NDArray[np.bool_], sends: Ints, place: Ints
) -> tuple[tuple[int, int], tuple[int, int]]:
    """For `G1c`: a transaction that another of its round polled from, and a place where that one
    sent; for `G1c-realtime`: any, and a place where one of the next round sent."""
    middle = len(rank) // 2 // CLIENTS * CLIENTS
    for a in range(middle, len(rank) - 2 * CLIENTS):
        if silent[a]:
            continue
        first = a // CLIENTS * CLIENTS
        for b in range(first, first + CLIENTS):
            polled = int(_polled(np.array([b]))[0])
            if rank[b] > rank[a] and not silent[b] and polled in sends[a]:
                later = first + CLIENTS + np.flatnonzero(~silent[first + CLIENTS :])
                other = later[(later - a) % CLIENTS != 0][0]
                return (a, int(place[b * SENDS])), (a, int(place[other * SENDS]))
    return (-1, -1), (-1, -1)


def _assigns(run: str) -> pa.Table:
    number = np.arange(CLIENTS)
    keys = [[client + CLIENTS * turn for turn in range(ASSIGNED)] for client in range(CLIENTS)]
    value = pa.array([f"[{','.join(map(str, each))}]" for each in keys])
    return _made(
        run,
        number,
        f=pa.repeat("assign", CLIENTS),
        value=value,
        type=pa.repeat("ok", CLIENTS),
        result=value,
    )


def _table(story: _Story, first: int, last: int, run: str) -> pa.Table:
    rows = np.arange(first, last)
    silent = story.silent[rows]
    polls = np.where(silent, "", '["poll"]')
    value = _join("[", polls, *_sends(story, rows, acknowledged=False), "]")
    result = _join("[", _poll(story, rows), *_sends(story, rows, acknowledged=True), "]")
    return _made(
        run,
        rows + CLIENTS,
        f=pa.repeat("txn", len(rows)),
        value=value,
        type=pa.array(np.where(silent, "info", "ok")),
        result=pc.if_else(pa.array(silent), "null", result),
    )


def _made(run: str, number: Ints, **columns: pa.Array) -> pa.Table:
    turn, client = number // CLIENTS, number % CLIENTS
    index, end = turn * 2 * CLIENTS + client, (turn * 2 + 1) * CLIENTS + client
    columns |= {
        "run": pa.repeat(run, len(number)),
        "index": pa.array(index),
        "end": pa.array(end),
        "process": pa.array(client.astype(str)),
        "invoked_ns": pa.array(index * STEP_NS),
        "completed_ns": pa.array(end * STEP_NS),
        "phase": pa.repeat("main", len(number)),
    }
    nothing = pa.nulls(len(number), pa.string())
    made = [columns.get(field.name, nothing).cast(field.type) for field in OPERATIONS]
    return pa.table(made, schema=OPERATIONS)


def _join(*parts: object) -> pa.Array:
    """Texts put together, row by row."""
    texts = [
        part if isinstance(part, str) else pc.cast(pa.array(part), pa.string()) for part in parts
    ]
    return pc.binary_join_element_wise(*texts, "")


def _sends(story: _Story, rows: Ints, *, acknowledged: bool) -> Iterator[pa.Array]:
    """What a transaction sends, as text; of those that do not, nothing."""
    sends = rows < story.last
    within = np.minimum(rows, story.last - 1)
    comma = np.where(story.silent[rows], "", ",")
    for place in range(SENDS):
        value = within * SENDS + place
        record = _join("[", story.offset[within, place], ",", value, "]") if acknowledged else value
        text = _join(comma, '["send",', story.sends[within, place], ",", record, "]")
        yield pc.if_else(pa.array(sends), text, "")
        comma = np.full(len(rows), ",")


def _poll(story: _Story, rows: Ints) -> pa.Array:
    counts = np.where(story.silent[rows], 0, story.end[rows] - story.begin[rows])
    starts = np.concatenate([[0], np.cumsum(counts)])
    of = np.repeat(np.arange(len(rows)), counts)
    polled = _polled(rows)
    offset = np.arange(starts[-1]) - starts[of] + story.begin[rows][of]
    value = story.values[story.base[polled][of] + offset]
    lists = pa.ListArray.from_arrays(
        pa.array(starts, pa.int32()), _join("[", offset, ",", value, "]")
    )
    records = _join('"', polled, '":[', pc.binary_join(lists, ","), "]")
    shown = pc.if_else(pa.array(counts > 0), records, "")
    return _join('["poll",{', shown, "}", _stolen(story, rows), "]")


def _stolen(story: _Story, rows: Ints) -> pa.Array:
    """A second poll, of the transaction that polls what it must not see."""
    if story.victim not in rows:
        return pa.repeat("", len(rows))
    part = int(np.searchsorted(story.base, story.stolen, "right")) - 1
    offset, value = story.stolen - int(story.base[part]), int(story.values[story.stolen])
    text = f'],["poll",{{"{part}":[[{offset},{value}]]}}'
    return pa.array(np.where(rows == story.victim, text, ""))


if __name__ == "__main__":
    plant = sys.argv[3] if len(sys.argv) > 3 else "none"
    assert plant in get_args(Plant), f"plants: {', '.join(get_args(Plant))}"
    print(write(Path(sys.argv[2]), int(sys.argv[1]), plant=plant))
