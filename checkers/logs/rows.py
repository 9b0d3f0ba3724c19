"""Operations on a log as one flat table: a row for each record that an operation sent or polled,
and for each other fact that it showed about a partition.

The forms of histories that are read: docs/checking.md. All by columns, `BATCH` operations at a
time; the JSON of values is read where it lies.
"""

import json
from collections.abc import Iterator
from enum import IntEnum, IntFlag
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from checkers.logs.records import POLLED, Found, micro_operations, records
from checkers.logs.row_columns import (
    NAME,
    absent,
    arrow,
    codes,
    dictionary,
    integers_of,
    offsets,
    or_null,
    places,
    prefixed,
)
from framework.errors import UsageError
from framework.history.json_columns import Texts, integers, items, members, texts, unquoted
from framework.history.json_walk import NONE, Ints, N

BATCH: Final = 1 << 17


class Kind(IntEnum):
    """What a row says."""

    SEND = 0
    """`value` was sent to `key`; it stands at `offset`, if that is known."""
    POLL = 1
    """`value` was polled from `offset` of `key`. `epoch`: of the leader who wrote it."""
    FETCH = 2
    """A consumer that says where it is asked from `offset`, and is at `until` after it. The
    answer's `watermark`, and the `epoch` of the leader that gave it."""
    SEEK = 3
    """Such a consumer goes to `offset`."""
    START = 4
    """The log was seen to begin at `offset`."""
    ASSIGN = 5
    """The client polls the assigned keys from now on; a row for each, and one without a key."""
    SUBSCRIBE = 6
    """As `ASSIGN`, but others decide which of the keys."""
    LAST = 7
    """The last poll of a client within the table that this one was made from (where operations are
    scattered: each of them); no key. `offset`: how many polls there are in it since the client was
    assigned anew; `until`: 1 where this one was answered, else 0."""
    COMMIT = 8
    """`group` committed `offset`, in the generation `epoch`; null: what it had was deleted."""
    COMMITTED = 9
    """`group` was told that `offset` was the one committed (null: none)."""
    OWN = 10
    """The client owns the key in the generation `epoch` of `group`."""
    JOIN = 11
    """The client joined `group` in the generation `epoch`; no key."""


class Flag(IntFlag):
    PROMISED = 1
    """An acknowledgement of this send says that the value stays at its offset."""
    MAY_REPEAT = 2
    """The producer may have written this value twice."""
    FINAL = 4
    """Of the final phase."""
    REBALANCED = 8
    """The key changed hands during the operation."""
    FROM_BEGINNING = 16
    """The client goes to the beginning of what it is assigned."""
    AMONG = 32
    """The operation sends to several keys."""
    SUBSCRIBES = 64
    """Of a transaction: the client's consumer is one that assigns or subscribes, not one that says
    where it is."""


_FIRST: Final = "watermark_first"
TYPES: Final = ("ok", "info", "fail")
OK, INFO, FAIL = 0, 1, 2
ROWS: Final = pa.schema(
    {
        "run": NAME,
        "index": pa.int64(),
        "end": pa.int64(),
        "client": NAME,
        "type": pa.int8(),
        "kind": pa.int8(),
        "place": pa.int32(),
        "key": NAME,
        "offset": pa.int64(),
        "value": pa.string(),
        "flags": pa.int8(),
        "epoch": pa.int64(),
        "watermark": pa.int64(),
        "until": pa.int64(),
        "group": NAME,
        "node": NAME,
        "invoked_ns": pa.int64(),
        "completed_ns": pa.int64(),
        "previous_ns": pa.int64(),
    }
)
"""`index`, `end`: of the operation, where it was invoked and completed (null: never). `client`:
"process 3", or "consumer a". `type`: OK, INFO or FAIL. `place`: which of the operation's rows.
`value`: its JSON text. `previous_ns`: when the client's last poll before this operation was
invoked, if it is of the same table. Null: not known, or not for this kind."""

TRANSACTIONS: Final = ("send", "poll", "txn")
SUBSCRIPTIONS: Final = ("assign", "subscribe")
SINGLE: Final = ("produce", "fetch", "seek")
GROUPS: Final = ("commit", "committed", "forget", "join")
FS: Final = (*TRANSACTIONS, *SUBSCRIPTIONS, *SINGLE, *GROUPS)


