"""Sets of configurations as bits: what the kernel of "jit bitset" computes with.

An open operation has a slot. A configuration is a value, and the set of the slots whose operations
have taken effect; that set is a number, and the configurations of one value are the bits at those
numbers. So an operation takes effect in all configurations of a value by one shift: slot s is what
bit numbers have at weight 2**s, and to add it moves a bit up by 2**s places. A word has room for
six slots; each further one doubles the words.

A value that some configuration has, or that an open operation writes, has a lane. `sets` is a row
of blocks, one for each word: in block w, places 0 to 15 are word w of the lanes, and those from
`TODO` on the same of configurations that are still without an operation that returns.
"""

from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from checkers.linearizability.arrays.bits import trailing_zeros
from checkers.linearizability.arrays.records import record
from checkers.linearizability.encoded import Ints
from framework.compiled import compiled

F = TypeVar("F", bound=Callable[..., Any])
Words = NDArray[np.uint64]


def inlined(function: F) -> F:
    """Becomes part of the compiled function that calls it."""
    made: F = njit(inline="always")(function)
    return made


BLOCK: Final = 64
FEW: Final = 8
"""Lanes that do without a second look: with one word they are most of what there is to do."""
LANES: Final = 16
NO_LANE: Final = 16
"""The lane of values that no configuration has: always empty."""
ANY: Final = 17
"""In the second half of a block, the union of all lanes: where a write comes from."""
NOWHERE: Final = 18
"""Where operations lead that change nothing."""
FRESH: Final = 20
"""Where what an operation makes is before it is told apart."""
TODO: Final = 32
SLOTS: Final = 12
IN_WORD: Final = 6


class Open(Protocol):
    """The operations that are open and the walk that they are open in: a record of `OPEN`.

    The searches have more open at once, and share `arrays/open.py`. That alone takes 30 ns an
    operation, on a machine on which this method takes 75 in all (5 clients, 2 * 10^5 operations):
    here slots are few enough to look at each, masks are by lane, and a snapshot is a copy of
    this record.
    """

    row: Ints
    """By slot: its operation's row,"""
    needs: Ints
    """the value that it needs or denies,"""
    source: Ints
    """the lane of that value,"""
    target: Ints
    """the lane that it leads to,"""
    due: Ints
    """and (return << 4 | slot) or `NO_RETURN`."""
    value: Ints
    """By lane: its value,"""
    led_to: Ints
    """how many open operations lead to it,"""
    holds: Ints
    """and the slots of the open observers that hold there."""
    at: int
    """The next row to come."""
    taken: int
    """Slots as bits: all,"""
    mutators: int
    """those that change the value,"""
    denying: int
    """those that deny one,"""
    changes: int
    """those of kind CHANGE,"""
    optional: int
    """and those that never return."""
    next: int
    """The least of `due`."""
    last: int
    """The slot whose return leaves no configuration."""
    waiting: int
    """Pending operations that were called and have no slot."""
    returns: int
    spare: int
    """Words that may yet be looked at."""


_PLACES: Final = 16
_LANES: Final = 32
"""The special ones, too."""
OPEN: Final = record(
    Open,
    row=_PLACES, needs=_PLACES, source=_PLACES, target=_PLACES, due=_PLACES,
    value=_PLACES, led_to=_LANES, holds=_LANES,
)  # fmt: skip

ZERO: Final = np.uint64(0)
_ALL: Final = np.uint64(0xFFFFFFFFFFFFFFFF)
HAS: Final = np.array(
    [
        0xAAAAAAAAAAAAAAAA,
        0xCCCCCCCCCCCCCCCC,
        0xF0F0F0F0F0F0F0F0,
        0xFF00FF00FF00FF00,
        0xFFFF0000FFFF0000,
        0xFFFFFFFF00000000,
    ],
    dtype=np.uint64,
)
"""The configurations of a word that have a slot."""


@inlined
def added(sets: Words, slots: Open, slot: int, changes: int) -> Any:
    """One word: what the operation of a slot makes of the configurations that are to do, with all
    that is observed in those."""
    made = sets[TODO + slots.source[slot]]
    if changes >> slot & 1:
        made = ZERO
        for lane in range(FEW):
            if lane != slots.source[slot]:
                made |= sets[TODO + lane]
    made = (made & ~HAS[slot]) << np.uint64(1 << slot)
    holding = slots.holds[slots.target[slot]]
    while holding:
        seen = trailing_zeros(holding)
        holding &= holding - 1
        made = (made & HAS[seen]) | ((made & ~HAS[seen]) << np.uint64(1 << seen))
    return made


@inlined
def reached(sets: Words, slots: Open, last: int, mutators: int, changes: int) -> bool:
    """One word, few lanes: leaves the configurations that have slot `last`, those that had it and
    those that come to have it when open mutations take effect; whether there are any."""
    has = HAS[last]
    every = found = ZERO
    for lane in range(FEW):
        without = sets[lane] & ~has
        sets[TODO + lane] = without
        every |= without
        sets[lane] &= has
        found |= sets[lane]
    sets[TODO + ANY] = every
    others = mutators & ~(np.int64(1) << last)
    rounds = others
    while rounds:
        rounds &= rounds - 1
        left, new = others, ZERO
        while left:
            slot = trailing_zeros(left)
            left &= left - 1
            made = added(sets, slots, slot, changes)
            lane = slots.target[slot]
            sets[lane] |= made & has
            found |= made & has
            made &= ~has & ~sets[TODO + lane]
            new |= made
            sets[TODO + lane] |= made
            sets[TODO + ANY] |= made
        if new == ZERO:
            break
    if mutators >> last & 1:
        made = added(sets, slots, last, changes)
        sets[slots.target[last]] |= made
        found |= made
    return bool(found != ZERO)


