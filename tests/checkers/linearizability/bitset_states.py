"""Sets of configurations of the JIT bitset, to and from Python's own sets."""

from collections.abc import Collection, Iterator
from typing import Final, TypeAlias

import numpy as np

from checkers.linearizability.encoded import Kind
from checkers.linearizability.methods.jit_bitset.sets import (
    BLOCK,
    IN_WORD,
    LANES,
    SLOTS,
    Words,
)

Configuration: TypeAlias = tuple[int, frozenset[int]]
"""A lane, and the slots that have taken effect."""
CHANGES: Final = (Kind.WRITE, Kind.CAS, Kind.CHANGE)
"""What leads to another lane."""


def as_bits(configurations: Collection[Configuration]) -> Words:
    sets = np.zeros(BLOCK << (SLOTS - IN_WORD), np.uint64)
    for lane, slots in configurations:
        number = mask(slots)
        sets[BLOCK * (number >> IN_WORD) + lane] |= np.uint64(1 << (number & 63))
    return sets


def as_set(sets: Words) -> set[Configuration]:
    found = set()
    for place in np.flatnonzero(sets).tolist():
        word, lane = divmod(place, BLOCK)
        if lane < LANES:
            numbers = [word << IN_WORD | bit for bit in range(64) if int(sets[place]) >> bit & 1]
            found |= {(lane, frozenset(bits(number))) for number in numbers}
    return found


def mask(slots: Collection[int]) -> int:
    return sum(1 << slot for slot in slots)


def bits(number: int) -> Iterator[int]:
    return (slot for slot in range(SLOTS) if number >> slot & 1)
