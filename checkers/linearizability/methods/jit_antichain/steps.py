"""The steps of a model, asked once each and kept where a kernel reads them.

A hash table (size, 2) of int64: state and action in one number (-1: free), and the state after.
"""

from typing import Final

import numpy as np

from checkers.linearizability.encoded import EncodedHistory, Ints
from framework.compiled import compiled

UNKNOWN: Final = -2
"""Nobody asked for this step yet."""
IMPOSSIBLE: Final = -1
WANTED: Final = 256
"""How many steps are asked for at once."""


def no_steps(size: int) -> Ints:
    """`size` is a power of two."""
    return np.full((size, 2), -1, np.int64)


def answered(
    steps: Ints, wanted: Ints, made: int, encoded: EncodedHistory
) -> tuple[Ints, int, int]:
    """(the table with what is wanted, how many steps it has, the greatest new state)."""
    assert encoded.transitions is not None
    greatest = 0
    while 2 * (made + len(wanted)) > len(steps):
        steps = _moved(steps, no_steps(2 * len(steps)))
    for state, action in wanted.tolist():
        after = encoded.transitions.step(state, action)
        greatest = max(greatest, after)
        made += 1
        _put(steps, state, action, max(after, IMPOSSIBLE))
    return steps, made, greatest


@compiled
def _moved(steps: Ints, bigger: Ints) -> Ints:
    for at in range(len(steps)):
        if steps[at, 0] >= 0:
            _put(bigger, steps[at, 0] >> 32, steps[at, 0] & 0xFFFFFFFF, steps[at, 1])
    return bigger


@compiled
def _spot(steps: Ints, key: int) -> int:
    mixed = key * 0x1E3779B97F4A7C15
    at = (mixed ^ (mixed >> 32)) & (len(steps) - 1)
    while steps[at, 0] >= 0 and steps[at, 0] != key:
        at = (at + 1) & (len(steps) - 1)
    return at


@compiled
def _put(steps: Ints, state: int, action: int, after: int) -> None:
    key = (state << 32) | action
    at = _spot(steps, key)
    steps[at, 0], steps[at, 1] = key, after


@compiled
def step_of(steps: Ints, state: int, action: int) -> int:
    """The state after, IMPOSSIBLE, or UNKNOWN."""
    key = (state << 32) | action
    at = _spot(steps, key)
    return int(steps[at, 1]) if steps[at, 0] == key else UNKNOWN
