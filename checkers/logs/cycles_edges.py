"""Which operations on logs depend on which, by what they sent and polled: `ww` and `wr` edges.

Pure functions of rows (`rows.ROWS`) that may be given any share of the keys: what they give for
all shares, put together in any order, is the same.
"""

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from checkers.logs.cycles_windows import LEAN, NEVER
from checkers.logs.rows import FAIL, OK, Flag, Kind

Ints: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]

WW, WR, PROCESS, REALTIME = range(4)
PROVEN: Final = 4
"""Not an edge: some completed operation polled what the indeterminate operation `a` sent."""

_TRANSACTIONS: Final = int(Flag.SUBSCRIBES)
_NAME: Final = pa.dictionary(pa.int32(), pa.string())
EDGES: Final = pa.schema(
    {
        "run": _NAME,
        "kind": pa.int8(),
        "a": pa.int64(),
        "b": pa.int64(),
        "key": _NAME,
        "offset": pa.int64(),
        "next": pa.int64(),
    }
)
"""Operation `b` depends on `a`, by the value that a sent to `key` at `offset` and, ww, by the one
that b sent to its `next` offset. An edge may be there several times. Whether an indeterminate
operation took effect may be shown by another key: `stitched` is for those that did not."""
VERTICES: Final = pa.schema(
    {"run": _NAME, "index": pa.int64(), "end": pa.int64(), "client": _NAME, "type": pa.int8()}
)
"""Operations that sent or polled. One may be there several times."""
COUNTS: Final = pa.schema({"run": pa.string(), "operations": pa.int64()})


def edges(rows: pa.Table) -> pa.Table:
    """The `EDGES` of some keys, from all rows of these keys."""
    rows = _records(rows)
    if not rows.num_rows:
        return EDGES.empty_table()
    log = _Log.of(rows)
    parts = [
        log.table(WW, *log.follows()),
        log.table(WR, *log.polls()),
        log.table(PROVEN, *log.proven()),
    ]
    return pa.concat_tables(parts).unify_dictionaries()


def overlapping(rows: pa.Table) -> pa.Table:
    """Of the same edges those whose operations may overlap, or contradict real time, as
    `cycles_windows.LEAN`; the names of runs are numbers."""
    rows = _records(rows)
    if not rows.num_rows:
        return LEAN.empty_table()
    log = _Log.of(rows)
    a, b = (np.concatenate(each) for each in zip(log.follows(), log.polls(), strict=True))
    done = rows["end"].fill_null(NEVER).to_numpy().copy()
    done[log.type != OK] = NEVER
    kept = (done[a] >= log.index[b]) & (log.index[a] != log.index[b])
    kept &= _first(log.index[a], log.index[b], log.run[a])
    proven = log.proven()[0]
    proven = proven[_first(log.index[proven], log.run[proven])]
    a, b = (np.concatenate([each[kept], proven]) for each in (a, b))
    run = rows["run"].take(pa.array(a)).cast(pa.string()).cast(pa.int64())
    return pa.table([run, log.index[a], log.index[b], done[b]], schema=LEAN)


def completed(rows: pa.Table) -> pa.Table:
    """`COUNTS`: by run, how many operations sent or polled, and completed. Each counts with the
    key of its first record."""
    rows = rows.filter(pc.or_(_is(rows, Kind.SEND), _is(rows, Kind.POLL)))
    # A fetch, which is of one key, has a row before its records.
    single = pc.equal(pc.bit_wise_and(rows["flags"], pa.scalar(_TRANSACTIONS, pa.int8())), 0)
    fetched = pc.and_(single, _is(rows, Kind.POLL))
    first = pc.equal(rows["place"], pc.if_else(fetched, 1, 0).cast(pa.int32()))
    counts = pc.and_(first, pc.equal(rows["type"], OK)).cast(pa.int64())
    whole = pa.table({"run": rows["run"].cast(pa.string()), "operations": counts})
    summed = whole.group_by("run").aggregate([("operations", "sum")])
    return summed.select(["run", "operations_sum"]).rename_columns(COUNTS.names).cast(COUNTS)


def _records(rows: pa.Table) -> pa.Table:
    """Those that say what was sent, and may stand there, or polled."""
    sent = pc.and_(_is(rows, Kind.SEND), pc.not_equal(rows["type"], FAIL))
    return rows.filter(pc.and_(pc.or_(sent, _is(rows, Kind.POLL)), pc.is_valid(rows["value"])))


def vertices(rows: pa.Table) -> pa.Table:
    """The `VERTICES` of any rows."""
    record = pc.or_(_is(rows, Kind.SEND), _is(rows, Kind.POLL))
    rows = rows.filter(pc.and_(record, pc.not_equal(rows["type"], FAIL))).select(VERTICES.names)
    index, run = rows["index"].to_numpy(), codes(rows["run"])
    return rows.filter(pa.array(_first(index, run))).cast(VERTICES)


def stitched(edges: pa.Table, a_gone: Mask, b_gone: Mask) -> pa.Table:
    """The ww edges of one run across values of operations that did not take effect (`gone`):
    what was before and after such values are neighbours."""
    around = np.flatnonzero((edges["kind"].to_numpy() == WW) & (a_gone | b_gone))
    part = edges.take(pa.array(around))
    key, offset, after = codes(part["key"]), *(part[n].to_numpy() for n in ("offset", "next"))
    order = np.lexsort((offset, key))
    key, offset, after = key[order], offset[order], after[order]
    a_gone, b_gone = a_gone[around[order]], b_gone[around[order]]
    linked = (key[1:] == key[:-1]) & (offset[1:] == after[:-1])
    chain = np.concatenate((np.zeros(1, np.int64), np.cumsum(~linked)))
    border = np.flatnonzero(a_gone != b_gone)
    begin, end = border[:-1], border[1:]
    gap = b_gone[begin] & a_gone[end] & (chain[begin] == chain[end])
    first, last = (part.take(pa.array(order[side[gap]])) for side in (begin, end))
    for name in ("b", "next"):
        first = first.set_column(EDGES.names.index(name), name, last[name])
    return first.cast(EDGES)


