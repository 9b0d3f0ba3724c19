"""The steps of a model, asked once each and kept where a kernel reads them."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.coded import Codes, Coded, Ints
from checkers.linearizability.compiled import compiled

UNKNOWN: Final = -2
"""Nobody asked for this step yet."""
IMPOSSIBLE: Final = -1
_ASKED_AT_ONCE: Final = 256


class Steps(NamedTuple):
    """A hash table (state, action) -> state, and what a kernel must know to go on."""

    keys: Ints
    after: Codes
    wanted: NDArray[np.int64]
    """(256, 2): states and actions to ask for."""
    made: NDArray[np.int64]
    """[steps that are known, rows of `wanted` in use]"""


def no_steps(size: int = 64) -> Steps:
    """`size` is a power of two."""
    return Steps(
        np.full(size, -1, np.int64),
        np.full(size, UNKNOWN, np.int32),
        np.zeros((_ASKED_AT_ONCE, 2), np.int64),
        np.zeros(2, np.int64),
    )


def answered(steps: Steps, coded: Coded) -> tuple[Steps, int]:
    """With the steps that are wanted, and the greatest number of a state among them."""
    assert coded.transitions is not None
    greatest = 0
    for state, action in steps.wanted[: steps.made[1]].tolist():
        after = coded.transitions.step(state, action)
        greatest = max(greatest, after)
        if 2 * steps.made[0] >= len(steps.keys):
            steps = _grown(steps)
        _put(steps, state, action, max(after, IMPOSSIBLE))
    steps.made[1] = 0
    return steps, greatest


def _grown(steps: Steps) -> Steps:
    bigger = no_steps(2 * len(steps.keys))
    for at in np.flatnonzero(steps.keys >= 0):
        key = int(steps.keys[at])
        _put(bigger, key >> 32, key & 0xFFFFFFFF, int(steps.after[at]))
    bigger.wanted[:] = steps.wanted
    bigger.made[1] = steps.made[1]
    return bigger


@compiled
def _spot(keys: Ints, state: int, action: int) -> int:
    key = (np.int64(state) << np.int64(32)) | np.int64(action)
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    at = np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(len(keys) - 1))
    while keys[at] >= 0 and keys[at] != key:
        at = (at + 1) & (len(keys) - 1)
    return int(at)


@compiled
def _put(steps: Steps, state: int, action: int, after: int) -> None:
    at = _spot(steps.keys, state, action)
    if steps.keys[at] < 0:
        steps.keys[at] = (np.int64(state) << np.int64(32)) | np.int64(action)
        steps.made[0] += 1
    steps.after[at] = after


@compiled
def step_of(steps: Steps, state: int, action: int) -> int:
    """The state after, IMPOSSIBLE, or UNKNOWN: then it is wanted."""
    at = _spot(steps.keys, state, action)
    if steps.keys[at] >= 0:
        return int(steps.after[at])
    if steps.made[1] < len(steps.wanted):
        for row in range(steps.made[1]):
            if steps.wanted[row, 0] == state and steps.wanted[row, 1] == action:
                return UNKNOWN
        steps.wanted[steps.made[1], 0] = state
        steps.wanted[steps.made[1], 1] = action
        steps.made[1] += 1
    return UNKNOWN
