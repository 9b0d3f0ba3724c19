"""A history piece by piece, for one that memory does not hold: its operations in order, each as
soon as nothing before it is open any more.

What is held back is the ranges since the oldest operation that may still complete: a few, unless
one is open for very long.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from framework.history.assemble import assemble, indexed, without_observers
from framework.history.borders import Before, Border
from framework.history.ingest import OPERATION, Part, count_of, ingest
from framework.history.ranges import RANGE_BYTES, Range, ranges
from framework.history.reader import settled

Take: TypeAlias = Callable[[pa.Table, pa.Table], None]
"""Is given a piece's operations of clients, and of observers, as `reader.Read` has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """What a history holds beside operations, as `reader.Read` has it."""

    nemesis: pa.Table
    notes: Sequence[str]


def read_pieces(
    paths: Sequence[Path], take: Take, *, allow_empty: bool = False, size: int = RANGE_BYTES
) -> Rest:
    """As `reader.read`, but that `take` is given the operations, at least once. Raises
    `UsageError`; what was taken by then is of no history."""
    sources = ranges(paths, 0, size)
    borders: list[Border] = []
    nemesis: list[pa.Table] = []
    for whole in _closed(_followed(sources, borders, nemesis)):
        take(*without_observers(whole))
    notes = settled(sources, borders, allow_empty=allow_empty)
    return Rest(nemesis=indexed(pa.concat_tables(nemesis), borders), notes=notes)


def _followed(
    sources: Sequence[Range], borders: list[Border], nemesis: list[pa.Table]
) -> Iterator[Part]:
    """The parts of a history, as far as they can follow each other; what else they hold is
    kept. Raises `UsageError` for one that cannot."""
    before = Before()
    for source in sources:
        for part in ingest(source):
            borders.append(part.border)
            nemesis.append(part.nemesis)
            if not before.allows(part.border):
                settled(sources, borders, allow_empty=True)
            before.add(part.border)
            yield part


@dataclass(slots=True)
class _Waiting:
    """A part, and the processes whose operations were open at its end and are so still."""

    part: Part
    open: set[str] = field(init=False)

    def __post_init__(self) -> None:
        border = self.part.border
        self.open = set() if border.whole else set(border.open)


def _closed(parts: Iterator[Part]) -> Iterator[pa.Table]:
    """The operations of one part after another, assembled."""
    waiting: deque[_Waiting] = deque()
    events, final = 0, False
    for part in chain(parts, (None,)):
        if part is not None:
            for each in waiting:
                each.open -= part.border.late.keys()
            waiting.append(_Waiting(part))
        while waiting and (part is None or not waiting[0].open):
            yield _assembled(waiting, events, final=final)
            gone = waiting.popleft().part.border
            events += 0 if gone.whole else gone.events
            final = final or gone.final


def _assembled(waiting: Sequence[_Waiting], events: int, *, final: bool) -> pa.Table:
    """The operations of the first one. `events` are before it; `final`: that phase began there."""
    first, *later = (each.part for each in waiting)
    known = [first.operations]
    if events or final:
        number = first.border.number - 1
        before = Border(file=first.border.file, number=number, events=events, final=final)
        known.append(count_of(before))
    for part in later:
        rows = part.operations
        known.append(rows.filter(pc.not_equal(rows.column("role"), OPERATION)))
    return assemble(pa.concat_tables(known))
