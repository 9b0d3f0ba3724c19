"""Offsets of partitions written down, and whether the last shutdown was a clean one.

Kafka's `replication-offset-checkpoint` (high watermarks) and `log-start-offset-checkpoint`: a
version, the number of lines, and a line `topic partition offset` each; topics by their ids here,
for a re-created one is another.
"""

import threading
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from nodes.kraft.ids import Offset, PartitionIndex
from nodes.kraft.storage.errors import StorageError
from nodes.kraft.storage.files import replace_file, sync_directory

HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
LOG_STARTS: Final = "log-start-offset-checkpoint"
_VERSION: Final = "0"


class Checkpoint:
    """The file of that name: an offset for each partition."""

    def __init__(self, directory: Path, name: str) -> None:
        self._path = directory / name
        self._lock = threading.Lock()

    def load(self) -> dict[tuple[uuid.UUID, PartitionIndex], Offset]:
        """Partition to offset; empty where there is no file. Raises `StorageError`."""
        if not self._path.exists():
            return {}
        try:
            version, count, *lines = self._path.read_text().splitlines()
            found = {}
            for line in lines:
                topic_id, partition, offset = line.split(" ")
                found[uuid.UUID(topic_id), PartitionIndex(int(partition))] = Offset(int(offset))
            if version != _VERSION or int(count) != len(found):
                raise ValueError("wrong version or number of lines")
        except ValueError as error:
            raise StorageError(f"{self._path}: {error}") from error
        return found

    def save(self, offsets: Mapping[tuple[uuid.UUID, PartitionIndex], Offset]) -> None:
        """Replace the file. May be called from any thread."""
        lines = [f"{topic_id} {number} {at}" for (topic_id, number), at in offsets.items()]
        text = "\n".join([_VERSION, str(len(lines)), *lines]) + "\n"
        with self._lock:
            replace_file(self._path, text.encode())


class CleanShutdown:
    """A mark that all files were synced, there from a clean shutdown to the next start."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / ".kafka_cleanshutdown"

    def take(self) -> bool:
        """Whether it was there; it is not any more."""
        if not self._path.exists():
            return False
        self._path.unlink()
        sync_directory(self._path.parent)
        return True

    def put(self) -> None:
        replace_file(self._path, b"")
