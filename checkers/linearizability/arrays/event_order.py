"""Operations by the events at which they return: without sorting, where these are dense."""

import numpy as np

from checkers.linearizability.encoded import Codes, Ints
from framework.compiled import compiled


def in_order(times: Ints, operations: int) -> Codes:
    """The positions of distinct times (-1 or later), in their order."""
    if len(times) and int(times.max()) <= 8 * operations:
        return _bucketed(times, int(times.max()) + 2)
    return np.argsort(times).astype(np.int32)


@compiled
def _bucketed(times: Ints, size: int) -> Codes:
    at = np.full(size, -1, np.int32)
    for one in range(len(times)):
        at[times[one] + 1] = one
    order = np.empty(len(times), np.int32)
    count = 0
    for position in at:
        if position >= 0:
            order[count] = position
            count += 1
    return order
