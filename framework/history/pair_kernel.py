"""Invocations and completions of a range put together, by number. Compiled."""

import numpy as np
from numpy.typing import NDArray

from framework.compiled import compiled


@compiled
def pair(
    types: NDArray[np.int8],
    processes: NDArray[np.int32],
    nemesis: int,
    f: NDArray[np.int32],
    keys: NDArray[np.int32],
    completion: NDArray[np.int64],
    first: NDArray[np.int64],
    pending: NDArray[np.int64],
) -> bool:
    """Invocations and completions by process. False: it gave up, for what does not fit together.

    `completion` [event]: the completion of an invocation, or -1. `first` [process]: its first
    event. `pending` [process]: its invocation that is open at the end, or -1. A completion that is
    the first event of its process belongs to an invocation before this range.
    """
    first[:] = -1
    pending[:] = -1
    completion[:] = -1
    for event in range(len(types)):
        process = processes[event]
        if process == nemesis:
            continue
        known = first[process] >= 0
        if not known:
            first[process] = event
        open_at = pending[process]
        if types[event] == 0:
            if open_at >= 0:
                return False
            pending[process] = event
        elif open_at >= 0:
            if f[event] != f[open_at] or (keys[event] >= 0 and keys[event] != keys[open_at]):
                return False
            completion[open_at] = event
            pending[process] = -1
        elif known:
            return False
    return True
