"""Wing & Gong's search with Lowe's memory, compiled: one configuration at a time.

A place is (completions that are passed, value, operations open there that the order has, multiset
of pending ones used). A place that was met before is not entered again. Operations that the order
does not have are a linked list in the order of their calls, from which they are lifted and into
which they are put back (Wing & Gong 1993, Lowe 2017); what is remembered of an operation is a bit
of a short mask that is given back when it returns, so memory does not grow with the history's
square. The list is no `arrays/open.py`, for a reason: docs/architecture.md, *Cuts*, has it.
"""

from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

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
from checkers.linearizability.arrays.records import record
from checkers.linearizability.arrays.steps import UNKNOWN, Steps, Wanted, step_of
from checkers.linearizability.encoded import Codes, Ints
from checkers.linearizability.methods.jit_antichain.counts import Nodes, count_of, one_more
from checkers.linearizability.methods.jit_antichain.input import Operations
from framework.compiled import compiled, lean

FOUND_ORDER: Final = 0
EXHAUSTED: Final = 1
PAUSED: Final = 2
NEEDS_FRAMES: Final = 3
NEEDS_MEMORY: Final = 4
NEEDS_COUNTS: Final = 5
NEEDS_STEP: Final = 6


class Registers(Protocol):
    nodes: int
    """Of the multisets, as `depth`."""
    depth: int
    passed: int
    """How many completions are passed."""
    value: int
    used: int
    bare: int
    """Whether a pending operation was just put that satisfied nobody: no write may follow."""
    frames: int
    order: int
    remembered: int
    work: int
    deepest: int
    entering: int
    """Whether a place is to be entered, else the top frame goes on."""
    thrifty: int


class Frame(Protocol):
    """Where it was, what is to be tried next, how long the order was."""

    passed: int
    value: int
    used: int
    bare: int
    phase: int
    next: int
    order: int


class Met(Protocol):
    """A place that was met."""

    passed: int
    """-1 where there is none."""
    bare: int
    value: int
    used: int
    mask: int
    """The first word."""


REGISTERS: Final = record(Registers)
FRAME: Final = record(Frame)
MET: Final = record(Met)

# Phases of a frame: the operation that returns next; what leads to the value that it must see;
# everything else.
_OWN: Final = 0
_DIRECT: Final = 1
_DIRECT_PENDING: Final = 2
_REST: Final = 3
_REST_PENDING: Final = 4
_OVER: Final = 5


class Place(NamedTuple):
    reg: Registers
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
    frames: NDArray[np.void]
    masks: Ints
    """By frame."""
    memory: NDArray[np.void]
    """A hash table of `MET`,"""
    memory_masks: Ints
    """and the other words of their masks."""
    class_row: Codes
    member_start: Codes
    members: Codes
    nodes: Nodes
    found: Codes
    scratch: Ints
    steps: Steps
    wanted: Wanted
    """The step that is needed."""


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


@lean
def explore(place: Place, work: int) -> int:
    """Goes on until an order is found, all is tried, about `work` steps are done, or something
    is needed."""
    reg, frames = place.reg, place.frames
    stop = reg.work + work
    while True:
        if reg.work >= stop:
            return PAUSED
        if reg.frames + 1 >= len(frames):
            return NEEDS_FRAMES
        if 2 * reg.remembered + 2 >= len(place.memory):
            return NEEDS_MEMORY
        reg.work += 1
        if reg.entering:
            if not _observe(place):
                return NEEDS_STEP
            if reg.passed == len(place.returns):
                return FOUND_ORDER
            reg.deepest = max(reg.deepest, reg.passed)
            reg.entering = 0
            top = frames[reg.frames]
            top.passed, top.value, top.used = reg.passed, reg.value, reg.used
            top.bare, top.phase, top.next = reg.bare, _OWN, 0
            top.order = reg.order
            for word in range(len(place.mask)):
                place.masks[reg.frames, word] = place.mask[word]
            if _remember(place):
                reg.frames += 1
        # The top frame's next choice.
        if reg.frames == 0:
            return EXHAUSTED
        top = frames[reg.frames - 1]
        if reg.order > top.order or reg.passed != top.passed:
            _go_back(place, top)
        status = _choose(place, top)
        if status != PAUSED:
            return status
        if top.phase == _OVER:
            reg.frames -= 1
        else:
            reg.entering = 1


@lean
def _lift(place: Place, row: int) -> None:
    """The order has a completed operation."""
    after, before = place.after, place.before
    after[before[row + 1]] = after[row + 1]
    before[after[row + 1]] = before[row + 1]
    place.done[row] = 1
    slot = place.ops["slot"][row]
    place.mask[slot >> 6] |= np.int64(1) << (slot & 63)
    place.order[place.reg.order] = row
    place.reg.order += 1


@lean
def _go_back(place: Place, top: Frame) -> None:
    reg, after, before = place.reg, place.after, place.before
    while reg.order > top.order:
        reg.order -= 1
        row = np.int64(place.order[reg.order])
        if row >= 0:
            after[before[row + 1]] = row + 1
            before[after[row + 1]] = row + 1
            place.done[row] = 0
    reg.passed, reg.value, reg.used = top.passed, top.value, top.used
    reg.bare = top.bare
    for word in range(len(place.mask)):
        place.mask[word] = place.masks[reg.frames - 1, word]


