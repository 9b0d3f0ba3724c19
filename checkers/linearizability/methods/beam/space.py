"""What the beam works in: the history, what is open, two sets of configurations, checkpoints.

A configuration is its value, the slots of open operations that are satisfied in it (the order has
them, or a place where they can be put silently), and those that are used (they took effect
visibly). A *put* is an operation that took effect visibly; `trails` has what was put, each with
the one before it.
"""

from typing import Final, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.events import events
from checkers.linearizability.arrays.open import Operations, Slots, enter, leave, nothing_open
from checkers.linearizability.arrays.records import record
from checkers.linearizability.arrays.trails import Trails, no_trails
from checkers.linearizability.encoded import Codes, EncodedHistory, Ints
from framework.compiled import compiled

WORDS: Final = 2
SLOTS: Final = 64 * WORDS
NARROWEST: Final = 8
"""The most that `narrow` may be."""
WIDEST: Final = 256
"""Configurations that are kept at most, after dead ends."""
SET: Final = 2048
TODO: Final = 2 * SET
"""Where in `rows` those begin that are on the way to satisfy an operation."""
LAST: Final = TODO + 127
"""and where they end at the latest."""
CHECKPOINTS: Final = 512
SPARE_TRAILS: Final = 1 << 12
SAVE_EVERY: Final = 64
"""Events, from one checkpoint to the next."""
LOOK_EVERY: Final = 16


class Configuration(Protocol):
    value: int
    trail: int
    """Its last put, -1 at first."""
    satisfied: Ints
    used: Ints
    score: int
    puts: int
    """Since the event began."""


class Operation(Protocol):
    ret: int
    kind: int
    a: int
    b: int
    slot: int
    next: int
    """The pending write of the same value that waits for a slot after it."""


class Checkpoint(Protocol):
    event: int
    count: int
    rows: Ints
    """By slot."""


class Registers(Protocol):
    event: int
    """How many events are passed."""
    count: int
    """Configurations."""
    side: int
    """Where in `rows` they begin: 0 or `SET`."""
    trails: int
    work: int
    deepest: int
    """The furthest event at which all configurations died."""
    back: int
    """How many events to go back at the next dead end there."""
    width: int
    """How many configurations there may be, until the event `wide_until`."""
    length: int
    """How many puts there may be at a return, until then."""
    wide_until: int
    enough: int
    """Work after which the beam gives up, until it is past the deepest dead end."""
    saved: int
    """Checkpoints that were made until here,"""
    oldest: int
    """and the first of them that is known: others have taken the place of those before it."""
    next_save: int
    narrow: int
    """How many configurations there may be as long as all goes well."""
    spent: Ints
    """Pending operations that some configuration has used."""
    next_look: int
    """The event at which slots of pending operations are looked through again."""
    # While configurations are extended:
    target: int
    """The slot that is to be satisfied,"""
    asks_use: int
    """or used."""
    most: int
    """Puts."""
    first: int
    """Where in `rows` the next configurations begin,"""
    end: int
    """and where they end."""
    way_end: int
    """Where those end that are on the way."""
    barred: Ints
    """Slots of pending operations, where there may be a way without them."""


_REGISTERS: Final = record(Registers, spent=WORDS, barred=WORDS)
_OPERATION: Final = record(Operation)
_CHECKPOINT: Final = record(Checkpoint, rows=SLOTS)
_CONFIGURATION: Final = record(Configuration, satisfied=WORDS, used=WORDS)
Rows: TypeAlias = NDArray[np.void]
"""Of configurations."""


class Beam(NamedTuple):
    reg: Registers
    events: Codes
    ops: Operations
    slots: Slots
    masks: Ints
    waiting: Ints
    """By value: the last pending write of it that has no slot yet, -1: none."""
    rows: Rows
    """Two sets of configurations, and those on the way."""
    trails: Trails
    saved: NDArray[np.void]
    """Checkpoints,"""
    saved_set: Rows
    """(checkpoints, configurations),"""
    saved_waiting: Ints


def beam_of(encoded: EncodedHistory, trails: int, narrow: int) -> Beam:
    """Before the first event."""
    values = 1 + max(encoded.initial, int(encoded.a.max()), int(encoded.b.max()))
    reg = np.zeros(1, _REGISTERS)[0]
    reg.count, reg.narrow, reg.deepest = 1, narrow, -1
    rows = np.empty(LAST, _CONFIGURATION)
    rows[0] = 0
    rows[0].value, rows[0].trail = encoded.initial, -1
    ops = np.empty(len(encoded), _OPERATION)
    ops["ret"], ops["kind"], ops["a"], ops["b"] = encoded.ret, encoded.kind, encoded.a, encoded.b
    happened = events(encoded.call, encoded.ret)
    checkpoints = min(CHECKPOINTS, len(happened) // SAVE_EVERY + 2)
    return Beam(
        reg,
        happened,
        ops,
        *nothing_open(values, WORDS),
        np.full(values, -1, np.int64),
        rows,
        no_trails(trails),
        np.empty(checkpoints, _CHECKPOINT),
        np.empty((checkpoints, NARROWEST), _CONFIGURATION),
        np.empty((checkpoints, values), np.int64),
    )


@compiled
def save(beam: Beam) -> None:
    """A checkpoint: of a narrow beam only."""
    reg = beam.reg
    at = reg.saved % len(beam.saved)
    saved = beam.saved[at]
    saved.event, saved.count = reg.event, reg.count
    for slot in range(SLOTS):
        saved.rows[slot] = beam.slots[slot].row
    for value in range(len(beam.waiting)):
        beam.saved_waiting[at, value] = beam.waiting[value]
    for each in range(reg.count):
        beam.saved_set[at, each] = beam.rows[reg.side + each]
    reg.saved += 1
    reg.oldest = max(reg.oldest, reg.saved - len(beam.saved))


@compiled
def restore(beam: Beam, event: int) -> bool:
    """Goes back to the last checkpoint that is not after an event, or to the oldest that there
    is. False: that one is forgotten."""
    reg = beam.reg
    number = reg.saved - 1
    while number > reg.oldest and beam.saved[number % len(beam.saved)].event > event:
        number -= 1
    at = number % len(beam.saved)
    saved = beam.saved[at]
    if number > 0 and saved.event > event:
        return False
    reg.saved = number + 1
    reg.event, reg.count = saved.event, saved.count
    for each in range(reg.count):
        beam.rows[reg.side + each] = beam.saved_set[at, each]
    for value in range(len(beam.waiting)):
        beam.waiting[value] = beam.saved_waiting[at, value]
    for slot in range(SLOTS):
        if beam.slots[slot].row >= 0:
            leave(beam.masks, beam.slots, slot)
    for slot in range(SLOTS):
        if saved.rows[slot] >= 0:
            enter(beam.masks, beam.slots, beam.ops, saved.rows[slot], slot)
    return True
