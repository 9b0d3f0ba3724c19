"""The operations that are open at an event, for kernels that hold many: each has a slot, which is
a bit of a few words, until it returns or can take effect no more."""

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.bits import trailing_zeros
from checkers.linearizability.arrays.kinds import CHANGE, FOREVER, WRITE
from checkers.linearizability.arrays.records import record_of
from checkers.linearizability.encoded import Ints
from framework.compiled import lean

ANY: Final = -2
"""In place of a value. Where -1 is in place of one, nothing is open."""
_KINDS: Final = CHANGE + 1
FREE: Final = _KINDS
"""In place of a kind, of `ANY` value: the slots that nobody has,"""
PENDING: Final = _KINDS + 1
"""and those of operations that never return."""
_SLOT: Final = record_of((name, np.int64) for name in ("row", "ret", "kind", "a", "b"))

Operations: TypeAlias = NDArray[np.void]
"""Records with the fields `ret`, `kind`, `a`, `b`, and `slot`, which is filled in here."""
Slots: TypeAlias = NDArray[np.void]
"""Whose each slot is. `row` is -1 where it is free."""


def nothing_open(values: int, words: int) -> tuple[Slots, Ints]:
    """(slots, 64 times as many as words; masks). Masks (values and two more, kinds and two more,
    words) have the slots by the value that is seen or (WRITE) made, values being below a number;
    and of `ANY` value. Operations of models are in none."""
    slots = np.zeros(64 * words, _SLOT)
    slots["row"] = -1
    masks = np.zeros((values + 2, _KINDS + 2, words), np.int64)
    masks[ANY, FREE] = -1
    return slots, masks


@lean
def enter(masks: Ints, slots: Slots, ops: Operations, row: int, slot: int) -> None:
    """An operation is open from now on, and has a slot that is free."""
    word, bit = slot >> 6, np.int64(1) << (slot & 63)
    ops[row].slot = slot
    kind, mine = ops[row].kind, slots[slot]
    mine.row, mine.ret, mine.kind = row, ops[row].ret, kind
    mine.a, mine.b = ops[row].a, ops[row].b
    if kind <= CHANGE:
        masks[mine.b if kind == WRITE else mine.a, kind, word] |= bit
        masks[ANY, kind, word] |= bit
    masks[ANY, FREE, word] &= ~bit
    if mine.ret == FOREVER:
        masks[ANY, PENDING, word] |= bit


@lean
def leave(masks: Ints, slots: Slots, slot: int) -> None:
    """An operation is open no more."""
    word, bit = slot >> 6, np.int64(1) << (slot & 63)
    mine = slots[slot]
    kind = mine.kind
    if kind <= CHANGE:
        masks[mine.b if kind == WRITE else mine.a, kind, word] &= ~bit
        masks[ANY, kind, word] &= ~bit
    masks[ANY, FREE, word] |= bit
    masks[ANY, PENDING, word] &= ~bit
    mine.row = -1


@lean
def free_slot(masks: Ints) -> int:
    """The first slot that nobody has, -1 if there is none."""
    for word in range(masks.shape[2]):
        if masks[ANY, FREE, word]:
            return word * 64 + int(trailing_zeros(masks[ANY, FREE, word]))
    return -1


@lean
def some_open(masks: Ints, value: int, kind: int) -> bool:
    """Whether an operation of a kind is open that sees or (WRITE) makes a value."""
    some = np.int64(0)
    for word in range(masks.shape[2]):
        some |= masks[value, kind, word]
    return bool(some != 0)
