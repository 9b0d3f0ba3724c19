"""A table of evidence of which a column is read when somebody asks for it.

Most of what rules say of very many rows they say of a few columns (`relations`,
`EvidenceRows.numbers`); where each row came from (`ref`), which is in no other row and a quarter of
a file, is of no use but in findings. So nobody has to declare what a rule reads: it is what it asks
for. Whoever wants a row as an object asks for all columns.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import pyarrow as pa

from framework.evidence.narrow import narrow

Read: TypeAlias = Callable[[Sequence[str]], pa.Table]
"""Some columns of all rows."""


class LazyTable:
    """As much of `pa.Table` as rules over evidence need, its columns narrow."""

    __slots__ = ("_columns", "_count", "_read", "column_names")

    def __init__(self, names: Sequence[str], first: pa.Table, read: Read) -> None:
        """`first`: those of its columns that are there."""
        self.column_names = list(names)
        self._count = len(first)
        self._read = read
        self._columns = _columns(narrow(first))

    def __len__(self) -> int:
        return self._count

    def column(self, name: str) -> pa.ChunkedArray:
        self._need([name])
        return self._columns[name]

    def filter(self, chosen: pa.Array) -> "LazyTable":
        """Those rows where `chosen` is true."""
        first = pa.table(self._columns).filter(chosen)
        return LazyTable(self.column_names, first, lambda names: self._read(names).filter(chosen))

    def take(self, rows: pa.Array) -> pa.Table:
        """Whole rows, by their numbers."""
        self._need(self.column_names)
        return pa.table({name: self._columns[name] for name in self.column_names}).take(rows)

    def combine_chunks(self) -> "LazyTable":
        """Its columns are in one piece each, or will be."""
        return self

    def _need(self, names: Sequence[str]) -> None:
        """Reads those that are not there yet, all at once."""
        if missing := [name for name in names if name not in self._columns]:
            self._columns |= _columns(narrow(self._read(missing)))


def _columns(table: pa.Table) -> dict[str, pa.ChunkedArray]:
    return dict(zip(table.column_names, table.columns, strict=True))
