"""Wing & Gong's search with Lowe's memory, compiled: one configuration at a time.

A place is (completions that are passed, value, operations open there that the order has, multiset
of pending ones used). A place that was met before is not entered again. Operations that the order
does not have are a linked list in the order of their calls, from which they are lifted and into
which they are put back (Wing & Gong 1993, Lowe 2017); what is remembered of an operation is a bit
of a short mask that is given back when it returns, so memory does not grow with the history's
square.
"""

from typing import Final, NamedTuple

import numpy as np

from checkers.linearizability.arrays.kinds import (
    CAS,
    CHANGE,
    DIFFERS,
    FOREVER,
    LOOK,
    READ,
    STEP,
    WRITE,
)
from checkers.linearizability.encoded import Codes, Ints
from checkers.linearizability.methods.jit_antichain.counts import count_of, one_more
from checkers.linearizability.methods.jit_antichain.input import Operations
from checkers.linearizability.methods.jit_antichain.space import DEPTH
from checkers.linearizability.methods.jit_antichain.steps import UNKNOWN, step_of
from framework.compiled import compiled

FOUND_ORDER: Final = 0
EXHAUSTED: Final = 1
PAUSED: Final = 2
NEEDS_FRAMES: Final = 3
NEEDS_MEMORY: Final = 4
NEEDS_COUNTS: Final = 5
NEEDS_STEP: Final = 6

# Registers; NODES and DEPTH of the multisets are where the antichain has them.
PASSED: Final = 0
"""How many completions are passed."""
VALUE: Final = 1
USED: Final = 2
BARE: Final = 3
"""Whether a pending operation was just put that satisfied nobody: no write may follow."""
FRAMES: Final = 4
ORDER: Final = 5
REMEMBERED: Final = 6
WORK: Final = 7
DEEPEST: Final = 8
ENTERING: Final = 9
"""Whether a place is to be entered, else the top frame goes on."""
THRIFTY: Final = 10
HAS_STEPS: Final = 11
STATE_WANTED: Final = 12
ACTION_WANTED: Final = 13

# Columns of a frame: where it was, what is to be tried next, how long the order was.
F_PASSED: Final = 0
F_VALUE: Final = 1
F_USED: Final = 2
F_BARE: Final = 3
F_PHASE: Final = 4
F_NEXT: Final = 5
F_ORDER: Final = 6
F_MASK: Final = 7

# Phases of a frame: the operation that returns next; what leads to the value that it must see;
# everything else.
_OWN: Final = 0
_DIRECT: Final = 1
_DIRECT_PENDING: Final = 2
_REST: Final = 3
_REST_PENDING: Final = 4
_OVER: Final = 5


class Place(NamedTuple):
    reg: Ints
    ops: Operations
    """`slot` is each operation's bit."""
    returns: Ints
    """Completed rows by their returns."""
    after: Ints
    """By row + 1: the next row that the order does not have; row 0 is the list's head."""
    before: Ints
    done: Ints
    mask: Ints
    order: Codes
    frames: Ints
    memory: Ints
    """(size, 3 + words), -1 in the first column where it is free."""
    class_row: Codes
    member_start: Codes
    members: Codes
    kids: Codes
    found: Codes
    steps: Ints


@compiled
def slots(ops: Operations, returns: Ints) -> int:
    """Gives every completed operation a bit that no other has while it is open. How many."""
    free = np.empty(len(returns) + 1, np.int64)
    count, made, passed = 0, 0, 0
    for row in range(len(ops)):
        if ops[row].ret == FOREVER:
            continue
        while passed < len(returns) and ops[returns[passed]].ret < ops[row].call:
            free[count] = ops[returns[passed]].slot
            count += 1
            passed += 1
        if count:
            count -= 1
            ops[row].slot = free[count]
        else:
            ops[row].slot = made
            made += 1
    return made


