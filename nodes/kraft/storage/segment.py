"""One file of record batches, named after its first offset.

The file is the batches' bytes, one after the other. Opening the last one of a log drops a torn
or damaged tail: what follows the first batch that is not whole cannot have been acknowledged,
for the log was not flushed past it. A sealed one is durable to its end, so damage there is loss.
"""

import os
import threading
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nodes.kraft.ids import NO_ELECTION, LeaderEpoch, Offset
from nodes.kraft.storage.errors import StorageError
from nodes.kraft.storage.files import sync_directory, write_all
from nodes.kraft.wire.batches import BatchHeader, CorruptBatch, read_header

_CACHE_BYTES: Final = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Place:
    """A batch and where in the file it begins."""

    header: BatchHeader
    position: int


def file_name(base_offset: Offset) -> str:
    """The name of the segment that begins at `base_offset`."""
    return f"{base_offset:020d}.log"


class Segment:
    """Batches from `base_offset` on. Appends and reads belong to one thread; `sync` may be
    called from another at the same time."""

    def __init__(
        self,
        directory: Path,
        base_offset: Offset,
        last_epoch: LeaderEpoch = NO_ELECTION,
        *,
        sealed: bool = False,
    ) -> None:
        """Open, or create, and recover. Durable up to `end_offset` afterwards. `last_epoch`:
        of the record before. Raises `StorageError` where a `sealed` one is damaged."""
        self.base_offset = base_offset
        self.path = directory / file_name(base_offset)
        self._bases: list[int] = []
        self._places: list[Place] = []
        self._recent: deque[bytes] = deque()  # the last batches' bytes, oldest first
        self._recent_bytes = 0
        self._in_use = threading.Lock()  # by a sync: not to be closed under it
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        self.dropped_bytes = self._recover(last_epoch, sealed)
        sync_directory(directory)
        if sealed:
            self.seal()

    def _recover(self, last_epoch: LeaderEpoch, sealed: bool) -> int:
        data = self.path.read_bytes()
        position, why = 0, ""
        while position < len(data):
            try:
                header = read_header(data, position)
            except CorruptBatch as error:
                why = str(error)
                break
            if header.base_offset != self.end_offset or header.epoch < last_epoch:
                why = f"batch {header.base_offset} of epoch {header.epoch} is out of place"
                break
            self._note(header, data[position : position + header.size])
            position, last_epoch = position + header.size, header.epoch
        if position < len(data):
            if sealed:
                os.close(self._descriptor)
                raise StorageError(f"{self.path}: {why}, and more of the log follows")
            os.ftruncate(self._descriptor, position)
        os.fsync(self._descriptor)
        return len(data) - position

    @property
    def end_offset(self) -> Offset:
        return self._places[-1].header.end_offset if self._places else self.base_offset

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return self._places[-1].position + self._places[-1].header.size if self._places else 0

    def places(self) -> Iterator[Place]:
        return iter(self._places)

    def append(self, header: BatchHeader, data: bytes) -> None:
        """Write one batch at the end. It is with the operating system, not yet durable."""
        write_all(self._descriptor, data)
        self._note(header, data)

    def _note(self, header: BatchHeader, data: bytes) -> None:
        self._places.append(Place(header, self.size))
        self._bases.append(header.base_offset)
        self._recent.append(data)
        self._recent_bytes += len(data)
        while self._recent_bytes > _CACHE_BYTES and len(self._recent) > 1:
            self._recent_bytes -= len(self._recent.popleft())

    def seal(self) -> None:
        """No batch will follow: only what is read often need be kept in memory."""
        self._recent.clear()
        self._recent_bytes = 0

    def index_of(self, offset: Offset) -> int:
        """The number of the batch that holds `offset`; as many as there are where none does."""
        return bisect_right(self._bases, offset) - 1 if offset < self.end_offset else len(self)

    def __len__(self) -> int:
        return len(self._places)

    def place(self, index: int) -> Place:
        return self._places[index]

    def read(self, first: int, after: int) -> bytes:
        """The bytes of the batches numbered [first, after)."""
        cached_from = len(self._places) - len(self._recent)
        if first >= cached_from:
            return b"".join(self._recent[n - cached_from] for n in range(first, after))
        start, last = self._places[first], self._places[after - 1]
        size = last.position + last.header.size - start.position
        return os.pread(self._descriptor, size, start.position)

    def truncate(self, end_offset: Offset) -> None:
        """Drop the batches from the one that holds `end_offset` on; durable on return."""
        keep = self.index_of(end_offset)
        if keep == len(self):
            return
        os.ftruncate(self._descriptor, self._places[keep].position)
        while len(self._places) > keep:
            self._places.pop()
            self._bases.pop()
            if self._recent:
                self._recent_bytes -= len(self._recent.pop())
        os.fsync(self._descriptor)

    def sync(self) -> None:
        """Make all that was appended before this call durable. One that is closed meanwhile was
        dropped, so that nobody asks for it any more."""
        with self._in_use:
            if self._descriptor >= 0:
                os.fsync(self._descriptor)

    def close(self) -> None:
        with self._in_use:
            os.close(self._descriptor)
            self._descriptor = -1

    def delete(self) -> None:
        """Close and remove the file. Its name is gone for good once the directory is synced."""
        self.close()
        self.path.unlink()
