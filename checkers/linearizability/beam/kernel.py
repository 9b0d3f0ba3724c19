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
    BACK,
    CAS,
    CHANGE,
    COUNT,
    DEEPEST,
    DIFFERS,
    EVENT,
    FOREVER,
    FREE,
    LAST,
    LENGTH,
    NARROW,
    NEVERS,
    NEXT_SAVE,
    PUTS,
    READ,
    SATISFIED,
    SCORE,
    SET,
    SIDE,
    SLOTS,
    SPARE_TRAILS,
    TODO,
    TRAIL,
    TRAILS,
    USED,
    VALUE,
    WIDE_UNTIL,
    WIDEST,
    WIDTH,
    WORK,
    WRITE,
    Beam,
    enter,
    free_slot,
    key_of,
    leave,
    ones,
    restore,
    save,
)
from checkers.linearizability.coded import Ints
from framework.compiled import compiled

ARRIVED: Final = 0
PAUSED: Final = 1
NEEDS_TRAILS: Final = 2
GAVE_UP: Final = 3

_SAVE_EVERY: Final = 64
"""Events."""
_GROWTH: Final = 4
"""Of the width, from one dead end at the same place to the next."""
_NEAR: Final = 2
"""The cause of a dead end is first sought so many events before it, for each open operation."""
_SHORT: Final = 2
"""Puts at one return, as long as all goes well. After a dead end, it is one more each time."""
_PENDING: Final = 4
"""Pending operations on a value that have a slot."""
_ALL_PENDING: Final = 26

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
    reg, events = beam.reg, beam.events
    stop = reg[WORK] + work
    while reg[EVENT] < len(events):
        if reg[WORK] >= stop:
            return PAUSED
        if reg[TRAILS] + SPARE_TRAILS > len(beam.trails):
            return NEEDS_TRAILS
        if reg[EVENT] >= reg[NEXT_SAVE] and reg[COUNT] <= reg[NARROW]:
            _forget_used(beam)
            save(beam)
            reg[NEXT_SAVE] = reg[EVENT] + _SAVE_EVERY
        row = int(events[reg[EVENT]] >> 1)
        returns = events[reg[EVENT]] & 1
        reg[EVENT] += 1
        reg[WORK] += 1
        if not returns:
            if beam.ret[row] == FOREVER and not _welcome(beam, row):
                continue
            slot = free_slot(beam)
            if slot < 0:
                return GAVE_UP
            enter(beam, row, slot)
        elif not _returned(beam, row) and not _gone_back(beam):
            return GAVE_UP
    return ARRIVED


@compiled
def _welcome(beam: Beam, row: int) -> bool:
    """Whether a pending operation is given a slot: only so many are of use."""
    reg = beam.reg
    if (
        beam.kind[row] in (READ, DIFFERS)
        or ones(reg[NEVERS]) + ones(reg[NEVERS + 1]) >= _ALL_PENDING
    ):
        return False
    alike = beam.open[beam.kind[row], key_of(beam, row)]
    return ones(alike[0] & reg[NEVERS]) + ones(alike[1] & reg[NEVERS + 1]) < _PENDING


@compiled
def _forget_used(beam: Beam) -> None:
    """Pending operations that all configurations have used."""
    reg, rows = beam.reg, beam.rows
    now = reg[SIDE]
    for word in range(2):
        used = reg[NEVERS + word]
        for each in range(reg[COUNT]):
            used &= rows[now + each, USED + word]
        while used:
            slot = word * 64 + int(trailing_zeros(used))
            used &= used - 1
            leave(beam, slot)
            for each in range(reg[COUNT]):
                rows[now + each, USED + word] &= ~(np.int64(1) << (slot & 63))
                rows[now + each, SATISFIED + word] &= ~(np.int64(1) << (slot & 63))


@compiled
def _gone_back(beam: Beam) -> bool:
    """To before what made all configurations die. False: it was tried with the widest beam."""
    reg = beam.reg
    died = reg[EVENT]
    near = _NEAR * (SLOTS - ones(reg[FREE]) - ones(reg[FREE + 1]))
    if died > reg[DEEPEST]:
        reg[DEEPEST], reg[WIDTH], reg[BACK] = died, reg[NARROW], near
        reg[LENGTH] = _SHORT
    else:
        reg[BACK] *= 2
    reg[WIDTH] *= _GROWTH
    reg[LENGTH] += 1
    if reg[WIDTH] > WIDEST or not restore(beam, died - reg[BACK]):
        return False
    reg[WIDE_UNTIL] = died + near
    reg[NEXT_SAVE] = reg[EVENT] + _SAVE_EVERY
    return True


