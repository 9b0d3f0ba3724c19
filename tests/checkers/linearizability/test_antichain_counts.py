"""Multisets that are numbers: as Python's `Counter` says."""

import random
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest

from checkers.linearizability.encoded import NEVER, Kind
from checkers.linearizability.methods.jit_antichain.counts import (
    _spot,
    count_of,
    one_more,
    with_more_nodes,
    within,
)
from checkers.linearizability.methods.jit_antichain.input import read_in
from checkers.linearizability.methods.jit_antichain.space import Space, new_space
from tests.checkers.linearizability.encoded_oracle import encoded_of


def room_for(classes: int) -> Space:
    """Of a history with so many different pending writes."""
    rows = range(classes)
    kind = [int(Kind.WRITE)] * classes
    encoded = encoded_of([*rows], [int(NEVER)] * classes, kind, [-1] * classes, [*rows])
    return new_space(read_in(encoded), np.arange(classes, dtype=np.int32), 4)


@dataclass
class Multisets:
    """All that were made, by number."""

    space: Space
    made: dict[int, Counter[int]] = field(default_factory=lambda: {0: Counter()})

    def add(self, multiset: int, number: int) -> int:
        space = self.space
        after = one_more(space.nodes, space.found, space.scratch, space.reg, multiset, number)
        if after >= 0:
            counts = self.made[multiset] + Counter([number])
            assert self.made.setdefault(after, counts) == counts
        return after

    def make_room(self) -> None:
        nodes, found = with_more_nodes(self.space.nodes, int(self.space.reg.nodes))
        self.space = self.space._replace(nodes=nodes, found=found)


@pytest.mark.parametrize("classes", [1, 2, 3, 4, 5, 9])
def test_counts_are_those_of_a_counter(classes: int) -> None:
    rng = random.Random(classes)
    multisets = Multisets(room_for(classes))
    reg = multisets.space.reg
    assert reg.depth == {1: 1, 2: 1, 3: 2, 4: 2, 5: 3, 9: 4}[classes]
    for _ in range(60):
        multiset, number = rng.choice(list(multisets.made)), rng.randrange(classes)
        before, size = int(reg.nodes), len(multisets.space.nodes)
        if multisets.add(multiset, number) < 0:
            assert before + reg.depth > size and reg.nodes == before
            multisets.make_room()
            nodes, found = multisets.space.nodes, multisets.space.found
            assert (len(nodes), len(found)) == (2 * size, 8 * size)
            assert multisets.add(multiset, number) >= 0
        else:
            assert before + reg.depth <= size
    space, made = multisets.space, multisets.made
    assert len({frozenset(each.items()) for each in made.values()}) == len(made) > 10
    nodes = space.nodes[: reg.nodes].tolist()
    assert len(set(nodes)) == len(nodes), "one node made twice"
    assert set(space.found.tolist()) == {-1, *range(1, reg.nodes)}
    some = rng.sample(list(made), min(30, len(made)))
    said = set()
    for one in some:
        for number in range(classes):
            assert count_of(space.nodes, reg.depth, one, number) == made[one][number]
        for other in some:
            expected = not made[one] - made[other]
            said.add(expected)
            assert within(space.nodes, space.scratch, reg.depth, one, other) == expected
    assert said == {True, False}


def test_what_was_made_is_found_again_in_more_room() -> None:
    multisets = Multisets(room_for(5))
    number = 0
    for use in range(12):
        number = multisets.add(number, use % 5)
    before, nodes = dict(multisets.made), int(multisets.space.reg.nodes)
    multisets.make_room()
    number = 0
    for use in range(12):
        number = multisets.add(number, use % 5)
    assert multisets.made == before and multisets.space.reg.nodes == nodes


@pytest.mark.parametrize("shift", [0, 8, 16, 20])
def test_nodes_are_spread_over_the_table(shift: int) -> None:
    """Whatever part of their numbers they differ in: with four places for each."""
    for pairs in ([(n, 1) for n in range(256)], [(1, n) for n in range(256)]):
        spots = [_spot(left << shift, right << shift, 1024) for left, right in pairs]
        assert all(0 <= spot < 1024 for spot in spots)
        assert len(set(spots)) > 120