# The same for any number of words and lanes. `high` are the slots beyond the first word that are
# taken: its subsets are the numbers of the words that may have configurations.


@inlined
def having(slot: int, word: int) -> Any:
    """The configurations of a word that have a slot."""
    if slot < IN_WORD:
        return HAS[slot]
    return _ALL if word >> (slot - IN_WORD) & 1 else ZERO


@inlined
def after(word: int, high: int) -> int:
    """The next subset; 0 after the last."""
    return (word - high) & high


@inlined
def observe(sets: Words, high: int, lane: int, slot: int) -> None:
    """A slot takes effect in all configurations of a lane that are without it."""
    word = 0
    while True:
        at = BLOCK * word + lane
        if slot < IN_WORD:
            without = sets[at] & ~HAS[slot]
            sets[at] = (sets[at] & HAS[slot]) | (without << np.uint64(1 << slot))
        elif word >> (slot - IN_WORD) & 1:
            below = at - (BLOCK << (slot - IN_WORD))
            sets[at] |= sets[below]
            sets[below] = ZERO
        word = after(word, high)
        if word == 0:
            break


@compiled
def observe_all(sets: Words, high: int, lane: int, slot: int) -> None:
    """`observe`, where nothing has the slot yet."""
    observe(sets, high, lane, slot)


@compiled
def some_lack(sets: Words, high: int, lanes: int, slot: int) -> bool:
    """Whether a configuration is without a slot."""
    lacking = ZERO
    word = 0
    while True:
        without = ~having(slot, word)
        for at in range(BLOCK * word, BLOCK * word + lanes):
            lacking |= sets[at] & without
        word = after(word, high)
        if word == 0:
            return bool(lacking != ZERO)


@compiled
def take_out(sets: Words, high: int, lanes: int, slot: int) -> None:
    """A slot that all have becomes one that none has."""
    word = 0
    while True:
        first = BLOCK * word
        if slot < IN_WORD:
            for at in range(first, first + lanes):
                sets[at] >>= np.uint64(1 << slot)
        elif word >> (slot - IN_WORD) & 1:
            below = BLOCK << (slot - IN_WORD)
            for at in range(first, first + lanes):
                sets[at - below] = sets[at]
                sets[at] = ZERO
        word = after(word, high)
        if word == 0:
            break


@compiled
def leave_out(sets: Words, high: int, slot: int) -> None:
    """The configurations that have a slot."""
    word = 0
    while True:
        without = ~having(slot, word)
        for at in range(BLOCK * word, BLOCK * word + LANES):
            sets[at] &= without
        word = after(word, high)
        if word == 0:
            break


@compiled
def reached_wide(
    sets: Words, slots: Open, last: int, mutators: int, changes: int, high: int, lanes: int
) -> bool:
    """`reached`."""
    found = _split(sets, last, high, lanes)
    others = mutators & ~(np.int64(1) << last)
    rounds = others
    while rounds:
        rounds &= rounds - 1
        left, new = others, False
        while left:
            slot = trailing_zeros(left)
            left &= left - 1
            _add(sets, slots, slot, changes, high, lanes)
            any_new, any_found = _merge(sets, slots.target[slot], last, high)
            new |= any_new
            found |= any_found
        if not new:
            break
    if mutators >> last & 1:
        _add(sets, slots, last, changes, high, lanes)
        _, any_found = _merge(sets, slots.target[last], last, high)
        found |= any_found
    return found


@inlined
def _split(sets: Words, last: int, high: int, lanes: int) -> bool:
    """What is without slot `last` goes to the second halves; whether anything has it."""
    found = ZERO
    word = 0
    while True:
        has = having(last, word)
        every = ZERO
        for at in range(BLOCK * word, BLOCK * word + lanes):
            without = sets[at] & ~has
            sets[TODO + at] = without
            every |= without
            sets[at] &= has
            found |= sets[at]
        sets[BLOCK * word + TODO + ANY] = every
        word = after(word, high)
        if word == 0:
            return bool(found != ZERO)


@inlined
def _add(sets: Words, slots: Open, slot: int, changes: int, high: int, lanes: int) -> None:
    """`added`, to the lane `FRESH`."""
    source = slots.source[slot]
    word = 0
    while True:
        first = BLOCK * word + TODO
        made = sets[first + source]
        if changes >> slot & 1:
            made = ZERO
            for lane in range(lanes):
                if lane != source:
                    made |= sets[first + lane]
        sets[BLOCK * word + FRESH] = made & ~having(slot, word)
        word = after(word, high)
        if word == 0:
            break
    observe(sets, high, FRESH, slot)
    holding = slots.holds[slots.target[slot]]
    while holding:
        observe(sets, high, FRESH, trailing_zeros(holding))
        holding &= holding - 1


@inlined
def _merge(sets: Words, lane: int, last: int, high: int) -> tuple[bool, bool]:
    """What is in `FRESH`, into a lane: whether some is new and to do, whether some has slot
    `last`."""
    new = found = ZERO
    word = 0
    while True:
        has = having(last, word)
        first = BLOCK * word
        made = sets[first + FRESH]
        sets[first + lane] |= made & has
        found |= made & has
        made &= ~has & ~sets[first + TODO + lane]
        new |= made
        sets[first + TODO + lane] |= made
        sets[first + TODO + ANY] |= made
        word = after(word, high)
        if word == 0:
            return bool(new != ZERO), bool(found != ZERO)
