"""What an operation does to its object, and whether an order of operations is legal."""

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.kinds import (
    CAS,
    DEQUEUE,
    EMPTY,
    ENQUEUE,
    FOREVER,
    LOOK,
    READ,
    TAKE,
    WRITE,
)
from checkers.linearizability.arrays.steps import IMPOSSIBLE, Steps, no_steps, step_of
from checkers.linearizability.encoded import Codes, EncodedHistory, Ints
from framework.compiled import compiled


@compiled
def allows(kind: int, a: int, state: int) -> bool:
    """Whether an operation of a cell can take effect in a state as it says."""
    return kind == WRITE or (kind in (READ, CAS)) == (state == a)


@compiled
def after(kind: int, a: int, b: int, state: int, steps: Steps) -> int:
    """The state of a cell or model after an operation; negative if it cannot take effect."""
    if kind >= LOOK:
        return step_of(steps, state, a)
    if not allows(kind, a, state):
        return IMPOSSIBLE
    return b if kind >= WRITE else state


@compiled
def replayed(
    kind: NDArray[np.int8], a: Codes, b: Codes, initial: int, steps: Steps, order: Ints
) -> tuple[Ints, int]:
    """(the states before the first, second, ... of the order and after the last; the place of the
    first that cannot take effect as it says, or -1). A queue's state is its length."""
    states = np.empty(len(order) + 1, np.int64)
    states[0] = state = initial
    queue = np.empty(len(order), np.int32)
    first, end = 0, 0
    for place in range(len(order)):
        row = order[place]
        does = kind[row]
        if does == ENQUEUE:
            queue[end] = b[row]
            end += 1
            state = end - first
        elif does == EMPTY:
            state = 0 if first == end else IMPOSSIBLE
        elif does in (DEQUEUE, TAKE):
            fits = first < end and (does == TAKE or queue[first] == a[row])
            first += 1
            state = end - first if fits else IMPOSSIBLE
        else:
            state = after(does, a[row], b[row], state, steps)
        if state < 0:
            return states, place
        states[place + 1] = state
    return states, -1


@compiled
def _keeps_to_time(call: Ints, ret: Ints, order: Ints) -> bool:
    """Whether an order has all that completed, each row once, and none after one that was invoked
    when it had returned."""
    seen = np.zeros(len(call), np.bool_)
    latest = -1
    for row in order:
        if seen[row] or ret[row] < latest:
            return False
        seen[row] = True
        latest = max(latest, call[row])
    return bool(np.all(seen | (ret == FOREVER)))


def is_legal(encoded: EncodedHistory, order: Ints, steps: Steps | None = None) -> bool:
    """Whether `order` (rows) is a linearization. It knows nothing of how the order was made.
    `steps`: what is known of a model's, with those of the order."""
    _, misfit = replayed(
        encoded.kind,
        encoded.a,
        encoded.b,
        encoded.initial,
        no_steps(1) if steps is None else steps,
        order,
    )
    return misfit < 0 and bool(_keeps_to_time(encoded.call, encoded.ret, order))