def codes(column: pa.ChunkedArray) -> Ints:
    """Numbers from 0 for the values of a column, equal for equal ones; -1 for null."""
    whole = column.dictionary_encode().unify_dictionaries().combine_chunks()
    found: Ints = whole.indices.fill_null(-1).to_numpy().astype(np.int64)
    return found


def _is(rows: pa.Table, kind: Kind) -> Any:
    return pc.equal(rows["kind"], pa.scalar(int(kind), pa.int8()))


@dataclass(frozen=True, slots=True)
class _Log:
    """Rows as numbers. A version is a value of a key of a run."""

    rows: pa.Table
    run: Ints
    index: Ints
    type: NDArray[np.int8]
    sends: Mask
    partition: Ints
    """The run and key of a row, by number."""
    version: Ints
    """That of a row, by number."""
    writer: Ints
    """By version: a row of its only sender, -1: it has none, or several."""
    certain: Mask
    """By version: it was sent for sure."""
    offset: Ints
    """By version: its only offset, -1: it has none, or several."""

    @staticmethod
    def of(rows: pa.Table) -> "_Log":
        run, index = codes(rows["run"]), rows["index"].to_numpy()
        types = rows["type"].to_numpy()
        sends = rows["kind"].to_numpy() == int(Kind.SEND)
        partition = _pairs(run, codes(rows["key"]))
        version = _versions(partition, codes(rows["value"]))
        count = int(version.max()) + 1
        sure = np.zeros(count, np.bool_)
        sure[version[types == OK]] = True
        placed = np.flatnonzero(rows["offset"].is_valid().to_numpy())
        at = rows["offset"].fill_null(-1).to_numpy()[placed]
        offset = _only(version[placed], at, at, count)
        writer = _only(version[sends], index[sends], np.flatnonzero(sends), count)
        return _Log(rows, run, index, types, sends, partition, version, writer, sure, offset)

    def follows(self) -> tuple[Ints, Ints]:
        """Rows of sends, and of those of the next versions."""
        partition = np.zeros(len(self.offset), np.int64)
        partition[self.version] = self.partition
        ordered = np.flatnonzero(self.offset >= 0)
        ordered = ordered[np.lexsort((self.offset[ordered], partition[ordered]))]
        same = ~_first(partition[ordered], self.offset[ordered])
        same[:-1] |= same[1:]
        ordered = ordered[~same & (self.writer[ordered] >= 0)]
        together = partition[ordered[:-1]] == partition[ordered[1:]]
        row = self.writer[ordered]
        return row[:-1][together], row[1:][together]

    def polls(self) -> tuple[Ints, Ints]:
        """Rows of sends, and of polls of their values."""
        polls = np.flatnonzero(~self.sends & (self.type != FAIL))
        writer = self.writer[self.version[polls]]
        return writer[writer >= 0], polls[writer >= 0]

    def proven(self) -> tuple[Ints, Ints]:
        sends = np.flatnonzero(self.sends & (self.type != OK) & self.certain[self.version])
        return sends, sends

    def table(self, kind: int, a: Ints, b: Ints) -> pa.Table:
        """Edges between the operations of rows; none from a completed one to itself."""
        kept = (self.index[a] != self.index[b]) | (self.type[a] != OK)
        offset = self.offset[self.version]
        if kind == WR:
            # Of an edge that is there again and again, that of the least offset is always kept.
            kept &= _first(self.index[a], self.index[b], self.partition[a]) | _falls(
                _late(offset[a])
            )
        a, b = a[kept], b[kept]
        of = pa.array(a)
        columns = {
            "run": self.rows["run"].take(of),
            "kind": pa.array(np.full(len(a), kind, np.int8)),
            "a": pa.array(self.index[a]),
            "b": pa.array(self.index[b]),
            "key": self.rows["key"].take(of),
            "offset": pa.array(offset[a], mask=offset[a] < 0),
            "next": pa.array(offset[b], mask=(offset[b] < 0) | (kind != WW)),
        }
        return pa.table(columns).cast(EDGES)


def _first(*columns: Ints) -> Mask:
    """Rows that are not like the one before."""
    first = np.zeros(len(columns[0]), np.bool_)
    first[:1] = True
    for column in columns:
        first[1:] |= column[1:] != column[:-1]
    return first


def _falls(numbers: Ints) -> Mask:
    falls = np.zeros(len(numbers), np.bool_)
    falls[1:] = numbers[1:] < numbers[:-1]
    return falls


def _late(offset: Ints) -> Ints:
    """Offsets that are not known come last."""
    return np.where(offset < 0, np.iinfo(np.int64).max, offset)


def _versions(partition: Ints, value: Ints) -> Ints:
    """Numbers from 0 for the values of partitions."""
    where = np.empty(int(value.max()) + 1, np.int64)
    where[value] = partition
    return value if (where[value] == partition).all() else _pairs(partition, value)


def _pairs(a: Ints, b: Ints) -> Ints:
    """Numbers from 0 for the pairs."""
    return codes(pa.chunked_array([a * (int(b.max()) + 1) + b]))


def _only(group: Ints, value: Ints, reported: Ints, count: int) -> Ints:
    """By group: what is `reported` of a row if all rows of the group have one value; else -1."""
    found = np.full(count, -1, np.int64)
    values = np.zeros(count, np.int64)
    found[group] = reported
    values[group] = value
    found[group[values[group] != value]] = -1
    return found
