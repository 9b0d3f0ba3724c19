"""What clients asked for and what came of it, as arrays: 42 bytes an operation.

Of texts - keys, values, what an answer asserts - no more is kept than what rules over all
operations ask of them. The rest is read piece by piece, and let go.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from checkers.folds.history.operations import (
    ACKS,
    JOIN,
    WAITS_ON,
    of_a_zombie,
    on_demand,
    produce_with,
)
from framework.history.columns import OPERATIONS
from framework.history.event import asserted
from framework.history.rows import OperationRows
from framework.plugins.outcomes import CONNECTION_FAILED, OF_NO_NODE, OF_THE_ASKER

Flags: TypeAlias = npt.NDArray[np.bool_]
Numbers: TypeAlias = npt.NDArray[np.int32]
Times: TypeAlias = npt.NDArray[np.int64]
Places: TypeAlias = npt.NDArray[np.intp]

COLUMNS: Final = (
    *("f", "type", "end", "node", "key", "value", "ext", "error_code"),
    *("invoked_ns", "completed_ns", "phase"),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """Operations that were invoked at a known time, in the order of their ends. What is made on
    demand is a kind of its own, and so are produces by their acks; members that wait on to be told
    what to read are joining.

    fs, nodes, keys: texts, sorted; `f`, `node` (-1: it does not say), `key` (-1: nobody asked for
        it) are their places. Keys are as `str` has them.
    place: where an operation is among all.
    began_ns, ended_ns: since the run began; of one whose end has no time, the `end_ns` of all: the
        last time that any has.
    timed: its end has a time. ok, failed, main, zombie: as of `Operation`, and `is_zombie`.
    done: it was done, or answered by what is: that it exists already, say.
    unfit: it was answered that the asker is not the one to ask.
    heard: a node answered, whatever it said. refused: that it does not do it, and never will.
    unmet: none took the connection.
    """

    fs: Sequence[str]
    nodes: Sequence[str]
    keys: Sequence[str]
    end_ns: int
    place: Numbers
    f: Numbers
    node: Numbers
    key: Numbers
    began_ns: Times
    ended_ns: Times
    timed: Flags
    ok: Flags
    failed: Flags
    main: Flags
    zombie: Flags
    done: Flags
    unfit: Flags
    heard: Flags
    unmet: Flags
    refused: Flags

    def __len__(self) -> int:
        return len(self.place)

    def are(self, fs: Iterable[str]) -> Flags:
        """Which are of these kinds."""
        wanted = set(fs)
        chosen: Flags = np.array([each in wanted for each in self.fs], np.bool_)[self.f]
        return chosen

    def ended_within(self, since_ns: int, until_ns: int) -> slice:
        """Those that ended from one moment to another, both included."""
        first = np.searchsorted(self.ended_ns, since_ns)
        return slice(first, np.searchsorted(self.ended_ns, until_ns, side="right"))

    def counted(self, chosen: Flags) -> dict[str, int]:
        """By kind, of some of them, if any."""
        counts = np.bincount(self.f[chosen], minlength=len(self.fs)).tolist()
        return {f: count for f, count in zip(self.fs, counts, strict=True) if count}


def grouped(own: Places, numbers: Numbers) -> Iterator[tuple[int, Places]]:
    """By number, which are neighbours then, in their order: some of all, by place in `numbers`."""
    if not len(own):
        return
    ordered = own[np.argsort(numbers[own], kind="stable")]
    which = numbers[ordered]
    for part in np.split(ordered, np.flatnonzero(which[1:] != which[:-1]) + 1):
        yield int(numbers[part[0]]), part


def asked_of(rows: OperationRows, keys_of: Sequence[str]) -> Asked:
    """`keys_of`: kinds of operations whose keys are wanted."""
    names = _Names()
    first, pieces = 0, [_piece(OPERATIONS.empty_table(), 0, names, keys_of)]
    for table in rows.columns(COLUMNS):
        pieces.append(_piece(table, first, names, keys_of))
        first += len(table)
    return _put_together(names, pieces)


# --- piece by piece -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Names:
    """Texts by their numbers, in the order in which they were met."""

    fs: dict[str, int] = field(default_factory=dict)
    nodes: dict[str, int] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)


_Piece: TypeAlias = dict[str, npt.NDArray[Any]]
"""Columns of `Asked`; `ended_ns` is 0 where it is not timed."""


def _piece(table: pa.Table, first: int, names: _Names, keys_of: Sequence[str]) -> _Piece:
    place = np.flatnonzero(np.asarray(table.column("invoked_ns").is_valid()))
    if len(place) < len(table):
        table = table.take(pa.array(place))
    columns = {name: table.column(name).combine_chunks() for name in COLUMNS}
    ended = np.asarray(columns["end"].is_valid())
    ok = _is_one_of(columns["type"], ["ok"]) & ended
    failed = _is_one_of(columns["type"], ["fail"])
    silent = _is_one_of(columns["error_code"], OF_NO_NODE)
    unfit = _flagged(columns["ext"], "asserts", lambda ext: asserted(ext) in OF_THE_ASKER)
    said = _flagged(columns["ext"], "asserts", lambda ext: asserted(ext) is not None)
    return {
        "place": (place + first).astype(np.int32),
        "f": _numbered(_kinds(columns["f"], columns["value"]), names.fs),
        "node": _numbered(columns["node"], names.nodes),
        "key": _keys(columns["key"], _is_one_of(columns["f"], keys_of), names.keys),
        "began_ns": _integers(columns["invoked_ns"]),
        "ended_ns": _integers(columns["completed_ns"]),
        "timed": np.asarray(columns["completed_ns"].is_valid()),
        "ok": ok,
        "failed": failed,
        "main": _is_one_of(columns["phase"], ["main"]),
        "zombie": _flagged(columns["value"], "zombie", of_a_zombie),
        "done": ok | (said & ~unfit),
        "unfit": unfit,
        "heard": ended & ~silent,
        "unmet": _is_one_of(columns["error_code"], [CONNECTION_FAILED]),
        "refused": failed & ~silent,
    }


def _is_one_of(column: pa.Array, texts: Iterable[str]) -> Flags:
    """Null is none."""
    wanted = pa.array(sorted(texts), pa.string())
    return np.asarray(pc.is_in(column, value_set=wanted))


def _kinds(fs: pa.Array, values: pa.Array) -> pa.Array:
    """Each by itself succeeds or does not: whoever makes all that it is asked for may still make
    nothing on demand, and who acknowledges for itself nothing for all. A member that waits on for
    what it joined to get still asks for that."""
    apart = _flagged(values, "on_demand", on_demand)
    kinds = pc.if_else(apart, pc.binary_join_element_wise(fs, "on demand", " "), fs)
    waits_on = pc.equal(fs, WAITS_ON).fill_null(False)
    kinds = pc.if_else(waits_on, JOIN, kinds)
    produces = pc.equal(fs, "produce").fill_null(False)
    for acks in ACKS:
        own = pc.match_substring(values, f'"acks":"{acks}"').fill_null(False)
        kinds = pc.if_else(pc.and_(produces, own), produce_with(acks), kinds)
    return kinds


def _integers(column: pa.Array) -> Times:
    """0 where there is none."""
    return np.asarray(column.fill_null(0), np.int64)


def _numbered(column: pa.Array, known: dict[str, int]) -> Numbers:
    """-1 where there is none."""
    coded = column.dictionary_encode()
    number = [known.setdefault(text, len(known)) for text in coded.dictionary.to_pylist()]
    numbers = np.array([*number, -1], np.int32)
    found: Numbers = numbers[np.asarray(coded.indices.fill_null(len(number)))]
    return found


def _flagged(column: pa.Array, name: str, holds: Callable[[Any], bool]) -> Flags:
    """Where something holds of the JSON, which it does of none without a member of that name. Few
    have one: the others are not parsed. Texts are canonical: a name is spelled in one way."""
    found = np.zeros(len(column), np.bool_)
    named = pc.match_substring(column, f'"{name}"').fill_null(False)
    own = column.filter(named).dictionary_encode()
    held = np.array([holds(json.loads(text)) for text in own.dictionary.to_pylist()], np.bool_)
    found[np.asarray(named)] = held[np.asarray(own.indices)]
    return found


def _keys(column: pa.Array, wanted: Flags, known: dict[str, int]) -> Numbers:
    """By their texts for people, of those that are wanted."""
    numbers = np.full(len(column), -1, np.int32)
    own = column.filter(pa.array(wanted)).fill_null("null").dictionary_encode()
    names = [str(json.loads(text)) for text in own.dictionary.to_pylist()]
    number = [known.setdefault(name, len(known)) for name in names]
    numbers[wanted] = np.array(number, np.int32)[np.asarray(own.indices)]
    return numbers


# --- and together -------------------------------------------------------------------------


def _put_together(names: _Names, pieces: Sequence[_Piece]) -> Asked:
    """The pieces are used up: no column but one is there twice at a time."""
    columns = {
        name: np.concatenate([piece.pop(name) for piece in pieces]) for name in list(pieces[0])
    }
    for name, known in (("f", names.fs), ("node", names.nodes), ("key", names.keys)):
        columns[name] = _ranks(known)[columns[name]]
    began_ns, ended_ns, timed = (columns[name] for name in ("began_ns", "ended_ns", "timed"))
    known_ns = np.where(timed & (ended_ns != 0), ended_ns, began_ns)
    end_ns = int(known_ns.max()) if len(known_ns) else 0
    ended_ns[~timed] = end_ns
    order = np.argsort(ended_ns, kind="stable")
    for name in columns:
        columns[name] = columns[name][order]
    fs, nodes, keys = (sorted(known) for known in (names.fs, names.nodes, names.keys))
    return Asked(fs=fs, nodes=nodes, keys=keys, end_ns=end_ns, **columns)


def _ranks(known: dict[str, int]) -> Numbers:
    """Of each number that a text was given its place among all of them, sorted; of -1 itself."""
    ranks = np.full(len(known) + 1, -1, np.int32)
    for rank, text in enumerate(sorted(known)):
        ranks[known[text]] = rank
    return ranks
