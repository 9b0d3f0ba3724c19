"""From the changers that a configuration came by to a whole order, by one replay."""

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.coded import Codes, Ints
from checkers.linearizability.compiled import compiled
from checkers.linearizability.frontier_input import (
    CAS,
    CHANGE,
    DIFFERS,
    FOREVER,
    LOOK,
    READ,
    WRITE,
    Input,
)
from checkers.linearizability.frontier_steps import Steps, step_of


@compiled
def puts_of(up: Codes, put: Codes, trail: int) -> Codes:
    """What was put along a trail, first to last."""
    count, at = 0, trail
    while at >= 0:
        count += 1
        at = up[at]
    puts = np.empty(count, np.int32)
    at = trail
    while at >= 0:
        count -= 1
        puts[count] = put[at]
        at = up[at]
    return puts


@compiled
def replayed(
    given: Input, steps: Steps, puts: Codes, initial: int, since: int, stop_time: int
) -> tuple[Codes, int, int, Codes, int]:
    """(order, how many of it are filled in, the row whose return it does not explain or -1, how
    many more than there are each class was used, the state at the end).

    Begins after the event `since` with everything satisfied that is open then, in the state
    `initial`; ends before the first return after `stop_time`.
    """
    rows = len(given.call)
    order = np.empty(rows + len(puts), np.int32)
    done = np.zeros(rows, np.bool_)
    planned = np.zeros(rows, np.bool_)
    for each in puts:
        if each >= 0:
            planned[each] = True
    over = np.zeros(len(given.class_row) + 1, np.int32)
    uses = np.zeros(len(given.class_row) + 1, np.int32)
    opened = np.empty(64, np.int32)
    count, filled, next_row, next_put, state = 0, 0, 0, 0, initial
    while True:
        fresh = count
        while next_row < rows and (
            count == 0 or given.call[next_row] < given.ret[opened[count - 1]]
        ):
            row = next_row
            next_row += 1
            if given.ret[row] == FOREVER or given.ret[row] <= since:
                continue
            if given.call[row] <= since:
                done[row] = not planned[row]
            if count == len(opened):
                more = np.empty(2 * count, np.int32)
                more[:count] = opened
                opened = more
            at = count
            while at > 0 and given.ret[opened[at - 1]] < given.ret[row]:
                opened[at] = opened[at - 1]
                at -= 1
            opened[at] = row
            count += 1
        if count == 0:
            return order, filled, -1, over, state
        row = opened[count - 1]
        if given.ret[row] > stop_time:
            return order, filled, -1, over, state
        if count > fresh:
            filled = _observe(given, steps, opened, count, state, done, order, filled)
        while not done[row]:
            if next_put == len(puts):
                return order, filled, row, over, state
            put = np.int64(puts[next_put])
            next_put += 1
            if put < 0:
                number = -1 - put
                at = given.member_start[number] + uses[number]
                uses[number] += 1
                put = given.class_row[number]
                if at >= given.member_start[number + 1]:
                    over[number] += 1
                elif given.call[given.members[at]] > given.ret[row]:
                    over[number] += 1
                else:
                    put = given.members[at]
            if given.kind[put] == WRITE:
                for each in range(count - 1, -1, -1):
                    other = opened[each]
                    if given.kind[other] == WRITE and not done[other] and not planned[other]:
                        done[other] = True
                        order[filled] = other
                        filled += 1
            after = _after(given, steps, state, put)
            if after < 0 or done[put]:
                return order, filled, row, over, state
            state = after
            if given.ret[put] != FOREVER:
                done[put] = True
            order[filled] = put
            filled += 1
            filled = _observe(given, steps, opened, count, state, done, order, filled)
        count -= 1


@compiled
def _observe(
    given: Input,
    steps: Steps,
    opened: Codes,
    count: int,
    state: int,
    done: NDArray[np.bool_],
    order: Codes,
    filled: int,
) -> int:
    for each in range(count - 1, -1, -1):
        row = opened[each]
        if done[row]:
            continue
        does = given.kind[row]
        if (
            (does == READ and state == given.a[row])
            or (does == DIFFERS and state != given.a[row])
            or (does == LOOK and step_of(steps, state, given.a[row]) == state)
        ):
            done[row] = True
            order[filled] = row
            filled += 1
    return filled


@compiled
def _after(given: Input, steps: Steps, state: int, row: int) -> int:
    does = given.kind[row]
    if does == WRITE:
        return int(given.b[row])
    if does == CAS:
        return int(given.b[row]) if state == given.a[row] else -1
    if does == CHANGE:
        return int(given.b[row]) if state != given.a[row] else -1
    return step_of(steps, state, given.a[row])


def legal(given: Input, steps: Steps, order: Ints, initial: int) -> bool:
    """Whether an order has every completed operation, keeps to real time, and explains every
    result. All steps of the model that it takes are known."""
    return bool(_legal(given, steps, order, initial))


@compiled
def _legal(given: Input, steps: Steps, order: Ints, initial: int) -> bool:
    rows = len(given.call)
    seen = np.zeros(rows, np.bool_)
    latest_call, state = np.int64(-1), np.int64(initial)
    for row in order:
        if seen[row] or given.ret[row] < latest_call:
            return False
        seen[row] = True
        latest_call = max(latest_call, given.call[row])
        does = given.kind[row]
        if does == READ:
            if state != given.a[row]:
                return False
        elif does == DIFFERS:
            if state == given.a[row]:
                return False
        else:
            state = _after(given, steps, state, row)
            if state < 0:
                return False
    for row in range(rows):
        if given.ret[row] != FOREVER and not seen[row]:
            return False
    return True
