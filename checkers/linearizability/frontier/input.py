"""What the searches know of a history before they begin: effects, pending classes, last needs.

An *effect* is what a changer does: its kind, `a` and `b`. Operations with the same effect are
interchangeable but for their times. A *class* is an effect that some pending operation has.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.kinds import (
    CAS,
    CHANGE,
    DIFFERS,
    FOREVER,
    LOOK,
    READ,
    STEP,
)
from checkers.linearizability.coded import Coded, Codes, Ints
from framework.compiled import compiled

# Columns of `Input.ops`, a row an operation.
O_CALL: Final = 0
O_RET: Final = 1
O_KIND: Final = 2
O_A: Final = 3
O_B: Final = 4
O_EFFECT: Final = 5
"""The number of its effect, -1 for observers."""
O_CLASS: Final = 6
"""The class of a pending operation, else -1."""
# The rest is for a search to write in.
O_SLOT: Final = 7
O_EFFECT_AT: Final = 8
"""By effect: when it was last tried."""
O_LEVEL_ROW: Final = 9
"""By level: which row returned."""
_COLUMNS: Final = 10


class Input(NamedTuple):
    ops: Ints
    class_row: Codes
    """By class: its first row."""
    member_start: Codes
    """By class, and one more: where its rows begin in `members`."""
    members: Codes
    """Pending rows by class, in the order of their calls."""
    target_start: Codes
    """By value, and one more: where the classes begin that lead to it."""
    target_class: Codes
    last_need: Ints
    """By value + 1: the last return of an operation that must see it; FOREVER if a pending one
    may."""
    last_differs: int
    """The last return of an operation that must see that a value is gone."""
    has_steps: bool


def searchable(coded: Coded) -> bool:
    """Whether the general searches know all kinds of its operations: those of a cell, or those
    of a model with `Transitions`."""
    if not len(coded):
        return True
    least, most = int(coded.kind.min()), int(coded.kind.max())
    return most <= CHANGE if coded.transitions is None else least >= LOOK and most <= STEP


def read_in(coded: Coded) -> Input:
    """The input of a search."""
    values = 1 + int(max(coded.initial, coded.a.max(initial=0), coded.b.max(initial=0)))
    has_steps = coded.transitions is not None
    if has_steps:
        values = 1
    ops, class_row, last_need, last_differs = _read_in(
        coded.call, coded.ret, coded.kind, coded.a, coded.b, 0 if has_steps else values
    )
    classes = len(class_row)
    members = np.flatnonzero(ops[:, O_CLASS] >= 0) if classes else np.zeros(0, np.int64)
    class_of = ops[members, O_CLASS]
    by_class = np.argsort(class_of, kind="stable")
    targets = coded.b[class_row] if not has_steps else np.zeros(classes, np.int32)
    by_target = np.argsort(targets, kind="stable").astype(np.int32)
    return Input(
        ops,
        class_row,
        _starts(class_of[by_class], classes),
        members[by_class].astype(np.int32),
        _starts(targets[by_target], values),
        by_target,
        last_need,
        last_differs,
        has_steps,
    )


def _starts(sorted_numbers: NDArray[np.integer[Any]], count: int) -> Codes:
    return np.searchsorted(sorted_numbers, np.arange(count + 1)).astype(np.int32)


@compiled
def _read_in(
    call: Ints, ret: Ints, kind: NDArray[np.int8], a: Codes, b: Codes, values: int
) -> tuple[Ints, Codes, Ints, int]:
    rows = len(ret)
    size = 16
    while size < 2 * rows:
        size *= 2
    seen = np.full(size, -1, np.int32)
    ops = np.empty((rows, _COLUMNS), np.int64)
    class_by_effect = np.full(rows, -1, np.int32)
    class_row = np.empty(rows, np.int32)
    last_need = np.full(max(values, 1) + 1, -1, np.int64)
    last_differs = -1
    effects, classes = 0, 0
    for row in range(rows):
        ops[row, O_CALL], ops[row, O_RET] = call[row], ret[row]
        ops[row, O_KIND], ops[row, O_A], ops[row, O_B] = kind[row], a[row], b[row]
        ops[row, O_EFFECT], ops[row, O_CLASS] = -1, -1
        ops[row, O_SLOT] = 0
        does = kind[row]
        if does == CAS or (does == READ and ret[row] != FOREVER):
            last_need[a[row] + 1] = max(last_need[a[row] + 1], ret[row])
        elif does == CHANGE or (does == DIFFERS and ret[row] != FOREVER):
            last_differs = max(last_differs, ret[row])
        if does in (READ, DIFFERS, LOOK):
            continue
        mixed = (a[row] + 1) * 0x1E3779B97F4A7C15 + (b[row] + 1) * 0x42B2AE3D27D4EB4F + does
        at = (mixed ^ (mixed >> 29)) & (size - 1)
        while seen[at] >= 0:
            other = seen[at]
            if kind[other] == does and a[other] == a[row] and b[other] == b[row]:
                break
            at = (at + 1) & (size - 1)
        if seen[at] < 0:
            seen[at] = row
            ops[row, O_EFFECT] = effects
            effects += 1
        else:
            ops[row, O_EFFECT] = ops[seen[at], O_EFFECT]
        if ret[row] == FOREVER:
            effect = ops[row, O_EFFECT]
            if class_by_effect[effect] < 0:
                class_by_effect[effect] = classes
                class_row[classes] = row
                classes += 1
            ops[row, O_CLASS] = class_by_effect[effect]
    return ops, class_row[:classes].copy(), last_need, last_differs
