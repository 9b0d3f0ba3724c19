"""Cycles of dependencies between operations on logs: G0 and G1c, after Adya and Elle.

An operation depends on another

- `ww`: it sent the value that follows one of the other's in the order of a key's offsets;
- `wr`: it polled a value that the other sent;
- `process`: it is the next of the same client;
- `realtime`: it was invoked when the other had completed.

G0 is a cycle of ww edges, G1c one of ww and wr edges with a wr edge; `-process` and `-realtime`
are cycles that need such edges too. Kafka does not isolate writes, so that G0, and G1c with ww
edges, are what its transactions do: Jepsen allows them, and so does this check. A G1c without a
ww edge is counted apart, as `G1c of wr`: operations saw each other's uncommitted records. That is
fatal where consumers read committed records only, as Jepsen's other checks (G1a, precommitted
reads) take for granted; consumers of uncommitted records may see it.

Only what took effect counts: operations that completed, and indeterminate ones if a completed one
polled a value of theirs. Values that stand at two offsets, share one, or have two senders have no
order or no sender here; that is for other checks.

Three steps, made to be spread: `edges` from all rows of some keys, `vertices` from any rows,
`search` for a run (of a large one, among suspects: `cycles_spread`). The edges of real time are
not n^2: completions and invocations hang on one chain of instants. `search` takes away what is on
no cycle, in linear time; what is left, hardly ever anything, is searched for a shortest cycle in
each strongly connected component.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.logs.cycles_edges import (
    PROCESS,
    PROVEN,
    REALTIME,
    WR,
    WW,
    codes,
    edges,
    stitched,
    vertices,
)
from checkers.logs.cycles_graph import (
    Bytes,
    Graph,
    Ints,
    Mask,
    Numbers,
    components,
    cycle_through,
    laid_out,
    on_cycles,
)
from checkers.logs.cycles_time import places, process_edges, realtime_edges
from checkers.logs.rows import OK

LEVELS: Final = ("", "-process", "-realtime")
FATAL: Final = frozenset(f"G1c of wr{level}" for level in LEVELS)
MAX_CYCLES: Final = 8
"""Of a name, that are searched for; all are counted."""
MAX_STEPS: Final = 20_000_000
"""Edges that are looked at to make one cycle as short as can be."""


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
    """Operations that all depend on each other, in a cycle."""

    name: str
    edges: Sequence[Edge]
    fatal: bool
    """It has no ww edge: its name among the counts is one of `FATAL`."""
    shortest: bool
    """No cycle of this name in its component is shorter."""
    size: int
    """Operations in its component."""

    @property
    def operations(self) -> list[int]:
        return [edge.a for edge in self.edges]


@dataclass(slots=True)
class Cycles:
    """What a run has."""

    operations: int
    edges: int
    cycles: list[Cycle] = field(default_factory=list)
    """One for each of the first `MAX_CYCLES` components of a name."""
    counts: dict[str, int] = field(default_factory=dict)
    """Components by name; those of G1c without ww edges are "G1c of wr", "G1c of wr-process" and
    "G1c of wr-realtime"."""
    left: int = 0
    """Operations that were left when those on no cycle had been taken away."""

    @property
    def fatal(self) -> bool:
        return any(cycle.fatal for cycle in self.cycles)


def cycles(rows: pa.Table) -> Cycles:
    """The cycles of one run, from all of its rows."""
    return search(vertices(rows), edges(rows))


def search(vertices: pa.Table, edges: pa.Table, max_steps: int = MAX_STEPS) -> Cycles:
    """The cycles of one run, from all its `VERTICES` and `EDGES`, in any order."""
    graph = _Dependencies.of(vertices, edges)
    found = Cycles(operations=len(graph.index), edges=len(graph.kind))
    graph = graph.trimmed()
    found.left = len(graph.index)
    if found.left:
        graph = graph.by_itself()
        for family in _FAMILIES:
            _search(graph, family, max_steps, found)
    return found


@dataclass(frozen=True, slots=True)
class _Dependencies:
    """Vertices are operations, by rising index, and after them instants."""

    index: Ints
    end: Ints
    completed: Mask
    total: int
    """Vertices, instants included."""
    kind: Bytes
    source: Numbers
    target: Numbers
    row: Numbers
    """In `table`: of the edges of data, which come first."""
    table: pa.Table

    @staticmethod
    def of(vertices: pa.Table, table: pa.Table) -> "_Dependencies":
        kinds, a, b = (table[name].to_numpy() for name in ("kind", "a", "b"))
        index, first = np.unique(vertices["index"].to_numpy(), return_index=True)
        kept = completed = vertices["type"].to_numpy()[first] == OK
        if not completed.all():
            kept = completed.copy()
            kept[places(index, a[kinds == PROVEN])] = True
            index, first, completed = index[kept], first[kept], completed[kept]
        end = vertices["end"].fill_null(-1).to_numpy()[first]
        client = codes(vertices["client"])[first]
        source, target = places(index, a), places(index, b)
        if not kept.all():
            across = stitched(table, source < 0, target < 0)
            table = pa.concat_tables([table, across]).unify_dictionaries()
            kinds = table["kind"].to_numpy()
            source = np.concatenate((source, places(index, across["a"].to_numpy())))
            target = np.concatenate((target, places(index, across["b"].to_numpy())))
        there = (source >= 0) & (target >= 0) & (source != target)
        row = np.flatnonzero((kinds != PROVEN) & there).astype(np.int32)
        parts = [(source[row], target[row]), process_edges(client, index, end, completed)]
        instants, realtime = realtime_edges(index, end, completed)
        parts.append(realtime)
        following = [
            np.full(len(parts[1][0]), PROCESS, np.int8),
            np.full(len(parts[2][0]), REALTIME, np.int8),
        ]
        return _Dependencies(
            index,
            end,
            completed,
            len(index) + instants,
            np.concatenate((kinds[row], *following)),
            np.concatenate([part[0] for part in parts]),
            np.concatenate([part[1] for part in parts]),
            row,
            table,
        )

    def trimmed(self) -> "_Dependencies":
        """What is on cycles, the edges in one order and each once."""
        some = self._within(on_cycles(self.total, self.source, self.target))
        first, target = laid_out(some.total, some.source, some.target)
        component = components(first, target)
        tied = component[some.source] == component[some.target]
        return some._within(component >= 0, tied)._once()

    def by_itself(self) -> "_Dependencies":
        """With instants of its own operations: what is found does not depend on what was around."""
        lasting = self.only(self.kind != REALTIME)
        instants, (source, target) = realtime_edges(self.index, self.end, self.completed)
        return replace(
            lasting,
            total=len(self.index) + instants,
            kind=np.concatenate((lasting.kind, np.full(len(source), REALTIME, np.int8))),
            source=np.concatenate((lasting.source, source)),
            target=np.concatenate((lasting.target, target)),
        )

    def _within(self, left: Mask, edges: Mask | None = None) -> "_Dependencies":
        """Some of the vertices, and of the edges between them."""
        kept = left[self.source] & left[self.target]
        kept = kept if edges is None else kept & edges
        new = np.cumsum(left, dtype=np.int32) - 1
        some = self.only(kept)
        return replace(
            some,
            index=self.index[left[: len(self.index)]],
            end=self.end[left[: len(self.index)]],
            completed=self.completed[left[: len(self.index)]],
            total=int(left.sum()),
            source=new[some.source].astype(np.int32),
            target=new[some.target].astype(np.int32),
        )

    def _once(self) -> "_Dependencies":
        """Edges of data in one order, and each once; those of time are made so."""
        count = len(self.row)
        rows = self.table.take(pa.array(self.row))
        offset = rows["offset"].fill_null(np.iinfo(np.int64).max).to_numpy()
        kind, source, target = (each[:count] for each in (self.kind, self.source, self.target))
        order = np.lexsort((offset, _ranks(rows["key"]), target, source, kind))
        again = np.ones(count, np.bool_)
        for column in (kind, source, target):
            again[1:] &= column[order[1:]] == column[order[:-1]]
        again[:1] = False
        order = order[~again]
        return replace(
            self,
            kind=np.concatenate((kind[order], self.kind[count:])),
            source=np.concatenate((source[order], self.source[count:])),
            target=np.concatenate((target[order], self.target[count:])),
            row=self.row[order],
        )

    def of_kinds(self, kinds: Sequence[int]) -> "_Dependencies":
        return self.only(np.isin(self.kind, kinds))

    def only(self, kept: Mask) -> "_Dependencies":
        return replace(
            self,
            kind=self.kind[kept],
            source=self.source[kept],
            target=self.target[kept],
            row=self.row[kept[: len(self.row)]],
        )

    def graph(self) -> Graph:
        # To the instant of its end is the step of a realtime edge; what follows is free.
        steps = (self.kind != REALTIME) | (self.source < len(self.index))
        return Graph.of(self.total, self.source, self.target, steps.astype(np.int8))


def _ranks(column: pa.ChunkedArray) -> Ints:
    """Numbers that rise as the texts of a column do."""
    order = pa.array(sorted(pc.unique(column).cast(pa.string()).to_pylist()), pa.string())
    found: Ints = pc.index_in(column.cast(pa.string()), order).to_numpy().astype(np.int64)
    return found


@dataclass(frozen=True, slots=True)
class _Family:
    """Cycles by the data edges that they may have. They have at least one of kind `needed`."""

    name: str
    allowed: tuple[int, ...]
    needed: int
    called: str
    """Among the counts."""


_FAMILIES: Final = (
    _Family("G0", (WW,), WW, "G0"),
    _Family("G1c", (WR,), WR, "G1c of wr"),
    _Family("G1c", (WW, WR), WR, "G1c"),
)
"""The last is for components where the one before finds nothing."""


def _search(graph: _Dependencies, family: _Family, max_steps: int, found: Cycles) -> None:
    """Adds the cycles of a family, each at the lowest level that shows it.

    A component that has no cycle of a lower level needs an edge of this level for each of its
    cycles; so any cycle through a needed edge is one, and a shortest one is easy to find.
    """
    shown = np.zeros(graph.total, np.bool_)
    for level, suffix in enumerate(LEVELS):
        kinds = (*family.allowed, *range(PROCESS, PROCESS + level))
        part = graph.of_kinds(kinds)
        whole = part.graph()
        component = components(whole.first, whole.target)
        if len(family.allowed) > 1:
            bare = graph.of_kinds([kind for kind in kinds if kind != WW]).graph()
            shown |= components(bare.first, bare.target) >= 0
        of = component[part.source]
        through = np.flatnonzero(
            (part.kind == family.needed) & (of >= 0) & (of == component[part.target])
        )
        having = np.isin(component, of[through])
        through = through[~np.isin(of[through], component[shown & having])]
        shown |= having
        numbers, first = np.unique(of[through], return_index=True)
        called = f"{family.called}{suffix}"
        if len(numbers):
            found.counts[called] = len(numbers)
        for number in numbers[np.argsort(first)][:MAX_CYCLES]:
            edges, shortest = _shortest(
                part, whole, component, through[of[through] == number], max_steps
            )
            size = int((component[: len(graph.index)] == number).sum())
            found.cycles.append(
                Cycle(f"{family.name}{suffix}", edges, called in FATAL, shortest, size)
            )


def _shortest(
    part: _Dependencies, graph: Graph, component: Any, through: Ints, max_steps: int
) -> tuple[list[Edge], bool]:
    """A shortest cycle through one of some edges, and whether it surely is."""
    chosen, back, tried = cycle_through(
        graph.first,
        graph.target,
        graph.cost,
        component,
        part.source[through],
        part.target[through],
        max_steps,
    )
    numbers = [int(through[chosen]), *(int(graph.edge[place]) for place in back)]
    return _without_instants(part, numbers), tried == len(through)


def _without_instants(part: _Dependencies, numbers: Sequence[int]) -> list[Edge]:
    """The edges of a cycle that begins with a data edge; steps along the chain are one edge."""
    found: list[Edge] = []
    begin = -1
    for number in numbers:
        source, target = int(part.source[number]), int(part.target[number])
        begin = source if source < len(part.index) else begin
        if target >= len(part.index):
            continue
        reported = [None] * 3
        if number < len(part.row):
            row = int(part.row[number])
            reported = [part.table[name][row].as_py() for name in ("key", "offset", "next")]
        found.append(
            Edge(int(part.index[begin]), int(part.index[target]), int(part.kind[number]), *reported)
        )
    return found
