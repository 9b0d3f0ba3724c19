"""Where the logs of this broker begin, written down: Kafka's `log-start-offset-checkpoint`.

Kafka writes it once a minute; here a new beginning counts only once it is on disk, so that what was
deleted is not there again after a kill. Those that come while the file is written go into the next
one together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from nodes.kraft.ids import LOG_START, Offset
from nodes.kraft.metadata.image import PartitionKey
from nodes.kraft.runtime.planes import Plane
from nodes.kraft.storage.partition_checkpoint import LOG_STARTS, Checkpoint


class LogStarts:
    """Lives on the data loop, and calls `saved` there; the file is written beside it."""

    def __init__(
        self, plane: Plane, directory: Path, saved: Callable[[PartitionKey, Offset], None]
    ) -> None:
        self._plane = plane
        self._checkpoint = Checkpoint(directory, LOG_STARTS)
        self._saved = saved
        self._offsets: dict[PartitionKey, Offset] = {}
        self._news: dict[PartitionKey, Offset] = {}  # not on disk yet
        self._saving: asyncio.Task[None] | None = None

    def load(self) -> None:
        """Raises `StorageError`."""
        self._offsets = self._checkpoint.load()

    def of(self, key: PartitionKey) -> Offset:
        return self._offsets.get(key, LOG_START)

    def save(self, key: PartitionKey, offset: Offset) -> None:
        """Write it down soon, then call `saved(key, offset)`."""
        if offset:
            self._offsets[key] = offset
        else:
            self._offsets.pop(key, None)
        self._news[key] = offset
        if self._saving is None or self._saving.done():
            self._saving = self._plane.spawn(self._save())

    def forget(self, key: PartitionKey) -> None:
        """Of a log that is deleted: another one of the same name begins at 0."""
        if key in self._offsets:
            self.save(key, LOG_START)

    async def close(self) -> None:
        """With all of it on disk."""
        if self._saving is not None:
            await asyncio.wait({self._saving})

    async def _save(self) -> None:
        while self._news:
            news, self._news = self._news, {}
            offsets = dict(self._offsets)
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(None, self._checkpoint.save, offsets)
            for key, offset in news.items():
                self._saved(key, offset)
