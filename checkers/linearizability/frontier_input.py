"""What the searches know of a history before they begin: effects, pending classes, last needs.

An *effect* is what a changer does: its kind, `a` and `b`. Operations with the same effect are
interchangeable but for their times. A *class* is an effect that some pending operation has.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.coded import NEVER, Codes, Coded, Ints, Kind
from checkers.linearizability.compiled import compiled

READ: Final = int(Kind.READ)
DIFFERS: Final = int(Kind.DIFFERS)
WRITE: Final = int(Kind.WRITE)
CAS: Final = int(Kind.CAS)
CHANGE: Final = int(Kind.CHANGE)
LOOK: Final = int(Kind.LOOK)
STEP: Final = int(Kind.STEP)
FOREVER: Final = int(NEVER)


class Input(NamedTuple):
    """Columns by row, by class, and by value + 1 (row 0 is for no value)."""

    call: Ints
    ret: Ints
    kind: NDArray[np.int8]
    a: Codes
    b: Codes
    effect: Codes
    """By row: the number of its effect, -1 for observers."""
    class_of: Codes
    """By row: the class of a pending operation, -1 for the others and those to leave out."""
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
    """By value: the last return of an operation that must see it; FOREVER if a pending one may."""
    last_differs: int
    """The last return of an operation that must see that a value is gone."""
    effects: int
    has_steps: bool


def searchable(coded: Coded) -> bool:
    """Whether the general searches know all kinds of its operations: those of a cell, or those
    of a model with `Transitions`."""
    if not len(coded):
        return True
    least, most = int(coded.kind.min()), int(coded.kind.max())
    return most <= CHANGE if coded.transitions is None else LOOK <= least and most <= STEP


def read_in(coded: Coded) -> Input:
    """The input of a search."""
    values = 1 + int(max(coded.initial, *(c.max(initial=0) for c in (coded.a, coded.b))))
    if coded.transitions is not None:
        values = 1
    a = np.ascontiguousarray(coded.a, np.int32)
    b = np.ascontiguousarray(coded.b, np.int32)
    call = np.ascontiguousarray(coded.call, np.int64)
    ret = np.ascontiguousarray(coded.ret, np.int64)
    kind = np.ascontiguousarray(coded.kind, np.int8)
    effect, effects, class_of, class_row, last_need, last_differs = _effects(
        ret, kind, a, b, values
    )
    members = np.flatnonzero(class_of >= 0).astype(np.int32)
    classes = len(class_row)
    members = members[np.argsort(class_of[members], kind="stable")]
    member_start = _starts(class_of[members], classes)
    targets = b[class_row] if not coded.transitions else np.zeros(classes, np.int32)
    by_target = np.argsort(targets, kind="stable").astype(np.int32)
    return Input(
        call,
        ret,
        kind,
        a,
        b,
        effect,
        class_of,
        class_row,
        member_start,
        members,
        _starts(targets[by_target], values),
        by_target,
        last_need,
        last_differs,
        effects,
        coded.transitions is not None,
    )


def _starts(sorted_numbers: NDArray[np.int32], count: int) -> Codes:
    return np.searchsorted(sorted_numbers, np.arange(count + 1)).astype(np.int32)


@compiled
def _effects(
    ret: Ints, kind: NDArray[np.int8], a: Codes, b: Codes, values: int
) -> tuple[Codes, int, Codes, Codes, Ints, int]:
    rows = len(ret)
    size = 16
    while size < 2 * rows:
        size *= 2
    seen = np.full(size, -1, np.int32)
    effect = np.full(rows, -1, np.int32)
    class_of = np.full(rows, -1, np.int32)
    class_by_effect = np.full(rows, -1, np.int32)
    class_row = np.empty(rows, np.int32)
    last_need = np.full(values + 1, -1, np.int64)
    last_differs = -1
    effects, classes = 0, 0
    for row in range(rows):
        does = kind[row]
        if does == READ or does == CAS:
            if does == CAS or ret[row] != FOREVER:
                last_need[a[row] + 1] = max(last_need[a[row] + 1], ret[row])
        elif does == DIFFERS or does == CHANGE:
            if does == CHANGE or ret[row] != FOREVER:
                last_differs = max(last_differs, ret[row])
        if does == READ or does == DIFFERS or does == LOOK:
            continue
        mixed = np.uint64(a[row] + 1) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= np.uint64(b[row] + 1) * np.uint64(0xC2B2AE3D27D4EB4F) + np.uint64(does)
        at = np.int64((mixed ^ (mixed >> np.uint64(29))) & np.uint64(size - 1))
        while seen[at] >= 0:
            other = seen[at]
            if kind[other] == does and a[other] == a[row] and b[other] == b[row]:
                break
            at = (at + 1) & (size - 1)
        if seen[at] < 0:
            seen[at] = row
            effect[row] = effects
            effects += 1
        else:
            effect[row] = effect[seen[at]]
        if ret[row] == FOREVER:
            if class_by_effect[effect[row]] < 0:
                class_by_effect[effect[row]] = classes
                class_row[classes] = row
                classes += 1
            class_of[row] = class_by_effect[effect[row]]
    return effect, effects, class_of, class_row[:classes].copy(), last_need, last_differs
