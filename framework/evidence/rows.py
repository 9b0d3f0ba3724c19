"""Evidence of a run as the columns that it came in, in the order of `Evidence.place`.

Selections, and the lives of nodes, are of 4 bytes a row, and made without a look at the rows. A
rule that loops over ten million of them keeps few: so rows become objects some thousands at a
time, as they are looked at, and are gone when the rule keeps none. Of a short run, which many rules
look at, they are made once.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from framework.evidence.columns import Column, as_column, stacked
from framework.evidence.kinds import DISK, Evidence
from framework.evidence.lazy import LazyTable
from framework.evidence.schemas import rows_of

Kind = TypeVar("Kind", bound=Evidence)
T = TypeVar("T")
Places: TypeAlias = npt.NDArray[np.int32]

ORDER: Final = ("node", "incarnation", "seq", "source")
"""The columns by which rows are put in order, and selected."""
CHUNK: Final = 16_384
"""Rows that are objects at the same time, of each loop."""


@dataclass(frozen=True, slots=True)
class _Columns:
    """All rows of a run, in order. `table`: which of the tables a row is in, and `row` where;
    `node`, `life`: numbers that rise with the names of nodes and incarnations. `objects`: the rows
    as such, where they are made once."""

    kinds: Sequence[type[Evidence]]
    tables: Sequence[pa.Table | LazyTable]
    nodes: Sequence[str]
    table: npt.NDArray[np.int16]
    row: Places
    node: Places
    life: Places
    seq: npt.NDArray[np.int64]
    disk: npt.NDArray[np.bool_]
    objects: npt.NDArray[np.object_] | None = None
    folded: dict[tuple[object, bytes], Any] = field(default_factory=dict)
    """By the fold, and the rows that it was made of."""

    def made(self, places: Places) -> npt.NDArray[np.object_]:
        """The rows at some places as objects."""
        if self.objects is not None:
            chosen: npt.NDArray[np.object_] = self.objects[places]
            return chosen
        found = np.empty(len(places), object)
        of_table, rows = self.table[places], self.row[places]
        for number in np.unique(of_table):
            of_kind = np.flatnonzero(of_table == number)
            table = self.tables[number].take(pa.array(rows[of_kind]))
            found[of_kind] = rows_of(self.kinds[number], table)
        return found


class EvidenceRows(Sequence[Kind], Generic[Kind]):
    """Some rows of a run, in some order. Each look at one makes a new object, equal to the last,
    where the rows are not `kept`."""

    __slots__ = ("_columns", "_places")

    def __init__(self, columns: _Columns, places: Places) -> None:
        self._columns = columns
        self._places = places

    @classmethod
    def of_tables(
        cls, tables: Iterable[tuple[type[Evidence], pa.Table | LazyTable]], *, kept: bool = False
    ) -> "EvidenceRows[Evidence]":
        """All rows of the tables, each of some of one kind. Of one place, they keep the tables'
        order. `kept`: as objects, which are made now."""
        given = [(kind, table.combine_chunks()) for kind, table in tables if len(table)]
        lengths = [len(table) for _, table in given]
        sequences = [_integers(table.column("seq")) for _, table in given]
        seq = np.concatenate([np.empty(0, np.int64), *sequences])
        nodes, node = _numbered([table.column("node") for _, table in given])
        _, life = _numbered([table.column("incarnation") for _, table in given])
        order = np.lexsort((seq, life, node)).astype(np.int32)
        disk = [np.asarray(pc.equal(table.column("source"), DISK)) for _, table in given]
        starts = np.cumsum([0, *lengths[:-1]]) if lengths else np.empty(0, np.int64)
        table = np.repeat(np.arange(len(given), dtype=np.int16), lengths)[order]
        columns = _Columns(
            kinds=[kind for kind, _ in given],
            tables=[each for _, each in given],
            nodes=nodes,
            table=table,
            row=(order - starts[table] if len(order) else order).astype(np.int32),
            node=node[order],
            life=life[order],
            seq=seq[order],
            disk=np.concatenate([np.empty(0, np.bool_), *disk])[order],
        )
        places = np.arange(len(order), dtype=np.int32)
        if kept:
            columns = replace(columns, objects=columns.made(places))
        return EvidenceRows(columns, places)

    # --- as a sequence

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> Kind: ...

    @overload
    def __getitem__(self, at: slice) -> "EvidenceRows[Kind]": ...

    def __getitem__(self, at: int | slice) -> "Kind | EvidenceRows[Kind]":
        if isinstance(at, slice):
            return EvidenceRows(self._columns, self._places[at])
        return self._made(self._places[at : at + 1] if at != -1 else self._places[-1:])[0]

    def __iter__(self) -> Iterator[Kind]:
        for first in range(0, len(self._places), CHUNK):
            yield from self._made(self._places[first : first + CHUNK])

    def _made(self, places: Places) -> list[Kind]:
        made: list[Kind] = self._columns.made(places).tolist()
        return made

    def folded(self, fold: "Callable[[EvidenceRows[Kind]], T]") -> T:
        """What a fold makes of these rows. Where they are kept, so is that: whoever asks for it,
        it is made once, and nobody may change it."""
        if self._columns.objects is None:
            return fold(self)
        known, what = self._columns.folded, (fold, self._places.tobytes())
        if what not in known:
            known[what] = fold(self)
        found: T = known[what]
        return found

    # --- selections

    def of(self, kinds: type[Evidence] | tuple[type[Evidence], ...]) -> "EvidenceRows[Any]":
        """Those of these kinds, or of any that they are the base of."""
        return self._where(self._of(kinds))

    def looked_at(
        self, kinds: tuple[type[Evidence], ...], on_disk: tuple[type[Evidence], ...]
    ) -> "EvidenceRows[Any]":
        """Those of some kinds, and from disks those of others."""
        return self._where(np.where(self._on_disk(), self._of(on_disk), self._of(kinds)))

    def from_no_disk(self) -> "EvidenceRows[Kind]":
        """Those that are from no disk."""
        return self._where(~self._on_disk())

    def from_disks(self) -> "dict[str, Sequence[Kind]]":
        """Node -> what is from its disk, by `seq`, which goes on from process to process."""
        own = self._columns
        found = self._where(self._on_disk())._places
        found = found[np.lexsort((own.seq[found], own.node[found]))]
        return {
            own.nodes[own.node[part[0]]]: self._of_places(part) for part in _runs(found, own.node)
        }

    def lives(self) -> "dict[str, list[Sequence[Kind]]]":
        """As `run_events.incarnations`."""
        own = self._columns
        nodes: dict[str, list[Sequence[Kind]]] = {}
        # By place, whatever the order here.
        for of_node in _runs(np.sort(self._places), own.node):
            lives = [self._of_places(part) for part in _runs(of_node, own.life)]
            lives.sort(key=lambda life: int(life[:1].numbers("at_ns")[0]))
            nodes[own.nodes[own.node[of_node[0]]]] = [*lives]
        return nodes

    def numbers(self, name: str) -> npt.NDArray[np.int64]:
        """A field of each, which is a whole number in all kinds that there are."""
        own = self._columns
        found = np.empty(len(self._places), np.int64)
        of_table, rows = own.table[self._places], own.row[self._places]
        for number in np.unique(of_table):
            of_kind = of_table == number
            found[of_kind] = own.tables[number].column(name).to_numpy()[rows[of_kind]]
        return found

    def column(self, name: str) -> Column:
        """A field of each, NULL where its kind has none of that name."""
        own = self._columns
        used, number = np.unique(own.table[self._places], return_inverse=True)
        tables = [own.tables[each] for each in used.tolist()]
        if not tables:
            return pa.nulls(0)
        there = [
            as_column(each.column(name)) if name in each.column_names else pa.nulls(len(each))
            for each in tables
        ]
        starts = np.cumsum([0, *map(len, tables[:-1])])
        return stacked(there).take(pa.array(starts[number] + own.row[self._places]))

    def at(self, rows: npt.NDArray[np.int64]) -> list[Kind]:
        """Those with these numbers here, as objects."""
        return self._made(self._places[rows])

    def firsts(self, name: str) -> "EvidenceRows[Kind]":
        """Of each number that the field is, the first that has it."""
        _, first = np.unique(self.numbers(name), return_index=True)
        return self._of_places(self._places[np.sort(first)])

    def _of(self, kinds: type[Evidence] | tuple[type[Evidence], ...]) -> npt.NDArray[np.bool_]:
        are = np.array([issubclass(kind, kinds) for kind in self._columns.kinds], np.bool_)
        chosen: npt.NDArray[np.bool_] = are[self._columns.table[self._places]]
        return chosen

    def _on_disk(self) -> npt.NDArray[np.bool_]:
        chosen: npt.NDArray[np.bool_] = self._columns.disk[self._places]
        return chosen

    def _where(self, chosen: npt.NDArray[np.bool_]) -> "EvidenceRows[Kind]":
        return self._of_places(self._places[chosen])

    def _of_places(self, places: Places) -> "EvidenceRows[Kind]":
        return EvidenceRows(self._columns, places)

    def joined(self, others: Sequence["EvidenceRows[Kind]"]) -> "EvidenceRows[Kind]":
        """These rows, and then those of others of the same run."""
        return self._of_places(np.concatenate([self._places, *(each._places for each in others)]))


class Looking(Iterator[Kind]):
    """A loop over rows; `rows` for who would rather have those."""

    __slots__ = ("_each", "rows")

    def __init__(self, rows: EvidenceRows[Kind]) -> None:
        self.rows = rows
        self._each = iter(rows)

    def __next__(self) -> Kind:
        return next(self._each)

    def __iter__(self) -> Iterator[Kind]:
        return self._each  # a step of which is no call of ours


def rows_behind(evidence: Iterable[Kind]) -> EvidenceRows[Kind] | None:
    """What a loop would go over; None: of other evidence."""
    if isinstance(evidence, Looking):
        return evidence.rows
    return evidence if isinstance(evidence, EvidenceRows) else None


def _runs(places: Places, numbers: Places) -> Iterator[Places]:
    """Neighbours of the same number."""
    if len(places):
        own = numbers[places]
        yield from np.split(places, np.flatnonzero(own[1:] != own[:-1]) + 1)


def _integers(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    return np.asarray(column.to_numpy(), np.int64)


def _numbered(columns: Sequence[pa.ChunkedArray]) -> tuple[list[str], Places]:
    """All texts that there are, sorted, and of each row which it has."""
    texts = sorted({text for column in columns for text in pc.unique(column).to_pylist()})
    known = pa.array(texts, pa.string())
    numbers = [np.asarray(pc.index_in(column, known), np.int32) for column in columns]
    return texts, np.concatenate([np.empty(0, np.int32), *numbers])
