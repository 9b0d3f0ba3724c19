"""The steps of a model, asked once each and kept where a kernel reads them.

A hash table of them: `key` is state and action in one number (-1: free), `after` the state after.
"""

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.records import record_of
from checkers.linearizability.encoded import EncodedHistory, Ints
from framework.compiled import compiled, lean

UNKNOWN: Final = -2
"""Nobody asked for this step yet."""
IMPOSSIBLE: Final = -1
_STEP: Final = record_of([("key", np.int64), ("after", np.int64)])
_WANTED: Final = record_of([("state", np.int64), ("action", np.int64)])
Steps: TypeAlias = NDArray[np.void]
Wanted: TypeAlias = NDArray[np.void]
"""Steps that nobody asked for yet: `state` and `action`."""


def no_steps(size: int) -> Steps:
    """Room for some; `size` is a power of two."""
    return np.full(size, -1, _STEP)


def answered(
    steps: Steps, wanted: Wanted, made: int, encoded: EncodedHistory
) -> tuple[Steps, int, int]:
    """(the table with what is wanted, how many steps it has, the greatest new state)."""
    assert encoded.transitions is not None
    step, count = encoded.transitions.step, len(wanted)
    while 2 * (made + count) > len(steps):
        steps = _moved(steps, no_steps(2 * len(steps)))
    after = [step(state, action) for state, action in wanted.tolist()]
    _put_all(steps, wanted, np.array(after, np.int64))
    return steps, made + count, max(after, default=0)


def nothing_wanted(size: int) -> Wanted:
    """Room for as many to be asked for at once."""
    return np.zeros(size, _WANTED)


@compiled
def _moved(steps: Steps, bigger: Steps) -> Steps:
    for at in range(len(steps)):
        if steps[at].key >= 0:
            _put(bigger, steps[at].key >> 32, steps[at].key & 0xFFFFFFFF, steps[at].after)
    return bigger


@lean
def _spot(steps: Steps, key: np.int64) -> int:
    mixed = key * 0x1E3779B97F4A7C15
    at = int((mixed ^ (mixed >> 32)) & (len(steps) - 1))
    while steps[at].key >= 0 and steps[at].key != key:
        at = (at + 1) & (len(steps) - 1)
    return at


@compiled
def _put_all(steps: Steps, wanted: Wanted, after: Ints) -> None:
    for at in range(len(wanted)):
        _put(steps, wanted[at].state, wanted[at].action, max(after[at], IMPOSSIBLE))


@compiled
def _put(steps: Steps, state: int, action: int, after: int) -> None:
    key = (np.int64(state) << 32) | action
    at = _spot(steps, key)
    steps[at].key, steps[at].after = key, after


@lean
def step_of(steps: Steps, state: int, action: int) -> int:
    """The state after, IMPOSSIBLE, or UNKNOWN."""
    key = (np.int64(state) << 32) | action
    at = _spot(steps, key)
    return int(steps[at].after) if steps[at].key == key else UNKNOWN
