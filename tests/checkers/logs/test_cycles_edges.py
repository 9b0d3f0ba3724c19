"""Dependencies of operations are what the definitions say, of any rows of any runs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from checkers.logs.cycles_edges import (
    COUNTS,
    EDGES,
    PROVEN,
    VERTICES,
    WR,
    WW,
    codes,
    completed,
    edges,
    overlapping,
    stitched,
    vertices,
)
from checkers.logs.cycles_windows import LEAN, NEVER
from checkers.logs.rows import FAIL, INFO, OK, ROWS, Flag, Kind

Version = tuple[str, str, str]
"""(run, key, value)."""
Edge = tuple[str, int, int, str, int | None, int | None]
"""(run, a, b, key, offset, next)."""


@dataclass(frozen=True)
class Row:
    """Of an operation: it sent or polled something."""

    run: str
    index: int
    end: int | None
    type: int
    kind: Kind
    key: str
    offset: int | None
    value: str | None
    place: int = 0
    flags: int = int(Flag.SUBSCRIBES)

    @property
    def version(self) -> Version:
        assert self.value is not None
        return self.run, self.key, self.value


def table(rows: Sequence[Row]) -> pa.Table:
    empty = dict.fromkeys(ROWS.names)
    made = [
        empty
        | {name: getattr(row, name) for name in Row.__dataclass_fields__}
        | {"kind": int(row.kind), "client": f"process {row.index % 3}"}
        for row in rows
    ]
    return pa.Table.from_pylist(made, ROWS) if made else ROWS.empty_table()


def operation(random: Random, run: str, index: int) -> Iterator[Row]:
    """A transaction, a single send, or a fetch, which has a row before its records."""
    end = random.choice((index + 1, index + 7, index + 15))
    type_ = random.choice((OK, OK, OK, INFO, INFO, FAIL))
    last = end if type_ != INFO or random.random() < 0.5 else None
    kinds = [random.choice((Kind.SEND, Kind.POLL)) for _ in range(random.randint(1, 4))]
    style = random.choice(("txn", "txn", "produce", "fetch"))
    flags = int(Flag.SUBSCRIBES) if style == "txn" else 0
    if style != "txn":
        kinds = [Kind.SEND] if style == "produce" else [Kind.FETCH] + [Kind.POLL] * len(kinds)
    of = random.choice("xy")
    for place, kind in enumerate(kinds):
        key = random.choice("xy") if style == "txn" else of
        number = random.randrange(8)
        value = f"{key if random.random() < 0.8 else ''}{number}"
        offset = random.choice((*[number] * 6, random.randrange(8), None))
        given = None if kind == Kind.FETCH else value
        yield Row(run, index, last, type_, kind, key, offset, given, place, flags)


def histories() -> Iterator[list[Row]]:
    for seed in range(90):
        random = Random(seed)
        made = [
            row
            for index in range(0, 2 * random.randint(2, 8), 2)
            for row in operation(random, "0", index)
        ]
        if seed % 3 == 1:  # another history, in which the same happened
            made += [replace(row, run="1") for row in made]
        elif seed % 3 == 2:
            for index in range(0, 2 * random.randint(1, 4), 2):
                made += operation(random, "1", index)
        if random.random() < 0.5:  # as they come from several parts of a history
            made.sort(key=lambda row: (row.key, row.run))
        yield made


@dataclass(frozen=True)
class Defined:
    """What rows say, by the definitions."""

    rows: Sequence[Row]

    @cached_property
    def records(self) -> list[Row]:
        """What was sent and may stand there, and what was polled."""
        sends = [row for row in self.rows if row.kind == Kind.SEND and row.type != FAIL]
        return sends + [row for row in self.rows if row.kind == Kind.POLL]

    @cached_property
    def writers(self) -> dict[Version, Row]:
        """Of what one operation sent, and no other."""
        sends = [row for row in self.records if row.kind == Kind.SEND]
        of = {row.version: row for row in sends}
        return {
            version: row
            for version, row in of.items()
            if {each.index for each in sends if each.version == version} == {row.index}
        }

    @cached_property
    def offsets(self) -> dict[Version, int]:
        """Of what stands at one offset, and at no other."""
        every: dict[Version, set[int]] = {}
        for row in self.records:
            if row.offset is not None:
                every.setdefault(row.version, set()).add(row.offset)
        return {version: min(some) for version, some in every.items() if len(some) == 1}

    def follows(self) -> list[tuple[Row, Row]]:
        """Of what stands by itself at its offset, and has a sender."""
        offsets, writers = self.offsets, self.writers
        places = [(*version[:2], offset) for version, offset in offsets.items()]
        alone = [
            (*version[:2], offset, writers[version])
            for version, offset in offsets.items()
            if version in writers and places.count((*version[:2], offset)) == 1
        ]
        ordered = sorted(alone, key=lambda each: each[:3])
        return [(a[3], b[3]) for a, b in pairwise(ordered) if a[:2] == b[:2]]

    def polls(self) -> list[tuple[Row, Row]]:
        writers = self.writers
        polls = [row for row in self.records if row.kind == Kind.POLL and row.type != FAIL]
        return [(writers[row.version], row) for row in polls if row.version in writers]

    def proven(self) -> list[Row]:
        sure = {row.version for row in self.records if row.type == OK}
        sends = [row for row in self.records if row.kind == Kind.SEND and row.type == INFO]
        return [row for row in sends if row.version in sure]

    def edge(self, a: Row, b: Row, *, after: bool = False) -> Edge:
        offsets = self.offsets
        behind = offsets.get(b.version) if after else None
        return a.run, a.index, b.index, a.key, offsets.get(a.version), behind


def between(a: Row, b: Row) -> bool:
    """(An operation that took effect for sure does not depend on itself.)"""
    return a.index != b.index or a.type != OK


def of_kind(found: pa.Table, kind: int) -> list[Edge]:
    names = ("run", "a", "b", "key", "offset", "next")
    return [tuple(row[n] for n in names) for row in found.to_pylist() if row["kind"] == kind]


def test_edges_are_what_was_sent_and_polled() -> None:
    counts = {WW: 0, WR: 0, PROVEN: 0}
    for rows in histories():
        defined, found = Defined(rows), edges(table(rows))
        assert found.schema == EDGES
        follows = {defined.edge(a, b, after=True) for a, b in defined.follows() if between(a, b)}
        assert sorted(of_kind(found, WW), key=str) == sorted(follows, key=str)
        polls = {defined.edge(a, b) for a, b in defined.polls() if between(a, b)}
        shown = set(of_kind(found, WR))
        assert shown <= polls
        assert least(shown) == least(polls)
        proven = {defined.edge(row, row) for row in defined.proven()}
        assert set(of_kind(found, PROVEN)) == proven
        for kind in counts:
            counts[kind] += len(of_kind(found, kind))
    assert min(counts.values()) > 10


def least(polls: set[Edge]) -> dict[tuple[Any, ...], int]:
    """Of each run, two operations and key, the least offset; one that is not known comes last."""
    found: dict[tuple[Any, ...], int] = {}
    for *of, offset, _ in polls:
        at = int(NEVER) if offset is None else offset
        found[tuple(of)] = min(found.get(tuple(of), at), at)
    return found


def test_an_edge_that_is_there_again_and_again_is_shown_once() -> None:
    """Where its offsets rise; where they fall each is less than the one before."""

    def row(index: int, kind: Kind, key: str, offset: int | None) -> Row:
        return Row("0", index, index + 1, OK, kind, key, offset, f"{key}{offset}")

    sent = [
        row(0, Kind.SEND, *each) for each in (("x", 0), ("x", 1), ("x", 2), ("y", 0), ("y", None))
    ]
    polled = [("x", 0), ("x", 1), ("x", 2), ("x", 1), ("x", 1), ("y", None), ("y", 0)]
    found = edges(table(sent + [row(2, Kind.POLL, *each) for each in polled]))
    shown = [(key, offset) for *_, key, offset, _ in of_kind(found, WR)]
    assert shown == [("x", 0), ("x", 1), ("y", None), ("y", 0)]


def test_all_that_an_operation_of_unknown_outcome_sent_is_tied() -> None:
    """As each of its values may be what others show."""
    sent = [Row("0", 0, None, INFO, Kind.SEND, "x", each, f"x{each}") for each in range(3)]
    polled = [Row("0", 2, 3, OK, Kind.POLL, "x", each, f"x{each}") for each in (0, 2)]
    found = edges(table(sent + polled))
    assert of_kind(found, WW) == [("0", 0, 0, "x", 0, 1), ("0", 0, 0, "x", 1, 2)]
    assert of_kind(found, PROVEN) == [("0", 0, 0, "x", 0, None), ("0", 0, 0, "x", 2, None)]


def test_edges_of_operations_that_overlap_are_dealt_out() -> None:
    """And of those that contradict real time; with what took effect."""
    several = 0
    for rows in histories():
        defined, found = Defined(rows), overlapping(table(rows))
        assert found.schema == LEAN

        def ends(row: Row) -> int:
            return row.end if row.type == OK and row.end is not None else int(NEVER)

        tied = [
            each for each in defined.follows() + defined.polls() if each[0].index != each[1].index
        ]
        wanted = {
            (int(a.run), a.index, b.index, ends(b)) for a, b in tied if ends(a) >= b.index
        } | {(int(row.run), row.index, row.index, ends(row)) for row in defined.proven()}
        listed = [tuple(row.values()) for row in found.to_pylist()]
        assert set(listed) == wanted
        several += len(wanted)
    assert several > 20


def test_operations_that_completed_are_counted_by_run() -> None:
    """Over all keys each counts once."""
    for rows in histories():
        parts = [[row for row in rows if row.key == key] for key in "xy"]
        found: dict[str, int] = {}
        for part in parts:
            made = completed(table(part))
            assert made.schema == COUNTS
            for row in made.to_pylist():
                found[row["run"]] = found.get(row["run"], 0) + row["operations"]
        records = [row for row in rows if row.kind != Kind.FETCH]
        runs = {row.run for row in records}
        ok = {(row.run, row.index) for row in records if row.type == OK}
        assert found == {run: sum(each == run for each, _ in ok) for run in runs}


def test_vertices_are_operations_that_may_have_sent_or_polled() -> None:
    for rows in histories():
        found = vertices(table(rows))
        assert found.schema == VERTICES
        listed = [tuple(row.values()) for row in found.to_pylist()]
        records = [row for row in rows if row.kind != Kind.FETCH and row.type != FAIL]
        wanted = [
            (row.run, row.index, row.end, f"process {row.index % 3}", row.type) for row in records
        ]
        assert listed == wanted[:1] + [b for a, b in pairwise(wanted) if a[:2] != b[:2]]


def test_what_is_around_values_of_no_effect_is_tied() -> None:
    """Along what is linked: of one key, and without a gap."""
    several = 0
    for seed in range(60):
        random = Random(seed)
        gone = set(random.sample(range(8), 4))
        chains: list[list[tuple[str, int, int]]] = []  # (key, offset, index)
        for key in "xy":
            offsets = sorted(random.sample(range(12), random.randint(1, 7)))
            chains.append([])
            for offset in offsets:
                if random.random() < 0.15:
                    chains.append([])
                chains[-1].append((key, offset, random.randrange(8)))
        rows = [
            {"run": "0", "kind": WW, "a": a, "b": b, "key": key, "offset": at, "next": after}
            for chain in chains
            for (key, at, a), (_, after, b) in pairwise(chain)
        ]
        other = {"run": "0", "kind": WR, "a": 1, "b": 2, "key": "x", "offset": 3, "next": None}
        rows += [other | {"a": each} for each in gone]
        random.shuffle(rows)
        given = pa.Table.from_pylist(rows, EDGES)
        a_gone, b_gone = (np.isin(given[name].to_numpy(), list(gone)) for name in ("a", "b"))
        found = stitched(given, a_gone, b_gone)
        assert found.schema == EDGES
        wanted = []
        for chain in chains:
            there = [n for n, (*_, index) in enumerate(chain) if index not in gone]
            for n, m in pairwise(there):
                (key, at, a), (_, after, b) = chain[n], chain[m]
                wanted += [("0", a, b, key, at, after)] if m > n + 1 else []
        assert sorted(of_kind(found, WW)) == sorted(wanted)
        assert len(found) == len(wanted)
        several += len(wanted)
    assert several > 20


def test_equal_values_have_equal_numbers() -> None:
    column = pa.chunked_array([["b", None], [], ["a", "b"]], pa.string())
    for each in (column, column.dictionary_encode()):
        assert codes(each).tolist() == [0, -1, 1, 0]
    assert codes(pa.chunked_array([], pa.string())).tolist() == []


def test_of_nothing_there_are_no_edges() -> None:
    nothing = ROWS.empty_table()
    assert edges(nothing) == EDGES.empty_table()
    assert overlapping(nothing) == LEAN.empty_table()
    assert vertices(nothing) == VERTICES.empty_table()
    assert completed(nothing) == COUNTS.empty_table()
