"""Beam search over completions: few configurations, cheap steps, and back where all of them die.

At a return, configurations that have the operation go on as they are. The others are extended by
the shortest ways to have it. Of more than the beam is wide, those are kept that have the most
means left for what is still open. Where none is left, the cause is not far: the beam goes back to
a checkpoint before it and comes again, wider and with longer ways.
"""

from typing import Final

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros

from checkers.linearizability.beam.space import (
    ASKED,
    BACK,
    CAS,
    CHANGE,
    COUNT,
    DEEPEST,
    DIFFERS,
    END,
    ENOUGH,
    EVENT,
    FIRST,
    FOREVER,
    FREE,
    LAST,
    LENGTH,
    MOST,
    NARROW,
    NEVERS,
    NEXT_SAVE,
    PUTS,
    READ,
    S_A,
    S_B,
    S_KIND,
    S_RET,
    S_ROW,
    SATISFIED,
    SAVE_EVERY,
    SCORE,
    SET,
    SIDE,
    SLOTS,
    SPARE_TRAILS,
    TARGET,
    TODO,
    TRAIL,
    TRAILS,
    USED,
    VALUE,
    WAY_END,
    WIDE_UNTIL,
    WIDEST,
    WIDTH,
    WORK,
    WRITE,
    Beam,
    enter,
    free_slot,
    leave,
    ones,
    restore,
    save,
)
from checkers.linearizability.coded import Codes, Ints
from framework.compiled import compiled

ARRIVED: Final = 0
PAUSED: Final = 1
NEEDS_TRAILS: Final = 2
GAVE_UP: Final = 3

_GROWTH: Final = 4
"""Of the width, from one dead end at the same place to the next."""
_NEAR: Final = 2
"""The cause of a dead end is first sought so many events before it, for each open operation."""
_SHORT: Final = 2
_LONG: Final = 8
"""Puts at one return, as long as all goes well. After a dead end, it is one more each time, until
these."""
_ENOUGH: Final = 400_000
_ENOUGH_AN_EVENT: Final = 2
"""Work on one dead end, for each event until then."""
_PENDING: Final = 4
"""Pending writes of a value that have a slot. Of other effects, one each."""
_SPARE: Final = 24
"""Slots that are left to operations that return."""

# What a configuration costs that has to be thinned out.
_WAITS: Final = 1
_WAITS_IN_VAIN: Final = 8
"""Somebody waits for a value that nothing open can make."""
_WAITS_FOR_ONE: Final = 4
_NO_MEANS: Final = 4
_ONE_MEANS: Final = 2
_TWO_MEANS: Final = 1
_CAS_WAITS: Final = 3
_SAME_VALUE: Final = 4
"""For each one that is kept already and has the same value: the beam stays diverse."""


@compiled
def sweep(beam: Beam, work: int) -> int:
    """Goes on until the end is reached, about `work` steps are done, or something is needed."""
    reg, events, ops, slots, open_ = beam.reg, beam.events, beam.ops, beam.slots, beam.open
    stop = reg[WORK] + work
    while reg[EVENT] < len(events):
        if reg[WORK] >= stop:
            return PAUSED
        if reg[EVENT] <= reg[DEEPEST] and reg[WORK] > reg[ENOUGH]:
            return GAVE_UP
        if reg[TRAILS] + SPARE_TRAILS > len(beam.trails):
            return NEEDS_TRAILS
        if reg[EVENT] >= reg[NEXT_SAVE] and reg[COUNT] <= reg[NARROW]:
            _forget_used(beam)
            save(beam)
            reg[NEXT_SAVE] = reg[EVENT] + SAVE_EVERY
        row = int(events[reg[EVENT]] >> 1)
        returns = events[reg[EVENT]] & 1
        reg[EVENT] += 1
        reg[WORK] += 1
        if not returns:
            if ops[row, S_RET] == FOREVER and not _welcome(reg, ops, slots, open_, row):
                continue
            for word in range(2):
                if reg[FREE] == 0 and reg[FREE + 1] == 0:
                    _evict(beam, reg[NEVERS + word] & -reg[NEVERS + word], word)
            slot = free_slot(reg)
            if slot < 0:
                return GAVE_UP
            enter(reg, ops, slots, open_, row, slot)
        elif not _returned(beam, int(ops[row, S_ROW])) and not _gone_back(beam):
            return GAVE_UP
    return ARRIVED


