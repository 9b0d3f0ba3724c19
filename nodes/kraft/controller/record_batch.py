"""Records gathered for one atomic batch, each checked against the state that it will meet."""

from collections.abc import Sequence

from nodes.kraft.ids import Offset
from nodes.kraft.metadata.change import Change
from nodes.kraft.metadata.features import format_level
from nodes.kraft.metadata.image import Image, apply, apply_all
from nodes.kraft.metadata.records import encode_record
from nodes.kraft.wire.records import Record


class RecordBatchBuilder:
    """A batch in the making: `image` is the speculative state with `records` applied.

    Lives within one step of the core, which is pure: a builder never outlives it.
    """

    def __init__(self, image: Image, base_offset: Offset) -> None:
        self.image = self._before = image
        self._level = format_level(image)
        self.base_offset = base_offset
        self.records: list[Record] = []

    @property
    def next_offset(self) -> Offset:
        """The offset that the next record will have."""
        return Offset(self.base_offset + len(self.records))

    def add(self, record: Record) -> None:
        """Append a record. Raises `ImageError` where it does not fit: a defect of the caller."""
        self.image = apply(self.image, record, self.next_offset)
        self.records.append(record)

    def add_all(self, records: Sequence[Record]) -> None:
        """Append records, as `add` would one by one, but faster."""
        self.image = apply_all(self.image, records, self.next_offset)
        self.records.extend(records)

    def offsets(self) -> tuple[Offset, ...]:
        """The records' offsets."""
        return tuple(map(Offset, range(self.base_offset, self.next_offset)))

    def change(self) -> Change:
        """The records, and what they make of the image."""
        return Change(self._before, tuple(self.records), self.image)

    def encoded(self) -> tuple[bytes, ...]:
        """The records as values of the log, in the format that is finalized before them."""
        return tuple(encode_record(record, self._level) for record in self.records)
