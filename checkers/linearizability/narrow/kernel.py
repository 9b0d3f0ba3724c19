"""The kernel of "narrow": two machine words a configuration."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.coded import NEVER, Codes, Ints, Kind
from framework.compiled import compiled

ORDERED, REFUTED, UNDECIDED = 0, 1, 2

WIDTH: Final = 96
"""Configurations of a key. Sets are searched from end to end, so more would be slow."""

_OPEN: Final = 63
_NEVER: Final = int(NEVER)
_READ: Final = int(Kind.READ)
_DIFFERS: Final = int(Kind.DIFFERS)
_WRITE: Final = int(Kind.WRITE)
_CAS: Final = int(Kind.CAS)


def statuses(
    call: Ints,
    ret: Ints,
    kind: NDArray[np.int8],
    a: Codes,
    b: Codes,
    starts: Ints,
    initial: Ints,
    most: int,
) -> tuple[NDArray[np.int8], Ints]:
    """For each key, whose rows are from `starts[k]` up to `starts[k + 1]`: ORDERED, REFUTED or
    UNDECIDED, and the row at whose return no configuration is left (-1: none)."""
    keys = len(starts) - 1
    status = np.empty(keys, np.int8)
    culprit = np.full(keys, -1, np.int64)
    values = 1 + max(int(initial.max()), int(a.max()), int(b.max()))
    seen_by = np.zeros((2, values), np.int64)
    _all(call, ret, kind, a, b, starts, initial, most, seen_by, status, culprit)
    return status, culprit


@compiled
def _all(
    call: Ints,
    ret: Ints,
    kind: NDArray[np.int8],
    a: Codes,
    b: Codes,
    starts: Ints,
    initial: Ints,
    most: int,
    seen_by: Ints,
    status: NDArray[np.int8],
    culprit: Ints,
) -> None:
    sets = np.empty((6, WIDTH + 1), np.int64)
    slots = np.empty((3, _OPEN), np.int64)
    for key in range(len(starts) - 1):
        begin, end = starts[key], starts[key + 1]
        status[key], culprit[key] = _one(
            call, ret, kind, a, b, begin, end, initial[key], most, seen_by[0], seen_by[1], sets,
            slots,
        )  # fmt: skip
        if status[key] != ORDERED:
            seen_by[:] = 0


@compiled
def _one(
    call: Ints,
    ret: Ints,
    kind: NDArray[np.int8],
    a: Codes,
    b: Codes,
    begin: int,
    end: int,
    initial: int,
    most: int,
    readers: Ints,
    deniers: Ints,
    sets: Ints,
    slots: Ints,
) -> tuple[int, int]:
    """`readers[v]`: open reads of v, as bits; `deniers[v]`: open failed cas that deny v."""
    value, done, next_value, next_done, todo_value, todo_done = sets
    free, waiting, bit_of = slots
    for slot in range(_OPEN):
        free[slot] = slot
    spare, count, opened = _OPEN, 1, 0
    value[0], done[0] = initial, 0
    mutations = all_deniers = looked = 0
    left_out = False
    row = begin
    while row < end or opened > 0:
        if opened == 0 or (row < end and call[row] < ret[waiting[opened - 1]]):
            if ret[row] == _NEVER:
                left_out = True
                row += 1
                continue
            if spare == 0:
                return UNDECIDED, -1
            spare -= 1
            bit = np.int64(1) << free[spare]
            at = opened
            while at > 0 and ret[waiting[at - 1]] < ret[row]:
                waiting[at] = waiting[at - 1]
                bit_of[at] = bit_of[at - 1]
                at -= 1
            waiting[at], bit_of[at] = row, bit
            opened += 1
            if kind[row] == _READ:
                readers[a[row]] |= bit
            elif kind[row] == _DIFFERS:
                deniers[a[row]] |= bit
                all_deniers |= bit
            else:
                mutations |= bit
            row += 1
            continue
        looked += count
        if looked > most:
            return UNDECIDED, -1
        back, target = waiting[opened - 1], bit_of[opened - 1]
        found = todo = 0
        for each in range(count):
            now = value[each]
            settled = done[each] | readers[now] | (all_deniers & ~deniers[now])
            if settled & target:
                next_value[found], next_done[found] = now, settled
                found += 1
            else:
                todo_value[todo], todo_done[todo] = now, settled
                todo += 1
        if todo > 0:
            found = _expand(
                kind, a, b, waiting, bit_of, opened, target, readers, deniers, all_deniers,
                mutations, sets, found, todo,
            )  # fmt: skip
            if found < 0:
                return UNDECIDED, -1
            if found == 0:
                return (UNDECIDED if left_out else REFUTED), back
        for each in range(found):
            value[each], done[each] = next_value[each], next_done[each] & ~target
        count = found
        opened -= 1
        slot = 0
        while (np.int64(1) << slot) != target:
            slot += 1
        free[spare] = slot
        spare += 1
        if kind[back] == _READ:
            readers[a[back]] &= ~target
        elif kind[back] == _DIFFERS:
            deniers[a[back]] &= ~target
            all_deniers &= ~target
        else:
            mutations &= ~target
    return ORDERED, -1


@compiled
def _expand(
    kind: NDArray[np.int8],
    a: Codes,
    b: Codes,
    waiting: Ints,
    bit_of: Ints,
    opened: int,
    target: int,
    readers: Ints,
    deniers: Ints,
    all_deniers: int,
    mutations: int,
    sets: Ints,
    found: int,
    todo: int,
) -> int:
    """Configurations with the target done, from those without; how many there are now, or -1 for
    too many."""
    _, _, next_value, next_done, todo_value, todo_done = sets
    first = 0
    while first < todo:
        now, settled = todo_value[first], todo_done[first]
        first += 1
        for place in range(opened - 1, -1, -1):
            bit = bit_of[place]
            if not bit & mutations or settled & bit:
                continue
            row = waiting[place]
            if (kind[row] == _CAS and now != a[row]) or (kind[row] > _CAS and now == a[row]):
                continue
            after = b[row]
            then = settled | bit | readers[after] | (all_deniers & ~deniers[after])
            if then & target:
                found = _keep(next_value, next_done, 0, found, after, then, mutations)
            else:
                todo = _keep(todo_value, todo_done, first, todo, after, then, mutations)
            if found > WIDTH or todo > WIDTH:
                return -1
    return found


@compiled
def _keep(
    values: Ints, dones: Ints, fixed: int, count: int, value: int, done: int, mutations: int
) -> int:
    """Adds a configuration unless one is there that satisfied as much. The first `fixed` have been
    looked at and stay as they are."""
    for each in range(count):
        if values[each] == value and not (dones[each] ^ done) & mutations:
            if not done & ~dones[each]:
                return count
            if each >= fixed and not dones[each] & ~done:
                dones[each] = done
                return count
    values[count], dones[count] = value, done
    return count + 1
