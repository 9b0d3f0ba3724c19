"""A partition's log on disk: segments in a directory `<topic id>-<partition>`.

Nothing is made on disk before the first batch comes, and nothing is open while nothing is read
or written: an idle partition costs a few hundred bytes. Segments that are wholly below the log's
start are deleted, but for the last one, which says where the log ends. Appends are not synced one
by one (as in Kafka: replication is what makes them durable), but all together in a clean shutdown.
"""

import os
import shutil
import uuid
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from nodes.kraft.ids import LOG_START, NO_ELECTION, Offset, PartitionIndex
from nodes.kraft.partition import producers
from nodes.kraft.partition.batches import Batch, batch_size, offset_at, read_batch
from nodes.kraft.partition.epochs import last_epoch
from nodes.kraft.partition.producers import Producers
from nodes.kraft.partition.state import NO_LOG, Log, empty_log
from nodes.kraft.storage.partition_files import Files
from nodes.kraft.storage.partition_segment import Segment

SEGMENT_BYTES: Final = 64 * 2**20
_SCAN_BYTES: Final = 1 << 20


def directory_of(root: Path, topic_id: uuid.UUID, partition: int) -> Path:
    return root / f"{topic_id}-{partition}"


def partition_of(directory: Path) -> tuple[uuid.UUID, PartitionIndex] | None:
    """Whose directory it is; None: no partition's."""
    topic_id, dash, partition = directory.name.rpartition("-")
    try:
        return (uuid.UUID(topic_id), PartitionIndex(int(partition))) if dash else None
    except ValueError:
        return None