def rows(operations: pa.Table, *, scattered: bool = False) -> pa.Table:
    """The `ROWS` of a table of operations (`framework.checking.runs.OPERATIONS`), which are whole
    histories or the parts of histories from one index to another; `scattered`: or any operations of
    them. In no order.

    Raises `Malformed` for an operation whose value is not of its form.
    """
    known = operations.filter(pc.is_in(operations.column("f"), pa.array(FS)))
    if not known.num_rows:
        return ROWS.empty_table()
    previous, last = _polls(known, scattered)
    parts, wrong = [last], list[Malformed]()
    for begin in range(0, known.num_rows, BATCH):
        batch = _Batch(known.slice(begin, BATCH), previous[begin : begin + BATCH])
        parts += batch.parts()
        wrong += batch.wrong
    if wrong:
        raise min(wrong, key=lambda each: (each.run, each.index))
    return pa.concat_tables(parts).unify_dictionaries()


def key_text(key: Any) -> str:
    """A key as it stands in the rows."""
    return key if isinstance(key, str) else json.dumps(key, sort_keys=True, separators=(",", ":"))


class Malformed(UsageError):
    """Operation `index` of a run is not of its form."""

    def __init__(self, run: str, index: int, why: str) -> None:
        super().__init__(f"index {index}: {why}")
        self.run, self.index, self.why = run, index, why


class _Batch:
    """Some operations, by columns."""

    def __init__(self, table: pa.Table, previous: Ints) -> None:
        self.table = table.combine_chunks()
        self.previous = previous
        self.wrong: list[Malformed] = []
        self.f = pc.index_in(self.table.column("f"), pa.array(FS)).to_numpy()
        self.index = integers_of(self.table, "index")
        end = integers_of(self.table, "end")
        code = pc.index_in(self.table.column("type"), pa.array(TYPES)).fill_null(INFO).to_numpy()
        self.type = np.where(end == NONE, INFO, code).astype(np.int8)
        self.final = pc.equal(self.table.column("phase"), "final").fill_null(False).to_numpy()

    def parts(self) -> Iterator[pa.Table]:
        for f, part in _PARTS.items():
            at = np.flatnonzero(self.f == FS.index(f))
            if not len(at):
                continue
            try:
                yield from part(self, at)
            except Malformed as error:
                self.wrong.append(error)

    def text(self, name: str, at: Ints) -> Texts:
        return texts(self.table.column(name).take(pa.array(at)))

    def results(self, at: Ints) -> Texts:
        """What the operations returned, or were asked to do where they returned nothing."""
        returned, asked = self.text("result", at), self.text("value", at)
        size = returned.end - returned.begin
        some = size > 0
        some[size == 4] = returned.data[returned.begin[size == 4]] != N
        return returned.where(some, asked)

    @cached_property
    def processes(self) -> pa.DictionaryArray:
        return prefixed("process ", dictionary(self.table.column("process")))

    def rows(self, kind: int | Ints, at: Ints, **columns: Any) -> pa.Table:
        """Rows of the operations `at`; columns that are not given are null."""
        count = len(at)
        taken = pa.array(at)
        flags = columns.pop("flags", np.zeros(count, np.int8))
        made: dict[str, Any] = {
            "run": dictionary(self.table.column("run")).take(taken),
            "index": self.index[at],
            "end": self.table.column("end").take(taken),
            "client": self.processes.take(taken) if "client" not in columns else None,
            "type": self.type[at],
            "kind": np.broadcast_to(np.asarray(kind, np.int8), count),
            "place": np.zeros(count, np.int32),
            "flags": (flags | np.where(self.final[at], Flag.FINAL, 0)).astype(np.int8),
            "invoked_ns": self.table.column("invoked_ns").take(taken),
            "completed_ns": self.table.column("completed_ns").take(taken),
            **columns,
        }
        return pa.table([arrow(made.get(field.name), field, count) for field in ROWS], ROWS)

    def keys(self, at: Ints) -> pa.DictionaryArray:
        """The operations' own keys."""
        return unquoted(self.text("key", at)).arrow().dictionary_encode()

    def need(self, wrong: NDArray[np.bool_], at: Ints, column: str, form: str) -> None:
        """Raises `Malformed` where something is wrong."""
        if wrong.any():
            first = at[np.flatnonzero(wrong)[0]]
            reported = self.table.column(column)[int(first)].as_py() or "null"
            if reported == "null":
                column, reported = "value", self.table.column("value")[int(first)].as_py()
            raise Malformed(
                self.table.column("run")[int(first)].as_py(),
                int(self.index[first]),
                f"the {column} of {FS[self.f[first]]!r} is {reported[:80]}; it has to be {form}",
            )


