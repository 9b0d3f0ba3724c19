"""The working memory of the antichain.

A configuration is (value, satisfied, used, pending). *Satisfied* are the open operations that the
order has or can have without a change of what follows: observers whose result fitted, and writes
that were open when another write took effect (they go just before it). *Used* are those whose
effect was seen to happen. A satisfied write that was not used can still be used. *Pending* is the
multiset of the uses of pending operations.
"""

from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.open import ANY, FREE, Slots, nothing_open
from checkers.linearizability.arrays.records import record
from checkers.linearizability.arrays.steps import Steps, Wanted, no_steps, nothing_wanted
from checkers.linearizability.arrays.trails import Trails, no_trails
from checkers.linearizability.encoded import Codes, Ints
from checkers.linearizability.methods.jit_antichain.counts import Nodes, only_the_empty
from checkers.linearizability.methods.jit_antichain.input import Input, Operations

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

# Marks of a configuration.
BARE: Final = 1
"""It came by a write that satisfied nothing."""
DROPPED: Final = 2


class Registers(Protocol):
    next_row: int
    level: int
    side: int
    configs: int
    expanding: int
    head: int
    tail: int
    found: int
    """Results, dropped ones included; `kept` are those not dropped."""
    kept: int
    trail: int
    truncated: int
    """Whether configurations were ever left out for the width's sake."""
    open: int
    changers: int
    looks: int
    stamp: int
    active: int
    work: int
    classes: int
    nodes: int
    depth: int
    steps_wanted: int
    last_differs: int
    has_steps: int
    width: int
    unsatisfied_cost: int
    """What is cheap stays when the width is short. Measured: to keep what can still be used is
    worth more than to have satisfied much."""
    used_cost: int
    spent_cost: int


class Configuration(Protocol):
    value: int
    pending: int
    trail: int
    mark: int
    chain: int
    """The next one of the same value."""
    spent: int
    """How many pending operations were used."""


class Value(Protocol):
    """At value + 1: at 0 is no value."""

    first: Ints
    """By side: the first of the chain, where `at` has the stamp."""
    at: Ints
    wanted_at: int
    source_at: int
    need: int
    target: int
    """Where the classes that lead to it begin."""
    todo: int
    """A list."""


class Class(Protocol):
    row: int
    target: int
    """The classes in the order of what they lead to."""
    account: int
    """Where uses are counted, -1: nowhere, they are endless."""
    called: int
    active: int
    """The classes that may help at this level."""
    supply: int
    """By account: how many were invoked."""


_RANKS: Final = 1024
_WANTED: Final = 256
"""How many steps are asked for at once."""
_REGISTERS: Final = record(Registers)
_CONFIGURATION: Final = record(Configuration)
_VALUE: Final = record(Value, first=2, at=2)
_CLASS: Final = record(Class)
Records: TypeAlias = NDArray[np.void]


class Space(NamedTuple):
    reg: Registers
    ops: Operations
    vals: Records
    classes: Records
    conf: Records
    """(2 sides, rows): the configurations of the level, then those on the way; and the results."""
    satisfied: Ints
    """(2 sides, rows, words): slots,"""
    used: Ints
    """and these."""
    slots: Slots
    masks: Ints
    opened: Ints
    """Rows, the last to return first;"""
    changers: Ints
    """of these those that change something;"""
    looks: Ints
    """those that look."""
    trails: Trails
    """What was put is a row, or -1 - class."""
    nodes: Nodes
    found: Codes
    scratch: Ints
    steps: Steps
    wanted: Wanted
    ranks: Ints


def new_space(given: Input, account: Codes, rows: int) -> Space:
    """An empty frontier at the beginning of the history."""
    classes = len(given.class_row)
    accounts = int(account.max(initial=-1)) + 1
    depth = max(1, (max(accounts, 1) - 1).bit_length())
    reg = np.zeros(1, _REGISTERS)[0]
    reg.classes, reg.nodes, reg.depth = classes, 1, depth
    reg.last_differs, reg.has_steps = given.last_differs, given.has_steps
    reg.unsatisfied_cost, reg.used_cost, reg.spent_cost = 1, 2, 2
    given.ops["effect_at"] = -1  # another run may have been over it
    vals = _values(len(given.last_need) + 1)
    vals["need"][:-1] = given.last_need
    vals["target"][: len(given.target_start)] = given.target_start
    by_class = np.zeros(classes + 1, _CLASS)
    by_class["row"][:-1] = given.class_row
    by_class["target"][:-1] = given.target_class
    by_class["account"][:-1] = account
    slots, masks = nothing_open(len(given.last_need), 1)
    nodes, found = only_the_empty(64)
    return Space(
        reg=reg,
        ops=given.ops,
        vals=vals,
        classes=by_class,
        conf=np.zeros((2, rows), _CONFIGURATION),
        satisfied=np.zeros((2, rows, 1), np.int64),
        used=np.zeros((2, rows, 1), np.int64),
        slots=slots,
        masks=masks,
        opened=np.zeros(64, np.int64),
        changers=np.zeros(64, np.int64),
        looks=np.zeros(64, np.int64),
        trails=no_trails(4 * rows),
        nodes=nodes,
        found=found,
        scratch=np.zeros(4 * depth + 8, np.int64),
        steps=no_steps(64),
        wanted=nothing_wanted(_WANTED),
        ranks=np.zeros(_RANKS, np.int64),
    )


def _values(count: int) -> Records:
    vals = np.zeros(count, _VALUE)
    for stamp in ("at", "wanted_at", "source_at"):
        vals[stamp] = -1
    return vals


def with_more_rows(space: Space) -> Space:
    return space._replace(
        conf=_longer(space.conf, 1),
        satisfied=_longer(space.satisfied, 1),
        used=_longer(space.used, 1),
    )


def with_more_trail(space: Space) -> Space:
    return space._replace(trails=_longer(space.trails, 0))


def with_more_words(space: Space) -> Space:
    """Room for twice as much that is open."""
    slots, masks = _longer(space.slots, 0), _longer(space.masks, 2)
    slots["row"][len(space.slots) :] = -1
    masks[ANY, FREE, space.masks.shape[2] :] = -1
    return space._replace(
        satisfied=_longer(space.satisfied, 2),
        used=_longer(space.used, 2),
        slots=slots,
        masks=masks,
        opened=_longer(space.opened, 0),
        changers=_longer(space.changers, 0),
        looks=_longer(space.looks, 0),
    )


def with_more_values(space: Space, greatest: int) -> Space:
    """Room for states up to a number."""
    vals = _values((1 + (greatest + 2) // len(space.vals)) * len(space.vals))
    vals[: len(space.vals)] = space.vals
    return space._replace(vals=vals)


def _longer(array: NDArray[Any], axis: int) -> NDArray[Any]:
    """Twice as long, with zeros."""
    shape = list(array.shape)
    shape[axis] *= 2
    longer = np.zeros(shape, array.dtype)
    longer[tuple(slice(0, size) for size in array.shape)] = array
    return longer
