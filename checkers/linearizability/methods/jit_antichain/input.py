"""What the searches know of a history before they begin: effects, pending classes, last needs.

An *effect* is what a changer does: its kind, `a` and `b`. Operations with the same effect are
interchangeable but for their times. A *class* is an effect that some pending operation has.
"""

from typing import Any, Final, NamedTuple, TypeAlias

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
from checkers.linearizability.arrays.records import record_of
from checkers.linearizability.encoded import Codes, EncodedHistory, Ints
from framework.compiled import compiled

Operations: TypeAlias = NDArray[np.void]
"""An array of `OPERATION`."""
OPERATION: Final = record_of(
    [
        ("call", np.int64),
        ("ret", np.int64),
        ("kind", np.int64),
        ("a", np.int64),
        ("b", np.int64),
        ("effect", np.int64),  # its number, -1 for observers
        ("pending_class", np.int64),  # the class of a pending operation, else -1
        # The rest is for a search to write in.
        ("slot", np.int64),
        ("effect_at", np.int64),  # by effect: when it was last tried
        ("level_row", np.int64),  # by level: which row returned
    ]
)
"""What a search knows of an operation. Records are as quick as columns of a matrix of numbers."""


class Input(NamedTuple):
    ops: Operations
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


def searchable(encoded: EncodedHistory) -> bool:
    """Whether the general searches know all kinds of its operations: those of a cell, or those
    of a model with `Transitions`."""
    if not len(encoded):
        return True
    least, most = int(encoded.kind.min()), int(encoded.kind.max())
    return most <= CHANGE if encoded.transitions is None else least >= LOOK and most <= STEP


def read_in(encoded: EncodedHistory) -> Input:
    """The input of a search."""
    values = 1 + int(max(encoded.initial, encoded.a.max(initial=0), encoded.b.max(initial=0)))
    has_steps = encoded.transitions is not None
    if has_steps:
        values = 1
    ops = np.empty(len(encoded), OPERATION)
    class_row, last_need, last_differs = _read_in(
        encoded.call,
        encoded.ret,
        encoded.kind,
        encoded.a,
        encoded.b,
        0 if has_steps else values,
        ops,
    )
    classes = len(class_row)
    members = np.flatnonzero(ops["pending_class"] >= 0) if classes else np.zeros(0, np.int64)
    class_of = ops["pending_class"][members]
    by_class = np.argsort(class_of, kind="stable")
    targets = encoded.b[class_row] if not has_steps else np.zeros(classes, np.int32)
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
    call: Ints,
    ret: Ints,
    kind: NDArray[np.int8],
    a: Codes,
    b: Codes,
    values: int,
    ops: Operations,
) -> tuple[Codes, Ints, int]:
    rows = len(ret)
    size = 16
    while size < 2 * rows:
        size *= 2
    seen = np.full(size, -1, np.int32)
    class_by_effect = np.full(rows, -1, np.int32)
    class_row = np.empty(rows, np.int32)
    last_need = np.full(max(values, 1) + 1, -1, np.int64)
    last_differs = -1
    effects, classes = 0, 0
    for row in range(rows):
        ops[row].call, ops[row].ret = call[row], ret[row]
        ops[row].kind, ops[row].a, ops[row].b = kind[row], a[row], b[row]
        ops[row].effect, ops[row].pending_class = -1, -1
        ops[row].slot = 0
        does = kind[row]
        if does == CAS or (does == READ and ret[row] != FOREVER):
            last_need[a[row] + 1] = max(last_need[a[row] + 1], ret[row])
        elif does == CHANGE or (does == DIFFERS and ret[row] != FOREVER):
            last_differs = max(last_differs, ret[row])
        if does in (READ, DIFFERS, LOOK):
            continue
        first, second = np.int64(a[row]) + 1, np.int64(b[row]) + 1
        mixed = first * 0x1E3779B97F4A7C15 + second * 0x42B2AE3D27D4EB4F + does
        at = (mixed ^ (mixed >> 29)) & (size - 1)
        while seen[at] >= 0:
            other = seen[at]
            if kind[other] == does and a[other] == a[row] and b[other] == b[row]:
                break
            at = (at + 1) & (size - 1)
        if seen[at] < 0:
            seen[at] = row
            ops[row].effect = effects
            effects += 1
        else:
            ops[row].effect = ops[seen[at]].effect
        if ret[row] == FOREVER:
            effect = ops[row].effect
            if class_by_effect[effect] < 0:
                class_by_effect[effect] = classes
                class_row[classes] = row
                classes += 1
            ops[row].pending_class = class_by_effect[effect]
    return class_row[:classes].copy(), last_need, last_differs
