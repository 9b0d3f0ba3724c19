"""Operations as columns of numbers, one key's or many keys': what every kernel reads.

Row i is an operation that says or does something. Rows are in the order of the invocations.
Values are numbered: equal numbers exactly for values that are equal as JSON.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final, Protocol, TypeAlias, overload

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
class EncodedHistory:
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

    def take(self, rows: Ints) -> "EncodedHistory":
        """Some of the operations, by row numbers that rise."""
        return EncodedHistory(
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


@dataclass(frozen=True, slots=True, eq=False)
class EncodedKeys(Sequence[EncodedHistory]):
    """Many keys, joined: columns as in `EncodedHistory`, one key after the other.

    What can be done for all of them at once is done on the columns; `keys[k]` is one key's
    `EncodedHistory`, made when it is asked for.
    """

    call: Ints
    ret: Ints
    kind: NDArray[np.int8]
    a: Codes
    b: Codes
    starts: Ints
    """Key k has the rows from `starts[k]` up to `starts[k + 1]`."""
    initial: Ints
    """Of each key."""
    values: Callable[[int], Sequence[str]]
    """Of each key."""
    place: Ints | None = None
    others: Mapping[int, EncodedHistory] = field(default_factory=dict)
    """Keys that are more than their columns, which are then not to be used."""

    @classmethod
    def of(cls, keys: Sequence[EncodedHistory]) -> "EncodedKeys":
        """Those keys; of a single one nothing is copied."""
        place = None
        if any(each.place is not None for each in keys):
            place = _joined([_places(each) for each in keys], np.int64)
        return cls(
            _joined([each.call for each in keys], np.int64),
            _joined([each.ret for each in keys], np.int64),
            _joined([each.kind for each in keys], np.int8),
            _joined([each.a for each in keys], np.int32),
            _joined([each.b for each in keys], np.int32),
            np.cumsum([0, *map(len, keys)]),
            np.array([each.initial for each in keys], dtype=np.int64),
            lambda number: keys[number].values,
            place,
            {n: each for n, each in enumerate(keys) if each.transitions is not None},
        )

    def __len__(self) -> int:
        return len(self.starts) - 1

    @overload
    def __getitem__(self, number: int) -> EncodedHistory: ...
    @overload
    def __getitem__(self, number: slice) -> list[EncodedHistory]: ...
    def __getitem__(self, number: int | slice) -> EncodedHistory | list[EncodedHistory]:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        if not 0 <= number < len(self):
            raise IndexError(number)
        if number in self.others:
            return self.others[number]
        part = slice(self.starts[number], self.starts[number + 1])
        placed = None if self.place is None else self.place[part]
        return EncodedHistory(
            self.call[part],
            self.ret[part],
            self.kind[part],
            self.a[part],
            self.b[part],
            int(self.initial[number]),
            self.values(number),
            None if placed is None or (placed == NOWHERE).all() else placed,
        )

    def only(self, numbers: Ints) -> "EncodedKeys":
        """Some of the keys, by numbers that rise. None may be one of `others`."""
        if len(numbers) == len(self):
            return self
        lengths = np.diff(self.starts)
        chosen = np.zeros(len(self), dtype=bool)
        chosen[numbers] = True
        rows = np.repeat(chosen, lengths)
        return EncodedKeys(
            self.call[rows],
            self.ret[rows],
            self.kind[rows],
            self.a[rows],
            self.b[rows],
            np.concatenate(([0], np.cumsum(lengths[numbers]))),
            self.initial[numbers],
            lambda number: self.values(int(numbers[number])),
            None if self.place is None else self.place[rows],
        )


def _places(encoded: EncodedHistory) -> Ints:
    return np.full(len(encoded), NOWHERE) if encoded.place is None else encoded.place


def _joined(columns: Sequence[NDArray[Any]], dtype: type[np.integer[Any]]) -> NDArray[Any]:
    if len(columns) == 1:
        return np.ascontiguousarray(columns[0])
    return np.concatenate(columns) if columns else np.empty(0, dtype)
