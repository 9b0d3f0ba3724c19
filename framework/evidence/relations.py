"""What a rule says of rows in the words of relations: a window, a join, a group by, over columns.

    served = relation(events.of(Served), *PROCESS, "seq", "at_ns", "success").where(success=True)
    leases = relation(events.of(LeaseGranted), *PROCESS, "seq", "end_ns")
    lease = served.as_of(leases, per=PROCESS, on="seq")
    leased = np.flatnonzero(lease != NONE)
    late = leased[served["at_ns"][leased] > leases["end_ns"][lease[leased]]]
    for answer, grant in zip(served.objects(late), leases.objects(lease[late])): ...

A verb looks at columns alone, and answers with numpy arrays: a mask, or rows by their numbers in a
relation, `NONE` for SQL's NULL. Only what a finding cites becomes objects. Each verb is some passes
over a column, or one sort: a millisecond for some ten thousand rows, and 8 bytes a row and column.

`per` are the columns of a key, as in PARTITION BY; NULL is a value like others there (SQL's IS NOT
DISTINCT FROM). Rows keep the order in which they were given.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from framework.evidence.columns import (
    Column,
    Numbers,
    as_column,
    column_of,
    first_of,
    keys,
    last_of,
    numbers_of,
    stacked,
)
from framework.evidence.kinds import Evidence
from framework.evidence.rows import rows_behind

Row = TypeVar("Row", covariant=True)
Other = TypeVar("Other")
Kind = TypeVar("Kind", bound=Evidence)
Mask: TypeAlias = npt.NDArray[np.bool_]

PAIRS: Final = 1 << 20
"""Of a join that may have very many, at a time."""
NONE: Final = -1
"""The number of no row."""
PROCESS: Final = ("node", "incarnation")
"""The key of a process."""


@dataclass(frozen=True, slots=True, eq=False)
class Relation(Generic[Row]):
    """Rows as columns. `place`: of each row, what `look_up` makes its object of: several rows may
    be of one object."""

    columns: Mapping[str, Column]
    place: Numbers
    look_up: Callable[[Numbers], Sequence[Row]]

    def __len__(self) -> int:
        return len(self.place)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """A column of whole numbers, or of truth values. Raises `TypeError` for another, and where
        a row has NULL."""
        return numbers_of(self.columns[name], name)

    def objects(self, rows: Numbers | None = None) -> Sequence[Row]:
        """What rows are of, in the order of `rows`; of all."""
        return self.look_up(self.place if rows is None else self.place[rows])

    def objects_or_none(self, rows: Numbers) -> Sequence[Row | None]:
        """`objects`; None for `NONE`."""
        found: list[Row | None] = [None] * len(rows)
        there = np.flatnonzero(rows != NONE)
        for at, each in zip(there.tolist(), self.objects(rows[there]), strict=True):
            found[at] = each
        return found

    def values(self, row: int, *names: str) -> list[Any]:
        """What a row has in some columns, as Python's own."""
        return [self.columns[name][row].as_py() for name in names]

    # --- select

    def where(self, chosen: Mask | None = None, **equal: bool | int | str) -> "Relation[Row]":
        """WHERE: rows of a mask, and whose columns have these values. NULL has none."""
        for name, value in equal.items():
            own = self.equal(name, value)
            chosen = own if chosen is None else chosen & own
        return self if chosen is None else self.take(np.flatnonzero(chosen))

    def equal(self, name: str, value: bool | int | str) -> Mask:
        """Which rows have this value in a column. NULL is none."""
        same = pc.fill_null(pc.equal(self.columns[name], value), False)
        return np.asarray(same.to_numpy(zero_copy_only=False), np.bool_)

    def known(self, name: str) -> "Relation[Row]":
        """WHERE it IS NOT NULL."""
        return self.where(np.asarray(self.columns[name].is_valid()))

    def take(self, rows: Numbers) -> "Relation[Row]":
        """Some rows, in their order there."""
        at = pa.array(rows)
        taken = {name: column.take(at) for name, column in self.columns.items()}
        return Relation(taken, self.place[rows], self.look_up)

    def renamed(self, **names: str) -> "Relation[Row]":
        """Columns by other names: `renamed(answered_epoch="broker_epoch")`."""
        columns = {names.get(name, name): column for name, column in self.columns.items()}
        return Relation(columns, self.place, self.look_up)

    def with_column(self, name: str, values: npt.NDArray[Any] | str | int) -> "Relation[Row]":
        """A column more: an array, or one value for all rows."""
        if isinstance(values, np.ndarray):
            column = as_column(pa.array(values))
        else:
            column = as_column(pa.repeat(pa.scalar(values), len(self)))
        return Relation({**self.columns, name: column}, self.place, self.look_up)

    def explode(self, name: str, index: str) -> "Relation[Row]":
        """EXPLODE: a row for each number of a column of lists, which is that number there; `index`
        is a column more, with its place in its list, from 0."""
        lists = self.columns[name]
        if pa.types.is_null(lists.type):
            lists = lists.cast(pa.list_(pa.int64()))
        of = np.asarray(pc.list_parent_indices(lists)).astype(np.int64)
        begins = np.searchsorted(of, np.arange(len(lists)))
        columns = {each: own for each, own in self.columns.items() if each != name}
        rows = Relation(columns, self.place, self.look_up).take(of)
        rows = rows.with_column(index, np.arange(len(of)) - begins[of])
        return Relation({**rows.columns, name: lists.flatten()}, rows.place, rows.look_up)

    def union(self, *others: "Relation[Other]") -> "Relation[Row | Other]":
        """UNION ALL, of the columns that all have: the others' rows after these."""
        all_: list[Relation[Row | Other]] = [self, *others]
        shared = [name for name in self.columns if all(name in each.columns for each in others)]
        columns = {name: stacked([each.columns[name] for each in all_]) for name in shared}
        ends = np.cumsum([len(each) for each in all_])

        def look_up(rows: Numbers) -> Sequence[Row | Other]:
            found = np.empty(len(rows), object)
            of = np.searchsorted(ends, rows, side="right")
            for number in np.unique(of).tolist():
                own, part = of == number, all_[number]
                begin = ends[number] - len(part)
                found[own] = np.fromiter(part.objects(rows[own] - begin), object, own.sum())
            made: Sequence[Row | Other] = found.tolist()
            return made

        return Relation(columns, np.arange(ends[-1]), look_up)

    # --- group by

    def first(self, *per: str) -> Numbers:
        """DISTINCT ON: the first row of each key, in order."""
        codes, count = self._keys(per)
        return np.flatnonzero(first_of(codes, count)[codes] == np.arange(len(self)))

    def last(self, *per: str) -> Numbers:
        """The last row of each key, in order."""
        codes, count = self._keys(per)
        return np.flatnonzero(last_of(codes, count)[codes] == np.arange(len(self)))

    def counted(self, *per: str) -> Numbers:
        """COUNT(*) OVER (PARTITION BY ...): for each row, how many have its key."""
        codes, count = self._keys(per)
        return np.bincount(codes, minlength=count)[codes]

    def disagreeing(self, *per: str, on: str | Sequence[str]) -> list[Numbers]:
        """GROUP BY ... HAVING COUNT(DISTINCT on) > 1, `on` a column or some: of each such key, in
        the order in which the second value came, the first row of each of its values."""
        on = (on,) if isinstance(on, str) else on
        codes, count = self._keys(per)
        values, _ = self._keys(on)
        wrong = values != values[first_of(codes, count)[codes]]
        if not wrong.any():
            return []
        marked = np.zeros(count, np.bool_)
        marked[codes[wrong]] = True
        rows = np.flatnonzero(marked[codes])
        rows = rows[self.take(rows).first(*per, *on)]
        rows = rows[np.argsort(codes[rows], kind="stable")]
        groups = np.split(rows, np.flatnonzero(np.diff(codes[rows])) + 1)
        return sorted(groups, key=lambda group: int(group[1]))

    # --- windows and joins

    def lag(self, *per: str, on: str) -> Numbers:
        """LAG() OVER (PARTITION BY per ORDER BY on): the row before each, by a column of numbers;
        `NONE`: it is the first. Of equals the one that comes first here is before."""
        codes, _ = self._keys(per)
        order = np.lexsort((self[on], codes))
        found = np.full(len(self), NONE, np.int64)
        same = codes[order[1:]] == codes[order[:-1]]
        found[order[1:][same]] = order[:-1][same]
        return found

    def as_of(
        self, other: "Relation[Any]", *, per: Sequence[str], on: str, forward: bool = False
    ) -> Numbers:
        """ASOF JOIN: for each row the last of the other's with its key whose `on`, a number, is
        below its own, or `forward` the first whose is above; `NONE`: there is none. Of equals the
        last one there."""
        mine = len(self)
        codes = self._joint(other, per)
        order = np.concatenate([self[on], other[on]]) * (-1 if forward else 1)
        right = np.arange(len(codes)) >= mine
        in_order = np.lexsort((right, order, codes))
        last = np.maximum.accumulate(np.where(right[in_order], np.arange(len(codes)), NONE))
        row = in_order[last]  # any, where last is NONE
        there = (last != NONE) & (codes[row] == codes[in_order])
        found = np.empty(len(codes), np.int64)
        found[in_order] = np.where(there, row - mine, NONE)
        return found[:mine]

    def joined(self, other: "Relation[Any]", *per: str) -> Numbers:
        """LEFT JOIN, with one row at most: for each row the last of the other's with its key;
        `NONE`: there is none."""
        codes = self._joint(other, per)
        last = np.full(int(codes.max(initial=0)) + 1, NONE, np.int64)
        last[codes[len(self) :]] = np.arange(len(other))  # of equals the last one stays
        return last[codes[: len(self)]]

    def present_in(self, other: "Relation[Any]", *per: str) -> Mask:
        """LEFT SEMI JOIN: whether the other has a row of the same key. Its negation is LEFT ANTI:
        what is absent there."""
        found: Mask = self.joined(other, *per) != NONE
        return found

    def followed(
        self, other: "Relation[Any]", *per: str, end: str, begin: str
    ) -> Iterator[tuple[Numbers, Numbers]]:
        """JOIN ON per AND other.begin > self.end: all such pairs, as rows here and rows there, by
        the rows here and then by `begin`, of equals in the order there. Some `PAIRS` at a time, all
        of a row here at once: of one key there may be as many as rows here times rows there."""
        mine = len(self)
        codes = self._joint(other, per)
        left = np.arange(len(codes)) < mine
        in_order = np.lexsort((left, np.concatenate([self[end], other[begin]]), codes))
        right = in_order[~left[in_order]] - mine
        first = np.empty(len(codes), np.int64)
        first[in_order] = np.cumsum(~left[in_order])  # of `right`, which is beyond it
        last = np.cumsum(np.bincount(codes[mine:], minlength=codes.max(initial=0) + 1))
        counts = last[codes[:mine]] - first[:mine]
        before = np.concatenate([[0], np.cumsum(counts)])
        at = 0
        while before[at] < before[-1]:
            to = max(at + 1, int(np.searchsorted(before, before[at] + PAIRS, side="right")) - 1)
            if before[to] > before[at]:
                rows = np.repeat(np.arange(at, to), counts[at:to])
                nth = np.arange(before[at], before[to]) - before[rows]
                yield rows, right[first[rows] + nth]
            at = to

    def same(self, other: "Relation[Any]", *per: str, rows: Numbers, others: Numbers) -> Mask:
        """Of pairs, rows here and rows there, whether both have the same key."""
        codes = self._joint(other, per)
        found: Mask = codes[rows] == codes[len(self) + others]
        return found

    def _keys(self, per: Sequence[str]) -> tuple[Numbers, int]:
        return keys([self.columns[name] for name in per], len(self))

    def _joint(self, other: "Relation[Any]", per: Sequence[str]) -> Numbers:
        """Of these rows, and then of the other's, by the same numbers."""
        both = [stacked([self.columns[name], other.columns[name]]) for name in per]
        return keys(both, len(self) + len(other))[0]


def relation(evidence: Iterable[Kind], *names: str) -> Relation[Kind]:
    """SELECT: these fields of each, NULL where its kind has no such field. Evidence that is in
    columns becomes no objects for it."""
    if (rows := rows_behind(evidence)) is not None:
        columns = {name: rows.column(name) for name in names}
        return Relation(columns, np.arange(len(rows)), rows.at)
    return relation_of(
        listed := list(evidence),
        **{name: [getattr(each, name, None) for each in listed] for name in names},
    )


def relation_of(rows: Sequence[Row], **columns: Iterable[Any]) -> Relation[Row]:
    """Of any objects, operations for example, and what was read of each of them: numbers, texts,
    truth values, tuples of numbers, or None."""

    def look_up(at: Numbers) -> list[Row]:
        return [rows[each] for each in at.tolist()]

    made = {name: column_of(values) for name, values in columns.items()}
    return Relation(made, np.arange(len(rows)), look_up)
