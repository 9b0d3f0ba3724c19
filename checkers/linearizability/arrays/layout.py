"""From the operations that change something, in their order, to a whole order."""

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.events import events
from checkers.linearizability.arrays.kinds import FOREVER, LOOK, WRITE
from checkers.linearizability.arrays.replay import after, allows
from checkers.linearizability.arrays.steps import Steps, no_steps, step_of
from checkers.linearizability.encoded import Codes, EncodedHistory, Ints
from framework.compiled import compiled


def laid_out(
    encoded: EncodedHistory,
    mutations: Codes,
    steps: Steps | None = None,
    initial: int | None = None,
    since: int = -1,
    until: int = FOREVER,
) -> tuple[Ints, int, NDArray[np.bool_]]:
    """(an order of all that returned and of the mutations; the row whose return those do not
    explain, or -1; which of them are pending operations that were not there: not invoked by then,
    or used before).

    A mutation comes when a return needs it. What leaves the state as it is comes as soon as it
    fits; writes that are not among `mutations` just before one that is. Begins after the event
    `since` in the state `initial`, with all in the order that was invoked by then and no mutation;
    ends before the first return after `until`. Of a cell or, with `steps`, of a model.
    """
    order, stuck, missing = _laid_out(
        events(encoded.call, encoded.ret),
        encoded.call,
        encoded.ret,
        encoded.kind,
        encoded.a,
        encoded.b,
        no_steps(1) if steps is None else steps,
        encoded.initial if initial is None else initial,
        mutations,
        since,
        until,
    )
    return order, int(stuck), missing


@compiled
def _laid_out(
    events: Codes,
    call: Ints,
    ret: Ints,
    kind: NDArray[np.int8],
    a: Codes,
    b: Codes,
    steps: Steps,
    state: int,
    mutations: Codes,
    since: int,
    until: int,
) -> tuple[Ints, int, NDArray[np.bool_]]:
    order, filled = np.empty(len(ret) + len(mutations), np.int64), 0
    called, done = np.zeros(len(ret), np.bool_), np.zeros(len(ret), np.bool_)
    planned = np.zeros(len(ret), np.bool_)
    missing: NDArray[np.bool_] = np.zeros(len(mutations), np.bool_)
    planned[mutations] = True
    # A list, not slots: of one order only, and however many are open.
    opened, place, count = np.empty(len(ret), np.int32), np.empty(len(ret), np.int32), 0
    next_put = 0
    for event in events:
        row = np.int64(event >> 1)
        if event & 1 == 0:
            called[row] = True
            if not planned[row] and ret[row] != FOREVER:
                done[row] = call[row] <= since
                opened[count], place[row] = row, count
                count += 1
            continue
        if ret[row] > until:
            break
        if not done[row]:
            filled = _observed(opened[:count], kind, a, b, steps, state, done, order, filled)
        while not done[row]:
            if next_put == len(mutations):
                return order[:filled], int(row), missing
            put = mutations[next_put]
            then = after(kind[put], a[put], b[put], state, steps)
            is_there = called[put] and not done[put]
            missing[next_put] = not is_there and ret[put] == FOREVER
            if then < 0 or not (is_there or missing[next_put]):
                return order[:filled], int(row), missing
            next_put += 1
            if kind[put] == WRITE:
                for each in opened[:count]:
                    if kind[each] == WRITE and not done[each]:
                        done[each] = True
                        order[filled] = each
                        filled += 1
            state, done[put] = then, True
            order[filled] = put
            filled += 1
            filled = _observed(opened[:count], kind, a, b, steps, state, done, order, filled)
        if not planned[row]:
            count -= 1
            last = opened[count]
            opened[place[row]], place[last] = last, place[row]
    return order[:filled], -1, missing


@compiled
def _observed(
    opened: Codes,
    kind: NDArray[np.int8],
    a: Codes,
    b: Codes,
    steps: Steps,
    state: int,
    done: NDArray[np.bool_],
    order: Ints,
    filled: int,
) -> int:
    """Places what fits the state and leaves it as it is. How many are placed in all."""
    for row in opened:
        if done[row]:
            continue
        does = kind[row]
        if does == LOOK:
            fits = step_of(steps, state, a[row]) == state
        elif does == WRITE:
            fits = b[row] == state
        else:
            fits = does < WRITE and allows(does, a[row], state)
        if fits:
            done[row] = True
            order[filled] = row
            filled += 1
    return filled
