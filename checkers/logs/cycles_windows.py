"""Where cycles may be: operations that are suspected, window by window of a run's indices.

A potential is any number for each operation. Where an edge leads to a lower potential, everything
between the two may be tied together; what no such edge spans cannot be, since a cycle that goes
up has to come down again. So operations can only be on a cycle with those of the same potential,
or of the same `SPAN`, which is a union of what such edges span. This holds of every potential; a
good one leaves few suspects.

The potential here is, but for what follows, the highest index from which an operation can be
reached along edges of data. Of edges in real time then only those lead down that leave an
operation which had ended before something was invoked that it depends on: it is `late`, and has a
span. From such a one nothing is passed on: its edges are looked at as any others, for spans.

Only edges of data between operations that overlap, or that contradict real time, are dealt out
(`LEAN`); others go where edges of real time go. An operation of unknown outcome stays in, whether
it took effect or not: then there are more suspects, and the search among them is exact.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa

from checkers.logs.cycles_graph import Ints, Mask, Numbers, components, laid_out
from framework.compiled import compiled

WINDOW: Final = 1 << 20
"""Indices of a run that are looked at together."""
NEVER: Final = np.iinfo(np.int64).max
LEAN: Final = pa.schema({name: pa.int64() for name in ("run", "a", "b", "until")})
"""Operation `b`, which ends at index `until` (`NEVER`: at none that is known), depends on `a`.
Where they are the same: it is of unknown outcome, and took effect."""
DEALT: Final = LEAN.append(pa.field("window", pa.int64()))
SEEN: Final = pa.schema({name: pa.int64() for name in ("run", "what", "x", "y", "z")})
"""What a window shows of a run, by `what`."""
PASSED: Final = 0
"""Operation `x`, of potential `y`, is before operations of other windows, the first of them `z`."""
SPAN: Final = 1
"""From potential `x` to `y`."""
SUSPECT: Final = 2
"""Operation `x`."""
PROVEN: Final = 3
"""Operation `x` is of unknown outcome, and took effect."""


@dataclass(frozen=True, slots=True)
class Passed:
    """Potentials of operations that others have to know, by rising (run, operation)."""

    run: Ints
    index: Ints
    potential: Ints

    @staticmethod
    def of(seen: pa.Table) -> "Passed":
        mine = seen.filter(pa.array(seen["what"].to_numpy() == PASSED))
        return Passed(*(mine[name].to_numpy() for name in ("run", "x", "y")))

    def of_run(self, run: int) -> tuple[Ints, Ints]:
        first, last = np.searchsorted(self.run, [run, run + 1])
        return self.index[first:last], self.potential[first:last]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Passed) and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("run", "index", "potential")
        )


def dealt(edges: pa.Table, window: int = WINDOW) -> Iterator[tuple[int, pa.Table]]:
    """(bucket, `DEALT`) of `LEAN` rows: to the window of `b`, and to that of `a` if it is
    another."""
    run, a, b = (edges[name].to_numpy() for name in ("run", "a", "b"))
    into, out = b // window, a // window
    rows = np.concatenate([np.arange(len(edges)), np.flatnonzero(into != out)])
    place = np.concatenate([into, out[into != out]])
    bucket = run[rows] << 32 | place
    order = np.argsort(bucket, kind="stable")
    arranged = edges.take(pa.array(rows[order])).append_column("window", [place[order]])
    begins = np.flatnonzero(np.diff(bucket[order], prepend=-1))
    for begin, end in pairwise([*begins.tolist(), len(bucket)]):
        yield int(bucket[order[begin]]), arranged.slice(begin, end - begin)


def seen(edges: pa.Table, passed: Passed, window: int = WINDOW) -> pa.Table:
    """`SEEN` of one window: all `DEALT` rows of it. `passed`: what is known of operations of
    others."""
    run, place = (int(edges[name][0].as_py()) for name in ("run", "window"))
    a, b, until = (edges[name].to_numpy() for name in ("a", "b", "until"))
    proven = np.unique(a[a == b])
    ties = np.flatnonzero(a != b)
    ends = (a[ties] // window == place, b[ties] // window == place)
    here = _Window.of(a[ties], b[ties], until[ties], ends, *passed.of_run(run))
    suspects = here.index[here.suspects()]
    each = [
        (PROVEN, proven, proven, proven),
        (PASSED, *here.passed()),
        (SPAN, *here.spans()),
        (SUSPECT, suspects, suspects, suspects),
    ]
    rows = [
        pa.table([np.full(len(x), run), np.full(len(x), what), x, y, z], schema=SEEN)
        for what, x, y, z in each
    ]
    return pa.concat_tables(rows)


Edges: TypeAlias = tuple[Numbers, Numbers]


@dataclass(frozen=True, slots=True)
class _Window:
    """Its operations by number, which rise with `index`."""

    index: Ints
    potential: Ints
    until: Ints
    late: Mask
    inner: Edges
    """Sources and targets of edges within the window."""
    entered: Numbers
    """Targets of edges from operations of other windows that are of the same potential."""
    left: Numbers
    """Sources of edges to other windows that may not lead up."""
    beyond: Ints
    """The operations to which they lead."""

    @staticmethod
    def of(
        a: Ints, b: Ints, until: Ints, within: tuple[Mask, Mask], known: Ints, potentials: Ints
    ) -> "_Window":
        """Edges a -> b, which end is within the window; and what is known of others' potentials."""
        ours, theirs = within
        index = np.unique(np.concatenate([a[ours], b[theirs]]))
        source, target = (np.searchsorted(index, each).astype(np.int32) for each in (a, b))
        ends = np.full(len(index), NEVER, np.int64)
        ends[target[theirs]] = until[theirs]
        inner = source[ours & theirs], target[ours & theirs]

        at = np.searchsorted(known, a)
        at[at == len(known)] = 0
        reported = np.flatnonzero(~ours & (known[at] == a)) if len(known) else at[:0]
        higher = reported[potentials[at[reported]] >= b[reported]]
        potential = _potentials(index, ends, inner, (target[higher], potentials[at[higher]]))
        entered = target[higher][potentials[at[higher]] == potential[target[higher]]]
        leaves = np.flatnonzero(ours & ~theirs)
        leaves = leaves[b[leaves] <= potential[source[leaves]]]
        return _Window(
            index, potential, ends, potential > ends, inner, entered, source[leaves], b[leaves]
        )

    def passed(self) -> tuple[Ints, Ints, Ints]:
        """Operations, potentials, and the first operation of others that they are before."""
        kept = ~self.late[self.left]
        numbers, first = np.unique(self.left[kept], return_inverse=True)
        least = np.full(len(numbers), NEVER, np.int64)
        np.minimum.at(least, first, self.beyond[kept])
        return self.index[numbers], self.potential[numbers], least

    def spans(self) -> tuple[Ints, Ints, Ints]:
        source, target = self.inner
        down = self.potential[source] > self.potential[target]
        out = self.late[self.left]
        low = [self.until[self.late], self.potential[target[down]], self.beyond[out]]
        high = [self.potential[each] for each in (self.late, source[down], self.left[out])]
        return united(np.concatenate(low), np.concatenate(high))

    def suspects(self) -> Numbers:
        """Operations that are on cycles with others of their potential. All that is beyond the
        window is one vertex: whoever comes from there, and leads there, may be on a cycle."""
        outside = len(self.index)
        source, target = self.inner
        same = self.potential[source] == self.potential[target]
        beyond = np.int32(outside)
        sources = [source[same], np.full(len(self.entered), beyond), self.left]
        targets = [target[same], self.entered, np.full(len(self.left), beyond)]
        laid = laid_out(
            outside + 1,
            np.concatenate(sources).astype(np.int32),
            np.concatenate(targets).astype(np.int32),
        )
        return np.flatnonzero(components(*laid)[:outside] >= 0).astype(np.int32)