@lean
def _observe(place: Place) -> bool:
    """Puts the observers that fit, and passes the completions that the order has. False: a step
    is wanted."""
    reg, ops, after = place.reg, place.ops, place.after
    while reg.passed < len(place.returns):
        deadline = ops[place.returns[reg.passed]].ret
        value = reg.value
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
                    place.wanted[0].state, place.wanted[0].action = value, ops[row].a
                    return False
                fits = then == value
            if fits:
                _lift(place, row)
                reg.bare = 0
        moved = False
        while reg.passed < len(place.returns) and place.done[place.returns[reg.passed]]:
            slot = ops[place.returns[reg.passed]].slot
            place.mask[slot >> 6] &= ~(np.int64(1) << (slot & 63))
            reg.passed += 1
            moved = True
        if not moved:
            break
    return True


@lean
def _remember(place: Place) -> bool:
    """Whether the place was not met before."""
    reg, memory = place.reg, place.memory
    used = 0 if reg.thrifty else reg.used
    at = _spot(memory, place.memory_masks, reg.passed, reg.bare, reg.value, used, place.mask)
    met = memory[at]
    if met.passed >= 0:
        return False
    met.passed, met.bare, met.value, met.used = reg.passed, reg.bare, reg.value, used
    met.mask = place.mask[0]
    for word in range(1, len(place.mask)):
        place.memory_masks[at, word - 1] = place.mask[word]
    reg.remembered += 1
    return True


@lean
def _spot(
    memory: NDArray[np.void], memory_masks: Ints, passed: int, bare: int, value: int, used: int,
    mask: Ints,
) -> int:  # fmt: skip
    """Where a place is, or would be."""
    mixed = _mixed(_mixed(_mixed(0, 2 * passed + bare), value), used)
    for word in mask:
        mixed = _mixed(mixed, word)
    mixed = (mixed ^ (mixed >> 32)) * 0x14D049BB133111EB
    at = (mixed ^ (mixed >> 29)) & (len(memory) - 1)
    while memory[at].passed >= 0:
        met = memory[at]
        same = met.passed == passed and met.bare == bare and met.value == value
        same = same and met.used == used and met.mask == mask[0]
        for word in range(1, len(mask)):
            same = same and memory_masks[at, word - 1] == mask[word]
        if same:
            break
        at = (at + 1) & (len(memory) - 1)
    return int(at)


@lean
def _mixed(before: int, number: int) -> int:
    return (before ^ (before >> 29)) * 0x3F58476D1CE4E5B9 + number


@compiled
def moved(
    memory: NDArray[np.void], memory_masks: Ints, bigger: NDArray[np.void], bigger_masks: Ints
) -> None:
    """Into a greater table."""
    mask = np.empty(1 + memory_masks.shape[1], np.int64)
    for row in range(len(memory)):
        met = memory[row]
        if met.passed >= 0:
            mask[0], mask[1:] = met.mask, memory_masks[row]
            at = _spot(bigger, bigger_masks, met.passed, met.bare, met.value, met.used, mask)
            bigger[at] = met
            bigger_masks[at] = memory_masks[row]


@lean
def _choose(place: Place, top: Frame) -> int:
    """Puts the next operation that the frame has not tried. Its phase is _OVER if there is none;
    PAUSED in either case, else what is needed: then it is tried again."""
    reg, ops = place.reg, place.ops
    row = place.returns[reg.passed]
    deadline, value = ops[row].ret, ops[row].a
    sees = ops[row].kind == READ or ops[row].kind == CAS
    while top.phase < _OVER:
        phase, each = top.phase, top.next
        direct = phase in (_DIRECT, _DIRECT_PENDING)
        put, number = -1, -1
        if phase == _OWN:
            top.phase, top.next = _DIRECT if sees else _REST, place.after[0]
            put = row
        elif phase in (_DIRECT, _REST):
            if each == 0 or ops[each - 1].call > deadline:
                top.phase, top.next = phase + 1, 0
                continue
            top.next = place.after[each]
            if each - 1 != row and (sees and ops[each - 1].b == value) == direct:
                put = each - 1
                if _has_earlier_like(place, put, deadline):
                    continue
        elif each == len(place.class_row):
            top.phase, top.next = phase + 1, place.after[0]
        else:
            top.next = each + 1
            if (sees and ops[place.class_row[each]].b == value) == direct:
                number = each
                used = count_of(place.nodes, reg.depth, reg.used, number)
                at = place.member_start[number] + used
                if at < place.member_start[number + 1]:
                    put = int(place.members[at])
                    if ops[put].call > deadline:
                        continue
        if put < 0:
            continue
        status = _put(place, int(put), int(number))
        if status == PAUSED:
            return status
        if status != UNKNOWN:
            top.phase, top.next = phase, each
            return status
    return PAUSED


@lean
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


@lean
def _put(place: Place, row: int, number: int) -> int:
    """Puts an operation: PAUSED; UNKNOWN if it cannot be, or does not help; or what is needed.
    `number`: the class of a pending one, else -1."""
    reg, ops = place.reg, place.ops
    does, value, then = ops[row].kind, reg.value, ops[row].b
    if does in (READ, DIFFERS):
        return UNKNOWN
    if does == WRITE:
        if reg.bare:
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
            place.wanted[0].state, place.wanted[0].action = value, ops[row].a
            return NEEDS_STEP
        if then < 0 or (does == LOOK and then == value):
            return UNKNOWN
    if number < 0:
        reg.bare = 0
        _lift(place, row)
    else:
        if then == value:
            return UNKNOWN
        used = one_more(place.nodes, place.found, place.scratch, reg, reg.used, number)
        if used < 0:
            return NEEDS_COUNTS
        reg.used, reg.bare = used, does != STEP
        place.order[reg.order] = -1 - row
        reg.order += 1
    reg.value = then
    return PAUSED
