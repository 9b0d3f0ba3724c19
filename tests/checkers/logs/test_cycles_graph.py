"""Graphs: what is laid out, peeled, tied together and searched is what the definitions say."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from random import Random

import numpy as np
import pytest

from checkers.logs.cycles_graph import (
    Graph,
    components,
    cycle_through,
    laid_out,
    on_cycles,
)

Pairs = Sequence[tuple[int, int]]
Length = int | float
"""Of a way; `inf`: there is none."""
GRAPHS = 120


def sources_and_targets(pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    return np.array([a for a, _ in pairs], np.int32), np.array([b for _, b in pairs], np.int32)


def graphs() -> Iterator[tuple[int, Pairs]]:
    """(vertices, edges); some edges twice, some from a vertex to itself, and in every other graph
    none between vertices that are far apart."""
    for seed in range(GRAPHS):
        random = Random(seed)
        count = random.randint(1, 12)
        begins = [random.randrange(count) for _ in range(random.randint(0, 2 * count))]
        near = 1 if seed % 2 else count
        ends = [random.randint(max(0, a - near), min(count - 1, a + near)) for a in begins]
        yield count, list(zip(begins, ends, strict=True))


def reached(count: int, pairs: Pairs) -> list[set[int]]:
    """By vertex, what can be reached in one step or more."""
    found = [{b for a, b in pairs if a == vertex} for vertex in range(count)]
    for _ in range(count):
        found = [each.union(*(found[b] for b in each)) for each in found]
    return found


def test_edges_are_laid_out_by_source_in_their_order() -> None:
    for count, pairs in graphs():
        source, target = sources_and_targets(pairs)
        costs = np.arange(len(pairs), dtype=np.int8)
        graph = Graph.of(count, source, target, costs)
        edges = [
            edge for vertex in range(count) for edge, (a, _) in enumerate(pairs) if a == vertex
        ]
        assert graph.edge.tolist() == graph.cost.tolist() == edges
        assert graph.target.tolist() == [pairs[edge][1] for edge in edges]
        below = [sum(a < vertex for a, _ in pairs) for vertex in range(count + 1)]
        assert graph.first.tolist() == below
        assert Graph.of(count, source, target).cost.tolist() == [1] * len(pairs)
        first, laid = laid_out(count, source, target)
        assert (first.tolist(), laid.tolist()) == (below, graph.target.tolist())


def test_what_is_on_cycles_and_between_them_is_left() -> None:
    for count, pairs in graphs():
        ahead = reached(count, pairs)
        cyclic = {vertex for vertex in range(count) if vertex in ahead[vertex]}
        behind = set().union(*(ahead[each] for each in cyclic))
        left = [vertex in behind and bool(ahead[vertex] & cyclic) for vertex in range(count)]
        assert on_cycles(count, *sources_and_targets(pairs)).tolist() == left


def test_components_are_numbered_and_hold_what_reaches_each_other() -> None:
    several = 0
    for count, pairs in graphs():
        ahead = reached(count, pairs)
        found = components(*laid_out(count, *sources_and_targets(pairs))).tolist()
        for a in range(count):
            tied = [b for b in range(count) if b != a and b in ahead[a] and a in ahead[b]]
            same = [b for b in range(count) if b != a and found[a] == found[b] >= 0]
            assert (same, found[a] >= 0) == (tied, bool(tied))
        numbers = set(found) - {-1}
        assert numbers == set(range(len(numbers)))
        several += len(numbers) > 1
    assert several > 2


# --- short cycles -------------------------------------------------------------------------


@dataclass(frozen=True)
class Tied:
    """Operations, and instants after them, with edges in the order of their sources: a step from an
    operation costs 1, one from an instant nothing. `through`: edges between operations of one
    component."""

    operations: int
    count: int
    pairs: Pairs
    costs: Sequence[int]
    component: Sequence[int]
    through: Pairs

    def lengths(self, begin: int) -> list[Length]:
        """To each vertex, within the component."""
        found: list[Length] = [inf] * self.count
        found[begin] = 0
        for _ in range(self.count):
            for (a, b), cost in zip(self.pairs, self.costs, strict=True):
                if self.component[a] == self.component[b]:
                    found[b] = min(found[b], found[a] + cost)
        return found

    def steps(self, lengths: Sequence[Length], goal: int, best: Length) -> int:
        """Edges that are looked at: of all vertices that are nearer than the goal, and, where only
        an instant leads to the goal, of those that are as near; none as far as the best."""
        last = [a for a, b in self.pairs if b == goal and lengths[a] == lengths[goal] - 1]
        found_late = not any(a < self.operations for a in last)
        limit = min(best, lengths[goal] + found_late)
        return sum(lengths[a] < limit for a, _ in self.pairs)

    def wanted(self, most: int) -> tuple[int, Length, int]:
        """Which edge a shortest cycle leads through, the way back, and how many were tried."""
        best, chosen, steps, tried = inf, -1, 0, 0
        for at, (begin, end) in enumerate(self.through):
            if at and steps > most:
                break
            tried += 1
            lengths = self.lengths(end)
            steps += self.steps(lengths, begin, best)
            if lengths[begin] < best:
                best, chosen = lengths[begin], at
            if best == 1:
                return chosen, best, len(self.through)
        return chosen, best, tried


def tied(seed: int) -> Tied | None:
    """None: no two of the operations are tied by data."""
    random = Random(seed)
    operations, instants = random.randint(2, 7), random.randint(0, 4)
    count = operations + instants
    ring = random.sample(range(operations), operations)
    chords = random.choices(range(count), k=2 * random.randint(0, count))
    drawn = [*pairwise([*ring, ring[0]]), *pairwise(chords)]
    for instant in range(operations, count):
        drawn += [(random.choice(ring), instant), (instant, random.choice(ring))]
    pairs = sorted((a, b) for a, b in drawn if min(a, b) < operations or a < b)
    component = components(*laid_out(count, *sources_and_targets(pairs))).tolist()
    through = [
        (a, b)
        for a, b in pairs
        if a != b and max(a, b) < operations and component[a] == component[b] == component[0]
    ]
    random.shuffle(through)
    costs = [int(a < operations) for a, _ in pairs]
    return Tied(operations, count, pairs, costs, component, through) if through else None


def found(graph: Tied, most: int) -> tuple[int, list[int], int]:
    made = Graph.of(graph.count, *sources_and_targets(graph.pairs), np.array(graph.costs, np.int8))
    chosen, back, tried = cycle_through(
        made.first,
        made.target,
        made.cost,
        np.array(graph.component, np.int32),
        *sources_and_targets(graph.through),
        most,
    )
    return chosen, back.tolist(), tried


@pytest.mark.parametrize("most", [-1, 6, 20, 10_000])
def test_a_shortest_cycle_is_found_in_so_many_steps(most: int) -> None:
    """No edge is looked at more often than a search by breadth has to, so that what is tried within
    the steps is known."""
    short = long = 0
    for graph in filter(None, map(tied, range(120))):
        chosen, back, tried = found(graph, most)
        wanted, length, of = graph.wanted(most)
        assert (chosen, tried) == (wanted, of)
        begin, end = graph.through[chosen]
        for place in back:
            assert graph.pairs[place][0] == end
            end = graph.pairs[place][1]
        assert end == begin
        assert sum(graph.costs[place] for place in back) == length
        short, long = short + (tried < len(graph.through)), long + (length > 2)
    assert (short > 5) == (most < 10_000)
    assert long > 5


def test_what_is_reached_again_by_a_shorter_way_is_gone_on_from_once() -> None:
    """1 leads to 2 in two steps, and then the instant 5 in one."""
    pairs = [(0, 5), (0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (5, 2)]
    graph = Tied(5, 6, pairs, [1, 1, 1, 1, 1, 1, 0], [0] * 6, [(4, 0)] * 2)
    assert found(graph, 6) == (0, [0, 6, 3, 4], 2)
    assert found(graph, 5) == (0, [0, 6, 3, 4], 1)
