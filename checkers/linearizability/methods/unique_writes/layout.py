"""From the times at which values come into force to an order of the operations."""

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.kinds import DIFFERS, FOREVER, READ
from checkers.linearizability.encoded import Codes, Ints
from framework.compiled import compiled


@compiled
def lay_out(
    call: Ints,
    ret: Ints,
    kind: NDArray[np.int8],
    a: Codes,
    writer: Codes,
    values: Codes,
    begins: Ints,
) -> Ints:
    """The rows in order: values[i] comes into force just before event begins[i]. A read or failed
    cas has its place at its call, if the value is right there, else when it next changes."""
    order = np.empty(len(call), np.int64)
    waiting = np.full(len(writer), -1, np.int32)
    following = np.full(len(call), -1, np.int32)
    now, made, at = values[0], 0, 1
    for row in range(len(call) + 1):
        while at < len(values) and (row == len(call) or begins[at] < call[row]):
            # Those that wait for the value to come are its readers, or for this one to go.
            before, now = now, values[at]
            order[made] = writer[now]
            made, at = made + 1, at + 1
            for value in (before, now):
                other = waiting[value]
                while other >= 0:
                    order[made] = other
                    made += 1
                    other = following[other]
                waiting[value] = -1
        if row == len(call) or ret[row] == FOREVER or kind[row] > DIFFERS:
            continue
        if (kind[row] == READ) == (a[row] == now):
            order[made] = row
            made += 1
        else:
            following[row] = waiting[a[row]]
            waiting[a[row]] = row
    return order[:made]
