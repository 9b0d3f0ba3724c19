"""The open operations of a key, and the values that it may have: slots and lanes."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.bits import trailing_zeros
from checkers.linearizability.arrays.kinds import CHANGE, WRITE
from checkers.linearizability.encoded import Codes, Ints
from checkers.linearizability.methods.jit_bitset.sets import (
    BLOCK,
    DUE,
    HOLDS,
    IN_WORD,
    LANES,
    LED_TO,
    NEEDS,
    NO_LANE,
    ROW,
    SLOTS,
    SOURCE,
    TARGET,
    VALUE,
    ZERO,
    Words,
    after,
)
from framework.compiled import compiled

NO_RETURN: Final = 1 << 62

# Numbers behind those of `sets.py`: where the walk is, slots as bits (all, those that change the
# value, those that deny one, those of kind CHANGE, those that never return), and counts.
AT: Final = 192
TAKEN: Final = 193
MUTATORS: Final = 194
DENYING: Final = 195
CHANGES: Final = 196
OPTIONAL: Final = 197
NEXT: Final = 198
"""The least of `DUE`."""
LAST: Final = 199
"""The slot whose return leaves no configuration."""
WAITING: Final = 200
"""Pending operations that were called and have no slot."""
RETURNS: Final = 201
SPARE: Final = 202
"""Words that may yet be looked at."""
SIZE: Final = 208


@compiled
def start(sets: Words, slots: Ints, lane_of: Ints, begin: int, initial: int, most: int) -> None:
    """One configuration: the initial value."""
    slots[:] = 0
    slots[VALUE : VALUE + LANES] = -1
    slots[DUE : DUE + LANES] = NO_RETURN
    slots[AT], slots[NEXT], slots[SPARE] = begin, NO_RETURN, most
    slots[VALUE], lane_of[initial], sets[0] = initial, 0, np.uint64(1)


@compiled
def clear(sets: Words, slots: Ints, lane_of: Ints) -> None:
    """No configuration, no lanes."""
    high, word = slots[TAKEN] >> IN_WORD, 0
    while True:
        for at in range(BLOCK * word, BLOCK * word + LANES):
            sets[at] = ZERO
        word = after(word, high)
        if word == 0:
            break
    for lane in range(LANES):
        if slots[VALUE + lane] >= 0:
            lane_of[slots[VALUE + lane]] = NO_LANE


@compiled
def lane_for(
    value: int,
    most: int,
    lane_of: Ints,
    sets: Words,
    slots: Ints,
    taken: int,
    mutators: int,
    denying: int,
) -> int:
    """A lane, of the first `most`, for a value that has none, or `NO_LANE`. Slots and observers
    that name the value come to know it."""
    found = _unused(most, sets, slots, taken >> IN_WORD)
    if found == NO_LANE:
        return NO_LANE
    before = slots[VALUE + found]
    if before >= 0:
        lane_of[before] = NO_LANE
    slots[VALUE + found], lane_of[value] = value, found
    holding = np.int64(0)
    while taken:
        slot = trailing_zeros(taken)
        taken &= taken - 1
        bit = np.int64(1) << slot
        needs = slots[NEEDS + slot]
        if needs == value:
            slots[SOURCE + slot] = found
        elif needs == before and needs >= 0:
            slots[SOURCE + slot] = NO_LANE
        if not mutators & bit and (needs == value) != (denying & bit > 0):
            holding |= bit
    slots[HOLDS + found] = holding
    return found


@compiled
def _unused(most: int, sets: Words, slots: Ints, high: int) -> int:
    for lane in range(most):
        if slots[LED_TO + lane] == 0 and is_empty(lane, sets, high):
            return lane
    return NO_LANE


@compiled
def is_empty(lane: int, sets: Words, high: int) -> bool:
    word = 0
    while sets[BLOCK * word + lane] == ZERO:
        word = after(word, high)
        if word == 0:
            return True
    return False


@compiled
def lanes_used(sets: Words, slots: Ints, few: int) -> int:
    """`few`, if it can be done with those."""
    high = slots[TAKEN] >> IN_WORD
    for lane in range(few, LANES):
        if slots[LED_TO + lane] > 0 or not is_empty(lane, sets, high):
            return LANES
    return few


@compiled
def open_optional(
    row: int, kind: NDArray[np.int8], a: Codes, b: Codes, lane_of: Ints, sets: Words, slots: Ints
) -> bool:
    """A pending operation that was called before gets a slot, if there is one."""
    slot = trailing_zeros(~slots[TAKEN])
    if slot >= SLOTS:
        return False
    target = lane_of[b[row]]
    needs = np.int64(-1) if kind[row] == WRITE else np.int64(a[row])
    slots[ROW + slot], slots[NEEDS + slot], slots[SOURCE + slot] = row, needs, lane_of[needs]
    bit = np.int64(1) << slot
    if target == NO_LANE:
        target = lane_for(
            b[row], LANES, lane_of, sets, slots, slots[TAKEN] | bit, slots[MUTATORS] | bit,
            slots[DENYING],
        )  # fmt: skip
        if target == NO_LANE:
            return False
    slots[TARGET + slot] = target
    slots[LED_TO + target] += 1
    slots[TAKEN] |= bit
    slots[MUTATORS] |= bit
    slots[OPTIONAL] |= bit
    if kind[row] == CHANGE:
        slots[CHANGES] |= bit
    return True


@compiled
def close_optional(slot: int, slots: Ints) -> None:
    """Its slot is free again."""
    bit = np.int64(1) << slot
    slots[LED_TO + slots[TARGET + slot]] -= 1
    slots[TAKEN] &= ~bit
    slots[MUTATORS] &= ~bit
    slots[OPTIONAL] &= ~bit
    slots[CHANGES] &= ~bit