@compiled
def explore(place: Place, work: int) -> int:
    """Goes on until an order is found, all is tried, about `work` steps are done, or something
    is needed."""
    reg, frames = place.reg, place.frames
    stop = reg[WORK] + work
    while True:
        if reg[WORK] >= stop:
            return PAUSED
        if reg[FRAMES] + 1 >= len(frames):
            return NEEDS_FRAMES
        if 2 * reg[REMEMBERED] + 2 >= len(place.memory):
            return NEEDS_MEMORY
        reg[WORK] += 1
        if reg[ENTERING]:
            if not _observe(place):
                return NEEDS_STEP
            if reg[PASSED] == len(place.returns):
                return FOUND_ORDER
            reg[DEEPEST] = max(reg[DEEPEST], reg[PASSED])
            reg[ENTERING] = 0
            top = frames[reg[FRAMES]]
            top[F_PASSED], top[F_VALUE], top[F_USED] = reg[PASSED], reg[VALUE], reg[USED]
            top[F_BARE], top[F_PHASE], top[F_NEXT] = reg[BARE], _OWN, 0
            top[F_ORDER] = reg[ORDER]
            for word in range(len(place.mask)):
                top[F_MASK + word] = place.mask[word]
            if _remember(place):
                reg[FRAMES] += 1
        # The top frame's next choice.
        if reg[FRAMES] == 0:
            return EXHAUSTED
        top = frames[reg[FRAMES] - 1]
        if reg[ORDER] > top[F_ORDER] or reg[PASSED] != top[F_PASSED]:
            _go_back(place, top)
        status = _choose(place, top)
        if status != PAUSED:
            return status
        if top[F_PHASE] == _OVER:
            reg[FRAMES] -= 1
        else:
            reg[ENTERING] = 1


@compiled
def _lift(place: Place, row: int) -> None:
    """The order has a completed operation."""
    after, before = place.after, place.before
    after[before[row + 1]] = after[row + 1]
    before[after[row + 1]] = before[row + 1]
    place.done[row] = 1
    slot = place.ops["slot"][row]
    place.mask[slot >> 6] |= np.int64(1) << (slot & 63)
    place.order[place.reg[ORDER]] = row
    place.reg[ORDER] += 1


@compiled
def _go_back(place: Place, top: Ints) -> None:
    reg, after, before = place.reg, place.after, place.before
    while reg[ORDER] > top[F_ORDER]:
        reg[ORDER] -= 1
        row = np.int64(place.order[reg[ORDER]])
        if row >= 0:
            after[before[row + 1]] = row + 1
            before[after[row + 1]] = row + 1
            place.done[row] = 0
    reg[PASSED], reg[VALUE], reg[USED] = top[F_PASSED], top[F_VALUE], top[F_USED]
    reg[BARE] = top[F_BARE]
    for word in range(len(place.mask)):
        place.mask[word] = top[F_MASK + word]


@compiled
def _observe(place: Place) -> bool:
    """Puts the observers that fit, and passes the completions that the order has. False: a step
    is wanted."""
    reg, ops, after = place.reg, place.ops, place.after
    while reg[PASSED] < len(place.returns):
        deadline = ops[place.returns[reg[PASSED]]].ret
        value = reg[VALUE]
        each = after[0]
        while each != 0 and ops[each - 1].call < deadline:
            row = each - 1
            each = after[each]
            does = ops[row].kind
            fits = False
            if does == READ:
                fits = value == ops[row].a
            elif does == DIFFERS:
                fits = value != ops[row].a
            elif does == LOOK:
                then = step_of(place.steps, value, ops[row].a)
                if then == UNKNOWN:
                    reg[STATE_WANTED], reg[ACTION_WANTED] = value, ops[row].a
                    return False
                fits = then == value
            if fits:
                _lift(place, row)
                reg[BARE] = 0
        moved = False
        while reg[PASSED] < len(place.returns) and place.done[place.returns[reg[PASSED]]]:
            slot = ops[place.returns[reg[PASSED]]].slot
            place.mask[slot >> 6] &= ~(np.int64(1) << (slot & 63))
            reg[PASSED] += 1
            moved = True
        if not moved:
            break
    return True


@compiled
def _remember(place: Place) -> bool:
    """Whether the place was not met before."""
    reg, memory, mask = place.reg, place.memory, place.mask
    one = 2 * reg[PASSED] + reg[BARE]
    used = 0 if reg[THRIFTY] else reg[USED]
    mixed = one * 0x1E3779B97F4A7C15 + reg[VALUE] * 0x42B2AE3D27D4EB4F + used * 0x165667B19E3779F9
    for word in range(len(mask)):
        mixed = (mixed ^ (mixed >> 29)) * 0x3F58476D1CE4E5B9 + mask[word]
    mixed = (mixed ^ (mixed >> 32)) * 0x14D049BB133111EB
    at = (mixed ^ (mixed >> 29)) & (len(memory) - 1)
    while memory[at, 0] >= 0:
        same = memory[at, 0] == one and memory[at, 1] == reg[VALUE] and memory[at, 2] == used
        if same:
            for word in range(len(mask)):
                same = same and memory[at, 3 + word] == mask[word]
        if same:
            return False
        at = (at + 1) & (len(memory) - 1)
    memory[at, 0], memory[at, 1], memory[at, 2] = one, reg[VALUE], used
    for word in range(len(mask)):
        memory[at, 3 + word] = mask[word]
    reg[REMEMBERED] += 1
    return True


