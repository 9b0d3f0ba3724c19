"""What the beam works in: the history, what is open, two sets of configurations, checkpoints.

An open operation has a slot, which is a bit of two machine words. A configuration is a row of
`rows`: its value, the slots that are satisfied in it (the order has them, or a place where they
can be put silently), and those that are used (they took effect visibly). A *put* is an operation
that took effect visibly; `trails` has what was put, each with the one before it.
"""

from typing import Final, NamedTuple

import numpy as np

from checkers.linearizability.arrays.bits import trailing_zeros
from checkers.linearizability.arrays.kinds import CHANGE, FOREVER, WRITE
from checkers.linearizability.encoded import Codes, EncodedHistory, Ints
from framework.compiled import compiled

_KINDS: Final = CHANGE + 1

SLOTS: Final = 128
NARROWEST: Final = 8
"""The most that `NARROW` may be."""
WIDEST: Final = 256
"""Configurations that are kept at most, after dead ends."""
SET: Final = 2048
TODO: Final = 2 * SET
"""Where in `rows` those begin that are on the way to satisfy an operation."""
LAST: Final = TODO + 127
CHECKPOINTS: Final = 512
SPARE_TRAILS: Final = 1 << 12
SAVE_EVERY: Final = 64
"""Events, from one checkpoint to the next."""
LOOK_EVERY: Final = 16

# Columns of a configuration.
VALUE: Final = 0
TRAIL: Final = 1
"""Its last put, -1 at first."""
SATISFIED: Final = 2
USED: Final = 4
SCORE: Final = 6
PUTS: Final = 7
"""Since the event began."""
_COLUMNS: Final = 8

# Columns of a slot.
S_ROW: Final = 0
"""-1 where it is free. In the history: the slot."""
S_RET: Final = 1
S_KIND: Final = 2
S_A: Final = 3
S_B: Final = 4
S_NEXT: Final = 5
"""In the history: the pending write of the same value that waits for a slot after it."""
_SLOT_COLUMNS: Final = 6

# Registers.
EVENT: Final = 0
"""How many events are passed."""
COUNT: Final = 1
"""Configurations."""
SIDE: Final = 2
"""Where in `rows` they begin: 0 or `SET`."""
TRAILS: Final = 3
FREE: Final = 4
"""Two words: slots that nobody has."""
NEVERS: Final = 6
"""Two words: slots of pending operations."""
WORK: Final = 8
DEEPEST: Final = 9
"""The furthest event at which all configurations died."""
BACK: Final = 10
"""How many events to go back at the next dead end there."""
WIDTH: Final = 11
"""How many configurations there may be, until the event `WIDE_UNTIL`."""
LENGTH: Final = 12
"""How many puts there may be at a return, until then."""
WIDE_UNTIL: Final = 13
ENOUGH: Final = 14
"""Work after which the beam gives up, until it is past the deepest dead end."""
SAVED: Final = 15
"""Checkpoints ever made."""
NEXT_SAVE: Final = 16
NARROW: Final = 17
"""How many configurations there may be as long as all goes well."""
# While configurations are extended:
TARGET: Final = 18
"""The slot that is to be satisfied, or used:"""
ASKED: Final = 19
"""the column that says so."""
MOST: Final = 20
"""Puts."""
FIRST: Final = 21
"""Where in `rows` the next configurations begin,"""
END: Final = 22
"""and where they end."""
WAY_END: Final = 23
"""Where those end that are on the way."""
SPENT: Final = 24
"""Two words: pending operations that some configuration has used."""
NEXT_LOOK: Final = 26
"""The event at which slots of pending operations are looked through again."""
BARRED: Final = 27
"""Two words: slots of pending operations, where there may be a way without them."""
_REGISTERS: Final = 29


class Beam(NamedTuple):
    reg: Ints
    events: Codes
    ops: Ints
    """(rows, columns of a slot): the history; and whose slot it is."""
    slots: Ints
    """(slots, columns): what has a slot."""
    open: Ints
    """(kinds, values and one more, words): slots of open operations, by the value that they see
    or (WRITE) make; of any value."""
    waiting: Ints
    """By value: the last pending write of it that has no slot yet, -1: none."""
    rows: Ints
    """(size, columns): two sets of configurations, and those on the way."""
    trails: Codes
    """(size, 2): the put before it, the row that was put."""
    saved: Ints
    """By checkpoint: event, configurations."""
    saved_rows: Codes
    saved_set: Ints
    saved_waiting: Ints


