"""Beam search over completions: few configurations, cheap steps, and back where all of them die.

At a return, configurations that have the operation go on as they are. The others are extended by
the shortest ways to have it. Of more than the beam is wide, those are kept that have the most
means left for what is still open. Where none is left, the cause is not far: the beam goes back to
a checkpoint before it and comes again, wider and with longer ways.
"""

from typing import Final

import numpy as np

from checkers.linearizability.arrays.bits import ones, trailing_zeros
from checkers.linearizability.arrays.kinds import DIFFERS, FOREVER, WRITE
from checkers.linearizability.encoded import Ints
from checkers.linearizability.methods.beam.space import (
    ASKED,
    BACK,
    BARRED,
    COUNT,
    DEEPEST,
    END,
    ENOUGH,
    EVENT,
    FIRST,
    FREE,
    LENGTH,
    LOOK_EVERY,
    MOST,
    NARROW,
    NEVERS,
    NEXT_LOOK,
    NEXT_SAVE,
    S_A,
    S_B,
    S_KIND,
    S_NEXT,
    S_RET,
    S_ROW,
    SATISFIED,
    SAVE_EVERY,
    SET,
    SIDE,
    SLOTS,
    SPARE_TRAILS,
    SPENT,
    TARGET,
    TRAILS,
    USED,
    WIDE_UNTIL,
    WIDEST,
    WIDTH,
    WORK,
    Beam,
    enter,
    free_slot,
    leave,
    restore,
    save,
)
from checkers.linearizability.methods.beam.ways import copy, extend, kept, settle, thin, wanted
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
        if reg[EVENT] >= reg[NEXT_LOOK]:
            _forget_used(beam)
            reg[NEXT_LOOK] = reg[EVENT] + LOOK_EVERY
        if reg[EVENT] >= reg[NEXT_SAVE] and reg[COUNT] <= reg[NARROW]:
            save(beam)
            reg[NEXT_SAVE] = reg[EVENT] + SAVE_EVERY
        row = int(events[reg[EVENT]] >> 1)
        returns = events[reg[EVENT]] & 1
        reg[EVENT] += 1
        reg[WORK] += 1
        if not returns:
            if ops[row, S_RET] == FOREVER and not _welcome(reg, ops, slots, open_, row):
                if ops[row, S_KIND] == WRITE:
                    ops[row, S_NEXT] = beam.waiting[ops[row, S_B]]
                    beam.waiting[ops[row, S_B]] = row
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
        left = open_[kind, makes if kind == WRITE else ops[row, S_A], word]
        left &= reg[NEVERS + word] & ~reg[SPENT + word]
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
    """Pending operations that all configurations have used give their slots to others."""
    reg, rows = beam.reg, beam.rows
    for word in range(2):
        used, spent = reg[NEVERS + word], np.int64(0)
        for each in range(reg[SIDE], reg[SIDE] + reg[COUNT]):
            used &= rows[each, USED + word]
            spent |= rows[each, USED + word]
        _evict(beam, used, word)
        reg[SPENT + word] = spent & reg[NEVERS + word]
    waiting, ops = beam.waiting, beam.ops
    for value in range(len(waiting)):
        row = waiting[value]
        while row >= 0 and _welcome(reg, ops, beam.slots, beam.open, row):
            enter(reg, ops, beam.slots, beam.open, row, free_slot(reg))
            row = ops[row, S_NEXT]
        waiting[value] = row


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
    reg[NEXT_LOOK], reg[NEXT_SAVE] = reg[EVENT], reg[EVENT] + SAVE_EVERY
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
        settle(rows, open_, here)
        has = rows[here, SATISFIED + word] & bit != 0
        if has and reg[END] < first + SET - 1:
            copy(rows, here, reg[END])
            reg[END] = kept(rows, first, reg[END]) if extended else reg[END] + 1
        unused = writes and rows[here, USED + word] & bit == 0
        if unused and (wide or not has or wanted(reg, rows, open_, here, slots[slot, S_B])):
            # The last chance that it is seen.
            reg[ASKED], extended = USED, True
            if not wide:
                reg[MOST] = 1
            extend(reg, rows, open_, slots, trails, here)
        if not has:
            before = reg[END]
            if not wide:
                reg[BARRED], reg[BARRED + 1] = reg[NEVERS], reg[NEVERS + 1]
            reg[ASKED], extended = SATISFIED, True
            if not wide:
                reg[MOST] = _SHORT
            extend(reg, rows, open_, slots, trails, here)
            reg[BARRED] = reg[BARRED + 1] = 0
            if reg[END] == before and not wide and (reg[NEVERS] | reg[NEVERS + 1]) != 0:
                extend(reg, rows, open_, slots, trails, here)
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
        thin(reg, rows, open_, first, reg[END], width, now)
        reg[COUNT] = width
    else:
        reg[SIDE] = first
    return True
