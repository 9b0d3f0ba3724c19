"""The working memory of the antichain: a few tables of int64, so that kernels pass few arguments.

A configuration is (value, satisfied, used, multiset). *Satisfied* are the open operations that
the order has or can have without a change of what follows: observers whose result fitted, and
writes that were open when another write took effect (they go just before it). *Used* are those
whose effect was seen to happen. A satisfied write that was not used can still be used. The
multiset counts the uses of pending operations.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.encoded import Codes, Ints
from checkers.linearizability.methods.jit_antichain.input import Input, Operations
from checkers.linearizability.methods.jit_antichain.steps import WANTED, no_steps

# What `advance` comes back with.
SURVIVED: Final = 0
DIED: Final = 1
PAUSED: Final = 2
"""The work of this slice is done, or the time to stop at is reached."""
NEEDS_ROWS: Final = 3
NEEDS_TRAIL: Final = 4
NEEDS_COUNTS: Final = 5
NEEDS_WORDS: Final = 6
NEEDS_STEPS: Final = 7

# Registers.
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
OPEN_CHANGES: Final = 20
"""How many open operations need that a value is gone, then take effect."""
CLASSES: Final = 21
NODES: Final = 22
DEPTH: Final = 23
STEPS_MADE: Final = 24
STEPS_WANTED: Final = 25
LAST_DIFFERS: Final = 26
HAS_STEPS: Final = 27
WIDTH: Final = 28
UNSATISFIED_COST: Final = 29
"""What is cheap stays when the width is short. Measured: to keep what can still be used is worth
more than to have satisfied much."""
USED_COST: Final = 30
SPENT_COST: Final = 31
SCRATCH: Final = 32
"""From here on: room to work in."""

# Columns of a configuration.
C_VAL: Final = 0
C_USED: Final = 1
C_TRAIL: Final = 2
C_MARK: Final = 3
"""0; BARE: came by a write that satisfied nothing; DROPPED."""
C_CHAIN: Final = 4
"""The next one of the same value."""
C_SPENT: Final = 5
"""How many pending operations were used."""
C_SAT: Final = 6
"""The words of the satisfied, then those of the used."""
BARE: Final = 1
DROPPED: Final = 2

# Columns by value + 1 (row 0 is for no value).
V_FIRST: Final = 0
"""By side: the first of the chain, where V_AT has the stamp."""
V_AT: Final = 2
V_WANTED_AT: Final = 4
V_SOURCE_AT: Final = 5
V_CAS: Final = 6
"""How many open cas are from it."""
V_NEED: Final = 7
V_TARGET: Final = 8
"""Where the classes that lead to it begin."""
V_TODO: Final = 9
V_MASKS: Final = 10
"""The words of the open reads of it, then of those that saw that the state is not it."""

# Columns by class.
K_ROW: Final = 0
K_TARGET: Final = 1
"""The classes in the order of what they lead to."""
K_ACCOUNT: Final = 2
"""Where uses are counted, -1: nowhere, they are endless."""
K_CALLED: Final = 3
K_ACTIVE: Final = 4
"""The classes that may help at this level."""
K_SUPPLY: Final = 5
"""By account: how many were invoked."""
CLASS_COLUMNS: Final = 6

# Lists of rows.
L_OPEN: Final = 0
"""The last to return first."""
L_CHANGERS: Final = 1
L_LOOKS: Final = 2
L_FREE: Final = 3
"""Free slots."""

M_WRITES: Final = 0
M_DIFFERS: Final = 1


class Space(NamedTuple):
    reg: Ints
    ops: Operations
    vals: Ints
    classes: Ints
    conf: NDArray[np.int64]
    """(2 sides, rows, columns): the configurations of the level, then those on the way; and the
    results."""
    lists: Ints
    masks: Ints
    trails: Codes
    """(rows, 2): the trail before, and what was put: a row, or -1 - class."""
    kids: Codes
    found: Codes
    steps: Ints
    wanted: Ints


def new_space(given: Input, account: Codes, rows: int) -> Space:
    """An empty frontier at the beginning of the history."""
    classes = len(given.class_row)
    accounts = int(account.max(initial=-1)) + 1
    depth = max(1, (max(accounts, 1) - 1).bit_length())
    reg = np.zeros(SCRATCH + 4 * depth + 8, np.int64)
    reg[[CLASSES, NODES, DEPTH]] = classes, 1, depth
    reg[[LAST_DIFFERS, HAS_STEPS]] = given.last_differs, given.has_steps
    given.ops["effect_at"] = -1  # another run may have been over it
    reg[[UNSATISFIED_COST, USED_COST, SPENT_COST]] = 1, 2, 2
    vals = np.zeros((len(given.last_need) + 1, V_MASKS + 2), np.int64)
    vals[:, V_AT : V_SOURCE_AT + 1] = -1
    vals[:-1, V_NEED] = given.last_need
    vals[: len(given.target_start), V_TARGET] = given.target_start
    by_class = np.zeros((classes + 1, CLASS_COLUMNS), np.int64)
    by_class[:-1, K_ROW] = given.class_row
    by_class[:-1, K_TARGET] = given.target_class
    by_class[:-1, K_ACCOUNT] = account
    return Space(
        reg=reg,
        ops=given.ops,
        vals=vals,
        classes=by_class,
        conf=np.zeros((2, rows, C_SAT + 2), np.int64),
        lists=np.zeros((4, 64), np.int64),
        masks=np.zeros((2, 1), np.int64),
        trails=np.zeros((4 * rows, 2), np.int32),
        kids=np.zeros((64, 2), np.int32),
        found=np.full(256, -1, np.int32),
        steps=no_steps(64),
        wanted=np.zeros((WANTED, 2), np.int64),
    )


def words_of(space: Space) -> int:
    return int(space.masks.shape[1])


def with_more_rows(space: Space) -> Space:
    return space._replace(conf=_longer(space.conf, 1, 2))


def with_more_trail(space: Space) -> Space:
    trails = np.zeros((2 * len(space.trails), 2), np.int32)
    trails[: len(space.trails)] = space.trails
    return space._replace(trails=trails)


def with_more_words(space: Space) -> Space:
    """Twice as many words in every mask."""
    words = words_of(space)
    conf, vals = space.conf, space.vals
    return space._replace(
        conf=np.concatenate([conf[:, :, :C_SAT], *_doubled(conf[:, :, C_SAT:], words)], axis=2),
        vals=np.concatenate([vals[:, :V_MASKS], *_doubled(vals[:, V_MASKS:], words)], axis=1),
        lists=_longer(space.lists, 1, 2),
        masks=_longer(space.masks, 1, 2),
    )


def _doubled(masks: Ints, words: int) -> list[Ints]:
    """Two masks side by side, each as long again."""
    return [_longer(masks[..., at : at + words], masks.ndim - 1, 2) for at in (0, words)]


def with_more_values(space: Space, greatest: int) -> Space:
    """Room for states up to a number."""
    before = len(space.vals)
    vals = _longer(space.vals, 0, 1 + (greatest + 2) // before)
    vals[before:, V_AT : V_SOURCE_AT + 1] = -1
    return space._replace(vals=vals)


def _longer(array: Ints, axis: int, factor: int) -> Ints:
    shape = list(array.shape)
    shape[axis] *= factor
    longer = np.zeros(shape, np.int64)
    longer[tuple(slice(0, size) for size in array.shape)] = array
    return longer


def bytes_of(space: Space) -> int:
    return sum(each.nbytes for each in space)
