"""From what was put to a whole order, by one replay that takes nothing on trust."""

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.kinds import CAS, CHANGE, DIFFERS, FOREVER, READ, WRITE
from checkers.linearizability.encoded import Codes, Ints
from framework.compiled import compiled


@compiled
def replayed(
    events: Codes,
    ret: Ints,
    kind: NDArray[np.int8],
    a: Codes,
    b: Codes,
    initial: int,
    mutations: Codes,
) -> tuple[Ints, bool]:
    """The order of all completed operations and of those that are put, if it is legal.

    An operation is only ever placed between its call and its return, and where its result fits.
    Reads and failed cas are placed as soon as they fit; writes that are not among `mutations` just
    before one that is, or where they change nothing.
    """
    order, filled, value = np.empty(len(ret), np.int64), 0, initial
    planned, done = np.zeros(len(ret), np.bool_), np.zeros(len(ret), np.bool_)
    for row in mutations:
        planned[row] = True
    opened, count = np.empty(len(ret), np.int32), 0
    at, called = np.empty(len(ret), np.int32), np.zeros(len(ret), np.bool_)
    next_put = 0
    for event in events:
        row = np.int64(event >> 1)
        if event & 1 == 0:
            called[row] = True
            if not planned[row] and ret[row] != FOREVER:
                opened[count], at[row] = row, count
                count += 1
            continue
        if not done[row]:
            filled = _fitting(opened, count, kind, a, b, done, value, order, filled)
        while not done[row]:
            if next_put == len(mutations):
                return order[:filled], False
            put = mutations[next_put]
            next_put += 1
            seen = kind[put] == CAS and value == a[put]
            seen = seen or (kind[put] == CHANGE and value != a[put])
            if not called[put] or done[put] or not (seen or kind[put] == WRITE):
                return order[:filled], False
            if kind[put] == WRITE:
                for each in opened[:count]:
                    if kind[each] == WRITE and not done[each]:
                        done[each] = True
                        order[filled] = each
                        filled += 1
            done[put], value = True, b[put]
            order[filled] = put
            filled += 1
            filled = _fitting(opened, count, kind, a, b, done, value, order, filled)
        if not planned[row]:
            count -= 1
            last = opened[count]
            opened[at[row]], at[last] = last, at[row]
    return order[:filled], True


@compiled
def _fitting(
    opened: Codes,
    count: int,
    kind: NDArray[np.int8],
    a: Codes,
    b: Codes,
    done: NDArray[np.bool_],
    value: int,
    order: Ints,
    filled: int,
) -> int:
    """Places what fits the value and leaves it as it is. How many are placed in all."""
    for row in opened[:count]:
        if done[row]:
            continue
        does = kind[row]
        if (
            (does == READ and a[row] == value)
            or (does == DIFFERS and a[row] != value)
            or (does == WRITE and b[row] == value)
        ):
            done[row] = True
            order[filled] = row
            filled += 1
    return filled
