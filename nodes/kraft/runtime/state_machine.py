"""The replicated state: the image that the committed records make, and what waits to be applied.

An image is immutable, so that whoever holds one - a snapshot being written, the data plane -
is undisturbed by what is applied meanwhile.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from kio.schema.leader_change_message.v0.data import LeaderChangeMessage

from nodes.kraft.ids import LOG_START, Offset
from nodes.kraft.metadata.change import Change
from nodes.kraft.metadata.describe import as_json
from nodes.kraft.metadata.digest import digest
from nodes.kraft.metadata.image import EMPTY, Image, apply, apply_all
from nodes.kraft.metadata.records import decode_record
from nodes.kraft.raft.leader_change import decode_leader_change
from nodes.kraft.raft.messages import NO_SNAPSHOT, Batch, SnapshotId
from nodes.kraft.storage.errors import StorageError
from nodes.kraft.storage.events import Emit, EmitMany, one_by_one
from nodes.kraft.wire.records import Record

Applied: TypeAlias = Record | LeaderChangeMessage
"""A record of the log. A change of leader is Raft's own, and changes no image."""

DIGEST_EVERY: Final = 10
"""Offsets between two digests of the image in the event log."""


@dataclass(frozen=True, slots=True)
class Point:
    """The state at the end of a batch. `timestamp_ms`: when its leader wrote that batch.
    `records` and `size_bytes` count what was applied in this process up to there."""

    id: SnapshotId = NO_SNAPSHOT
    image: Image = EMPTY
    timestamp_ms: int = 0
    records: int = 0
    size_bytes: int = 0


class StateMachine:
    """Applies what is committed, in order. While a snapshot loads, nothing is applied."""

    def __init__(self, emit: Emit, *, serves: bool, emit_many: EmitMany | None = None) -> None:
        """`serves`: a broker's image, which clients see."""
        self._emit = emit
        self._emit_many = emit_many or one_by_one(emit)
        self._serves = serves
        self._unapplied: deque[tuple[Batch, Change | None]] = deque()
        self._digest_at = LOG_START
        self.image = EMPTY
        self.applied = LOG_START
        self.at_batch_end = Point()
        self.at_snapshot = Point()
        self.loading: SnapshotId | None = None
        self.note: Callable[[int, Applied, Image], None] = lambda *_: None
        """Called with each record's offset, the record, and the image before its batch."""

    # --- the log --------------------------------------------------------------------------

    def append(self, batch: Batch, change: Change | None = None) -> None:
        """A batch that will be applied once it is committed. `change`: what it does, where it is
        this node that made it."""
        self._unapplied.append((batch, change))

    def truncate(self, end_offset: Offset) -> None:
        """Batches from `end_offset` on will never be."""
        while self._unapplied and self._unapplied[-1][0].base_offset >= end_offset:
            self._unapplied.pop()

    def check(self) -> None:
        """Read all that waits. Raises `StorageError` where some of it is no known record."""
        for batch, _ in self._unapplied:
            for offset, value in enumerate(batch.records, batch.base_offset):
                _decoded(batch, offset, value)

    # --- snapshots ------------------------------------------------------------------------

    def begin_loading(self, snapshot_id: SnapshotId) -> None:
        """The log was dropped for this snapshot; its image is on its way."""
        self._unapplied.clear()
        self.loading = snapshot_id

    def install(self, snapshot_id: SnapshotId, image: Image) -> None:
        """Become what a snapshot holds."""
        self.loading = None
        self.image, self.applied = image, snapshot_id.end_offset
        before = self.at_batch_end
        self.at_batch_end = Point(
            snapshot_id, image, before.timestamp_ms, before.records, before.size_bytes
        )
        self.at_snapshot = self.at_batch_end

    # --- applying -------------------------------------------------------------------------

    def advance(self, high_watermark: Offset, until_s: float = math.inf) -> bool:
        """Apply what lies below it, but begin no further batch from `until_s` (monotonic clock)
        on; whether anything could be applied. Raises `StorageError` where a record makes no
        sense."""
        if self.loading is not None:
            return False
        while self._unapplied and self.applied < high_watermark:
            batch, change = self._unapplied[0]
            self._apply(batch, change, min(batch.end_offset, high_watermark))
            if self.applied >= batch.end_offset:
                self._unapplied.popleft()
                self._passed(batch)
            if time.monotonic() >= until_s:
                break
        if self.applied - self._digest_at >= DIGEST_EVERY:
            self.emit_digest()
        return True

    def _passed(self, batch: Batch) -> None:
        before = self.at_batch_end
        self.at_batch_end = Point(
            SnapshotId(batch.end_offset, batch.epoch),
            self.image,
            batch.timestamp_ms,
            before.records + len(batch.records),
            before.size_bytes + sum(map(len, batch.records)),
        )

    def _apply(self, batch: Batch, change: Change | None, end_offset: Offset) -> None:
        """The batch's records from `applied` up to `end_offset`."""
        before, first = self.image, self.applied
        whole = (first, end_offset) == (batch.base_offset, batch.end_offset)
        if change is not None and whole and change.before is before:
            records: Sequence[Applied] = change.records
            self.image = change.after
        else:
            values = batch.records[first - batch.base_offset : end_offset - batch.base_offset]
            records = [_decoded(batch, *each) for each in enumerate(values, first)]
            if not batch.control:
                self.image = _applied(before, cast(Sequence[Record], records), first)
        self.applied = end_offset
        for offset, record in enumerate(records, first):
            self.note(offset, record, before)
        self._emit_many(
            "apply",
            [
                f'"offset":{offset},"epoch":{batch.epoch},{_reported(record)}'
                for offset, record in enumerate(records, first)
            ],
        )

    def emit_digest(self) -> None:
        """Write the image's digest down, where it is not the one written last."""
        if self.applied == self._digest_at:
            return
        self._digest_at = self.applied
        current = digest(self.image)
        self._emit("state", offset=self.applied, digest=current)
        if self._serves:
            self._emit("publish", offset=self.applied, digest=current)

    # --- since the last snapshot ----------------------------------------------------------

    @property
    def records_since_snapshot(self) -> int:
        return self.at_batch_end.records - self.at_snapshot.records

    @property
    def bytes_since_snapshot(self) -> int:
        return self.at_batch_end.size_bytes - self.at_snapshot.size_bytes


def _reported(record: Applied) -> str:
    if isinstance(record, LeaderChangeMessage):
        return f'"kind":"LeaderChange","record":{{"leader_id":{record.leader_id}}}'
    return f'"kind":"{type(record).__name__}","record":{as_json(record)}'


def _applied(image: Image, records: Sequence[Record], first: Offset) -> Image:
    try:
        return apply_all(image, records, first)
    except Exception:
        for offset, record in enumerate(records, first):  # which one was it?
            try:
                image = apply(image, record, Offset(offset))
            except Exception as error:
                raise StorageError(f"the committed record at {offset}: {error}") from error
        raise


def _decoded(batch: Batch, offset: int, value: bytes) -> Applied:
    try:
        return decode_leader_change(value) if batch.control else decode_record(value)
    except Exception as error:  # whatever a decoder makes of bytes that are none of ours
        raise StorageError(f"the record at {offset} of the metadata log: {error}") from error
