"""Cycles of a directed graph: what is on none is trimmed, then components, then short cycles.

Vertices are numbered from 0. Edges are arrays `source`, `target`; `Graph` has them by source.
Everything but `cycle_through` is linear in vertices and edges.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from framework.compiled import compiled

Ints: TypeAlias = NDArray[np.int64]
Numbers: TypeAlias = NDArray[np.int32]
Bytes: TypeAlias = NDArray[np.int8]
Mask: TypeAlias = NDArray[np.bool_]

FAR: Final = np.iinfo(np.int32).max


@dataclass(frozen=True, slots=True)
class Graph:
    """`target[first[v]:first[v + 1]]` are the vertices that v has edges to; `edge` is each one's
    number in the arrays that the graph was made from, `cost` its length, 0 or 1."""

    first: Ints
    target: Numbers
    edge: Ints
    cost: Bytes

    @staticmethod
    def of(count: int, source: Numbers, target: Numbers, cost: Bytes | None = None) -> "Graph":
        """Edges of one vertex stay in the order in which they are given."""
        first, order = _by_source(count, source)
        costs = np.ones(len(source), np.int8) if cost is None else cost
        return Graph(first, target[order], order, costs[order])


@compiled
def _by_source(count: int, source: Numbers) -> tuple[Ints, Ints]:
    first = np.zeros(count + 1, np.int64)
    for edge in range(len(source)):
        first[source[edge] + 1] += 1
    for vertex in range(count):
        first[vertex + 1] += first[vertex]
    order = np.empty(len(source), np.int64)
    for edge in range(len(source)):
        order[first[source[edge]]] = edge
        first[source[edge]] += 1
    for vertex in range(count, 0, -1):
        first[vertex] = first[vertex - 1]
    first[0] = 0
    return first, order


def on_cycles(count: int, source: Numbers, target: Numbers) -> Mask:
    """The vertices that are left when those without an edge in, or without one out, are taken
    away, again and again: all that are on cycles, and those between cycles."""
    left = np.ones(count, np.bool_)
    for begin, end in ((source, target), (target, source)):
        first, targets = laid_out(count, begin, end)
        _peel(first, targets, left)
        if not left.any():
            break
    return left


@compiled
def laid_out(count: int, source: Numbers, target: Numbers) -> tuple[Ints, Numbers]:
    """As in `Graph`, without the numbers of edges."""
    first = np.zeros(count + 1, np.int64)
    for edge in range(len(source)):
        first[source[edge] + 1] += 1
    for vertex in range(count):
        first[vertex + 1] += first[vertex]
    laid = np.empty(len(source), np.int32)
    for edge in range(len(source)):
        laid[first[source[edge]]] = target[edge]
        first[source[edge]] += 1
    for vertex in range(count, 0, -1):
        first[vertex] = first[vertex - 1]
    first[0] = 0
    return first, laid


@compiled
def _peel(first: Ints, target: Numbers, left: Mask) -> None:
    """Takes away the vertices without an edge in from a vertex that is left."""
    count = len(left)
    entering = np.zeros(count, np.int32)
    for vertex in range(count):
        if left[vertex]:
            for at in range(first[vertex], first[vertex + 1]):
                entering[target[at]] += 1
    ready = np.empty(count, np.int32)
    size = 0
    for vertex in range(count):
        if left[vertex] and entering[vertex] == 0:
            ready[size] = vertex
            size += 1
    while size > 0:
        size -= 1
        vertex = ready[size]
        left[vertex] = False
        for at in range(first[vertex], first[vertex + 1]):
            after = target[at]
            entering[after] -= 1
            if left[after] and entering[after] == 0:
                ready[size] = after
                size += 1


@compiled
def components(first: Ints, target: Numbers) -> Numbers:
    """The strongly connected component of each vertex, by a number; -1: alone, and on no cycle.

    Tarjan's algorithm with a stack of its own. An edge from a vertex to itself does not count.
    """
    count = len(first) - 1
    found = np.full(count, -1, np.int32)
    index = np.zeros(count, np.int32)
    low = np.zeros(count, np.int32)
    open_ = np.zeros(count, np.bool_)
    waiting = np.empty(count, np.int32)
    path = np.empty(count, np.int32)
    at = first[:-1].copy()
    waits, seen, number = 0, 0, 0
    for root in range(count):
        if index[root]:
            continue
        depth = 0
        path[0] = root
        seen += 1
        index[root] = low[root] = seen
        waiting[waits] = root
        waits += 1
        open_[root] = True
        while depth >= 0:
            vertex = path[depth]
            if at[vertex] < first[vertex + 1]:
                after = target[at[vertex]]
                at[vertex] += 1
                if index[after] == 0:
                    seen += 1
                    index[after] = low[after] = seen
                    waiting[waits] = after
                    waits += 1
                    open_[after] = True
                    depth += 1
                    path[depth] = after
                elif open_[after]:
                    low[vertex] = min(low[vertex], index[after])
                continue
            depth -= 1
            if depth >= 0:
                low[path[depth]] = min(low[path[depth]], low[vertex])
            if low[vertex] == index[vertex]:
                size = 0
                while True:
                    waits -= 1
                    member = waiting[waits]
                    open_[member] = False
                    size += 1
                    if member == vertex:
                        break
                if size > 1:
                    for place in range(waits, waits + size):
                        found[waiting[place]] = number
                    number += 1
    return found


@compiled
def cycle_through(
    first: Ints,
    target: Numbers,
    cost: Bytes,
    component: Numbers,
    begins: Numbers,
    ends: Numbers,
    max_steps: int,
) -> tuple[int, Numbers, int]:
    """The shortest cycle through one of the edges `begins[i]` -> `ends[i]`, which all lie in one
    component: i; the places in `target` of the edges from `ends[i]` back to `begins[i]`; and how
    many of the edges had to be tried. Fewer than there are: `max_steps` ran out, and there may be
    a shorter one. The first of them is always tried.

    A search by breadth from the end of each edge, no deeper than the best so far.
    """
    count = len(first) - 1
    distance = np.full(count, FAR, np.int32)
    through = np.full(count, -1, np.int64)
    came = np.full(count, -1, np.int32)
    here = np.empty(count + len(target), np.int32)
    there = np.empty(count + len(target), np.int32)
    touched = np.empty(count, np.int32)
    best, chosen, steps, tried = FAR, -1, 0, 0
    back = np.empty(0, np.int32)
    for at in range(len(begins)):
        if at > 0 and steps > max_steps:
            break
        tried += 1
        goal, own = begins[at], component[begins[at]]
        marks, size, other, level = 1, 1, 0, 0
        touched[0] = here[0] = ends[at]
        distance[ends[at]] = 0
        while size > 0 and level < best and distance[goal] > level:
            while size > 0:
                size -= 1
                vertex = here[size]
                if distance[vertex] < level:
                    continue
                for place in range(first[vertex], first[vertex + 1]):
                    steps += 1
                    after = target[place]
                    length = level + cost[place]
                    if component[after] != own or length >= distance[after] or length >= best:
                        continue
                    if distance[after] == FAR:
                        touched[marks] = after
                        marks += 1
                    distance[after] = length
                    through[after] = place
                    came[after] = vertex
                    if cost[place]:
                        there[other] = after
                        other += 1
                    else:
                        here[size] = after
                        size += 1
            here, there = there, here
            size, other = other, 0
            level += 1
        if distance[goal] < best:
            best, chosen = distance[goal], at
            length = 0
            vertex = goal
            while vertex != ends[at]:
                length += 1
                vertex = came[vertex]
            back = np.empty(length, np.int32)
            vertex = goal
            while vertex != ends[at]:
                length -= 1
                back[length] = through[vertex]
                vertex = came[vertex]
        for mark in range(marks):
            distance[touched[mark]] = FAR
        if best == 1:  # no cycle is shorter than two edges
            tried = len(begins)
            break
    return chosen, back, tried