@compiled
def moved(memory: Ints, bigger: Ints) -> None:
    """Into a greater table."""
    for row in range(len(memory)):
        if memory[row, 0] < 0:
            continue
        mixed = memory[row, 0] * 0x1E3779B97F4A7C15 + memory[row, 1] * 0x42B2AE3D27D4EB4F
        mixed += memory[row, 2] * 0x165667B19E3779F9
        for word in range(3, memory.shape[1]):
            mixed = (mixed ^ (mixed >> 29)) * 0x3F58476D1CE4E5B9 + memory[row, word]
        mixed = (mixed ^ (mixed >> 32)) * 0x14D049BB133111EB
        at = (mixed ^ (mixed >> 29)) & (len(bigger) - 1)
        while bigger[at, 0] >= 0:
            at = (at + 1) & (len(bigger) - 1)
        bigger[at] = memory[row]


@compiled
def _choose(place: Place, top: Ints) -> int:
    """Puts the next operation that the frame has not tried. Its phase is _OVER if there is none;
    PAUSED in either case, else what is needed: then it is tried again."""
    reg, ops = place.reg, place.ops
    row = place.returns[reg[PASSED]]
    deadline, value = ops[row].ret, ops[row].a
    sees = ops[row].kind == READ or ops[row].kind == CAS
    while top[F_PHASE] < _OVER:
        phase, each = top[F_PHASE], top[F_NEXT]
        direct = phase in (_DIRECT, _DIRECT_PENDING)
        put, number = np.int64(-1), np.int64(-1)
        if phase == _OWN:
            top[F_PHASE], top[F_NEXT] = _DIRECT if sees else _REST, place.after[0]
            put = row
        elif phase in (_DIRECT, _REST):
            if each == 0 or ops[each - 1].call > deadline:
                top[F_PHASE], top[F_NEXT] = phase + 1, 0
                continue
            top[F_NEXT] = place.after[each]
            if each - 1 != row and (sees and ops[each - 1].b == value) == direct:
                put = each - 1
                if _has_earlier_like(place, put, deadline):
                    continue
        elif each == len(place.class_row):
            top[F_PHASE], top[F_NEXT] = phase + 1, place.after[0]
        else:
            top[F_NEXT] = each + 1
            if (sees and ops[place.class_row[each]].b == value) == direct:
                number = each
                used = count_of(place.kids, reg[DEPTH], reg[USED], number)
                at = place.member_start[number] + used
                if at < place.member_start[number + 1]:
                    put = np.int64(place.members[at])
                    if ops[put].call > deadline:
                        continue
        if put < 0:
            continue
        status = _put(place, int(put), int(number))
        if status == PAUSED:
            return status
        if status != UNKNOWN:
            top[F_PHASE], top[F_NEXT] = phase, each
            return status
    return PAUSED


@compiled
def _has_earlier_like(place: Place, row: int, deadline: int) -> bool:
    """Whether another operation with the same effect is open and returns before."""
    ops, each = place.ops, place.after[0]
    if ops[row].effect < 0:
        return False
    while each != 0 and ops[each - 1].call < deadline:
        other = each - 1
        if ops[other].effect == ops[row].effect and ops[other].ret < ops[row].ret:
            return True
        each = place.after[each]
    return False


@compiled
def _put(place: Place, row: int, number: int) -> int:
    """Puts an operation: PAUSED; UNKNOWN if it cannot be, or does not help; or what is needed.
    `number`: the class of a pending one, else -1."""
    reg, ops = place.reg, place.ops
    does, value, then = ops[row].kind, reg[VALUE], ops[row].b
    if does in (READ, DIFFERS):
        return UNKNOWN
    if does == WRITE:
        if reg[BARE]:
            return UNKNOWN
    elif does == CAS:
        if value != ops[row].a:
            return UNKNOWN
    elif does == CHANGE:
        if value == ops[row].a:
            return UNKNOWN
    else:
        then = step_of(place.steps, value, ops[row].a)
        if then == UNKNOWN:
            reg[STATE_WANTED], reg[ACTION_WANTED] = value, ops[row].a
            return NEEDS_STEP
        if then < 0 or (does == LOOK and then == value):
            return UNKNOWN
    if number < 0:
        reg[BARE] = 0
        _lift(place, row)
    else:
        if then == value:
            return UNKNOWN
        used = one_more(place.kids, place.found, reg, reg[USED], number)
        if used < 0:
            return NEEDS_COUNTS
        reg[USED], reg[BARE] = used, does != STEP
        place.order[reg[ORDER]] = -1 - row
        reg[ORDER] += 1
    reg[VALUE] = then
    return PAUSED
