"""Operations that never return, where sets with all of them in slots would be too big.

They are left out at first. Where a return leaves no configuration, one is looked for that could
have helped, and the walk begins again at a snapshot, with that one in a slot. Once all
configurations have it, it is used up, and its slot free. When the return is passed, those that did
without it go on alone. So an order that is found is one; that none is found says nothing.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.bits import trailing_zeros
from checkers.linearizability.arrays.kinds import CAS, READ, WRITE
from checkers.linearizability.encoded import Codes, Ints
from checkers.linearizability.methods.jit_bitset.sets import (
    BLOCK,
    IN_WORD,
    LANES,
    ROW,
    VALUE,
    Words,
    after,
    leave_out,
    some_lack,
    take_out,
)
from checkers.linearizability.methods.jit_bitset.slots import (
    AT,
    LAST,
    NO_RETURN,
    OPTIONAL,
    RETURNS,
    SPARE,
    TAKEN,
    WAITING,
    clear,
    close_optional,
    open_optional,
)
from framework.compiled import compiled

KEPT: Final = 16
"""Snapshots."""
_LOOKED_THROUGH: Final = 64
"""The last so many pending operations are thought of."""

# Rows of `pending`. Of each operation by its place in the key: what is known of it, and since which
# return it is not wanted. Then lists of rows: all that were called, all that were ever wanted.
MARK: Final = 0
END: Final = 1
CALLED: Final = 2
EVER: Final = 3
IDLE, WANTED, USED = 0, 1, 2


@compiled
def save(sets: Words, slots: Ints, past_sets: Words, past_slots: Ints) -> None:
    past_slots[:] = slots
    high, word = slots[TAKEN] >> IN_WORD, 0
    while True:
        for at in range(BLOCK * word, BLOCK * word + LANES):
            past_sets[at] = sets[at]
        word = after(word, high)
        if word == 0:
            break


@compiled
def _restore(sets: Words, slots: Ints, lane_of: Ints, past_sets: Words, past_slots: Ints) -> None:
    clear(sets, slots, lane_of)
    spare = slots[SPARE]
    slots[:] = past_slots
    slots[SPARE] = spare
    save(past_sets, slots, sets, slots)
    for lane in range(LANES):
        if slots[VALUE + lane] >= 0:
            lane_of[slots[VALUE + lane]] = lane


@compiled
def one_that_helps(
    kind: NDArray[np.int8], a: Codes, b: Codes, begin: int, slots: Ints, pending: Ints
) -> int:
    """A pending operation that may lead to what the return needs that leaves nothing; -1: none."""
    culprit = slots[ROW + slots[LAST]]
    same = kind[culprit] == READ or kind[culprit] == CAS
    found = _leading_to(a[culprit], same, kind, b, begin, slots, pending)
    if found >= 0 or not same:
        return found
    taken = slots[TAKEN]
    while taken and found < 0:
        row = slots[ROW + trailing_zeros(taken)]
        taken &= taken - 1
        if kind[row] == CAS and b[row] == a[culprit]:
            found = _leading_to(a[row], True, kind, b, begin, slots, pending)
    first = max(0, slots[WAITING] - _LOOKED_THROUGH)
    for each in range(slots[WAITING] - 1, first - 1, -1):
        row = pending[CALLED, each]
        if found < 0 and kind[row] == CAS and b[row] == a[culprit]:
            found = _leading_to(a[row], True, kind, b, begin, slots, pending)
    return found


@compiled
def _leading_to(
    value: int,
    same: bool,
    kind: NDArray[np.int8],
    b: Codes,
    begin: int,
    slots: Ints,
    pending: Ints,
) -> int:
    """The last idle pending operation after which the value is that, or is not; rather a write."""
    found = -1
    first = max(0, slots[WAITING] - _LOOKED_THROUGH)
    for each in range(slots[WAITING] - 1, first - 1, -1):
        row = int(pending[CALLED, each])
        if pending[MARK, row - begin] == IDLE and (b[row] == value) == same:
            if kind[row] == WRITE:
                return row
            if found < 0:
                found = row
    return found


@compiled
def is_made(
    kind: NDArray[np.int8], a: Codes, b: Codes, begin: int, initial: int, slots: Ints
) -> bool:
    """Whether anything so far, pending or not, makes the value that the return needs that leaves
    nothing."""
    culprit = slots[ROW + slots[LAST]]
    if a[culprit] == initial or (kind[culprit] != READ and kind[culprit] != CAS):
        return True
    made = False
    for row in range(begin, slots[AT]):
        made |= b[row] == a[culprit] and kind[row] >= WRITE
    return made


@compiled
def go_back(
    row: int,
    kind: NDArray[np.int8],
    a: Codes,
    b: Codes,
    begin: int,
    lane_of: Ints,
    sets: Words,
    slots: Ints,
    past_sets: Words,
    past_slots: Ints,
    kept: int,
    pending: Ints,
    wanted: int,
) -> int:
    """To the last snapshot before `row` could help, with it and all that was wanted since; how many
    snapshots are left, or 0: there is none, or no room."""
    before = max(slots[ROW + slots[LAST]], row + 1)
    while kept > 0 and past_slots[(kept - 1) % KEPT, AT] > before:
        kept -= 1
        if kept > 0 and past_slots[(kept - 1) % KEPT, AT] > past_slots[kept % KEPT, AT]:
            return 0  # overwritten since
    if kept == 0:
        return 0
    last = (kept - 1) % KEPT
    _restore(sets, slots, lane_of, past_sets[last], past_slots[last])
    for each in range(max(0, wanted - _LOOKED_THROUGH), wanted):
        other = pending[EVER, each]
        if pending[END, other - begin] > slots[RETURNS]:
            pending[MARK, other - begin] = WANTED
            pending[END, other - begin] = NO_RETURN
            opens = other < slots[AT] and not _is_open(other, slots)
            if opens and not open_optional(other, kind, a, b, lane_of, sets, slots):
                return 0
    return kept


@compiled
def _is_open(row: int, slots: Ints) -> bool:
    left = slots[OPTIONAL]
    while left:
        if slots[ROW + trailing_zeros(left)] == row:
            return True
        left &= left - 1
    return False


@compiled
def give_up(begin: int, sets: Words, slots: Ints, pending: Ints) -> None:
    """No pending operation keeps a slot: those that did without go on, where there are any."""
    while slots[OPTIONAL]:
        slot = trailing_zeros(slots[OPTIONAL])
        high = slots[TAKEN] >> IN_WORD
        place = slots[ROW + slot] - begin
        pending[END, place] = slots[RETURNS]
        if some_lack(sets, high, LANES, slot):
            leave_out(sets, high, slot)
            pending[MARK, place] = IDLE
        else:
            take_out(sets, high, LANES, slot)
            pending[MARK, place] = USED
        close_optional(slot, slots)