@compiled
def _welcome(reg: Ints, ops: Ints, slots: Ints, open_: Ints, row: int) -> bool:
    """Whether a pending operation is given a slot: only so many are of use."""
    kind, makes = ops[row, S_KIND], ops[row, S_B]
    if kind <= DIFFERS or ones(reg[FREE]) + ones(reg[FREE + 1]) <= _SPARE:
        return False
    alike, most = 0, _PENDING if kind == WRITE else 1
    for word in range(2):
        left = open_[kind, makes if kind == WRITE else ops[row, S_A], word] & reg[NEVERS + word]
        while left:
            alike += slots[word * 64 + int(trailing_zeros(left)), S_B] == makes
            left &= left - 1
    return bool(alike < most)


@compiled
def _evict(beam: Beam, used: int, word: int) -> None:
    """Takes slots from pending operations, which can take effect no more."""
    reg, rows = beam.reg, beam.rows
    for each in range(reg[SIDE], reg[SIDE] + reg[COUNT]):
        rows[each, USED + word] &= ~used
        rows[each, SATISFIED + word] &= ~used
    while used:
        leave(reg, beam.slots, beam.open, word * 64 + int(trailing_zeros(used)))
        used &= used - 1


@compiled
def _forget_used(beam: Beam) -> None:
    """Pending operations that all configurations have used."""
    reg, rows = beam.reg, beam.rows
    for word in range(2):
        used = reg[NEVERS + word]
        for each in range(reg[SIDE], reg[SIDE] + reg[COUNT]):
            used &= rows[each, USED + word]
        _evict(beam, used, word)


@compiled
def _gone_back(beam: Beam) -> bool:
    """To before what made all configurations die. False: that was tried often enough."""
    reg = beam.reg
    died = reg[EVENT]
    if died > reg[DEEPEST]:
        reg[DEEPEST], reg[WIDTH], reg[LENGTH] = died, reg[NARROW], _SHORT
        reg[BACK] = _NEAR * (SLOTS - ones(reg[FREE]) - ones(reg[FREE + 1])) // 2
        reg[ENOUGH] = reg[WORK] + _ENOUGH + _ENOUGH_AN_EVENT * died
    reg[BACK] *= 2
    reg[WIDTH] = min(reg[WIDTH] * _GROWTH, WIDEST)
    reg[LENGTH] += 1 if reg[WIDTH] > _GROWTH * reg[NARROW] else 0
    if reg[LENGTH] > _LONG or not restore(beam, died - reg[BACK]):
        return False
    reg[WIDE_UNTIL] = died + reg[BACK]
    reg[NEXT_SAVE] = reg[EVENT] + SAVE_EVERY
    return True


@compiled
def _returned(beam: Beam, slot: int) -> bool:
    """All configurations get by the return of an operation. False: none does."""
    reg, rows, now = beam.reg, beam.rows, beam.reg[SIDE]
    word, bit = slot >> 6, np.int64(1) << (slot & 63)
    first = SET - now
    wide = reg[EVENT] < reg[WIDE_UNTIL]
    reg[TARGET], reg[MOST] = slot, reg[LENGTH] if wide else _SHORT
    reg[FIRST] = reg[END] = first
    open_, slots, trails = beam.open, beam.slots, beam.trails
    writes, extended = slots[slot, S_KIND] == WRITE, False
    for here in range(now, now + reg[COUNT]):
        _settle(rows, open_, here)
        has = rows[here, SATISFIED + word] & bit != 0
        if has and reg[END] < first + SET - 1:
            _copy(rows, here, reg[END])
            reg[END] = _kept(rows, first, reg[END]) if extended else reg[END] + 1
        unused = writes and rows[here, USED + word] & bit == 0
        if unused and (wide or not has or _wanted(reg, rows, open_, here, slots[slot, S_B])):
            # The last chance that it is seen.
            reg[ASKED], extended = USED, True
            if not wide:
                reg[MOST] = 1
            _extend(reg, rows, open_, slots, trails, here)
        if not has:
            reg[ASKED], extended = SATISFIED, True
            if not wide:
                reg[MOST] = _SHORT
            _extend(reg, rows, open_, slots, trails, here)
    if reg[END] == first:
        return False
    leave(reg, slots, open_, slot)
    for each in range(first, reg[END]):
        rows[each, SATISFIED + word] &= ~bit
        rows[each, USED + word] &= ~bit
    width = reg[WIDTH] if wide else reg[NARROW]
    reg[COUNT] = reg[END] - first
    reg[WORK] += reg[COUNT]
    if reg[COUNT] > width:
        _thin(reg, rows, open_, first, reg[END], width, now)
        reg[COUNT] = width
    else:
        reg[SIDE] = first
    return True


