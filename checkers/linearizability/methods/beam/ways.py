"""How a configuration goes on: the ways to have an operation, and which of them are kept.

`reg` has what is asked of `_put`: the target, the column that is to have it, the most puts.
"""

from typing import Final

import numpy as np

from checkers.linearizability.arrays.bits import ones, trailing_zeros
from checkers.linearizability.arrays.kinds import CAS, CHANGE, DIFFERS, FOREVER, READ, WRITE
from checkers.linearizability.arrays.open import ANY, PENDING, Slots
from checkers.linearizability.arrays.trails import Trails
from checkers.linearizability.encoded import Ints
from checkers.linearizability.methods.beam.space import (
    LAST,
    SET,
    TODO,
    WORDS,
    Registers,
    Rows,
)
from framework.compiled import compiled

# What a configuration costs that has to be thinned out.
_WAITS: Final = 1
_WAITS_IN_VAIN: Final = 8
"""Somebody waits for a value that nothing open can make."""
_WAITS_FOR_ONE: Final = 4
_NO_MEANS: Final = 4
_ONE_MEANS: Final = 2
_TWO_MEANS: Final = 1
_CAS_WAITS: Final = 3
_SPENDS: Final = 20
"""For each pending operation that was used: those that are not are there for ever."""
_SAME_VALUE: Final = 4
"""For each one that is kept already and has the same value: the beam stays diverse."""


@compiled
def settle(rows: Rows, masks: Ints, here: int) -> None:
    """What fits the value is satisfied: it can be put here and changes nothing."""
    value = rows[here].value
    for word in range(WORDS):
        rows[here].satisfied[word] |= (
            masks[value, READ, word]
            | masks[value, WRITE, word]
            | (masks[ANY, DIFFERS, word] & ~masks[value, DIFFERS, word])
        )


@compiled
def wanted(reg: Registers, rows: Rows, masks: Ints, here: int, value: int) -> bool:
    """Whether anything open waits for another value."""
    waits = np.int64(0)
    for word in range(WORDS):
        waiting = masks[value, READ, word] | (masks[value, CAS, word] & ~masks[ANY, PENDING, word])
        waits |= waiting & ~rows[here].satisfied[word]
    return bool(value != rows[here].value and waits != 0)


@compiled
def _changers(reg: Registers, rows: Rows, masks: Ints, here: int, word: int) -> np.int64:
    """Open cas and changes that are possible in a configuration."""
    value = rows[here].value
    changes = masks[ANY, CHANGE, word] & ~masks[value, CHANGE, word]
    able: np.int64 = (masks[value, CAS, word] | changes) & ~rows[here].used[word]
    able &= ~reg.barred[word]
    return able


@compiled
def _first(reg: Registers, rows: Rows, masks: Ints, slots: Slots, here: int, value: int) -> int:
    """The slot of the open write of a value that is not used and returns first; -1: none."""
    best, found = FOREVER, -1
    for word in range(WORDS):
        left = masks[value, WRITE, word] & ~(rows[here].used[word] | reg.barred[word])
        while left:
            slot = word * 64 + int(trailing_zeros(left))
            left &= left - 1
            if slots[slot].ret < best or found < 0:
                best, found = slots[slot].ret, slot
    return found


@compiled
def extend(
    reg: Registers, rows: Rows, masks: Ints, slots: Slots, trails: Trails, here: int
) -> None:
    """Finds ways by which the target becomes what is asked."""
    rows[TODO] = rows[here]
    rows[TODO].puts = 0
    reg.way_end = TODO + 1
    target, there = reg.target, TODO
    does, values = slots[target].kind, len(masks) - 2
    while there < reg.way_end:
        value, silent = rows[there].value, np.int64(0)
        for word in range(WORDS):
            owed = masks[ANY, WRITE, word] & ~masks[ANY, PENDING, word]
            silent |= owed & ~rows[there].satisfied[word]
        last = rows[there].puts + 1 >= reg.most
        if reg.asks_use and (slots[target].b != value or silent != 0):
            _put(reg, rows, masks, slots, trails, there, target)
        if not (last and (reg.asks_use or does in (CAS, CHANGE))):
            only = slots[target].a if last and does == READ else -1
            # A write of the same value, if it makes others silent.
            for each in range(values):
                if (each != value or silent != 0) and (only < 0 or only == each):
                    slot = _first(reg, rows, masks, slots, there, each)
                    if slot >= 0:
                        _put(reg, rows, masks, slots, trails, there, slot)
        if not (last and reg.asks_use):
            for word in range(WORDS):
                left = _changers(reg, rows, masks, there, word)
                while left:
                    slot = word * 64 + int(trailing_zeros(left))
                    left &= left - 1
                    _put(reg, rows, masks, slots, trails, there, slot)
        there += 1


@compiled
def _arrives(reg: Registers, slots: Slots, slot: int) -> bool:
    """Whether the target is what is asked, once this was put."""
    target = reg.target
    if slot == target or reg.asks_use:
        return bool(slot == target)
    does = slots[target].kind
    if does == READ:
        return bool(slots[slot].b == slots[target].a)
    if does == DIFFERS:
        return bool(slots[slot].b != slots[target].a)
    return bool(does == WRITE and (slots[slot].kind == WRITE or slots[slot].b == slots[target].b))


