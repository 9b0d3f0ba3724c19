"""One file of a partition's batches, named after its first offset, with a sparse index in memory.

The file is the batches' bytes, one after the other, as a producer sent them but for the base
offset and the leader epoch in their headers.
"""

import mmap
import os
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from nodes.kraft.ids import NO_ELECTION, LeaderEpoch, Offset
from nodes.kraft.partition.batches import HEADER, HEADER_BYTES, Batch, InvalidBatch, read_batch
from nodes.kraft.storage.partition_files import Files

INDEX_BYTES: Final = 4096
"""At most so much of a file is looked through for an offset, and a batch more."""
SMALL_BYTES: Final = 2**20
"""A file of so many bytes is read at once; a larger one is mapped."""
_LENGTH_END: Final = 12


class Segment:
    """Batches from `base_offset` on. `max_timestamp_ms` is -1 while it is empty."""

    __slots__ = (
        "_files",
        "_indexed",
        "_offsets",
        "_positions",
        "base_offset",
        "end_offset",
        "max_timestamp_ms",
        "path",
        "size",
    )

    def __init__(self, files: Files, directory: str, base_offset: Offset) -> None:
        self._files = files
        self.path = f"{directory}/{base_offset:020d}.log"
        self.base_offset = base_offset
        self._clear()

    def _clear(self) -> None:
        self.end_offset = self.base_offset
        self.size = 0
        self.max_timestamp_ms = -1
        self._indexed = -INDEX_BYTES
        self._offsets = array("q")
        self._positions = array("q")

    def recover(self, *, check: bool, last_epoch: LeaderEpoch = NO_ELECTION) -> Iterator[Batch]:
        """Read the file again; what follows the last batch that is whole and in its place is
        cut off. `check`: look at checksums too; `last_epoch`: of the segment before, below which
        no batch is in its place. The batches are to be taken to the last."""
        self._clear()
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        try:
            file_size = os.fstat(descriptor).st_size
            yield from self._scan(descriptor, file_size, check, last_epoch)
        finally:
            os.close(descriptor)
        if self.size < file_size:
            self._files.truncate(self.path, self.size)

    def _scan(
        self, descriptor: int, file_size: int, check: bool, last_epoch: LeaderEpoch
    ) -> Iterator[Batch]:
        """Note the batches of the file up to the first that is not whole or not in its place."""
        if file_size == 0:
            return
        data: bytes | mmap.mmap
        if file_size <= SMALL_BYTES:
            data = os.pread(descriptor, file_size, 0)
        else:
            data = mmap.mmap(descriptor, file_size, access=mmap.ACCESS_READ)
        while self.size < file_size:
            size = _claimed(data, self.size)
            try:
                batch = read_batch(data[self.size : self.size + size], check=check)
            except InvalidBatch:
                break
            if batch.base_offset != self.end_offset or batch.epoch < last_epoch:
                break
            self._note(batch)
            last_epoch = batch.epoch
            yield batch

    def append(self, batch: Batch) -> None:
        self._files.write(self.path, self.size, batch.data)
        self._note(batch)

    def _note(self, batch: Batch) -> None:
        if self.size - self._indexed >= INDEX_BYTES:
            self._offsets.append(batch.base_offset)
            self._positions.append(self.size)
            self._indexed = self.size
        self.size += len(batch.data)
        self.end_offset = batch.end_offset
        self.max_timestamp_ms = max(self.max_timestamp_ms, batch.max_timestamp_ms)

    def read(self, from_offset: Offset, limit_offset: Offset, max_bytes: int) -> bytes:
        """Whole batches from the one that holds `from_offset`, up to `limit_offset`
        (exclusive). The first one is there whatever `max_bytes` says."""
        position = self._floor(from_offset)
        data = self._files.read(self.path, position, min(max_bytes, self.size) + INDEX_BYTES)
        start = after = None
        at = 0
        while at + HEADER_BYTES <= len(data):
            base, length, _, _, _, _, last_delta = HEADER.unpack_from(data, at)[:7]
            size, end = length + _LENGTH_END, base + last_delta + 1
            if end > from_offset:
                if end > limit_offset:
                    break
                if start is None:
                    start = at
                    if at + size > len(data):  # a batch larger than was asked for
                        return self._files.read(self.path, position + at, size)
                elif at + size - start > max_bytes or at + size > len(data):
                    break
                after = at + size
            at += size
            if start is None and at + HEADER_BYTES > len(data) and position + at < self.size:
                # The batch before `from_offset` was longer than what was read.
                position, at = position + at, 0
                data = self._files.read(
                    self.path, position, min(max_bytes, self.size) + INDEX_BYTES
                )
        return b"" if start is None or after is None else data[start:after]

    def _floor(self, offset: Offset) -> int:
        """A position at or before the batch that holds `offset`."""
        index = bisect_right(self._offsets, offset) - 1
        return self._positions[index] if index >= 0 else 0

    def truncate(self, end_offset: Offset) -> None:
        """Drop the batches at `end_offset` and above. Raises `ValueError` inside a batch."""
        position = self._floor(end_offset)
        while position < self.size:
            header = self._files.read(self.path, position, HEADER_BYTES)
            base, length, _, _, _, _, last_delta = HEADER.unpack_from(header)[:7]
            if base + last_delta + 1 > end_offset:
                if base != end_offset:
                    raise ValueError(f"{self.path}: offset {end_offset} is inside a batch")
                break
            position += length + _LENGTH_END
        self._files.truncate(self.path, position)


def _claimed(data: bytes | mmap.mmap, position: int) -> int:
    """The size that the batch at `position` claims, as far as a header is there."""
    if len(data) - position < HEADER_BYTES:
        return max(0, len(data) - position)
    length: int = HEADER.unpack_from(data, position)[1]
    return max(HEADER_BYTES, length + _LENGTH_END)