@compiled
def _copy(rows: Ints, source: int, target: int) -> None:
    for column in range(rows.shape[1]):
        rows[target, column] = rows[source, column]


@compiled
def _settle(rows: Ints, open_: Ints, here: int) -> None:
    """What fits the value is satisfied: it can be put here and changes nothing."""
    value, any_ = rows[here, VALUE], open_.shape[1] - 1
    for word in range(2):
        rows[here, SATISFIED + word] |= (
            open_[READ, value, word]
            | open_[WRITE, value, word]
            | (open_[DIFFERS, any_, word] & ~open_[DIFFERS, value, word])
        )


@compiled
def _wanted(reg: Ints, rows: Ints, open_: Ints, here: int, value: int) -> bool:
    """Whether anything open waits for another value."""
    waits = np.int64(0)
    for word in range(2):
        waiting = open_[READ, value, word] | (open_[CAS, value, word] & ~reg[NEVERS + word])
        waits |= waiting & ~rows[here, SATISFIED + word]
    return bool(value != rows[here, VALUE] and waits != 0)


@compiled
def _changers(rows: Ints, open_: Ints, here: int, word: int) -> int:
    """Open cas and changes that are possible in a configuration."""
    value, any_ = rows[here, VALUE], open_.shape[1] - 1
    changes = open_[CHANGE, any_, word] & ~open_[CHANGE, value, word]
    return int((open_[CAS, value, word] | changes) & ~rows[here, USED + word])


@compiled
def _first(rows: Ints, open_: Ints, slots: Ints, here: int, value: int) -> int:
    """The slot of the open write of a value that is not used and returns first; -1: none."""
    best, found = FOREVER, -1
    for word in range(2):
        left = open_[WRITE, value, word] & ~rows[here, USED + word]
        while left:
            slot = word * 64 + int(trailing_zeros(left))
            left &= left - 1
            if slots[slot, S_RET] < best or found < 0:
                best, found = slots[slot, S_RET], slot
    return found


@compiled
def _extend(reg: Ints, rows: Ints, open_: Ints, slots: Ints, trails: Codes, here: int) -> None:
    """Finds ways by which the target becomes what is asked."""
    _copy(rows, here, TODO)
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
                    slot = _first(rows, open_, slots, there, each)
                    if slot >= 0:
                        _put(reg, rows, open_, slots, trails, there, slot)
        if not (last and reg[ASKED] == USED):
            for word in range(2):
                left = _changers(rows, open_, there, word)
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
    _copy(rows, there, child)
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
    _settle(rows, open_, child)
    trails[reg[TRAILS], 0] = rows[there, TRAIL]
    trails[reg[TRAILS], 1] = slots[slot, S_ROW]
    rows[child, TRAIL] = reg[TRAILS]
    if arrives:
        reg[END] = _kept(rows, reg[FIRST], child)
        reg[TRAILS] += 1
    elif _useful(reg, rows, open_, slots, there, child) and _is_new(rows, TODO, child):
        reg[WAY_END] += 1
        reg[TRAILS] += 1


@compiled
def _useful(
    reg: Ints, rows: Ints, open_: Ints, slots: Ints, there: int, child: int
) -> bool:
    """Whether it was seen, or leads on. Pending operations are only put to arrive with the next."""
    useful, any_ = np.int64(0), open_.shape[1] - 1
    for word in range(2):
        sees = open_[READ, any_, word] | open_[DIFFERS, any_, word]
        sees |= open_[CAS, any_, word] | open_[CHANGE, any_, word]
        fresh = rows[child, SATISFIED + word] & ~rows[there, SATISFIED + word]
        leads = _changers(rows, open_, child, word)
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
def _kept(rows: Ints, first: int, last: int) -> int:
    """Where they end, once the last is left out if another covers it, and those are that it
    covers."""
    if not _is_new(rows, first, last):
        return last
    each = first
    while each < last:
        if _covers(rows, last, each):
            last -= 1
            if each < last:
                _copy(rows, last, each)
            _copy(rows, last + 1, last)
        else:
            each += 1
    return last + 1


@compiled
def _thin(reg: Ints, rows: Ints, open_: Ints, first: int, end: int, width: int, into: int) -> None:
    """The best, and not all of one value."""
    for each in range(first, end):
        rows[each, SCORE] = _cost(reg, rows, open_, each)
    for kept in range(into, into + width):
        best = first
        for each in range(first + 1, end):
            if rows[each, SCORE] < rows[best, SCORE]:
                best = each
        _copy(rows, best, kept)
        end -= 1
        value = rows[best, VALUE]
        _copy(rows, end, best)
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
    return cost
