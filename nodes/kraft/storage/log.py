"""The metadata log on disk, in a directory of its own (`__kafka_metadata-0`).

A log begins where its newest snapshot ends and lies in segments, of which the last is written
to. Whole segments below its start are dropped; where it begins is otherwise no business of the
files, but of the snapshot.
"""

import re
import threading
import time
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from crc32c import crc32c

from nodes.kraft.ids import LOG_START, NO_ELECTION, Offset
from nodes.kraft.raft.log_index import LogIndex, Run
from nodes.kraft.raft.messages import NO_SNAPSHOT, Batch, SnapshotId
from nodes.kraft.storage.errors import StorageError
from nodes.kraft.storage.events import Emit, emit_nothing
from nodes.kraft.storage.files import sync_directory
from nodes.kraft.storage.segment import Segment
from nodes.kraft.wire.batches import BatchHeader, encode_batch, read_header

SEGMENT_BYTES: Final = 16 * 2**20
_NAME: Final = re.compile(r"(\d{20})\.log")


class MetadataLog:
    """Batches in offset order. One thread appends, truncates and reads; `flush` may run in
    another meanwhile. Emits `append`, `flush`, `truncate` and `log_start`, `flush` from the
    thread that flushed.
    """

    def __init__(
        self,
        directory: Path,
        emit: Emit = emit_nothing,
        *,
        snapshot: SnapshotId | None = None,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        """Open the log in `directory` (made where missing) and recover it: a torn or damaged
        tail is dropped, and the rest made durable. It begins behind `snapshot`, the newest one
        there is. A segment is full at `segment_bytes`.

        Raises `StorageError` where records between the snapshot and the log are missing.
        """
        directory.mkdir(parents=True, exist_ok=True)
        sync_directory(directory.parent)
        self._directory = directory
        self._emit = emit
        self._segment_bytes = segment_bytes
        self._lock = threading.Lock()
        self._cut: Offset | None = None  # the lowest truncation since the flush under way began
        self._segments = self._open()
        self.dropped_bytes = self._last.dropped_bytes
        self._index = self._recover(snapshot or NO_SNAPSHOT)

    # --- recovery -------------------------------------------------------------------------

    def _open(self) -> list[Segment]:
        names = (_NAME.fullmatch(path.name) for path in self._directory.iterdir())
        bases = sorted(Offset(int(name[1])) for name in names if name) or [LOG_START]
        segments: list[Segment] = []
        epoch = NO_ELECTION
        for base in bases:
            if segments and segments[-1].end_offset != base:
                path = segments[-1].path
                raise StorageError(f"{path}: ends at {segments[-1].end_offset}, next is {base}")
            segment = Segment(self._directory, base, epoch, sealed=base != bases[-1])
            epoch = segment.place(-1).header.epoch if len(segment) else epoch
            segments.append(segment)
        return segments

    def _recover(self, snapshot: SnapshotId) -> LogIndex:
        """The index of a log that begins behind `snapshot` (B.3, KAFKA-14240)."""
        first, end = self._segments[0].base_offset, self._last.end_offset
        if first > snapshot.end_offset:
            raise StorageError(
                f"{self._directory}: the log begins at {first}, and there is no snapshot of what "
                "is below"
            )
        runs: list[Run] = []
        for header in self._headers(self._segments):
            if not runs or runs[-1][0] != header.epoch:
                runs.append((header.epoch, header.base_offset))
        # What the first record's predecessor was is not known where the snapshot ends there.
        before = snapshot if first == snapshot.end_offset else SnapshotId(first, NO_ELECTION)
        found = LogIndex(before, end, end, tuple(runs))
        if found.holds(snapshot):
            self._drop_below(snapshot.end_offset)
        else:  # also where it is as long: what it has of another epoch must not stay
            self._restart(snapshot.end_offset)
        return found.begin_at(snapshot)

    @staticmethod
    def _headers(segments: list[Segment]) -> Iterator[BatchHeader]:
        for segment in segments:
            for place in segment.places():
                yield place.header

    # --- what there is --------------------------------------------------------------------

    @property
    def _last(self) -> Segment:
        return self._segments[-1]

    @property
    def index(self) -> LogIndex:
        """What the Raft core has to know at a start."""
        return self._index

    @property
    def start_offset(self) -> Offset:
        return self._index.start_offset

    @property
    def end_offset(self) -> Offset:
        return self._index.end_offset

    # --- the end --------------------------------------------------------------------------

    def append(self, batch: Batch, *, leader: bool = False) -> Batch:
        """Write `batch` at the end: with the operating system on return, not yet durable. What
        was written, with its leader's time stamp. `leader`: this node made it, now. Raises
        `ValueError` where it does not follow the end."""
        index = self._index.append(batch)
        timestamp_ms = batch.timestamp_ms or time.time_ns() // 1_000_000
        data = encode_batch(batch, timestamp_ms)
        if self._last.size + len(data) > self._segment_bytes and len(self._last):
            self._roll()
        self._last.append(read_header(data), data)
        self._index = index
        self._emit(
            "append",
            base_offset=batch.base_offset,
            end_offset=batch.end_offset,
            epoch=batch.epoch,
            control=batch.control,
            crcs=[crc32c(record) for record in batch.records],
            leader=leader,
        )
        return replace(batch, timestamp_ms=timestamp_ms)

    def _roll(self) -> None:
        """Begin a new segment. The one before is made durable first: of a log, only the last
        segment may be torn."""
        self._last.sync()
        self._last.seal()
        self._segments.append(Segment(self._directory, self._last.end_offset))

    def truncate(self, end_offset: Offset) -> None:
        """Drop the records at `end_offset` and above; durable on return. Raises `ValueError`
        where `end_offset` is inside a batch, for batches live and die whole, or below the
        start."""
        if end_offset >= self.end_offset:
            return
        self._check_boundary(end_offset)
        with self._lock:  # together, lest a flush that begins between vouches for the old end
            self._cut = end_offset if self._cut is None else min(self._cut, end_offset)
            self._index = self._index.truncate(end_offset)
        while self._last.base_offset >= end_offset and len(self._segments) > 1:
            self._segments.pop().delete()  # from the end: what is left is a log at any moment
            sync_directory(self._directory)
        self._last.truncate(end_offset)
        self._emit("truncate", end_offset=end_offset)

    def _check_boundary(self, offset: Offset) -> None:
        if offset < self.start_offset:
            raise ValueError(f"offset {offset} is below the log's start {self.start_offset}")
        if offset < self.end_offset:
            segment = self._segment_of(offset)
            if segment.place(segment.index_of(offset)).header.base_offset != offset:
                raise ValueError(f"offset {offset} is inside a batch")

    def flush(self) -> Offset:
        """Make durable what was appended before this call, and return the end offset of that.
        Where the log is truncated meanwhile, what lies above the cut is not vouched for."""
        with self._lock:
            self._cut = None
            end, segment = self.end_offset, self._last
        segment.sync()
        with self._lock:
            durable = end if self._cut is None else min(end, self._cut)
        self._emit("flush", end_offset=durable)
        return durable

    # --- the start ------------------------------------------------------------------------

    def trim(self, snapshot: SnapshotId) -> None:
        """Begin where `snapshot`, which is durable, ends; drop the segments below. Raises
        `ValueError` where that is inside a batch, or the log does not hold its last record."""
        if not self._index.holds(snapshot):
            raise ValueError(f"{snapshot} is not of this log")
        self._check_boundary(snapshot.end_offset)
        self._index = self._index.begin_at(snapshot)
        self._drop_below(snapshot.end_offset)
        self._emit("log_start", offset=snapshot.end_offset, dropped=False)

    def _drop_below(self, offset: Offset) -> None:
        """Drop the segments that hold nothing from `offset` on, but the last; oldest first."""
        kept = len(self._segments) - 1
        while kept and self._segments[0].end_offset <= offset:
            self._segments.pop(0).delete()
            sync_directory(self._directory)
            kept -= 1

    def restart(self, snapshot: SnapshotId) -> None:
        """Drop everything and begin behind `snapshot`, which is durable; so is this, on
        return."""
        with self._lock:  # all of it: amid it there is no segment that a flush could begin with
            self._cut = LOG_START
            self._index = LogIndex().begin_at(snapshot)
            self._restart(snapshot.end_offset)
        self._emit("log_start", offset=snapshot.end_offset, dropped=True)

    def _restart(self, base_offset: Offset) -> None:
        while self._segments:
            self._segments.pop().delete()  # from the end, as in `truncate`
            sync_directory(self._directory)
        self._segments.append(Segment(self._directory, base_offset))

    # --- reads ----------------------------------------------------------------------------

    def read(
        self,
        from_offset: Offset,
        limit_offset: Offset,
        max_bytes: int = 8 * 1024 * 1024,
        max_records: int | None = None,
    ) -> bytes:
        """Whole batches from the one that holds `from_offset` up to `limit_offset` (exclusive).

        Batches are never split: a batch is one atomic change of the metadata. So the first one
        is there whatever the maxima say, and later ones while they fit in both.
        """
        offset, parts, size, records = max(from_offset, self.start_offset), list[bytes](), 0, 0
        while offset < min(limit_offset, self.end_offset):
            segment = self._segment_of(offset)
            first = after = segment.index_of(offset)
            while after < len(segment):
                header = segment.place(after).header
                size += header.size
                records += header.end_offset - header.base_offset
                full = size > max_bytes or (max_records is not None and records > max_records)
                if header.end_offset > limit_offset or (full and (parts or after > first)):
                    break
                offset, after = header.end_offset, after + 1
            if after > first:
                parts.append(segment.read(first, after))
            if after < len(segment):
                break
        return b"".join(parts)

    def _segment_of(self, offset: Offset) -> Segment:
        """The segment that holds `offset`, or the last."""
        number = bisect_right(self._segments, offset, key=lambda each: each.base_offset)
        return self._segments[max(0, number - 1)]

    def close(self) -> None:
        """Close the files. Flush first where that matters."""
        for segment in self._segments:
            segment.close()