@compiled
def _returned(beam: Beam, row: int) -> bool:
    """All configurations get by the return of an operation. False: none does."""
    reg = beam.reg
    slot = int(beam.slot_of[row])
    word, bit = slot >> 6, np.int64(1) << (slot & 63)
    rows, now, then = beam.rows, reg[SIDE], SET - reg[SIDE]
    wide = reg[EVENT] < reg[WIDE_UNTIL]
    writes = beam.kind[row] == WRITE
    made, extended = then, False
    for here in range(now, now + reg[COUNT]):
        _settle(beam, here)
        has = rows[here, SATISFIED + word] & bit != 0
        if has and made < then + SET - 1:
            _copy(rows, here, made)
            made = _kept(rows, then, made) if extended else made + 1
        if (
            writes
            and rows[here, USED + word] & bit == 0
            and (wide or not has or _wanted(beam, here, row))
        ):
            # The last chance that it is seen.
            made, extended = _extended(beam, here, then, made, slot, USED, wide), True
        if not has:
            made, extended = _extended(beam, here, then, made, slot, SATISFIED, wide), True
    if made == then:
        return False
    leave(beam, slot)
    for each in range(then, made):
        rows[each, SATISFIED + word] &= ~bit
        rows[each, USED + word] &= ~bit
    width = reg[WIDTH] if wide else reg[NARROW]
    reg[COUNT] = made - then
    reg[WORK] += made - then
    if made - then > width:
        _thin(beam, then, made, width, now)
        reg[COUNT] = width
    else:
        reg[SIDE] = then
    return True


@compiled
def _copy(rows: Ints, source: int, target: int) -> None:
    for column in range(rows.shape[1]):
        rows[target, column] = rows[source, column]


@compiled
def _settle(beam: Beam, here: int) -> None:
    """What fits the value is satisfied: it can be put here and changes nothing."""
    value = beam.rows[here, VALUE]
    for word in range(2):
        beam.rows[here, SATISFIED + word] |= (
            beam.open[READ, value, word]
            | beam.open[WRITE, value, word]
            | (beam.all[DIFFERS, word] & ~beam.open[DIFFERS, value, word])
        )


@compiled
def _wanted(beam: Beam, here: int, row: int) -> bool:
    """Whether anything open waits for the value that a write makes."""
    value = int(beam.b[row])
    if value == beam.rows[here, VALUE]:
        return False
    for word in range(2):
        waits = beam.open[READ, value, word] | (
            beam.open[CAS, value, word] & ~beam.reg[NEVERS + word]
        )
        if waits & ~beam.rows[here, SATISFIED + word]:
            return True
    return False


@compiled
def _changers(beam: Beam, here: int, word: int) -> int:
    """Open cas and changes that are possible in a configuration."""
    value = beam.rows[here, VALUE]
    changes = beam.all[CHANGE, word] & ~beam.open[CHANGE, value, word]
    return int((beam.open[CAS, value, word] | changes) & ~beam.rows[here, USED + word])


@compiled
def _first(beam: Beam, here: int, value: int) -> int:
    """The slot of the open write of a value that is not used and returns first; -1: none."""
    best, found = FOREVER, -1
    for word in range(2):
        left = beam.open[WRITE, value, word] & ~beam.rows[here, USED + word]
        while left:
            slot = word * 64 + int(trailing_zeros(left))
            left &= left - 1
            ret = beam.ret[beam.row_of[slot]]
            if ret < best or found < 0:
                best, found = ret, slot
    return found