def _transactions(batch: _Batch, at: Ints) -> Iterator[pa.Table]:
    results = batch.results(at)
    found = micro_operations(results)
    form = '[["send", key, [offset, value]], ["poll", {key: [[offset, value], ...]}], ...]'
    batch.need(found.wrong, at, "result", form)
    of = at[found.row]
    key = unquoted(found.key).arrow().dictionary_encode()
    flags = np.where(found.kind == POLLED, 0, Flag.PROMISED) | Flag.SUBSCRIBES
    flags |= np.where(_among(found, key), Flag.AMONG, 0)
    yield batch.rows(
        np.where(found.kind == POLLED, Kind.POLL, Kind.SEND),
        of,
        place=places(found.row),
        key=key,
        offset=offsets(found.offset),
        value=found.value.arrow(),
        flags=flags | np.where(_rebalanced(batch, at, found, key), Flag.REBALANCED, 0),
        previous_ns=batch.previous[of],
    )


def _among(found: Found, key: pa.DictionaryArray) -> NDArray[np.bool_]:
    """Whether a record is sent by an operation that sends to another key, too."""
    sends = np.flatnonzero(found.kind != POLLED)
    row, code = found.row[sends], key.indices.to_numpy()[sends]
    differs = np.zeros(len(sends) + 1, np.bool_)
    differs[1:-1] = (row[1:] == row[:-1]) & (code[1:] != code[:-1])
    made = np.zeros(len(found.row), np.bool_)
    made[sends] = np.isin(row, row[differs[:-1]])
    return made


def _rebalanced(
    batch: _Batch, at: Ints, found: Found, key: pa.DictionaryArray
) -> NDArray[np.bool_]:
    """Whether the rebalance log of a record's operation names its key. There are few such logs."""
    made = np.zeros(len(found.row), np.bool_)
    ext = batch.table.column("ext").take(pa.array(at))
    logged = pc.match_substring(ext, "rebalance-log").fill_null(False).to_numpy()
    for row in np.flatnonzero(logged):
        log = json.loads(ext[int(row)].as_py()).get("rebalance-log") or ()
        named = {key_text(each) for event in log for each in event.get("keys") or ()}
        first, last = np.searchsorted(found.row, [row, row + 1])
        for place in range(first, last):
            made[place] = key[place].as_py() in named
    return made


def _subscriptions(kind: Kind, batch: _Batch, at: Ints) -> Iterator[pa.Table]:
    at = at[batch.type[at] != FAIL]
    row, keys, wrong = items(batch.results(at))
    batch.need(wrong, at, "result", "a list of keys")
    reported = members(batch.text("ext", at), ("seek-to-beginning", "seek-to-beginning?"))
    begins = [pc.equal(each.arrow(), "true").fill_null(False) for each in reported.values()]
    flags = np.where(pc.or_(*begins).to_numpy(False), Flag.FROM_BEGINNING, 0)
    yield batch.rows(kind, at, flags=flags, previous_ns=batch.previous[at])
    yield batch.rows(
        kind,
        at[row],
        place=places(row) + 1,
        key=unquoted(keys).arrow().dictionary_encode(),
        flags=flags[row],
        previous_ns=batch.previous[at[row]],
    )


def _produces(batch: _Batch, at: Ints) -> Iterator[pa.Table]:
    asked = members(batch.text("value", at), ("value", "acks", "idempotent"))
    batch.need(absent(asked["value"]), at, "value", '{"value": ..., "acks": ...}')
    answered = members(batch.text("result", at), ("offset",))
    acks = unquoted(asked["acks"]).arrow()
    once = pc.not_equal(asked["idempotent"].arrow(), "false").fill_null(True).to_numpy(False)
    promised = pc.is_in(acks, pa.array(["all", "-1", None])).to_numpy(False)
    yield batch.rows(
        Kind.SEND,
        at,
        key=batch.keys(at),
        offset=offsets(integers(answered["offset"])),
        value=asked["value"].arrow(),
        flags=np.where(promised, Flag.PROMISED, 0) | np.where(once, 0, Flag.MAY_REPEAT),
    )


