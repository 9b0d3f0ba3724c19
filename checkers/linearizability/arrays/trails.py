"""How configurations came about: a tree, (rows, 2), of the trail before and what was put then.

A negative trail is a beginning.
"""

import numpy as np

from checkers.linearizability.encoded import Codes
from framework.compiled import compiled


@compiled
def mutations_of(trails: Codes, trail: int) -> tuple[Codes, int]:
    """(what was put along a trail, first to last; the number of its beginning: -1 or less)."""
    count, at = 0, np.int64(trail)
    while at >= 0:
        count += 1
        at = np.int64(trails[at, 0])
    mutations = np.empty(count, np.int32)
    at = np.int64(trail)
    while at >= 0:
        count -= 1
        mutations[count] = trails[at, 1]
        at = np.int64(trails[at, 0])
    return mutations, at  # type: ignore[return-value]
