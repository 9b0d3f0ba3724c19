"""Keys of few operations: one order, made without a choice, is often enough.

When an operation returns that has not taken effect, it does; where its value is not there, an open
operation that makes it does first, the one that returns first, a pending one last. Observers take
effect as soon as the value fits. Each takes effect while it is open and as its result says, so an
order that gets to the end is one; that this one does not says nothing.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.bits import trailing_zeros
from checkers.linearizability.arrays.kinds import CAS, FOREVER, READ, WRITE
from checkers.linearizability.arrays.replay import allows
from checkers.linearizability.encoded import Codes, Ints
from framework.compiled import compiled

TINY: Final = 62
"""Operations of a key up to which it pays: in longer ones it often gets stuck."""
SHORT: Final = 500
FEW: Final = 5_000
"""Where there are so few operations in all it is tried with keys of up to `SHORT`: that takes no
time, and what comes after it has to be compiled or loaded."""
_OPEN: Final = 62
"""Operations open at once: each is a bit of a word."""


@compiled
def easily_ordered(
    call: Ints, ret: Ints, kind: NDArray[np.int8], a: Codes, b: Codes, starts: Ints, initial: Ints,
    tiny: int,
) -> NDArray[np.bool_]:  # fmt: skip
    """Of the keys with rows from `starts[k]` up to `starts[k + 1]`: which have an easy order, if
    they have `tiny` rows at most."""
    easy = np.zeros(len(starts) - 1, np.bool_)
    rows = np.empty(_OPEN, np.int64)
    for key in range(len(easy)):
        begin, end = starts[key], starts[key + 1]
        easy[key] = end - begin <= tiny and has_easy_order(
            call, ret, kind, a, b, begin, end, initial[key], rows
        )
    return easy


@compiled
def has_easy_order(
    call: Ints, ret: Ints, kind: NDArray[np.int8], a: Codes, b: Codes, begin: int, end: int,
    initial: int, rows: Ints,
) -> bool:  # fmt: skip
    """Of the key with rows from `begin` up to `end`. `rows` is room for those that are open."""
    value, row = initial, begin
    opened = 0  # and without effect yet: bits, by place in `rows`
    due, first = FOREVER, 0
    while row < end or due != FOREVER:
        if row < end and call[row] < due:
            matters = ret[row] != FOREVER or kind[row] >= WRITE
            if matters and not _fits(kind[row], a[row], value):
                place = trailing_zeros(~opened)
                if place < _OPEN:
                    rows[place] = row
                    opened |= 1 << place
                elif ret[row] != FOREVER:
                    return False
                if ret[row] < due:
                    due, first = ret[row], place
            row += 1
            continue
        goes = first
        if not _can(kind[rows[first]], a[rows[first]], value):
            goes = _leading_to(ret, kind, a, b, rows, opened, first, value)
            if goes < 0:
                return False
        value = int(b[rows[goes]])
        opened &= ~(1 << goes)
        due, left = FOREVER, opened
        while left:
            place = trailing_zeros(left)
            left &= left - 1
            each = rows[place]
            if _fits(kind[each], a[each], value):
                opened &= ~(1 << place)
            elif ret[each] < due:
                due, first = ret[each], place
    return True


@compiled
def _fits(kind: int, a: int, value: int) -> bool:
    """Whether it is an observer that the value satisfies."""
    return kind < WRITE and allows(kind, a, value)


@compiled
def _can(kind: int, a: int, value: int) -> bool:
    """Whether it changes the value, and can."""
    return kind >= WRITE and allows(kind, a, value)


@compiled
def _leading_to(
    ret: Ints, kind: NDArray[np.int8], a: Codes, b: Codes, rows: Ints, opened: int, waiting: int,
    value: int,
) -> int:  # fmt: skip
    """The place of the open operation to take effect before the one at `waiting` can, or -1."""
    row = rows[waiting]
    equal = kind[row] == READ or kind[row] == CAS
    found, soonest = -1, FOREVER
    while opened:
        place = trailing_zeros(opened)
        opened &= opened - 1
        each = rows[place]
        leads = place != waiting and _can(kind[each], a[each], value)
        leads = leads and (b[each] == a[row]) == equal
        if leads and (found < 0 or ret[each] < soonest):
            found, soonest = place, ret[each]
    return found
