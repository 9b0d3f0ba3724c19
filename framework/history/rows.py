"""Operations as the columns that they came in, for rules that read columns of very many.

An object of an operation is some 600 bytes, and a rule that counts what millions of them came to
needs of most no more than a few numbers. Tables come piece by piece, whenever they are asked for,
and of a sealed run from its file: nobody keeps the texts of all operations.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias, overload

import numpy as np
import pyarrow as pa

from framework.history.columns import OPERATIONS
from framework.history.event import Json
from framework.history.jsonl import compact
from framework.history.pairing import Operation
from framework.history.reader import operations_of
from framework.history.texts import as_text

Read: TypeAlias = Callable[[Sequence[str] | None], pa.Table]
"""Some columns of `OPERATIONS`, or all that there are."""
PIECE: Final = 1 << 17
"""Rows of a table in memory that are looked at together."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some operations that follow each other."""

    count: int
    read: Read


@dataclass(frozen=True, slots=True)
class OperationRows(Sequence[Operation]):
    """In the order of their invocations. Each look at one makes a new object, equal to the last."""

    pieces: Sequence[Piece]
    _firsts: Sequence[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        firsts = np.cumsum([0, *(each.count for each in self.pieces)]).tolist()
        object.__setattr__(self, "_firsts", firsts)

    @classmethod
    def of_table(cls, table: pa.Table, rows: int = PIECE) -> "OperationRows":
        """Of a table like `OPERATIONS` in memory, its processes JSON texts."""
        return cls([*_slices(table, rows)])

    @classmethod
    def of(cls, operations: Iterable[Operation]) -> "OperationRows":
        """Of operations that are objects already."""
        if isinstance(operations, OperationRows):
            return operations
        rows = map(_row, operations)
        return cls.of_table(pa.Table.from_pylist([*rows], OPERATIONS))

    def columns(self, names: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Those of `OPERATIONS`, or all that there are, of some operations at a time, in order."""
        return (each.read(names) for each in self.pieces)

    def at(self, places: Iterable[int]) -> list[Operation]:
        """Those at some places, in the order of these: each piece that has some is read once."""
        asked = np.fromiter(places, np.int64)
        of_piece = np.searchsorted(self._firsts, asked, side="right") - 1
        found: dict[int, Operation] = {}
        for number in np.unique(of_piece).tolist():
            own = np.unique(asked[of_piece == number])
            table = self.pieces[number].read(None).take(pa.array(own - self._firsts[number]))
            found |= zip(own.tolist(), operations_of(table), strict=True)
        return [found[place] for place in asked.tolist()]

    # --- as a sequence

    def __len__(self) -> int:
        return self._firsts[-1]

    @overload
    def __getitem__(self, at: int) -> Operation: ...

    @overload
    def __getitem__(self, at: slice) -> list[Operation]: ...

    def __getitem__(self, at: int | slice) -> Operation | list[Operation]:
        chosen = range(len(self))[at]
        return self.at([chosen])[0] if isinstance(chosen, int) else self.at(chosen)

    def __iter__(self) -> Iterator[Operation]:
        for table in self.columns():
            yield from operations_of(table)


def _slices(table: pa.Table, rows: int) -> Iterator[Piece]:
    for first in range(0, len(table), rows):
        own = table.slice(first, rows)
        yield Piece(len(own), partial(_selected, own))


def _selected(table: pa.Table, names: Sequence[str] | None) -> pa.Table:
    return table if names is None else table.select(names)


def _row(operation: Operation) -> dict[str, object]:
    """As `OPERATIONS` has it, its process a JSON text."""
    code, message = operation.error or (None, None)
    texts = {
        name: _json(getattr(operation, name))
        for name in ("process", "key", "value", "result", "ext")
    }
    return texts | {
        "index": operation.index,
        "end": operation.end,
        "f": as_text(operation.f),
        "type": operation.type,
        "error_code": as_text(code),
        "error_message": as_text(message),
        "node": as_text(operation.node),
        "invoked_ns": operation.invoked_ns,
        "completed_ns": operation.completed_ns,
        "phase": operation.phase,
    }


def _json(value: Json) -> str | None:
    return None if value is None else compact(value)
