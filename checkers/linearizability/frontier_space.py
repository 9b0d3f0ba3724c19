"""The working memory of the frontier: configurations, open operations, trails.

A configuration is (value, satisfied, used, multiset). *Satisfied* are the open operations that
the order has or can have without a change of what follows: observers whose result fitted, and
writes that were open when another write took effect (they go just before it). *Used* are those
whose effect was seen to happen. A satisfied write that was not used can still be used. The
multiset counts the uses of pending operations.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.coded import Codes, Ints
from checkers.linearizability.frontier_counts import Counts, empty_counts
from checkers.linearizability.frontier_input import Input
from checkers.linearizability.frontier_steps import Steps, no_steps

Masks = NDArray[np.uint64]

# What `advance` comes back with.
SURVIVED: Final = 0
DIED: Final = 1
PAUSED: Final = 2
"""The steps of this slice are used up, or the level to stop at is reached."""
NEEDS_ROWS: Final = 3
NEEDS_TRAIL: Final = 4
NEEDS_COUNTS: Final = 5
NEEDS_WORDS: Final = 6
NEEDS_STEPS: Final = 7

# The registers.
NEXT_ROW: Final = 0
LEVEL: Final = 1
SIDE: Final = 2
CONFIGS: Final = 3
EXPANDING: Final = 4
HEAD: Final = 5
TAIL: Final = 6
FOUND: Final = 7
"""Results, dropped ones included; KEPT are those not dropped."""
KEPT: Final = 8
TRAIL: Final = 9
TRUNCATED: Final = 10
"""Whether configurations were ever left out for the width's sake."""
OPEN: Final = 11
CHANGERS: Final = 12
LOOKS: Final = 13
FREE: Final = 14
SLOTS: Final = 15
STAMP: Final = 16
ACTIVE: Final = 17
WORK: Final = 18
WIDEST: Final = 19
OPEN_CHANGES: Final = 20
"""How many open operations need that a value is gone, then take effect."""
REGISTERS: Final = 24


class Space(NamedTuple):
    reg: Ints
    # Configurations, by side: those of the level (then those on the way), and the results.
    val: NDArray[np.int32]
    sat: Masks
    use: Masks
    used: NDArray[np.int32]
    trail: NDArray[np.int32]
    mark: NDArray[np.int8]
    """0; 1: came by a write that satisfied nothing; 2: dropped."""
    chain: NDArray[np.int32]
    """The next one of the same value."""
    first: NDArray[np.int32]
    """By side and value + 1: the first of the chain, where `first_at` has the stamp."""
    first_at: NDArray[np.int64]
    # Trails: what was put, and the trail before.
    up: Codes
    put: Codes
    """A row, or -1 - class."""
    # Open operations.
    opened: Codes
    """Rows, the last to return first."""
    changers: Codes
    looks: Codes
    slot: Codes
    """By row."""
    free: Codes
    readers: Masks
    """By value + 1: the open reads of it."""
    differs: Masks
    """By value + 1: the open operations that saw that the state is not it."""
    all_differs: Masks
    """(1, words)"""
    writes: Masks
    """(1, words): the open writes."""
    cas_from: Codes
    """By value + 1: how many open cas are from it."""
    # Pending operations.
    account: Codes
    """By class: where its uses are counted, -1: nowhere, it is endless."""
    supply: Ints
    """By account: how many were invoked."""
    called: Codes
    """By class: how many were invoked."""
    active: Codes
    """Classes that may help at this level."""
    # Stamps.
    effect_at: Ints
    value_at: Ints
    source_at: Ints
    todo: Codes
    level_row: Codes
    """By level: the row that returned."""
    counts: Counts
    steps: Steps


def new_space(given: Input, account: Codes, accounts: int, rows: int, words: int) -> Space:
    """An empty frontier at the beginning of the history."""
    n, classes = len(given.call), len(given.class_row)
    values = len(given.last_need) + 1
    return Space(
        reg=np.zeros(REGISTERS, np.int64),
        val=np.zeros((2, rows), np.int32),
        sat=np.zeros((2, rows, words), np.uint64),
        use=np.zeros((2, rows, words), np.uint64),
        used=np.zeros((2, rows), np.int32),
        trail=np.full((2, rows), -1, np.int32),
        mark=np.zeros((2, rows), np.int8),
        chain=np.zeros((2, rows), np.int32),
        first=np.zeros((2, values), np.int32),
        first_at=np.full((2, values), -1, np.int64),
        up=np.zeros(4 * rows, np.int32),
        put=np.zeros(4 * rows, np.int32),
        opened=np.zeros(64 * words, np.int32),
        changers=np.zeros(64 * words, np.int32),
        looks=np.zeros(64 * words, np.int32),
        slot=np.zeros(n, np.int32),
        free=np.zeros(64 * words, np.int32),
        readers=np.zeros((values, words), np.uint64),
        differs=np.zeros((values, words), np.uint64),
        all_differs=np.zeros((1, words), np.uint64),
        writes=np.zeros((1, words), np.uint64),
        cas_from=np.zeros(values, np.int32),
        account=account,
        supply=np.zeros(accounts + 1, np.int64),
        called=np.zeros(classes + 1, np.int32),
        active=np.zeros(classes + 1, np.int32),
        effect_at=np.full(given.effects + 1, -1, np.int64),
        value_at=np.full(values, -1, np.int64),
        source_at=np.full(values, -1, np.int64),
        todo=np.zeros(values, np.int32),
        level_row=np.zeros(n + 1, np.int32),
        counts=empty_counts(accounts),
        steps=no_steps(),
    )


_BY_CONFIG: Final = ("val", "sat", "use", "used", "trail", "mark", "chain")
_BY_WORD: Final = ("sat", "use", "readers", "differs", "all_differs", "writes")
_BY_OPEN: Final = ("opened", "changers", "looks", "free")


def with_more_rows(space: Space, factor: int = 2) -> Space:
    return space._replace(
        **{name: _longer(getattr(space, name), 1, factor) for name in _BY_CONFIG}
    )


def with_more_trail(space: Space) -> Space:
    return space._replace(up=_longer(space.up, 0, 2), put=_longer(space.put, 0, 2))


def with_more_words(space: Space) -> Space:
    longer = {name: _longer(getattr(space, name), -1, 2) for name in _BY_WORD}
    return space._replace(
        **longer, **{name: _longer(getattr(space, name), 0, 2) for name in _BY_OPEN}
    )


def with_more_values(space: Space, greatest: int) -> Space:
    """Room for states up to a number."""
    space = space._replace(
        first=_longer(space.first, 1, 1 + (greatest + 2) // space.first.shape[1]),
        first_at=_longer(space.first_at, 1, 1 + (greatest + 2) // space.first.shape[1], -1),
    )
    return space


def _longer(array: NDArray[np.generic], axis: int, factor: int, fill: int = 0) -> NDArray[np.generic]:
    shape = list(array.shape)
    shape[axis] *= factor
    longer = np.full(shape, fill, array.dtype)
    longer[tuple(slice(0, size) for size in array.shape)] = array
    return longer


def bytes_of(space: Space) -> int:
    """What it keeps."""
    arrays = [each for each in space if isinstance(each, np.ndarray)]
    return sum(each.nbytes for each in (*arrays, *space.counts[:4], *space.steps))
