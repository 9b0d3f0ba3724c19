"""Keys of few operations: one order, made without a choice, is often enough.

When an operation returns that has not taken effect, it does; where its value is not there, an open
operation that makes it does first, the one that returns first. Observers take effect as soon as the
value fits. Each takes effect while it is open and as its result says, so an order that gets to the
end is one; that this one does not says nothing.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.bits import trailing_zeros
from checkers.linearizability.arrays.kinds import CAS, DIFFERS, FOREVER, READ, WRITE
from checkers.linearizability.coded import Codes, Ints
from framework.compiled import compiled

TINY: Final = 62
"""Operations of a key: an open one is a bit of a word."""


@compiled
def has_easy_order(
    call: Ints, ret: Ints, kind: NDArray[np.int8], a: Codes, b: Codes, begin: int, end: int,
    initial: int,
) -> bool:  # fmt: skip
    """Of the key with rows from `begin` up to `end`, at most `TINY`; pending ones are left out."""
    value, row = initial, begin
    opened = 0  # and without effect yet
    due, first = FOREVER, begin
    while row < end or opened:
        if row < end and call[row] < due:
            if ret[row] != FOREVER and not _fits(kind[row], a[row], value):
                opened |= 1 << (row - begin)
                if ret[row] < due:
                    due, first = ret[row], row
            row += 1
            continue
        goes = first
        if not _can(kind[first], a[first], value):
            goes = _leading_to(ret, kind, a, b, begin, opened, first, value)
            if goes < 0:
                return False
        value = int(b[goes])
        opened &= ~(1 << (goes - begin))
        due, left = FOREVER, opened
        while left:
            each = begin + trailing_zeros(left)
            left &= left - 1
            if _fits(kind[each], a[each], value):
                opened &= ~(1 << (each - begin))
            elif ret[each] < due:
                due, first = ret[each], each
    return True


@compiled
def _fits(kind: int, a: int, value: int) -> bool:
    """Whether it is an observer that the value satisfies."""
    return (kind == READ and a == value) or (kind == DIFFERS and a != value)


@compiled
def _can(kind: int, a: int, value: int) -> bool:
    """Whether it changes the value, and can."""
    return kind >= WRITE and (kind == WRITE or (kind == CAS) == (a == value))


@compiled
def _leading_to(
    ret: Ints, kind: NDArray[np.int8], a: Codes, b: Codes, begin: int, opened: int, row: int,
    value: int,
) -> int:  # fmt: skip
    """The open operation to take effect before `row` can, or -1."""
    equal = kind[row] == READ or kind[row] == CAS
    found, soonest = -1, FOREVER
    while opened:
        each = begin + trailing_zeros(opened)
        opened &= opened - 1
        leads = each != row and _can(kind[each], a[each], value)
        if leads and (b[each] == a[row]) == equal and ret[each] < soonest:
            found, soonest = each, ret[each]
    return found
