"""Circles of dependencies between operations on logs: G0 and G1c, after Adya and Elle.

An operation depends on another

- `ww`: it sent the value that follows one of the other's in the order of a key's offsets;
- `wr`: it polled a value that the other sent;
- `process`: it is the next of the same client;
- `realtime`: it was invoked when the other had completed.

G0 is a circle of ww edges, G1c one of ww and wr edges with a wr edge; `-process` and `-realtime`
are circles that need such edges too. Kafka does not isolate writes, so that G0, and G1c with ww
edges, are what its transactions do: Jepsen allows them, and so does this check. A G1c without a
ww edge is another matter: operations saw each other's uncommitted records. It is fatal where
consumers read committed records only.

Only what took effect counts: operations that completed, and indeterminate ones if a completed one
polled a value of theirs. Values that stand at two offsets, share one, or have two senders have no
order or no sender here; that is for other checks.

Three steps, made to be spread: `edges` from all rows of some keys, `vertices` from any rows,
`search` for a run. The edges of real time are not n^2: completions and invocations hang on one
chain of instants. `search` takes away what is on no circle, in linear time; what is left, hardly
ever anything, is searched for a shortest circle in each strongly connected component.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from checkers.kafka_log.cycles_edges import (
    PROCESS,
    PROVEN,
    REALTIME,
    WR,
    WW,
    Ints,
    Mask,
    codes,
    edges,
    vertices,
)
from checkers.kafka_log.cycles_graph import Graph, components, cycle_through, on_cycles
from checkers.kafka_log.rows import OK

LEVELS: Final = ("", "-process", "-realtime")
MAX_CYCLES: Final = 8
"""Of a name, that are searched for; all are counted."""
MAX_STEPS: Final = 20_000_000
"""Edges that are looked at to make one circle as short as can be."""


@dataclass(frozen=True, slots=True)
class Edge:
    """Operation `b` depends on `a`; `kind`, `key`, `offset`, `next` as in `cycles_edges.EDGES`."""

    a: int
    b: int
    kind: int
    key: str | None = None
    offset: int | None = None
    next: int | None = None


@dataclass(frozen=True, slots=True)
class Cycle:
    """Operations that all depend on each other, in a circle."""

    name: str
    edges: Sequence[Edge]
    fatal: bool
    """A G1c that needs no ww edge."""
    shortest: bool
    """No circle of this name in its component is shorter."""
    size: int
    """Operations in its component."""

    @property
    def operations(self) -> list[int]:
        return [edge.a for edge in self.edges]


@dataclass(slots=True)
class Cycles:
    """What a run has."""

    cycles: list[Cycle] = field(default_factory=list)
    """One for each of the first `MAX_CYCLES` components of a name."""
    counts: dict[str, int] = field(default_factory=dict)
    """Components by name; "G1c of wr" for those without ww edges."""
    operations: int = 0
    edges: int = 0
    left: int = 0
    """Operations that were left when those on no circle had been taken away."""

    @property
    def fatal(self) -> bool:
        return any(cycle.fatal for cycle in self.cycles)


def cycles(rows: pa.Table) -> Cycles:
    """The circles of one run, from all of its rows."""
    return search(vertices(rows), edges(rows))


def search(vertices: pa.Table, edges: pa.Table, max_steps: int = MAX_STEPS) -> Cycles:
    """The circles of one run, from all its `VERTICES` and `EDGES`, in any order."""
    graph = _Dependencies.of(vertices, edges)
    found = Cycles(operations=len(graph.op), edges=len(graph.kind))
    graph = graph.trimmed()
    found.left = len(graph.op)
    if found.left:
        for family in _FAMILIES:
            _search(graph, family, max_steps, found)
    return found


@dataclass(frozen=True, slots=True)
class _Dependencies:
    """Vertices are operations, by rising index, and after them instants; edges of one row each."""

    op: Ints
    total: int
    """Vertices, instants included."""
    kind: Ints
    source: Ints
    target: Ints
    row: Ints
    """In `table`; -1: an edge of process or real time."""
    table: pa.Table

    @staticmethod
    def of(vertices: pa.Table, table: pa.Table) -> "_Dependencies":
        kinds, a, b = (table[name].to_numpy() for name in ("kind", "a", "b"))
        op, first = np.unique(vertices["op"].to_numpy(), return_index=True)
        completed = vertices["type"].to_numpy()[first] == OK
        proven = np.zeros(len(op), np.bool_)
        proven[_places(op, a[kinds == PROVEN])] = True
        kept = completed | proven
        op, first, completed = op[kept], first[kept], completed[kept]
        end = vertices["end"].fill_null(-1).to_numpy()[first]
        client = codes(vertices["client"])[first]
        begins, ends = _places(op, a), _places(op, b)
        row = np.flatnonzero((kinds != PROVEN) & (begins >= 0) & (ends >= 0))
        data = (kinds[row].astype(np.int64), begins[row], ends[row])
        instants, realtime = _realtime(op, end, completed)
        parts = (data, _process(client, op, end, completed), realtime)
        kind, source, target = (np.concatenate(each) for each in zip(*parts, strict=True))
        rows = np.concatenate((row, np.full(len(kind) - len(row), -1)))
        return _Dependencies(op, len(op) + instants, kind, source, target, rows, table)

    def trimmed(self) -> "_Dependencies":
        """What is on circles or between them, the edges in one order and each once."""
        left = on_cycles(self.total, self.source.astype(np.int32), self.target.astype(np.int32))
        kept = np.flatnonzero(left[self.source] & left[self.target])
        new = np.cumsum(left) - 1
        kind, row = self.kind[kept], self.row[kept]
        source, target = new[self.source[kept]], new[self.target[kept]]
        offset, key = np.full(len(row), -1), np.full(len(row), "", object)
        data = row >= 0
        taken = self.table.take(pa.array(row[data]))
        offset[data] = taken["offset"].fill_null(np.iinfo(np.int64).max).to_numpy()
        key[data] = taken["key"].to_pylist()
        order = np.lexsort((offset, _ranks(key), target, source, kind))
        again = np.zeros(len(order), np.bool_)
        for column in (kind, source, target):
            again[1:] |= column[order[1:]] != column[order[:-1]]
        again[:1] = True
        order = order[again]
        return _Dependencies(
            self.op[left[: len(self.op)]],
            int(left.sum()),
            kind[order],
            source[order],
            target[order],
            row[order],
            self.table,
        )

    def only(self, kinds: Sequence[int]) -> "_Dependencies":
        kept = np.isin(self.kind, kinds)
        return replace(
            self,
            kind=self.kind[kept],
            source=self.source[kept],
            target=self.target[kept],
            row=self.row[kept],
        )

    def graph(self) -> Graph:
        # To the instant of its end is the step of a realtime edge; what follows is free.
        steps = (self.kind != REALTIME) | (self.source < len(self.op))
        return Graph.of(
            self.total,
            self.source.astype(np.int32),
            self.target.astype(np.int32),
            steps.astype(np.int8),
        )


def _ranks(texts: Any) -> Ints:
    return np.unique(texts.astype(str), return_inverse=True)[1]


def _places(op: Ints, wanted: Ints) -> Ints:
    """Where they are among operations in order; -1: nowhere."""
    if not len(op):
        return np.full(len(wanted), -1, np.int64)
    found = np.searchsorted(op, wanted)
    found[found == len(op)] = 0
    return np.where(op[found] == wanted, found, -1)


_Edges = tuple[Ints, Ints, Ints]


def _process(client: Ints, op: Ints, end: Ints, completed: Mask) -> _Edges:
    """From each completed operation to the next of its client."""
    order = np.lexsort((op, client))
    a, b = order[:-1], order[1:]
    follows = (client[a] == client[b]) & completed[a] & (end[a] < op[b])
    return np.full(int(follows.sum()), PROCESS), a[follows], b[follows]


def _realtime(op: Ints, end: Ints, completed: Mask) -> tuple[int, _Edges]:
    """Instants in a chain: one for all completions between two invocations. An operation leads to
    the instant of its completion, an instant to the next and to what is invoked before that. So
    one operation leads to another exactly if it completed before the other was invoked."""
    done = np.flatnonzero(completed)
    invoked = np.searchsorted(op, end[done])
    instants, instant = np.unique(invoked, return_inverse=True)
    latest = np.searchsorted(instants, np.arange(len(op)), side="right") - 1
    after = np.flatnonzero(latest >= 0)
    chain = np.arange(max(len(instants) - 1, 0))
    base = len(op)
    source = np.concatenate((done, base + chain, base + latest[after]))
    target = np.concatenate((base + instant, base + chain + 1, after))
    return len(instants), (np.full(len(source), REALTIME), source, target)


@dataclass(frozen=True, slots=True)
class _Family:
    """Circles by the data edges that they may have. They have at least one of kind `needed`."""

    name: str
    allowed: tuple[int, ...]
    needed: int
    fatal: bool = False

    @property
    def called(self) -> str:
        return "G1c of wr" if self.fatal else self.name


_FAMILIES: Final = (
    _Family("G0", (WW,), WW),
    _Family("G1c", (WR,), WR, fatal=True),
    _Family("G1c", (WW, WR), WR),
)
"""The last is for components where the one before finds nothing."""


def _search(graph: _Dependencies, family: _Family, max_steps: int, found: Cycles) -> None:
    """Adds the circles of a family, each at the lowest level that shows it.

    A component that has no circle of a lower level needs an edge of this level for each of its
    circles; so any circle through a needed edge is one, and a shortest one is easy to find.
    """
    shown = np.zeros(graph.total, np.bool_)
    for level, suffix in enumerate(LEVELS):
        kinds = (*family.allowed, *range(PROCESS, PROCESS + level))
        part = graph.only(kinds)
        whole = part.graph()
        component = components(whole.first, whole.target)
        if len(family.allowed) > 1:
            bare = graph.only([kind for kind in kinds if kind != WW]).graph()
            shown |= components(bare.first, bare.target) >= 0
        of = component[part.source]
        through = np.flatnonzero(
            (part.kind == family.needed) & (of >= 0) & (of == component[part.target])
        )
        having = np.isin(component, of[through]) & (component >= 0)
        through = through[~np.isin(of[through], component[shown & having])]
        shown |= having
        numbers, first = np.unique(of[through], return_index=True)
        if len(numbers):
            found.counts[f"{family.called}{suffix}"] = len(numbers)
        for number in numbers[np.argsort(first)][:MAX_CYCLES]:
            edges, shortest = _shortest(
                part, whole, component, through[of[through] == number], max_steps
            )
            size = int((component[: len(graph.op)] == number).sum())
            found.cycles.append(
                Cycle(f"{family.name}{suffix}", edges, family.fatal, shortest, size)
            )


def _shortest(
    part: _Dependencies, graph: Graph, component: Any, through: Ints, max_steps: int
) -> tuple[list[Edge], bool]:
    """A shortest circle through one of some edges, and whether it surely is."""
    chosen, back, tried = cycle_through(
        graph.first,
        graph.target,
        graph.cost,
        component,
        part.source[through].astype(np.int32),
        part.target[through].astype(np.int32),
        max_steps,
    )
    numbers = [int(through[chosen]), *(int(graph.edge[place]) for place in back)]
    return _without_instants(part, numbers), tried == len(through)


def _without_instants(part: _Dependencies, numbers: Sequence[int]) -> list[Edge]:
    """The edges of a circle that begins with a data edge; steps along the chain are one edge."""
    found: list[Edge] = []
    begin = -1
    for number in numbers:
        source, target = int(part.source[number]), int(part.target[number])
        begin = source if source < len(part.op) else begin
        if target >= len(part.op):
            continue
        a, b, row = int(part.op[begin]), int(part.op[target]), int(part.row[number])
        told = [None] * 3
        if row >= 0:
            told = [part.table[name][row].as_py() for name in ("key", "offset", "next")]
        found.append(Edge(a, b, int(part.kind[number]), *told))
    return found