@compiled
def _extended(
    beam: Beam, here: int, then: int, made: int, slot: int, column: int, wide: bool
) -> int:
    """Puts into `then` the ways by which a slot becomes satisfied, or used. How many there are."""
    _copy(beam.rows, here, TODO)
    beam.rows[TODO, PUTS] = 0
    have, there = TODO + 1, TODO - 1
    writes = column == USED
    while there + 1 < have:
        there += 1
        silent = 0
        for word in range(2):
            owed = beam.all[WRITE, word] & ~beam.reg[NEVERS + word]
            silent |= owed & ~beam.rows[there, SATISFIED + word]
        for value in range(beam.open.shape[1]):
            if value == beam.rows[there, VALUE] and silent == 0:
                continue
            first = _first(beam, there, value)
            if first >= 0:
                have, made = _put(beam, there, then, made, have, first, slot, column, wide)
        if writes and (beam.rows[there, VALUE] != beam.b[beam.row_of[slot]] or silent != 0):
            have, made = _put(beam, there, then, made, have, slot, slot, column, wide)
        for word in range(2):
            left = _changers(beam, there, word)
            while left:
                each = word * 64 + int(trailing_zeros(left))
                left &= left - 1
                have, made = _put(beam, there, then, made, have, each, slot, column, wide)
    return made


@compiled
def _put(
    beam: Beam,
    there: int,
    then: int,
    made: int,
    have: int,
    each: int,
    slot: int,
    column: int,
    wide: bool,
) -> tuple[int, int]:
    """One more operation takes effect: that is a way (`made`), or part of one (`have`)."""
    reg, rows, child = beam.reg, beam.rows, have
    if made >= then + SET - 1 or have >= LAST or reg[TRAILS] >= len(beam.trails):
        return have, made
    reg[WORK] += 1
    _copy(rows, there, child)
    row = beam.row_of[each]
    if beam.kind[row] == WRITE:
        # Every other open write can be put just before it, unseen.
        beam.rows[child, SATISFIED] |= beam.all[WRITE, 0]
        beam.rows[child, SATISFIED + 1] |= beam.all[WRITE, 1]
    word, bit = each >> 6, np.int64(1) << (each & 63)
    beam.rows[child, SATISFIED + word] |= bit
    beam.rows[child, USED + word] |= bit
    beam.rows[child, VALUE] = beam.b[row]
    rows[child, PUTS] += 1
    _settle(beam, child)
    beam.trails[reg[TRAILS], 0] = rows[there, TRAIL]
    beam.trails[reg[TRAILS], 1] = row
    rows[child, TRAIL] = reg[TRAILS]
    if rows[child, column + (slot >> 6)] & (np.int64(1) << (slot & 63)):
        _copy(rows, child, made)
        more = _kept(rows, then, made)
        reg[TRAILS] += 1
        return have, more
    short = rows[child, PUTS] < (reg[LENGTH] if wide else _SHORT)
    if short and _useful(beam, there, child) and _is_new(rows, TODO, have):
        reg[TRAILS] += 1
        return have + 1, made
    return have, made


@compiled
def _useful(beam: Beam, there: int, child: int) -> bool:
    """Whether it was seen, or leads on."""
    for word in range(2):
        fresh = (
            beam.rows[child, SATISFIED + word]
            & ~beam.rows[there, SATISFIED + word]
            & ~beam.reg[NEVERS + word]
        )
        sees = beam.all[READ, word] | beam.all[DIFFERS, word] | beam.all[CAS, word]
        if fresh & (sees | beam.all[CHANGE, word]) or _changers(beam, child, word):
            return True
    return False


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
def _thin(beam: Beam, first: int, end: int, width: int, into: int) -> None:
    """The best, and not all of one value."""
    rows = beam.rows
    for each in range(first, end):
        rows[each, SCORE] = _cost(beam, each)
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
def _cost(beam: Beam, here: int) -> int:
    """Little, if there are many means for what is still to be seen."""
    cost = 0
    for value in range(beam.open.shape[1]):
        if value == beam.rows[here, VALUE]:
            continue
        waits = means = 0
        for word in range(2):
            waits += ones(beam.open[READ, value, word] & ~beam.rows[here, SATISFIED + word])
            means += ones(beam.open[WRITE, value, word] & ~beam.rows[here, USED + word])
        cost += _WAITS * waits
        if means == 0:
            cost += _NO_MEANS + (_WAITS_IN_VAIN if waits else 0)
        elif means == 1:
            cost += _ONE_MEANS + (_WAITS_FOR_ONE if waits else 0)
        elif means == 2:
            cost += _TWO_MEANS
    for word in range(2):
        owed = (beam.all[CAS, word] | beam.all[CHANGE, word]) & ~beam.reg[NEVERS + word]
        cost += _CAS_WAITS * ones(owed & ~beam.rows[here, SATISFIED + word])
    return cost