def _fetches(batch: _Batch, at: Ints) -> Iterator[pa.Table]:
    at = at[batch.type[at] == OK]
    asked = members(batch.text("value", at), ("consumer", "from"))
    names = ("records", "position", "high_watermark", "log_start", "leader_epoch", _FIRST)
    reported = members(batch.text("result", at), names)
    found = records(reported["records"])
    batch.need(
        found.wrong | absent(reported["records"]),
        at,
        "result",
        '{"records": [[offset, value], ...], ...}',
    )
    client = _clients("consumer ", asked["consumer"], batch, at)
    keys, watermark = batch.keys(at), integers(reported["high_watermark"])
    covers = absent(reported[_FIRST])
    begin = integers(asked["from"])
    after = begin.copy()
    np.maximum.at(after, found.row, found.offset + 1)
    position = integers(reported["position"])
    yield batch.rows(
        Kind.FETCH,
        at,
        place=np.zeros(len(at), np.int32),
        client=client,
        key=keys,
        offset=offsets(begin),
        epoch=or_null(integers(reported["leader_epoch"])),
        watermark=or_null(watermark),
        until=or_null(np.where(position == NONE, after, position)),
        node=dictionary(batch.table.column("node").take(pa.array(at))),
    )
    of = pa.array(found.row)
    yield batch.rows(
        Kind.POLL,
        at[found.row],
        place=places(found.row) + 1,
        client=client.take(of),
        key=keys.take(of),
        offset=offsets(found.offset),
        value=found.value.arrow(),
        epoch=or_null(found.epoch),
        # One that was read before the records need not cover them.
        watermark=or_null(np.where(covers, watermark, NONE)[found.row]),
    )
    start = integers(reported["log_start"])
    late = np.flatnonzero(start > 0)
    if len(late):
        yield batch.rows(
            Kind.START, at[late], key=keys.take(pa.array(late)), offset=offsets(start[late])
        )


def _seeks(batch: _Batch, at: Ints) -> Iterator[pa.Table]:
    at = at[batch.type[at] != FAIL]
    asked = members(batch.text("value", at), ("consumer", "to"))
    client = _clients("consumer ", asked["consumer"], batch, at)
    offset = offsets(integers(asked["to"]))
    yield batch.rows(Kind.SEEK, at, key=batch.keys(at), client=client, offset=offset)


def _commits(batch: _Batch, at: Ints) -> Iterator[pa.Table]:
    asked = members(batch.text("value", at), ("group", "member", "generation", "offset"))
    wrong = absent(asked["group"]) | (integers(asked["offset"]) == NONE)
    batch.need(wrong, at, "value", '{"group": ..., "offset": ...}')
    yield batch.rows(
        Kind.COMMIT,
        at,
        client=_clients("member ", asked["member"], batch, at),
        key=batch.keys(at),
        group=unquoted(asked["group"]).arrow().dictionary_encode(),
        epoch=or_null(integers(asked["generation"])),
        offset=offsets(integers(asked["offset"])),
    )


def _forgets(batch: _Batch, at: Ints) -> Iterator[pa.Table]:
    asked = members(batch.text("value", at), ("group",))
    batch.need(absent(asked["group"]), at, "value", '{"group": ...}')
    group = unquoted(asked["group"]).arrow().dictionary_encode()
    yield batch.rows(Kind.COMMIT, at, key=batch.keys(at), group=group)


def _committed(batch: _Batch, at: Ints) -> Iterator[pa.Table]:
    at = at[batch.type[at] == OK]
    asked = members(batch.text("value", at), ("group",))
    batch.need(absent(asked["group"]), at, "value", '{"group": ...}')
    reported = members(batch.text("result", at), ("offset",))
    yield batch.rows(
        Kind.COMMITTED,
        at,
        key=batch.keys(at),
        group=unquoted(asked["group"]).arrow().dictionary_encode(),
        offset=offsets(integers(reported["offset"])),
    )


