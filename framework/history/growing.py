"""Reading a history while it is written: what is new since the last reading, and what is open.

A reading costs what is new, however long the history has become: it is ingested as a range behind
one that has nothing but the operations which were open at its end.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from framework.errors import EngineError
from framework.history.assemble import assemble, indexed
from framework.history.borders import Before, Border
from framework.history.ingest import OPERATION, PART, count_of, ingest
from framework.history.ranges import Range
from framework.history.reader import read_ranges

_BEFORE, _NEW = 0, 1
"""Numbers of ranges."""
_TAIL: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Grown:
    """What came since the last reading. Operations as `Read.operations` has them, of clients and
    observers alike."""

    ended: pa.Table
    """Those that have returned since."""
    pending: pa.Table
    """Those that have not."""
    nemesis: pa.Table
    """As `Read.nemesis`, the new ones."""


class Growing:
    """A history in JSON Lines that somebody else goes on writing."""

    def __init__(self, path: Path) -> None:
        self.end = 0
        """The byte at which the last reading ended."""
        self._path = path
        self._tail = b""
        self._before = Before()
        self._open = PART.empty_table()
        self._final = False

    @property
    def events(self) -> int:
        """So many were read."""
        return self._before.events

    def is_as_read(self) -> bool:
        """Whether the file still has, where the last reading ended, what was read there."""
        with self._path.open("rb") as file:
            file.seek(self.end - len(self._tail))
            return file.read(len(self._tail)) == self._tail

    def read(self, end: int) -> Grown:
        """Up to byte `end`, at which a line ends. Raises `UsageError` for what is no history, and
        must not be asked again then."""
        source = Range(str(self._path), 0, _NEW, self.end, end, alone=False)
        (part,) = ingest(source)
        if not self._before.allows(part.border):
            read_ranges([Range(str(self._path), 0, 0, 0, end)])  # says what is wrong
            raise EngineError(f"{self._path}: refused in parts only: a defect of ours")
        before = Border(file=0, number=_BEFORE, events=self.events, final=self._final)
        table = assemble(pa.concat_tables([self._open, count_of(before), part.operations]))
        nemesis = indexed(part.nemesis, [before, part.border])
        is_open = pc.is_null(table.column("end"))
        pending = table.filter(is_open)
        self._open = _as_part(pending)
        self._before.add(part.border)
        self._final |= part.border.final
        with self._path.open("rb") as file:
            file.seek(max(0, end - _TAIL))
            self._tail = file.read(min(end, _TAIL))
        self.end = end
        return Grown(ended=table.filter(pc.invert(is_open)), pending=pending, nemesis=nemesis)


def _as_part(pending: pa.Table) -> pa.Table:
    """Operations that are open, as a range has them."""
    places = {"range": _BEFORE, "role": OPERATION}
    columns = [
        pa.repeat(pa.scalar(places[each.name], each.type), len(pending))
        if each.name in places
        else pending.column(each.name)
        for each in PART
    ]
    return pa.Table.from_arrays(columns, schema=PART)
