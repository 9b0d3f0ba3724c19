"""How configurations came about: a tree of what was put, each with what was put before."""

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.records import record_of
from checkers.linearizability.encoded import Codes
from framework.compiled import compiled

_TRAIL: Final = record_of([("before", np.int32), ("added", np.int32)])
Trails: TypeAlias = NDArray[np.void]
"""`before` is a trail, or negative at a beginning; `added` a row, or what else a method adds."""


def no_trails(size: int) -> NDArray[Any]:
    return np.zeros(size, _TRAIL)


@compiled
def mutations_of(trails: Trails, trail: int) -> tuple[Codes, int]:
    """(what was put along a trail, first to last; the number of its beginning: -1 or less)."""
    count, at = 0, np.int64(trail)
    while at >= 0:
        count += 1
        at = np.int64(trails[at].before)
    mutations = np.empty(count, np.int32)
    at = np.int64(trail)
    while at >= 0:
        count -= 1
        mutations[count] = trails[at].added
        at = np.int64(trails[at].before)
    return mutations, at  # type: ignore[return-value]
