"""The open operations of a key, and the values that it may have: slots and lanes."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.bits import trailing_zeros
from checkers.linearizability.arrays.kinds import CHANGE, WRITE
from checkers.linearizability.encoded import Codes, Ints
from checkers.linearizability.methods.jit_bitset.sets import (
    BLOCK,
    IN_WORD,
    LANES,
    NO_LANE,
    SLOTS,
    ZERO,
    Open,
    Words,
    after,
)
from framework.compiled import compiled

NO_RETURN: Final = 1 << 62


@compiled
def start(sets: Words, slots: Open, lane_of: Ints, begin: int, initial: int, most: int) -> None:
    """One configuration: the initial value."""
    slots.led_to[:] = 0
    slots.holds[:] = 0
    slots.taken = slots.mutators = slots.denying = slots.changes = slots.optional = 0
    slots.last = slots.waiting = slots.returns = 0
    slots.value[:LANES] = -1
    slots.due[:LANES] = NO_RETURN
    slots.at, slots.next, slots.spare = begin, NO_RETURN, most
    slots.value[0], lane_of[initial], sets[0] = initial, 0, np.uint64(1)


@compiled
def clear(sets: Words, slots: Open, lane_of: Ints) -> None:
    """No configuration, no lanes."""
    high, word = slots.taken >> IN_WORD, 0
    while True:
        for at in range(BLOCK * word, BLOCK * word + LANES):
            sets[at] = ZERO
        word = after(word, high)
        if word == 0:
            break
    for lane in range(LANES):
        if slots.value[lane] >= 0:
            lane_of[slots.value[lane]] = NO_LANE


@compiled
def lane_for(
    value: int,
    most: int,
    lane_of: Ints,
    sets: Words,
    slots: Open,
    taken: int,
    mutators: int,
    denying: int,
) -> int:
    """A lane, of the first `most`, for a value that has none, or `NO_LANE`. Slots and observers
    that name the value come to know it."""
    found = _unused(most, sets, slots, taken >> IN_WORD)
    if found == NO_LANE:
        return NO_LANE
    before = slots.value[found]
    if before >= 0:
        lane_of[before] = NO_LANE
    slots.value[found], lane_of[value] = value, found
    holding = np.int64(0)
    while taken:
        slot = trailing_zeros(taken)
        taken &= taken - 1
        bit = np.int64(1) << slot
        needs = slots.needs[slot]
        if needs == value:
            slots.source[slot] = found
        elif needs == before and needs >= 0:
            slots.source[slot] = NO_LANE
        if not mutators & bit and (needs == value) != (denying & bit > 0):
            holding |= bit
    slots.holds[found] = holding
    return found


@compiled
def _unused(most: int, sets: Words, slots: Open, high: int) -> int:
    for lane in range(most):
        if slots.led_to[lane] == 0 and is_empty(lane, sets, high):
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
def lanes_used(sets: Words, slots: Open, few: int) -> int:
    """`few`, if it can be done with those."""
    high = slots.taken >> IN_WORD
    for lane in range(few, LANES):
        if slots.led_to[lane] > 0 or not is_empty(lane, sets, high):
            return LANES
    return few


@compiled
def open_optional(
    row: int, kind: NDArray[np.int8], a: Codes, b: Codes, lane_of: Ints, sets: Words, slots: Open
) -> bool:
    """A pending operation that was called before gets a slot, if there is one."""
    slot = trailing_zeros(~slots.taken)
    if slot >= SLOTS:
        return False
    target = lane_of[b[row]]
    needs = np.int64(-1) if kind[row] == WRITE else np.int64(a[row])
    slots.row[slot], slots.needs[slot], slots.source[slot] = row, needs, lane_of[needs]
    bit = np.int64(1) << slot
    if target == NO_LANE:
        target = lane_for(
            b[row], LANES, lane_of, sets, slots, slots.taken | bit, slots.mutators | bit,
            slots.denying,
        )  # fmt: skip
        if target == NO_LANE:
            return False
    slots.target[slot] = target
    slots.led_to[target] += 1
    slots.taken |= bit
    slots.mutators |= bit
    slots.optional |= bit
    if kind[row] == CHANGE:
        slots.changes |= bit
    return True


@compiled
def close_optional(slot: int, slots: Open) -> None:
    """Its slot is free again."""
    bit = 1 << slot
    slots.led_to[slots.target[slot]] -= 1
    slots.taken &= ~bit
    slots.mutators &= ~bit
    slots.optional &= ~bit
    slots.changes &= ~bit