@compiled
def _put(
    reg: Registers, rows: Rows, masks: Ints, slots: Slots, trails: Trails, there: int, slot: int
) -> None:
    """One more operation takes effect. That is a way, or part of one."""
    arrives = _arrives(reg, slots, slot)
    if not arrives and rows[there].puts + 1 >= reg.most:
        return
    child = reg.end if arrives else reg.way_end
    if child >= (reg.first + SET - 1 if arrives else LAST) or reg.trails >= len(trails):
        return
    reg.work += 1
    rows[child] = rows[there]
    if slots[slot].kind == WRITE:
        # Every other open write can be put just before it, unseen.
        rows[child].satisfied[0] |= masks[ANY, WRITE, 0]
        rows[child].satisfied[1] |= masks[ANY, WRITE, 1]
    word, bit = slot >> 6, np.int64(1) << (slot & 63)
    rows[child].satisfied[word] |= bit
    rows[child].used[word] |= bit
    rows[child].value = slots[slot].b
    rows[child].puts += 1
    settle(rows, masks, child)
    trails[reg.trails].before = rows[there].trail
    trails[reg.trails].added = slots[slot].row
    rows[child].trail = reg.trails
    if arrives:
        reg.end = kept(rows, reg.first, child)
        reg.trails += 1
    elif _useful(reg, rows, masks, slots, there, child) and _is_new(rows, TODO, child):
        reg.way_end += 1
        reg.trails += 1


@compiled
def _useful(reg: Registers, rows: Rows, masks: Ints, slots: Slots, there: int, child: int) -> bool:
    """Whether it was seen, or leads on. Pending operations are only put to arrive with the next."""
    useful = np.int64(0)
    for word in range(WORDS):
        sees = masks[ANY, READ, word] | masks[ANY, DIFFERS, word]
        sees |= masks[ANY, CAS, word] | masks[ANY, CHANGE, word]
        fresh = rows[child].satisfied[word] & ~rows[there].satisfied[word]
        leads = _changers(reg, rows, masks, child, word)
        useful |= ((fresh & sees) | leads) & ~masks[ANY, PENDING, word]
        left = leads & masks[ANY, PENDING, word]
        while left:
            useful |= _arrives(reg, slots, word * 64 + int(trailing_zeros(left)))
            left &= left - 1
    return bool(useful != 0)


@compiled
def _covers(rows: Rows, one: int, other: int) -> bool:
    """The same value, no less satisfied, no more used."""
    return bool(
        (rows[other].satisfied[0] & ~rows[one].satisfied[0]) == 0
        and (rows[one].used[0] & ~rows[other].used[0]) == 0
        and rows[one].value == rows[other].value
        and (rows[other].satisfied[1] & ~rows[one].satisfied[1]) == 0
        and (rows[one].used[1] & ~rows[other].used[1]) == 0
    )


@compiled
def _is_new(rows: Rows, first: int, last: int) -> bool:
    each = first
    while each < last and not _covers(rows, each, last):
        each += 1
    return each == last


@compiled
def kept(rows: Rows, first: int, last: int) -> int:
    """Where they end, once the last is left out if another covers it, and those are that it
    covers."""
    if not _is_new(rows, first, last):
        return last
    each = first
    while each < last:
        if _covers(rows, last, each):
            last -= 1
            if each < last:
                rows[each] = rows[last]
            rows[last] = rows[last + 1]
        else:
            each += 1
    return last + 1


@compiled
def thin(rows: Rows, masks: Ints, first: int, end: int, width: int, into: int) -> None:
    """The best, and not all of one value."""
    for each in range(first, end):
        rows[each].score = _cost(rows, masks, each)
    for place in range(into, into + width):
        best = first
        for each in range(first + 1, end):
            if rows[each].score < rows[best].score:
                best = each
        rows[place] = rows[best]
        end -= 1
        value = rows[best].value
        rows[best] = rows[end]
        for each in range(first, end):
            if rows[each].value == value:
                rows[each].score += _SAME_VALUE


@compiled
def _cost(rows: Rows, masks: Ints, here: int) -> int:
    """Little, if there are many means for what is still to be seen."""
    cost = 0
    for value in range(len(masks) - 2):
        if value == rows[here].value:
            continue
        waits = means = 0
        for word in range(WORDS):
            waits += ones(masks[value, READ, word] & ~rows[here].satisfied[word])
            means += ones(masks[value, WRITE, word] & ~rows[here].used[word])
        cost += _WAITS * waits
        if means == 0:
            cost += _NO_MEANS + (_WAITS_IN_VAIN if waits else 0)
        elif means == 1:
            cost += _ONE_MEANS + (_WAITS_FOR_ONE if waits else 0)
        elif means == 2:
            cost += _TWO_MEANS
    for word in range(WORDS):
        owed = (masks[ANY, CAS, word] | masks[ANY, CHANGE, word]) & ~masks[ANY, PENDING, word]
        cost += _CAS_WAITS * ones(owed & ~rows[here].satisfied[word])
        cost += _SPENDS * ones(rows[here].used[word] & masks[ANY, PENDING, word])
    return cost