def _joins(batch: _Batch, at: Ints) -> Iterator[pa.Table]:
    at = at[batch.type[at] == OK]
    asked = members(batch.text("value", at), ("group", "member"))
    reported = members(batch.text("result", at), ("generation", "assigned"))
    row, keys, wrong = items(reported["assigned"])
    wrong |= integers(reported["generation"]) == NONE
    batch.need(wrong, at, "result", '{"generation": ..., "assigned": [key, ...]}')
    batch.need(absent(asked["group"]), at, "value", '{"group": ..., "member": ...}')
    client = _clients("member ", asked["member"], batch, at)
    group = unquoted(asked["group"]).arrow().dictionary_encode()
    generation = integers(reported["generation"])
    yield batch.rows(Kind.JOIN, at, client=client, group=group, epoch=or_null(generation))
    of = pa.array(row)
    yield batch.rows(
        Kind.OWN,
        at[row],
        place=places(row) + 1,
        client=client.take(of),
        key=unquoted(keys).arrow().dictionary_encode(),
        group=group.take(of),
        epoch=or_null(generation[row]),
    )


def _assigns(batch: _Batch, at: Ints) -> Iterator[pa.Table]:
    return _subscriptions(Kind.ASSIGN, batch, at)


def _subscribes(batch: _Batch, at: Ints) -> Iterator[pa.Table]:
    return _subscriptions(Kind.SUBSCRIBE, batch, at)


_PARTS: Final = {
    **dict.fromkeys(TRANSACTIONS, _transactions),
    "assign": _assigns,
    "subscribe": _subscribes,
    "produce": _produces,
    "fetch": _fetches,
    "seek": _seeks,
    "commit": _commits,
    "committed": _committed,
    "forget": _forgets,
    "join": _joins,
}


# --- polls of one client, one after the other ---------------------------------------------


def _polls(operations: pa.Table, scattered: bool) -> tuple[Ints, pa.Table]:
    """For each operation when its client's last poll before it was invoked, and the `LAST` rows.

    Only of consumers that assign or subscribe; others tell where they are.
    """
    count = operations.num_rows
    fs = pa.array([*TRANSACTIONS[1:], *SUBSCRIPTIONS])
    at = np.flatnonzero(pc.is_in(operations.column("f"), fs).to_numpy())
    previous = np.full(count, NONE, np.int64)
    if not len(at):
        return previous, ROWS.empty_table()
    chosen = operations.take(pa.array(at))
    client = codes(chosen.column("run")) << 32 | codes(chosen.column("process"))
    index, invoked = integers_of(chosen, "index"), integers_of(chosen, "invoked_ns")
    asks = pc.match_substring(chosen.column("value"), '"poll"').fill_null(False)
    polls = pc.and_(asks, pc.equal(chosen.column("type"), "ok")).fill_null(False).to_numpy()
    anew = pc.is_in(chosen.column("f"), pa.array(SUBSCRIPTIONS)).to_numpy()
    anew &= pc.not_equal(chosen.column("type"), "fail").fill_null(True).to_numpy()
    order = np.lexsort((index, client))
    client, polls, invoked, anew = client[order], polls[order], invoked[order], anew[order]
    place = np.arange(len(order))
    latest = np.maximum.accumulate(np.where(polls, place, -1))
    first = np.searchsorted(client, client)  # of the same client
    before = np.concatenate([[-1], latest[:-1]])
    has = before >= first
    made = np.full(len(order), NONE, np.int64)
    made[has] = invoked[before[has]]
    previous[at[order]] = made
    ends = np.flatnonzero(np.append(client[1:] != client[:-1], True))
    last = np.flatnonzero(polls) if scattered else latest[ends[latest[ends] >= first[ends]]]
    batch = _Batch(chosen.take(pa.array(order[last])), made)
    answered = pc.match_substring_regex(batch.table.column("result"), r'"poll",\s*\{')
    so_far, since = np.cumsum(polls), np.maximum.accumulate(np.where(anew, place, first))
    count = so_far[last] - so_far[since[last]] + polls[since[last]]
    return previous, batch.rows(
        Kind.LAST,
        np.arange(len(last)),
        offset=np.ones(len(last), np.int64) if scattered else count,
        until=answered.fill_null(False).to_numpy(),
    )


def _clients(prefix: str, names: Texts, batch: _Batch, at: Ints) -> pa.DictionaryArray:
    """The named clients; the process where there is no name."""
    named = prefixed(prefix, unquoted(names).arrow().dictionary_encode())
    if not named.null_count:
        return named
    processes = batch.processes.take(pa.array(at)).cast(pa.string())
    return pc.coalesce(named.cast(pa.string()), processes).dictionary_encode()
