"""The calls and returns of one key as a single sequence, for methods that sweep through time."""

from typing import Final

import numpy as np

from checkers.linearizability.arrays.kinds import FOREVER
from checkers.linearizability.encoded import NEVER, Codes, Ints
from framework.compiled import compiled

_SPARSE: Final = 8
"""Above so many places an event, sorting is cheaper than laying the events out."""


def events(call: Ints, ret: Ints) -> Codes:
    """All calls and returns in time order: 2 * row is the call of a row, 2 * row + 1 its return.

    O(n) where the indices are close together, else O(n log n).
    """
    if not len(call):
        return np.empty(0, np.int32)
    returned = np.flatnonzero(ret != NEVER)
    first = int(call.min())
    last = max(int(call.max()), int(ret[returned].max()) if len(returned) else first)
    count = len(call) + len(returned)
    if last - first + 1 <= _SPARSE * count:
        return _laid_out(call, ret, first, last - first + 1, count)
    times = np.concatenate((call, ret[returned]))
    codes = np.concatenate((np.arange(len(call)) * 2, returned * 2 + 1))
    return codes[np.argsort(times, kind="stable")].astype(np.int32)


@compiled
def _laid_out(call: Ints, ret: Ints, first: int, span: int, count: int) -> Codes:
    slots = np.full(span, -1, np.int32)
    for row in range(len(call)):
        slots[call[row] - first] = 2 * row
        if ret[row] != FOREVER:
            slots[ret[row] - first] = 2 * row + 1
    if span == count:
        return slots
    order = np.empty(count, np.int32)
    filled = 0
    for slot in range(span):
        if slots[slot] >= 0:
            order[filled] = slots[slot]
            filled += 1
    return order
