"""Histories made by number, as files: JSON Lines and Parquet, as fast as they are read.

`of` turns keys, each made by `benchmarks.histories`, into one history: their events are
dealt out at random, each key's in its own order; the clients of a key are its own processes.
"""

from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from checkers.linearizability.encoded import NEVER, EncodedHistory, Kind
from framework.history.columns import SCHEMA

_TICK_NS: Final = 1_000
_F: Final = {
    Kind.READ: "read",
    Kind.WRITE: "write",
    Kind.CAS: "cas",
    Kind.DIFFERS: "cas",
    Kind.ENQUEUE: "enqueue",
    Kind.DEQUEUE: "dequeue",
    Kind.EMPTY: "dequeue",
    Kind.TAKE: "dequeue",
}
ROW_GROUP: Final = 1 << 17


def events_of(keys: Sequence[EncodedHistory], seed: int = 0) -> pa.Table:
    """All events, as `framework.history.columns.SCHEMA`. A failed cas is one from `a`."""
    tables = [_events(number, encoded) for number, encoded in enumerate(keys)]
    whole = pa.concat_tables(tables).combine_chunks()
    sizes = [len(table) for table in tables]
    draw = np.random.default_rng(seed)
    turn = draw.permutation(np.repeat(np.arange(len(keys)), sizes))
    # The n-th turn of a key is its n-th event.
    place = np.empty(len(turn), np.int64)
    place[np.argsort(turn, kind="stable")] = np.arange(len(turn))
    table = whole.take(pa.array(place))
    index = np.arange(len(table))
    table = table.set_column(0, SCHEMA.field("index"), pa.array(index))
    return table.set_column(1, SCHEMA.field("time"), pa.array(index * _TICK_NS))


def _events(number: int, encoded: EncodedHistory) -> pa.Table:
    """The events of one key in their order."""
    returned = np.flatnonzero(encoded.ret != NEVER)
    at = np.concatenate((encoded.call, encoded.ret[returned]))
    order = np.argsort(at, kind="stable")
    row = np.concatenate((np.arange(len(encoded)), returned))[order]
    is_call = (np.arange(len(at)) < len(encoded))[order]
    names = pa.array([_F.get(Kind(kind), "") for kind in range(len(Kind))])
    f = names.take(pa.array(encoded.kind[row]))
    type_ = np.where(is_call, 0, np.where(encoded.kind[row] == Kind.DIFFERS, 2, 1))
    clients = _clients(encoded.call, encoded.ret)
    process = pc.cast(pa.array(clients[row] * 100_000 + number), pa.string())
    nothing = pa.nulls(len(row), pa.string())
    return pa.table(
        {
            "index": pa.nulls(len(row), pa.int64()),
            "time": pa.nulls(len(row), pa.int64()),
            "type": pa.array(["invoke", "ok", "fail"]).take(pa.array(type_)),
            "process": process,
            "f": f,
            "key": pa.repeat(f'"k{number}"', len(row)),
            "value": _values(encoded, row, is_call),
            "error_code": nothing,
            "error_message": nothing,
            "node": nothing,
            "ext": nothing,
        },
        schema=pa.schema([field.with_nullable(True) for field in SCHEMA]),
    )


def _values(
    encoded: EncodedHistory, row: NDArray[np.int64], is_call: NDArray[np.bool_]
) -> pa.Array:
    """Arguments of calls, results of reads and dequeues; as JSON. Number 0 is null."""
    kind = encoded.kind[row]
    a, b = (pc.cast(pa.array(each[row]), pa.string()) for each in (encoded.a, encoded.b))
    a = pc.if_else(pa.array(encoded.a[row] == 0), "null", a)
    b = pc.if_else(pa.array(encoded.b[row] < 0), "0", b)
    pair = pc.binary_join_element_wise("[", a, ",", b, "]", "")
    writes = is_call & np.isin(kind, (Kind.WRITE, Kind.ENQUEUE))
    changes = is_call & np.isin(kind, (Kind.CAS, Kind.DIFFERS))
    reads = ~is_call & np.isin(kind, (Kind.READ, Kind.DEQUEUE)) & (encoded.a[row] != 0)
    return pc.case_when(
        pc.make_struct(pa.array(writes), pa.array(changes), pa.array(reads)), b, pair, a
    )


def _clients(call: NDArray[np.int64], ret: NDArray[np.int64]) -> NDArray[np.int64]:
    """A process for each operation: the one that has been idle for longest, or a new one."""
    found = np.empty(len(call), np.int64)
    idle: deque[int] = deque()
    at = np.concatenate((call, ret))
    fresh = 0
    for event in np.argsort(at, kind="stable").tolist():
        if event < len(call):
            if idle:
                found[event] = idle.popleft()
            else:
                found[event] = fresh
                fresh += 1
        elif ret[event - len(call)] != NEVER:
            idle.append(int(found[event - len(call)]))
    return found


def write_parquet(events: pa.Table, path: Path) -> None:
    """As our own journal is sealed, but for the size of its row groups."""
    pq.write_table(events, path, compression="zstd", row_group_size=ROW_GROUP)


def write_lines(events: pa.Table, path: Path) -> None:
    """As our own journal is written."""
    with path.open("wb") as file:
        for batch in events.to_batches(max_chunksize=1 << 18):
            columns = [batch.column(name) for name in ("index", "time", "type", "process")]
            index, time, type_, process = (pc.cast(column, pa.string()) for column in columns)
            parts: list[pa.Array | str] = ['{"index":', index, ',"time":', time]
            parts += [',"type":"', type_, '","process":', process]
            parts += [',"f":"', batch.column("f"), '","key":', batch.column("key")]
            parts += [_optional(',"value":', batch.column("value"))]
            parts += [_optional(',"ext":', batch.column("ext")), "}\n"]
            lines = pc.binary_join_element_wise(*parts, "")
            file.write(b"".join(lines.cast(pa.binary()).to_pylist()))


def _optional(name: str, column: pa.Array) -> pa.Array:
    return pc.fill_null(pc.binary_join_element_wise(name, column, ""), "")
