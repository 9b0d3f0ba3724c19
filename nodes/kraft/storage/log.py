"""The metadata log on disk, in a directory of its own (`__kafka_metadata-0`).

One segment holds all of it for now; offsets and files meet in `Segment` alone, so that more of
them, and snapshots below them, fit in beside it.
"""

import threading
import time
from pathlib import Path

from crc32c import crc32c

from nodes.kraft.raft.log_index import LogIndex
from nodes.kraft.raft.messages import Batch
from nodes.kraft.storage.events import Emit, emit_nothing
from nodes.kraft.storage.files import sync_directory
from nodes.kraft.storage.segment import Segment
from nodes.kraft.wire.batches import encode_batch, read_header


class MetadataLog:
    """Batches in offset order. One thread appends, truncates and reads; `flush` may run in
    another meanwhile. Emits `append`, `flush` and `truncate`, `flush` from the thread that
    flushed.
    """

    def __init__(self, directory: Path, emit: Emit = emit_nothing) -> None:
        """Open the log in `directory` (made where missing) and recover it: a torn or damaged
        tail is dropped, and the rest made durable."""
        directory.mkdir(parents=True, exist_ok=True)
        sync_directory(directory.parent)
        self._emit = emit
        self._segment = Segment(directory, 0)
        self._lock = threading.Lock()
        self._cut: int | None = None  # the lowest truncation since the flush under way began
        self._index = self._rebuild_index()

    def _rebuild_index(self) -> LogIndex:
        runs: list[tuple[int, int]] = []
        for place in self._segment.places():
            if not runs or runs[-1][0] != place.header.epoch:
                runs.append((place.header.epoch, place.header.base_offset))
        end = self._segment.end_offset
        return LogIndex(self._segment.base_offset, end, end, tuple(runs))

    @property
    def index(self) -> LogIndex:
        """What the Raft core has to know at a start."""
        return self._index

    @property
    def start_offset(self) -> int:
        return self._index.start_offset

    @property
    def end_offset(self) -> int:
        return self._index.end_offset

    @property
    def dropped_bytes(self) -> int:
        """How much of a damaged tail the recovery dropped."""
        return self._segment.dropped_bytes

    def append(self, batch: Batch, *, leader: bool = False) -> None:
        """Write `batch` at the end: with the operating system on return, not yet durable.
        `leader`: this node made it. Raises `ValueError` where it does not follow the end."""
        index = self._index.append(batch)
        data = encode_batch(batch, time.time_ns() // 1_000_000)
        self._segment.append(read_header(data), data)
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

    def truncate(self, end_offset: int) -> None:
        """Drop the records at `end_offset` and above; durable on return. Raises `ValueError`
        where `end_offset` is inside a batch: batches live and die whole."""
        if end_offset >= self.end_offset:
            return
        number = self._segment.index_of(end_offset)
        if self._segment.place(number).header.base_offset != end_offset:
            raise ValueError(f"offset {end_offset} is inside a batch")
        with self._lock:  # together, lest a flush that begins between vouches for the old end
            self._cut = end_offset if self._cut is None else min(self._cut, end_offset)
            self._index = self._index.truncate(end_offset)
        self._segment.truncate(end_offset)
        self._emit("truncate", end_offset=end_offset)

    def flush(self) -> int:
        """Make durable what was appended before this call, and return the end offset of that.
        Where the log is truncated meanwhile, what lies above the cut is not vouched for."""
        with self._lock:
            self._cut = None
            end = self.end_offset
        self._segment.sync()
        with self._lock:
            durable = end if self._cut is None else min(end, self._cut)
        self._emit("flush", end_offset=durable)
        return durable

    def read(
        self,
        from_offset: int,
        limit_offset: int,
        max_bytes: int = 8 * 1024 * 1024,
        max_records: int | None = None,
    ) -> bytes:
        """Whole batches from the one that holds `from_offset` up to `limit_offset` (exclusive).

        Batches are never split: a batch is one atomic change of the metadata. So the first one
        is there whatever the maxima say, and later ones while they fit in both.
        """
        segment = self._segment
        first = segment.index_of(max(from_offset, self.start_offset))
        after, size, records = first, 0, 0
        while after < len(segment):
            header = segment.place(after).header
            size += header.size
            records += header.end_offset - header.base_offset
            too_much = size > max_bytes or (max_records is not None and records > max_records)
            if header.end_offset > limit_offset or (too_much and after > first):
                break
            after += 1
        return segment.read(first, after) if after > first else b""

    def close(self) -> None:
        """Close the file. Flush first where that matters."""
        self._segment.close()