def beam_of(encoded: EncodedHistory, events: Codes, trails: int, narrow: int) -> Beam:
    """Before the first event."""
    values = 1 + max(encoded.initial, int(encoded.a.max()), int(encoded.b.max()))
    reg = np.zeros(_REGISTERS, np.int64)
    reg[COUNT], reg[NARROW] = 1, narrow
    reg[FREE] = reg[FREE + 1] = -1
    reg[DEEPEST] = -1
    rows = np.empty((LAST + 1, _COLUMNS), np.int64)
    rows[0] = 0
    rows[0, VALUE], rows[0, TRAIL] = encoded.initial, -1
    ops = np.empty((len(encoded), _SLOT_COLUMNS), np.int64)
    ops[:, S_RET], ops[:, S_KIND], ops[:, S_A], ops[:, S_B] = (
        encoded.ret,
        encoded.kind,
        encoded.a,
        encoded.b,
    )
    checkpoints = min(CHECKPOINTS, len(events) // SAVE_EVERY + 2)
    return Beam(
        reg,
        events,
        ops,
        np.full((SLOTS, _SLOT_COLUMNS), -1, np.int64),
        np.zeros((_KINDS, values + 1, 2), np.int64),
        np.full(values, -1, np.int64),
        rows,
        np.empty((trails, 2), np.int32),
        np.empty((checkpoints, 2), np.int64),
        np.empty((checkpoints, SLOTS), np.int32),
        np.empty((checkpoints, NARROWEST, _COLUMNS), np.int64),
        np.empty((checkpoints, values), np.int64),
    )


@compiled
def enter(reg: Ints, ops: Ints, slots: Ints, open_: Ints, row: int, slot: int) -> None:
    """An operation is open from now on."""
    word, bit = slot >> 6, np.int64(1) << (slot & 63)
    for column in range(ops.shape[1]):
        slots[slot, column] = ops[row, column]
    ops[row, S_ROW], slots[slot, S_ROW] = slot, row
    kind = ops[row, S_KIND]
    open_[kind, ops[row, S_B] if kind == WRITE else ops[row, S_A], word] |= bit
    open_[kind, open_.shape[1] - 1, word] |= bit
    reg[FREE + word] &= ~bit
    if ops[row, S_RET] == FOREVER:
        reg[NEVERS + word] |= bit


@compiled
def leave(reg: Ints, slots: Ints, open_: Ints, slot: int) -> None:
    """An operation is open no more."""
    word, bit = slot >> 6, np.int64(1) << (slot & 63)
    kind = slots[slot, S_KIND]
    open_[kind, slots[slot, S_B] if kind == WRITE else slots[slot, S_A], word] &= ~bit
    open_[kind, open_.shape[1] - 1, word] &= ~bit
    reg[FREE + word] |= bit
    reg[NEVERS + word] &= ~bit
    slots[slot, S_ROW] = -1


@compiled
def free_slot(reg: Ints) -> int:
    """A slot that nobody has, -1 if there is none."""
    for word in range(2):
        if reg[FREE + word]:
            return word * 64 + int(trailing_zeros(reg[FREE + word]))
    return -1


@compiled
def save(beam: Beam) -> None:
    """A checkpoint: of a narrow beam only."""
    reg = beam.reg
    at = reg[SAVED] % len(beam.saved)
    beam.saved[at, 0], beam.saved[at, 1] = reg[EVENT], reg[COUNT]
    for slot in range(SLOTS):
        beam.saved_rows[at, slot] = beam.slots[slot, S_ROW]
    for value in range(len(beam.waiting)):
        beam.saved_waiting[at, value] = beam.waiting[value]
    for each in range(reg[COUNT]):
        for column in range(_COLUMNS):
            beam.saved_set[at, each, column] = beam.rows[reg[SIDE] + each, column]
    reg[SAVED] += 1


@compiled
def restore(beam: Beam, event: int) -> bool:
    """Goes back to the last checkpoint that is not after an event, or to the oldest that there
    is. False: that one is forgotten."""
    reg = beam.reg
    number = reg[SAVED] - 1
    oldest = max(0, reg[SAVED] - len(beam.saved))
    while number > oldest and beam.saved[number % len(beam.saved), 0] > event:
        number -= 1
    at = number % len(beam.saved)
    if number < oldest or (number > 0 and beam.saved[at, 0] > event):
        return False
    reg[SAVED] = number + 1
    reg[EVENT], reg[COUNT] = beam.saved[at, 0], beam.saved[at, 1]
    for each in range(reg[COUNT]):
        for column in range(_COLUMNS):
            beam.rows[reg[SIDE] + each, column] = beam.saved_set[at, each, column]
    for value in range(len(beam.waiting)):
        beam.waiting[value] = beam.saved_waiting[at, value]
    for slot in range(SLOTS):
        if beam.slots[slot, S_ROW] >= 0:
            leave(reg, beam.slots, beam.open, slot)
    for slot in range(SLOTS):
        if beam.saved_rows[at, slot] >= 0:
            row = int(beam.saved_rows[at, slot])
            enter(reg, beam.ops, beam.slots, beam.open, row, slot)
    return True
