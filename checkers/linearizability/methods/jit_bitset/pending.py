"""Operations that never return, where sets with all of them in slots would be too big.

They are left out at first. Where a return leaves no configuration, one is looked for that could
have helped, and the walk begins again at a snapshot, with that one in a slot. Once all
configurations have it, it is used up, and its slot free. When the return is passed, those that did
without it go on alone. So an order that is found is one; that none is found says nothing.
"""

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.bits import trailing_zeros
from checkers.linearizability.arrays.kinds import CAS, READ, WRITE
from checkers.linearizability.arrays.records import record_of
from checkers.linearizability.encoded import Codes, Ints
from checkers.linearizability.methods.jit_bitset.sets import (
    BLOCK,
    IN_WORD,
    LANES,
    Open,
    Words,
    after,
    leave_out,
    some_lack,
    take_out,
)
from checkers.linearizability.methods.jit_bitset.slots import (
    NO_RETURN,
    clear,
    close_optional,
    open_optional,
)
from framework.compiled import compiled

KEPT: Final = 16
"""Snapshots."""
NOW: Final = KEPT
"""Where what is open now is, behind what was at the snapshots."""
Past: TypeAlias = NDArray[np.void]
_LOOKED_THROUGH: Final = 64
"""The last so many pending operations are thought of."""

IDLE, WANTED, USED = 0, 1, 2
PENDING: Final = record_of(
    [
        ("mark", np.int64),  # by its place in the key: what is known of an operation,
        ("end", np.int64),  # and since which return it is not wanted
        ("called", np.int64),  # a list: the rows of all that were called
        ("ever", np.int64),  # a list: of all that were ever wanted
    ]
)
Pending: TypeAlias = NDArray[np.void]


@compiled
def save(sets: Words, past_sets: Words, past: Past, at: int) -> None:
    past[at] = past[NOW]
    _copy(sets, past_sets[at], past[at].taken >> IN_WORD)


@compiled
def _copy(sets: Words, target: Words, high: int) -> None:
    word = 0
    while True:
        for at in range(BLOCK * word, BLOCK * word + LANES):
            target[at] = sets[at]
        word = after(word, high)
        if word == 0:
            break


@compiled
def _restore(sets: Words, lane_of: Ints, past_sets: Words, past: Past, at: int) -> None:
    slots: Open = past[NOW]
    clear(sets, slots, lane_of)
    spare = slots.spare
    past[NOW] = past[at]
    slots.spare = spare
    _copy(past_sets[at], sets, slots.taken >> IN_WORD)
    for lane in range(LANES):
        if slots.value[lane] >= 0:
            lane_of[slots.value[lane]] = lane


@compiled
def one_that_helps(
    kind: NDArray[np.int8], a: Codes, b: Codes, begin: int, slots: Open, pending: Pending
) -> int:
    """A pending operation that may lead to what the return needs that leaves nothing; -1: none."""
    culprit = slots.row[slots.last]
    same = kind[culprit] == READ or kind[culprit] == CAS
    found = _leading_to(a[culprit], same, kind, b, begin, slots, pending)
    if found >= 0 or not same:
        return found
    taken = slots.taken
    while taken and found < 0:
        row = slots.row[trailing_zeros(taken)]
        taken &= taken - 1
        if kind[row] == CAS and b[row] == a[culprit]:
            found = _leading_to(a[row], True, kind, b, begin, slots, pending)
    first = max(0, slots.waiting - _LOOKED_THROUGH)
    for each in range(slots.waiting - 1, first - 1, -1):
        row = pending[each].called
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
    slots: Open,
    pending: Pending,
) -> int:
    """The last idle pending operation after which the value is that, or is not; rather a write."""
    found = -1
    first = max(0, slots.waiting - _LOOKED_THROUGH)
    for each in range(slots.waiting - 1, first - 1, -1):
        row = int(pending[each].called)
        if pending[row - begin].mark == IDLE and (b[row] == value) == same:
            if kind[row] == WRITE:
                return row
            if found < 0:
                found = row
    return found


@compiled
def is_made(
    kind: NDArray[np.int8], a: Codes, b: Codes, begin: int, initial: int, slots: Open
) -> bool:
    """Whether anything so far, pending or not, makes the value that the return needs that leaves
    nothing."""
    culprit = slots.row[slots.last]
    if a[culprit] == initial or (kind[culprit] != READ and kind[culprit] != CAS):
        return True
    made = False
    for row in range(begin, slots.at):
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
    past_sets: Words,
    past: Past,
    kept: int,
    pending: Pending,
    wanted: int,
) -> int:
    """To the last snapshot before `row` could help, with it and all that was wanted since; how many
    snapshots are left, or 0: there is none, or no room."""
    slots: Open = past[NOW]
    before = max(slots.row[slots.last], row + 1)
    while kept > 0 and past[(kept - 1) % KEPT].at > before:
        kept -= 1
        if kept > 0 and past[(kept - 1) % KEPT].at > past[kept % KEPT].at:
            return 0  # overwritten since
    if kept == 0:
        return 0
    last = (kept - 1) % KEPT
    _restore(sets, lane_of, past_sets, past, last)
    for each in range(max(0, wanted - _LOOKED_THROUGH), wanted):
        other = pending[each].ever
        if pending[other - begin].end > slots.returns:
            pending[other - begin].mark = WANTED
            pending[other - begin].end = NO_RETURN
            opens = other < slots.at and not _is_open(other, slots)
            if opens and not open_optional(other, kind, a, b, lane_of, sets, slots):
                return 0
    return kept


@compiled
def _is_open(row: int, slots: Open) -> bool:
    left = slots.optional
    while left:
        if slots.row[trailing_zeros(left)] == row:
            return True
        left &= left - 1
    return False


@compiled
def give_up(begin: int, sets: Words, slots: Open, pending: Pending) -> None:
    """No pending operation keeps a slot: those that did without go on, where there are any."""
    while slots.optional:
        slot = trailing_zeros(slots.optional)
        high = slots.taken >> IN_WORD
        place = slots.row[slot] - begin
        pending[place].end = slots.returns
        if some_lack(sets, high, LANES, slot):
            leave_out(sets, high, slot)
            pending[place].mark = IDLE
        else:
            take_out(sets, high, LANES, slot)
            pending[place].mark = USED
        close_optional(slot, slots)
