"""The files of many partitions behind a bounded number of descriptors."""

import os
from collections import OrderedDict
from pathlib import Path
from typing import Final

from nodes.kraft.storage.files import sync_directory

SYNC_ALL_FROM: Final = 200
"""With so many files to sync, one sync(2) of everything is cheaper than an fsync for each."""


class Files:
    """Opens files when they are needed, and closes those that were not for longest. One thread
    alone calls it. Methods raise `OSError`."""

    def __init__(self, capacity: int = 256) -> None:
        self._capacity = capacity
        self._open: OrderedDict[str, int] = OrderedDict()
        self._dirty: set[str] = set()

    def write(self, path: str, position: int, data: bytes) -> None:
        """Write `data` at `position`: with the operating system on return, not yet durable."""
        descriptor = self._descriptor(path)
        self._dirty.add(path)
        view = memoryview(data)
        while view:
            written = os.pwrite(descriptor, view, position)
            view, position = view[written:], position + written

    def read(self, path: str, position: int, size: int) -> bytes:
        """Up to `size` bytes from `position` on."""
        return os.pread(self._descriptor(path), size, position)

    def truncate(self, path: str, size: int) -> None:
        os.ftruncate(self._descriptor(path), size)
        self._dirty.add(path)

    def remove(self, path: str) -> None:
        """Close and delete a file that may not be there."""
        self.close_file(path)
        self._dirty.discard(path)
        Path(path).unlink(missing_ok=True)

    def close_file(self, path: str) -> None:
        descriptor = self._open.pop(path, None)
        if descriptor is not None:
            os.close(descriptor)

    def sync(self) -> None:
        """Make durable all that was written."""
        if len(self._dirty) >= SYNC_ALL_FROM:
            os.sync()
        else:
            for path in self._dirty:
                os.fsync(self._descriptor(path))
            for directory in {Path(path).parent for path in self._dirty}:
                sync_directory(directory)
        self._dirty.clear()

    def close(self) -> None:
        for path in list(self._open):
            self.close_file(path)

    @property
    def open_files(self) -> int:
        return len(self._open)

    def _descriptor(self, path: str) -> int:
        descriptor = self._open.get(path)
        if descriptor is None:
            if len(self._open) >= self._capacity:
                os.close(self._open.popitem(last=False)[1])
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            self._open[path] = descriptor
        else:
            self._open.move_to_end(path)
        return descriptor
