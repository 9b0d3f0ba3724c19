"""From the changers that a configuration came by to a whole order, by one replay."""

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.kinds import CAS, CHANGE, DIFFERS, FOREVER, LOOK, READ, WRITE
from checkers.linearizability.encoded import Codes, Ints
from checkers.linearizability.methods.jit_antichain.input import Operations
from checkers.linearizability.methods.jit_antichain.steps import step_of
from framework.compiled import compiled


@compiled
def replayed(
    ops: Operations,
    class_row: Codes,
    member_start: Codes,
    members: Codes,
    steps: Ints,
    mutations: Codes,
    initial: int,
    since: int,
    stop_time: int,
) -> tuple[Codes, int, int, Codes, int]:
    """(order, how many of it are filled in, the row whose return it does not explain or -1, how
    many more than there are each class was used, the state at the end).

    Begins after the event `since` with everything satisfied that is open then, in the state
    `initial`; ends before the first return after `stop_time`.
    """
    rows = len(ops)
    order = np.empty(rows + len(mutations), np.int32)
    done = np.zeros(rows, np.bool_)
    planned = np.zeros(rows, np.bool_)
    for each in mutations:
        if each >= 0:
            planned[each] = True
    over = np.zeros(len(class_row) + 1, np.int32)
    uses = np.zeros(len(class_row) + 1, np.int32)
    opened = np.empty(64, np.int32)
    count, filled, next_row, next_put, state = 0, 0, 0, 0, initial
    while True:
        fresh = count
        while next_row < rows and (count == 0 or ops[next_row].call < ops[opened[count - 1]].ret):
            row = next_row
            next_row += 1
            if ops[row].ret == FOREVER or ops[row].ret <= since:
                continue
            if ops[row].call <= since:
                done[row] = not planned[row]
            if count == len(opened):
                more = np.empty(2 * count, np.int32)
                more[:count] = opened
                opened = more
            at = count
            while at > 0 and ops[opened[at - 1]].ret < ops[row].ret:
                opened[at] = opened[at - 1]
                at -= 1
            opened[at] = row
            count += 1
        if count == 0:
            return order, filled, -1, over, state
        row = opened[count - 1]
        if count > fresh:
            filled = _observe(ops, steps, opened, count, state, done, order, filled)
        if ops[row].ret > stop_time:
            return order, filled, -1, over, state
        while not done[row]:
            if next_put == len(mutations):
                return order, filled, row, over, state
            put = np.int64(mutations[next_put])
            next_put += 1
            if put < 0:
                number = -1 - put
                at = member_start[number] + uses[number]
                uses[number] += 1
                put = class_row[number]
                if at >= member_start[number + 1] or ops[members[at]].call > ops[row].ret:
                    over[number] += 1
                else:
                    put = members[at]
            if ops[put].kind == WRITE:
                for each in range(count - 1, -1, -1):
                    other = opened[each]
                    if ops[other].kind == WRITE and not done[other] and not planned[other]:
                        done[other] = True
                        order[filled] = other
                        filled += 1
            after = _after(ops, steps, state, int(put))
            if after < 0 or done[put]:
                return order, filled, row, over, state
            state = after
            if ops[put].ret != FOREVER:
                done[put] = True
            order[filled] = put
            filled += 1
            filled = _observe(ops, steps, opened, count, state, done, order, filled)
        count -= 1


@compiled
def _observe(
    ops: Operations,
    steps: Ints,
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
        does = ops[row].kind
        if (
            (does == READ and state == ops[row].a)
            or (does == DIFFERS and state != ops[row].a)
            or (does == LOOK and step_of(steps, state, ops[row].a) == state)
        ):
            done[row] = True
            order[filled] = row
            filled += 1
    return filled


@compiled
def _after(ops: Operations, steps: Ints, state: int, row: int) -> int:
    does = ops[row].kind
    if does == WRITE:
        return int(ops[row].b)
    if does == CAS:
        return int(ops[row].b) if state == ops[row].a else -1
    if does == CHANGE:
        return int(ops[row].b) if state != ops[row].a else -1
    return step_of(steps, state, ops[row].a)