class PartitionLog:
    """Batches in offset order. One thread alone calls it. Methods raise `OSError`."""

    __slots__ = (
        "_bases",
        "_directory",
        "_files",
        "_segment_bytes",
        "_segments",
        "_start",
        "recovered",
    )

    def __init__(
        self,
        files: Files,
        directory: Path,
        *,
        segment_bytes: int = SEGMENT_BYTES,
        check: bool = True,
        exists: bool = True,
        start_offset: Offset = LOG_START,
    ) -> None:
        """Open and recover: a torn or damaged tail is dropped. `check` False: the last shutdown
        was clean, checksums need no look. `exists` False: there is no directory yet.
        `start_offset`: below it everything was deleted, whether it is still there or not."""
        self._files = files
        self._directory = str(directory)
        self._segment_bytes = segment_bytes
        self._segments: list[Segment] = []
        self._bases: list[int] = []
        self._start = start_offset  # where the first segment begins, as long as there is none
        self.recovered: Log = empty_log(start_offset)
        if exists and directory.exists():
            self.recovered = self._recover(check)

    def _recover(self, check: bool) -> Log:
        with os.scandir(self._directory) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(".log"))
        start, bases = self._start, [Offset(int(name.removesuffix(".log"))) for name in names]
        first = max(0, bisect_right(bases, start) - 1)  # what is before it was to be deleted
        for deleted in names[:first]:
            self._files.remove(f"{self._directory}/{deleted}")
        log = empty_log(min([start, *bases[first : first + 1]]))
        for number, base in enumerate(bases[first:], first):
            if base != log.end_offset:
                for lost in names[number:]:  # there is a gap before it
                    self._files.remove(f"{self._directory}/{lost}")
                break
            segment = Segment(self._files, self._directory, log.end_offset)
            newest = max(NO_ELECTION, last_epoch(log.epochs))
            for batch in segment.recover(check=check, last_epoch=newest):
                log = log.append(batch)
            self._add(segment)
        if log.end_offset < start:  # its end was lost, and the rest is deleted
            self.restart(start)
            return empty_log(start)
        return log.begin_at(start)

    def _add(self, segment: Segment) -> None:
        self._segments.append(segment)
        self._bases.append(segment.base_offset)

    @property
    def end_offset(self) -> Offset:
        return self._segments[-1].end_offset if self._segments else self._start

    @property
    def size(self) -> int:
        """Bytes of all batches."""
        return sum(segment.size for segment in self._segments)

    def append(self, batch: Batch) -> None:
        """Write `batch`, whose base offset is the end of the log."""
        if batch.base_offset != self.end_offset:
            raise ValueError(f"batch at {batch.base_offset}, the log ends at {self.end_offset}")
        last = self._segments[-1] if self._segments else None
        if last is None or (last.size and last.size + len(batch.data) > self._segment_bytes):
            if last is None:
                Path(self._directory).mkdir(parents=True, exist_ok=True)
            last = Segment(self._files, self._directory, batch.base_offset)
            self._add(last)
        last.append(batch)

    def truncate(self, end_offset: Offset) -> Producers:
        """Drop what is at `end_offset` or above; the producers that remain. Raises
        `ValueError` where that is inside a batch."""
        while self._segments and self._segments[-1].base_offset >= end_offset:
            self._start = end_offset
            self._files.remove(self._segments.pop().path)
            self._bases.pop()
        if self._segments:
            self._segments[-1].truncate(end_offset)
        known: Producers = NO_LOG.producers
        for segment in self._segments:
            for batch in segment.recover(check=False):
                known = producers.remember(known, batch)
        return known

    def restart(self, start_offset: Offset) -> None:
        """Drop everything; the next batch begins at `start_offset`."""
        for segment in self._segments:
            self._files.remove(segment.path)
        self._segments, self._bases, self._start = [], [], start_offset

    def drop_below(self, start_offset: Offset) -> None:
        """Delete the segments that hold nothing at `start_offset` or above, but not the last."""
        count = max(0, bisect_right(self._bases, start_offset) - 1)
        for segment in self._segments[:count]:
            self._files.remove(segment.path)
        del self._segments[:count], self._bases[:count]

    def read(self, from_offset: Offset, limit_offset: Offset, max_bytes: int) -> bytes:
        """Whole batches from the one that holds `from_offset` up to `limit_offset` (exclusive),
        of one segment at most. The first one is there whatever `max_bytes` says."""
        if from_offset >= min(limit_offset, self.end_offset):
            return b""
        segment = self._segments[bisect_right(self._bases, from_offset) - 1]
        return segment.read(from_offset, limit_offset, max_bytes)

    def find_time(
        self, timestamp_ms: int, from_offset: Offset, limit_offset: Offset
    ) -> tuple[Offset, int] | None:
        """(offset, timestamp) of the first record at or after `timestamp_ms`, from `from_offset`
        up to `limit_offset` (exclusive); None: there is none."""
        for segment in self._segments:
            if segment.max_timestamp_ms < timestamp_ms:
                continue
            for batch in self._batches(segment, from_offset, limit_offset):
                found = offset_at(batch, timestamp_ms, from_offset)
                if found is not None:
                    return found
        return None

    def latest_time(self, from_offset: Offset, limit_offset: Offset) -> tuple[Offset, int] | None:
        """(offset, timestamp) of the first record with the highest timestamp of the batches from
        `from_offset` up to `limit_offset` (exclusive)."""
        highest: Batch | None = None
        for segment in self._segments:
            if highest is not None and segment.max_timestamp_ms <= highest.max_timestamp_ms:
                continue
            for batch in self._batches(segment, from_offset, limit_offset):
                if highest is None or batch.max_timestamp_ms > highest.max_timestamp_ms:
                    highest = batch
        if highest is None:
            return None
        found = offset_at(highest, highest.max_timestamp_ms, from_offset)
        # Deleted records of its batch may have had the highest: then the first that is left.
        return found or (max(highest.base_offset, from_offset), highest.base_timestamp_ms)

    def _batches(
        self, segment: Segment, from_offset: Offset, limit_offset: Offset
    ) -> Iterator[Batch]:
        """The batches of a segment that have something from `from_offset` on, below
        `limit_offset`."""
        offset = max(segment.base_offset, from_offset)
        limit = min(limit_offset, segment.end_offset)
        while offset < limit and (data := segment.read(offset, limit, _SCAN_BYTES)):
            position = 0
            while position < len(data):
                batch = read_batch(data, position, check=False)
                yield batch
                offset, position = batch.end_offset, position + batch_size(data, position)

    def delete(self) -> None:
        """Remove the files and the directory."""
        for segment in self._segments:
            self._files.remove(segment.path)
        self._segments, self._bases = [], []
        shutil.rmtree(self._directory, ignore_errors=True)
