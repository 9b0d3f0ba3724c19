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
from checkers.linearizability.arrays.open import (
    ANY,
    FREE,
    PENDING,
    Operations,
    Slots,
    enter,
    free_slot,
    leave,
)
from checkers.linearizability.encoded import Ints
from checkers.linearizability.methods.beam.space import (
    LOOK_EVERY,
    SAVE_EVERY,
    SET,
    SLOTS,
    SPARE_TRAILS,
    WIDEST,
    WORDS,
    Beam,
    Registers,
    restore,
    save,
)
from checkers.linearizability.methods.beam.ways import extend, kept, settle, thin, wanted
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
    reg, events, ops = beam.reg, beam.events, beam.ops
    masks, slots = beam.masks, beam.slots
    stop = reg.work + work
    while reg.event < len(events):
        if reg.work >= stop:
            return PAUSED
        if reg.event <= reg.deepest and reg.work > reg.enough:
            return GAVE_UP
        if reg.trails + SPARE_TRAILS > len(beam.trails):
            return NEEDS_TRAILS
        if reg.event >= reg.next_look:
            _forget_used(beam)
            reg.next_look = reg.event + LOOK_EVERY
        if reg.event >= reg.next_save and reg.count <= reg.narrow:
            save(beam)
            reg.next_save = reg.event + SAVE_EVERY
        row = int(events[reg.event] >> 1)
        returns = events[reg.event] & 1
        reg.event += 1
        reg.work += 1
        if not returns:
            if ops[row].ret == FOREVER and not _welcome(reg, ops, masks, slots, row):
                if ops[row].kind == WRITE:
                    ops[row].next = beam.waiting[ops[row].b]
                    beam.waiting[ops[row].b] = row
                continue
            for word in range(WORDS):
                if masks[ANY, FREE, 0] == 0 and masks[ANY, FREE, 1] == 0:
                    _evict(beam, masks[ANY, PENDING, word] & -masks[ANY, PENDING, word], word)
            slot = free_slot(masks)
            if slot < 0:
                return GAVE_UP
            enter(masks, slots, ops, row, slot)
        elif not _returned(beam, int(ops[row].slot)) and not _gone_back(beam):
            return GAVE_UP
    return ARRIVED


@compiled
def _welcome(reg: Registers, ops: Operations, masks: Ints, slots: Slots, row: int) -> bool:
    """Whether a pending operation is given a slot: only so many are of use."""
    kind, makes = ops[row].kind, ops[row].b
    if kind <= DIFFERS or ones(masks[ANY, FREE, 0]) + ones(masks[ANY, FREE, 1]) <= _SPARE:
        return False
    alike, most = 0, _PENDING if kind == WRITE else 1
    for word in range(WORDS):
        left = masks[makes if kind == WRITE else ops[row].a, kind, word]
        left &= masks[ANY, PENDING, word] & ~reg.spent[word]
        while left:
            alike += slots[word * 64 + int(trailing_zeros(left))].b == makes
            left &= left - 1
    return bool(alike < most)


@compiled
def _evict(beam: Beam, used: int, word: int) -> None:
    """Takes slots from pending operations, which can take effect no more."""
    reg, rows = beam.reg, beam.rows
    for each in range(reg.side, reg.side + reg.count):
        rows[each].used[word] &= ~used
        rows[each].satisfied[word] &= ~used
    while used:
        leave(beam.masks, beam.slots, word * 64 + int(trailing_zeros(used)))
        used &= used - 1


@compiled
def _forget_used(beam: Beam) -> None:
    """Pending operations that all configurations have used give their slots to others."""
    reg, rows, masks, slots = beam.reg, beam.rows, beam.masks, beam.slots
    for word in range(WORDS):
        used, spent = masks[ANY, PENDING, word], np.int64(0)
        for each in range(reg.side, reg.side + reg.count):
            used &= rows[each].used[word]
            spent |= rows[each].used[word]
        _evict(beam, used, word)
        reg.spent[word] = spent & masks[ANY, PENDING, word]
    waiting, ops = beam.waiting, beam.ops
    for value in range(len(waiting)):
        row = waiting[value]
        while row >= 0 and _welcome(reg, ops, masks, slots, row):
            enter(masks, slots, ops, row, free_slot(masks))
            row = ops[row].next
        waiting[value] = row


@compiled
def _gone_back(beam: Beam) -> bool:
    """To before what made all configurations die. False: that was tried often enough."""
    reg, masks = beam.reg, beam.masks
    died = reg.event
    if died > reg.deepest:
        reg.deepest, reg.width, reg.length = died, reg.narrow, _SHORT
        reg.back = _NEAR * (SLOTS - ones(masks[ANY, FREE, 0]) - ones(masks[ANY, FREE, 1])) // 2
        reg.enough = reg.work + _ENOUGH + _ENOUGH_AN_EVENT * died
    reg.back *= 2
    reg.width = min(reg.width * _GROWTH, WIDEST)
    reg.length += 1 if reg.width > _GROWTH * reg.narrow else 0
    if reg.length > _LONG or not restore(beam, died - reg.back):
        return False
    reg.wide_until = died + reg.back
    reg.next_look, reg.next_save = reg.event, reg.event + SAVE_EVERY
    return True


@compiled
def _returned(beam: Beam, slot: int) -> bool:
    """All configurations get by the return of an operation. False: none does."""
    reg, rows, now = beam.reg, beam.rows, beam.reg.side
    word, bit = slot >> 6, np.int64(1) << (slot & 63)
    first = SET - now
    wide = reg.event < reg.wide_until
    reg.target, reg.most = slot, reg.length
    reg.first = reg.end = first
    masks, slots, trails = beam.masks, beam.slots, beam.trails
    writes, extended = slots[slot].kind == WRITE, False
    for here in range(now, now + reg.count):
        settle(rows, masks, here)
        has = rows[here].satisfied[word] & bit != 0
        if has and reg.end < first + SET - 1:
            rows[reg.end] = rows[here]
            reg.end = kept(rows, first, reg.end) if extended else reg.end + 1
        unused = writes and rows[here].used[word] & bit == 0
        if unused and (wide or not has or wanted(reg, rows, masks, here, slots[slot].b)):
            # The last chance that it is seen.
            reg.asks_use, extended = 1, True
            if not wide:
                reg.most = 1
            extend(reg, rows, masks, slots, trails, here)
        if not has:
            before = reg.end
            if not wide:
                reg.barred[0], reg.barred[1] = masks[ANY, PENDING, 0], masks[ANY, PENDING, 1]
            reg.asks_use, extended = 0, True
            if not wide:
                reg.most = _SHORT
            extend(reg, rows, masks, slots, trails, here)
            reg.barred[0] = reg.barred[1] = 0
            if (
                reg.end == before
                and not wide
                and (masks[ANY, PENDING, 0] | masks[ANY, PENDING, 1]) != 0
            ):
                extend(reg, rows, masks, slots, trails, here)
    if reg.end == first:
        return False
    leave(masks, slots, slot)
    for each in range(first, reg.end):
        rows[each].satisfied[word] &= ~bit
        rows[each].used[word] &= ~bit
    width = reg.width if wide else reg.narrow
    reg.count = reg.end - first
    reg.work += reg.count
    if reg.count > width:
        thin(rows, masks, first, reg.end, width, now)
        reg.count = width
    else:
        reg.side = first
    return True
