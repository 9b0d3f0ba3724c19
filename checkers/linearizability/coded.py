"""One key's operations as columns of numbers: what every kernel reads.

Row i is an operation that says or does something. Rows are in the order of the invocations.
Values are numbered: equal numbers exactly for values that are equal as JSON.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = NDArray[np.int32]

NEVER: Final = np.iinfo(np.int64).max
"""The return of a pending operation: it may take effect at any time after its call, or never."""
NOWHERE: Final = -1
"""The `place` of an operation that the system's log does not name."""


class Kind(IntEnum):
    """What an operation does to the state of its object, with what it saw."""

    READ = 0
    """The state is `a`."""
    DIFFERS = 1
    """The state is not `a`."""
    WRITE = 2
    """The state becomes `b`."""
    CAS = 3
    """The state is `a`, and becomes `b`."""
    CHANGE = 4
    """The state is not `a`, and becomes `b`."""
    LOOK = 5
    """What action `a` of the model's `Transitions` allows. It leaves the state as it is, or narrows
    down what is known of it (an id that nobody had seen): where it leaves the state as it is, to
    have looked is never worse."""
    STEP = 6
    """What action `a` of the model's `Transitions` does."""
    ENQUEUE = 7
    """`b` becomes the last of a queue."""
    DEQUEUE = 8
    """`a` was the first of a queue, and leaves it."""
    EMPTY = 9
    """The queue is empty."""
    TAKE = 10
    """The first of a queue leaves it, whatever it was. Only pending operations do that."""


class Transitions(Protocol):
    """A model that is more than a cell: its states and actions, numbered as they are met."""

    initial: int

    def step(self, state: int, action: int) -> int:
        """The state after; negative if the action is impossible there."""

    def describe(self, state: int) -> str:
        """The state in words."""


@dataclass(frozen=True, slots=True)
class Coded:
    """Arrays of equal length. `call` and `ret` are indices of history events, all distinct but
    for `NEVER`; `call` rises, and names the operation in findings."""

    call: Ints
    ret: Ints
    kind: NDArray[np.int8]
    a: Codes
    b: Codes
    initial: int = 0
    """The number of the initial value (kinds READ to CHANGE), or of the initial state."""
    values: Sequence[str] = ()
    """The JSON text of each value, by number."""
    place: Ints | None = None
    """Where the system's own log has the operation: a rank by (epoch, offset), or `NOWHERE`.
    None: nobody says."""
    transitions: Transitions | None = None
    """For the kinds LOOK and STEP."""

    def __len__(self) -> int:
        return len(self.call)

    def take(self, rows: Ints) -> "Coded":
        """Some of the operations, by row numbers that rise."""
        return Coded(
            self.call[rows],
            self.ret[rows],
            self.kind[rows],
            self.a[rows],
            self.b[rows],
            self.initial,
            self.values,
            None if self.place is None else self.place[rows],
            self.transitions,
        )
