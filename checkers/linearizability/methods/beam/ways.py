"""How a configuration goes on: the ways to have an operation, and which of them are kept.

`reg` has what is asked of `_put`: the target, the column that is to have it, the most puts.
"""

from typing import Final

import numpy as np

from checkers.linearizability.arrays.bits import ones, trailing_zeros
from checkers.linearizability.arrays.kinds import CAS, CHANGE, DIFFERS, FOREVER, READ, WRITE
from checkers.linearizability.encoded import Codes, Ints
from checkers.linearizability.methods.beam.space import (
    ASKED,
    BARRED,
    END,
    FIRST,
    LAST,
    MOST,
    NEVERS,
    PUTS,
    S_A,
    S_B,
    S_KIND,
    S_RET,
    S_ROW,
    SATISFIED,
    SCORE,
    SET,
    TARGET,
    TODO,
    TRAIL,
    TRAILS,
    USED,
    VALUE,
    WAY_END,
    WORK,
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
def copy(rows: Ints, source: int, target: int) -> None:
    for column in range(rows.shape[1]):
        rows[target, column] = rows[source, column]


@compiled
def settle(rows: Ints, open_: Ints, here: int) -> None:
    """What fits the value is satisfied: it can be put here and changes nothing."""
    value, any_ = rows[here, VALUE], open_.shape[1] - 1
    for word in range(2):
        rows[here, SATISFIED + word] |= (
            open_[READ, value, word]
            | open_[WRITE, value, word]
            | (open_[DIFFERS, any_, word] & ~open_[DIFFERS, value, word])
        )


@compiled
def wanted(reg: Ints, rows: Ints, open_: Ints, here: int, value: int) -> bool:
    """Whether anything open waits for another value."""
    waits = np.int64(0)
    for word in range(2):
        waiting = open_[READ, value, word] | (open_[CAS, value, word] & ~reg[NEVERS + word])
        waits |= waiting & ~rows[here, SATISFIED + word]
    return bool(value != rows[here, VALUE] and waits != 0)


@compiled
def _changers(reg: Ints, rows: Ints, open_: Ints, here: int, word: int) -> int:
    """Open cas and changes that are possible in a configuration."""
    value, any_ = rows[here, VALUE], open_.shape[1] - 1
    changes = open_[CHANGE, any_, word] & ~open_[CHANGE, value, word]
    return int(
        (open_[CAS, value, word] | changes) & ~(rows[here, USED + word] | reg[BARRED + word])
    )


@compiled
def _first(reg: Ints, rows: Ints, open_: Ints, slots: Ints, here: int, value: int) -> int:
    """The slot of the open write of a value that is not used and returns first; -1: none."""
    best, found = FOREVER, -1
    for word in range(2):
        left = open_[WRITE, value, word] & ~(rows[here, USED + word] | reg[BARRED + word])
        while left:
            slot = word * 64 + int(trailing_zeros(left))
            left &= left - 1
            if slots[slot, S_RET] < best or found < 0:
                best, found = slots[slot, S_RET], slot
    return found


@compiled
def extend(reg: Ints, rows: Ints, open_: Ints, slots: Ints, trails: Codes, here: int) -> None:
    """Finds ways by which the target becomes what is asked."""
    copy(rows, here, TODO)
    rows[TODO, PUTS] = 0
    reg[WAY_END] = TODO + 1
    target, any_ = reg[TARGET], open_.shape[1] - 1
    does, there = slots[target, S_KIND], TODO
    while there < reg[WAY_END]:
        value, silent = rows[there, VALUE], np.int64(0)
        for word in range(2):
            owed = open_[WRITE, any_, word] & ~reg[NEVERS + word]
            silent |= owed & ~rows[there, SATISFIED + word]
        last = rows[there, PUTS] + 1 >= reg[MOST]
        if reg[ASKED] == USED and (slots[target, S_B] != value or silent != 0):
            _put(reg, rows, open_, slots, trails, there, target)
        if not (last and (reg[ASKED] == USED or does in (CAS, CHANGE))):
            only = slots[target, S_A] if last and does == READ else -1
            # A write of the same value, if it makes others silent.
            for each in range(any_):
                if (each != value or silent != 0) and (only < 0 or only == each):
                    slot = _first(reg, rows, open_, slots, there, each)
                    if slot >= 0:
                        _put(reg, rows, open_, slots, trails, there, slot)
        if not (last and reg[ASKED] == USED):
            for word in range(2):
                left = _changers(reg, rows, open_, there, word)
                while left:
                    slot = word * 64 + int(trailing_zeros(left))
                    left &= left - 1
                    _put(reg, rows, open_, slots, trails, there, slot)
        there += 1


@compiled
def _arrives(reg: Ints, slots: Ints, slot: int) -> bool:
    """Whether the target is what is asked, once this was put."""
    target = reg[TARGET]
    if slot == target or reg[ASKED] == USED:
        return bool(slot == target)
    does = slots[target, S_KIND]
    if does == READ:
        return bool(slots[slot, S_B] == slots[target, S_A])
    if does == DIFFERS:
        return bool(slots[slot, S_B] != slots[target, S_A])
    return bool(
        does == WRITE and (slots[slot, S_KIND] == WRITE or slots[slot, S_B] == slots[target, S_B])
    )


@compiled
def _put(
    reg: Ints, rows: Ints, open_: Ints, slots: Ints, trails: Codes, there: int, slot: int
) -> None:
    """One more operation takes effect. That is a way, or part of one."""
    arrives = _arrives(reg, slots, slot)
    if not arrives and rows[there, PUTS] + 1 >= reg[MOST]:
        return
    child = reg[END] if arrives else reg[WAY_END]
    if child >= (reg[FIRST] + SET - 1 if arrives else LAST) or reg[TRAILS] >= len(trails):
        return
    reg[WORK] += 1
    copy(rows, there, child)
    if slots[slot, S_KIND] == WRITE:
        # Every other open write can be put just before it, unseen.
        any_ = open_.shape[1] - 1
        rows[child, SATISFIED] |= open_[WRITE, any_, 0]
        rows[child, SATISFIED + 1] |= open_[WRITE, any_, 1]
    word, bit = slot >> 6, np.int64(1) << (slot & 63)
    rows[child, SATISFIED + word] |= bit
    rows[child, USED + word] |= bit
    rows[child, VALUE] = slots[slot, S_B]
    rows[child, PUTS] += 1
    settle(rows, open_, child)
    trails[reg[TRAILS], 0] = rows[there, TRAIL]
    trails[reg[TRAILS], 1] = slots[slot, S_ROW]
    rows[child, TRAIL] = reg[TRAILS]
    if arrives:
        reg[END] = kept(rows, reg[FIRST], child)
        reg[TRAILS] += 1
    elif _useful(reg, rows, open_, slots, there, child) and _is_new(rows, TODO, child):
        reg[WAY_END] += 1
        reg[TRAILS] += 1


@compiled
def _useful(reg: Ints, rows: Ints, open_: Ints, slots: Ints, there: int, child: int) -> bool:
    """Whether it was seen, or leads on. Pending operations are only put to arrive with the next."""
    useful, any_ = np.int64(0), open_.shape[1] - 1
    for word in range(2):
        sees = open_[READ, any_, word] | open_[DIFFERS, any_, word]
        sees |= open_[CAS, any_, word] | open_[CHANGE, any_, word]
        fresh = rows[child, SATISFIED + word] & ~rows[there, SATISFIED + word]
        leads = _changers(reg, rows, open_, child, word)
        useful |= ((fresh & sees) | leads) & ~reg[NEVERS + word]
        left = leads & reg[NEVERS + word]
        while left:
            useful |= _arrives(reg, slots, word * 64 + int(trailing_zeros(left)))
            left &= left - 1
    return bool(useful != 0)


@compiled
def _covers(rows: Ints, one: int, other: int) -> bool:
    """The same value, no less satisfied, no more used."""
    return bool(
        (rows[other, SATISFIED] & ~rows[one, SATISFIED]) == 0
        and (rows[one, USED] & ~rows[other, USED]) == 0
        and rows[one, VALUE] == rows[other, VALUE]
        and (rows[other, SATISFIED + 1] & ~rows[one, SATISFIED + 1]) == 0
        and (rows[one, USED + 1] & ~rows[other, USED + 1]) == 0
    )


@compiled
def _is_new(rows: Ints, first: int, last: int) -> bool:
    each = first
    while each < last and not _covers(rows, each, last):
        each += 1
    return each == last


@compiled
def kept(rows: Ints, first: int, last: int) -> int:
    """Where they end, once the last is left out if another covers it, and those are that it
    covers."""
    if not _is_new(rows, first, last):
        return last
    each = first
    while each < last:
        if _covers(rows, last, each):
            last -= 1
            if each < last:
                copy(rows, last, each)
            copy(rows, last + 1, last)
        else:
            each += 1
    return last + 1


@compiled
def thin(reg: Ints, rows: Ints, open_: Ints, first: int, end: int, width: int, into: int) -> None:
    """The best, and not all of one value."""
    for each in range(first, end):
        rows[each, SCORE] = _cost(reg, rows, open_, each)
    for place in range(into, into + width):
        best = first
        for each in range(first + 1, end):
            if rows[each, SCORE] < rows[best, SCORE]:
                best = each
        copy(rows, best, place)
        end -= 1
        value = rows[best, VALUE]
        copy(rows, end, best)
        for each in range(first, end):
            if rows[each, VALUE] == value:
                rows[each, SCORE] += _SAME_VALUE


@compiled
def _cost(reg: Ints, rows: Ints, open_: Ints, here: int) -> int:
    """Little, if there are many means for what is still to be seen."""
    cost, any_ = 0, open_.shape[1] - 1
    for value in range(any_):
        if value == rows[here, VALUE]:
            continue
        waits = means = 0
        for word in range(2):
            waits += ones(open_[READ, value, word] & ~rows[here, SATISFIED + word])
            means += ones(open_[WRITE, value, word] & ~rows[here, USED + word])
        cost += _WAITS * waits
        if means == 0:
            cost += _NO_MEANS + (_WAITS_IN_VAIN if waits else 0)
        elif means == 1:
            cost += _ONE_MEANS + (_WAITS_FOR_ONE if waits else 0)
        elif means == 2:
            cost += _TWO_MEANS
    for word in range(2):
        owed = (open_[CAS, any_, word] | open_[CHANGE, any_, word]) & ~reg[NEVERS + word]
        cost += _CAS_WAITS * ones(owed & ~rows[here, SATISFIED + word])
        cost += _SPENDS * ones(rows[here, USED + word] & reg[NEVERS + word])
    return cost
