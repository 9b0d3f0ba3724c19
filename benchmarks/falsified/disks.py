"""What disks of a run say, as typed evidence, and the same with something told otherwise.

A record of the metadata log is told twice: as what it changes (`Change`), and by its checksum in
the batch that it came in (`Appended`). A disk with another record there has another checksum, too;
and one without it, or with it twice, has all that follows in its log at other offsets.
"""

import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias, TypeVar

import pyarrow as pa

from benchmarks.falsified.judging import Retold
from framework.evidence.changes import Change
from framework.evidence.ids import Offset
from framework.evidence.kinds import Evidence, own_fields
from framework.evidence.partitions import (
    PartitionAppended,
    PartitionLogOnDisk,
    PartitionTruncated,
)
from framework.evidence.quorum import Appended, LogBegan, LogOnDisk, Truncated
from framework.evidence.schemas import rows_of, schema, table_of

Facts: TypeAlias = dict[str, Any]
"""A row's own fields, as JSON has them."""
Kind = TypeVar("Kind", bound=Evidence)

OF_ITS_BATCH: Final = ("offset", "epoch")
"""Fields of a record that its batch says."""
ABOUT: Final = ("topic_id", "partition", "what")
"""Fields that say what a row is about."""
METADATA: Final = (Appended, Change, Truncated, LogBegan, LogOnDisk)
PARTITION: Final = (PartitionAppended, PartitionTruncated, PartitionLogOnDisk)
"""What a log is told by, in order."""
_OFFSETS: Final = ("offset", "base_offset", "end_offset")


