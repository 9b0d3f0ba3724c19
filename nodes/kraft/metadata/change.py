"""A run of records, and the image before and after it."""

from dataclasses import dataclass

from nodes.kraft.metadata.image import Image
from nodes.kraft.wire.records import Record


@dataclass(frozen=True, slots=True)
class Change:
    """`after` is `before` with `records` applied. Who holds this very `before` when the records
    are committed need not apply them again."""

    before: Image
    records: tuple[Record, ...]
    after: Image