def _potentials(index: Ints, until: Ints, inner: Edges, entering: tuple[Numbers, Ints]) -> Ints:
    first, target = laid_out(len(index), *inner)
    vertex = np.concatenate([entering[0], np.arange(len(index), dtype=np.int32)]).astype(np.int32)
    value = np.concatenate([entering[1], index])
    order = np.argsort(-value, kind="stable")
    return _spread(first, target, until, vertex[order], value[order])


@compiled
def _spread(first: Ints, target: Numbers, until: Ints, begin: Numbers, value: Ints) -> Ints:
    """Each vertex gets the highest value that reaches it, from the vertices where they `begin`, by
    falling value. What ends before its value is reached, and passes on nothing."""
    count = len(first) - 1
    got = np.full(count, -1, np.int64)
    waiting = np.empty(count, np.int32)
    for seed in range(len(begin)):
        if got[begin[seed]] >= 0:
            continue
        highest = value[seed]
        got[begin[seed]] = highest
        waiting[0] = begin[seed]
        size = 1
        while size > 0:
            size -= 1
            vertex = waiting[size]
            if highest > until[vertex]:
                continue
            for at in range(first[vertex], first[vertex + 1]):
                after = target[at]
                if got[after] < 0:
                    got[after] = highest
                    waiting[size] = after
                    size += 1
    return got


def united(low: Ints, high: Ints) -> tuple[Ints, Ints, Ints]:
    """Unions of ranges that have something in common; the third is the second."""
    order = np.argsort(low, kind="stable")
    low, high = low[order], np.maximum.accumulate(high[order])
    fresh = np.ones(len(low), np.bool_)
    fresh[1:] = low[1:] > high[:-1]
    begins = np.flatnonzero(fresh)
    ends = np.append(begins[1:], len(low)) - 1 if len(begins) else begins
    return low[begins], high[ends], high[ends]