class Disks:
    """Rows, by their number in the order in which rules are shown them."""

    def __init__(self, rows: Sequence[Evidence]) -> None:
        self.rows = rows
        self.kinds: Mapping[type[Evidence], Sequence[int]] = grouped(map(type, rows))
        self.facts: Mapping[int, Facts] = {
            number: facts
            for kind, numbers in self.kinds.items()
            for number, facts in zip(
                numbers, _facts(kind, [rows[each] for each in numbers]), strict=True
            )
        }
        self._same = grouped(map(self._said, range(len(rows))))
        self._logs = grouped(map(_log_of, rows))
        self._batches = self._records()

    def _said(self, number: int) -> str:
        row = self.rows[number]
        place = (row.offset, row.epoch) if isinstance(row, Change) else ()
        return f"{row.kind} {place} {self.facts[number]}"

    def _records(self) -> Mapping[int, Sequence[int]]:
        """A row -> all that is told of the batch that it is, or is in, that first; else itself."""
        found: dict[int, list[int]] = {}
        for log in self._logs.values():
            own: list[int] = []
            for number in log:
                if isinstance(self.rows[number], Change):
                    own.append(number)
                    found[number] = own
                else:
                    found[number] = own = [number]
        return found

    # --- which rows

    def alike(self, number: int) -> Sequence[int]:
        """On each disk that says the same, the last row that does."""
        return list(
            {self.rows[each].node: each for each in self._same[self._said(number)]}.values()
        )

    def others(self, number: int) -> tuple[list[Facts], list[Facts]]:
        """What the same disk said of the same before, and what those of others say; only what
        differs."""
        row, own = self.rows[number], self.facts[number]
        about = [own.get(name) for name in ABOUT]
        before, beside = list[Facts](), list[Facts]()
        for each in self.kinds[type(row)]:
            other, facts = self.rows[each], self.facts[each]
            if facts == own or [facts.get(name) for name in ABOUT] != about:
                continue
            if other.node != row.node:
                beside.append(facts)
            elif other.seq < row.seq:
                before.append(facts)
        return before, beside

    def batch(self, number: int) -> Sequence[int]:
        """All that is told of the batch that a record is in; of what is none, the row alone."""
        return self._batches[number]

    def behind(self, number: int) -> Sequence[int]:
        """What is told of the same log later."""
        last = self.batch(number)[-1]
        return [each for each in self._logs[_log_of(self.rows[number])] if each > last]

    def base(self, number: int) -> int:
        """Where the batch begins."""
        first = self.rows[self.batch(number)[0]]
        assert isinstance(first, Appended | PartitionAppended)
        return first.base_offset

    # --- what is told instead

    def told(self, number: int, facts: Facts) -> Retold:
        """Other values in a row, and what goes with them."""
        row = self.rows[number]
        if isinstance(row, PartitionAppended) and facts != facts | self._signed(number):
            facts = {**facts, "crc": zlib.crc32(repr(facts).encode())}
        made = _remade(row, facts)
        if isinstance(row, Change):
            return {number: [made], **self._checksum(number, facts)}
        if isinstance(row, Appended | PartitionAppended):
            assert isinstance(made, Appended | PartitionAppended)
            return self._placed(number, made, made.base_offset - row.base_offset)
        return {number: [made]}

    def _signed(self, number: int) -> Facts:
        """What the checksum of a partition's batch is of, beside its values."""
        return {name: self.facts[number][name] for name in ("producer_id", "base_sequence")}

    def _checksum(self, number: int, facts: Facts) -> Retold:
        record, first = self.rows[number], self.batch(number)[0]
        batch = self.rows[first]
        assert isinstance(record, Change)
        assert isinstance(batch, Appended)
        crcs = list(batch.crcs)
        crcs[record.offset - batch.base_offset] = zlib.crc32(repr(facts).encode())
        return {first: [replace(batch, crcs=tuple(crcs))]}

    def _placed(self, number: int, made: Appended | PartitionAppended, by: int) -> Retold:
        """A batch with another head: its records are where it says, and of the epoch that it
        says."""
        told: dict[int, Sequence[Evidence]] = {
            number: [replace(made, end_offset=Offset(made.end_offset + by))]
        }
        for each in self.batch(number)[1:]:
            record = self.rows[each]
            assert isinstance(record, Change)
            told[each] = [replace(record, offset=Offset(record.offset + by), epoch=made.epoch)]
        return told

    def without(self, number: int) -> Retold:
        """Nothing of it is there, nor of the batch that it is in."""
        return {each: [] for each in self.batch(number)}

    def left_out(self, number: int) -> Retold:
        """The batch was never written: what follows it is in its place."""
        later = self.moved(self.behind(number), self.base(number), -self.size(number))
        return {**self.without(number), **later}

    def moved(self, numbers: Iterable[int], begin: int, by: int) -> Retold:
        """What is beyond an offset, so much further on."""
        return {each: [_moved(self.rows[each], begin, by)] for each in numbers}

    def again(self, number: int) -> Retold:
        """The batch once more, behind itself."""
        own, begin, size = self.batch(number), self.base(number), self.size(number)
        last = self.rows[own[-1]]
        copies = [replace(_moved(self.rows[each], begin - 1, size), seq=last.seq) for each in own]
        return {own[-1]: [last, *copies], **self.moved(self.behind(number), begin, size)}

    def size(self, number: int) -> int:
        """So many offsets the batch has."""
        first = self.rows[self.batch(number)[0]]
        assert isinstance(first, Appended | PartitionAppended)
        return first.end_offset - first.base_offset

    def cut(self, number: int) -> Retold:
        """The log ends before the batch: all that was appended later is gone."""
        begin = self.base(number)
        told: dict[int, Sequence[Evidence]] = dict(self.without(number))
        for each in self.behind(number):
            row = self.rows[each]
            if isinstance(row, LogOnDisk | PartitionLogOnDisk):
                told[each] = [replace(row, end_offset=Offset(min(row.end_offset, begin)))]
            else:
                told[each] = []
        return told


def _facts(kind: type[Evidence], rows: Sequence[Evidence]) -> list[Facts]:
    names = [
        name for name in own_fields(kind) if not (issubclass(kind, Change) and name in OF_ITS_BATCH)
    ]
    facts: list[Facts] = table_of(kind, rows).select(names).to_pylist()
    return facts


def _remade(row: Kind, facts: Facts) -> Kind:
    """The same row with other values."""
    kind = type(row)
    (whole,) = table_of(kind, [row]).to_pylist()
    (made,) = rows_of(kind, pa.Table.from_pylist([whole | facts], schema=schema(kind)))
    assert isinstance(made, kind)
    return made


def _moved(row: Kind, begin: int, by: int) -> Kind:
    old = {name: getattr(row, name) for name in _OFFSETS if hasattr(row, name)}
    return replace(row, **{name: at + by for name, at in old.items() if at > begin})


def _log_of(row: Evidence) -> tuple[Any, ...]:
    """Whose log it tells of; nothing of one: itself alone."""
    if isinstance(row, METADATA):
        return (row.node,)
    if isinstance(row, PARTITION):
        return row.node, row.topic_id, row.partition
    return (id(row),)


def grouped(keys: Iterable[Any]) -> Mapping[Any, list[int]]:
    """Key -> the numbers of the rows that have it."""
    found: dict[Any, list[int]] = defaultdict(list)
    for number, key in enumerate(keys):
        found[key].append(number)
    return dict(found)
