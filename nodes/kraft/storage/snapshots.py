"""Snapshots on disk, beside the log: `<end offset>-<epoch>.checkpoint` (KIP-630).

A snapshot has its name only when it is whole and durable: written to a temporary file, fsynced,
renamed, and the directory fsynced (KAFKA-15312). What a crash left behind under a temporary
name is removed at the next start.
"""

import os
import re
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from nodes.kraft.ids import LeaderEpoch, Offset
from nodes.kraft.raft.messages import SnapshotId
from nodes.kraft.storage.errors import StorageError
from nodes.kraft.storage.events import Emit, emit_nothing
from nodes.kraft.storage.files import sync_directory, write_all
from nodes.kraft.wire.snapshots import (
    CorruptSnapshot,
    check_snapshot,
    decode_snapshot,
    encode_snapshot,
)

__all__ = ["CorruptSnapshot", "SnapshotNotFound", "SnapshotStore", "file_name"]

WRITING: Final = ".writing"
RECEIVING: Final = ".receiving"
_NAME: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


class SnapshotNotFound(StorageError):
    """There is no snapshot of that id."""


def file_name(id: SnapshotId) -> str:
    """The name of the snapshot's file."""
    return f"{id.end_offset:020d}-{id.epoch:010d}.checkpoint"


class SnapshotStore:
    """The snapshots of one directory. `write` may run in another thread than the rest, one at a
    time; a snapshot under way is in none of the answers of the others."""

    def __init__(self, directory: Path, emit: Emit = emit_nothing) -> None:
        """Open the directory (made where missing) and remove left-over temporary files."""
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._emit = emit
        self._receiving: dict[SnapshotId, int] = {}  # id to the descriptor of its file
        self._lock = threading.Lock()
        for path in directory.iterdir():
            if path.suffix in (WRITING, RECEIVING):
                path.unlink()
        self._ids = tuple(sorted(self._found()))

    def _found(self) -> Iterator[SnapshotId]:
        for path in self._directory.iterdir():
            if match := _NAME.fullmatch(path.name):
                yield SnapshotId(Offset(int(match[1])), LeaderEpoch(int(match[2])))

    def latest(self) -> SnapshotId | None:
        """The newest snapshot; None: there is none."""
        return self._ids[-1] if self._ids else None

    def ids(self) -> tuple[SnapshotId, ...]:
        """All snapshots, oldest first."""
        return self._ids

    # --- writing --------------------------------------------------------------------------

    def write(
        self,
        id: SnapshotId,
        records: Iterable[bytes],
        *,
        timestamp_ms: int,
        high_watermark: Offset,
        digest: str,
    ) -> int:
        """Make a snapshot of `records`, durable on return; its size in bytes.

        `timestamp_ms` is the append time of record `id.end_offset` - 1. `digest` (of the image
        in it) and `high_watermark` are for the event. Raises `ValueError` where the snapshot
        would reach above the high watermark.
        """
        if id.end_offset > high_watermark:
            raise ValueError(f"snapshot of {id.end_offset}, high watermark {high_watermark}")
        temporary = self._temporary(id, WRITING)
        size = count = 0
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            for number, data in encode_snapshot(id.epoch, records, timestamp_ms=timestamp_ms):
                write_all(descriptor, data)
                size, count = size + len(data), count + number
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self._publish(temporary, id)
        self._emit(
            "snap_write",
            end_offset=id.end_offset,
            epoch=id.epoch,
            bytes=size,
            records=count,
            digest=digest,
            high_watermark=high_watermark,
        )
        return size

    def _publish(self, temporary: Path, id: SnapshotId) -> None:
        temporary.rename(self._path(id))
        sync_directory(self._directory)
        with self._lock:
            self._ids = tuple(sorted({*self._ids, id}))

    def retain(self, newest: int) -> None:
        """Remove all but the `newest` newest snapshots; the last one is never removed."""
        with self._lock:
            old = self._ids[: -max(newest, 1)]
            self._ids = self._ids[len(old) :]
        for id in old:
            self._path(id).unlink()
        if old:
            sync_directory(self._directory)

    # --- reading --------------------------------------------------------------------------

    def records(self, id: SnapshotId) -> Iterator[bytes]:
        """The records' values. Raises `CorruptSnapshot` (header, footer or a checksum is not
        as it should be), `SnapshotNotFound`."""
        return decode_snapshot(self._bytes(id), id.epoch)

    def size(self, id: SnapshotId) -> int:
        """The snapshot's bytes. Raises `SnapshotNotFound`."""
        self._check(id)
        return self._path(id).stat().st_size

    def read(self, id: SnapshotId, position: int, max_bytes: int) -> bytes:
        """At most `max_bytes` from `position` on; none at the end and behind it. Raises
        `SnapshotNotFound`."""
        self._check(id)
        with self._path(id).open("rb") as file:
            file.seek(position)
            return file.read(max_bytes)

    def _bytes(self, id: SnapshotId) -> bytes:
        self._check(id)
        return self._path(id).read_bytes()

    def _check(self, id: SnapshotId) -> None:
        if id not in self._ids:
            raise SnapshotNotFound(f"no snapshot {file_name(id)} in {self._directory}")

    # --- from another replica -------------------------------------------------------------

    def receive(self, id: SnapshotId, position: int, data: bytes) -> None:
        """The next piece of a snapshot that is fetched; `position` 0 begins anew, and drops what
        is half received of any other: one is fetched at a time. Raises `ValueError` where the
        piece does not follow the one before."""
        if position == 0:
            self.close()
            flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC
            self._receiving[id] = os.open(self._temporary(id, RECEIVING), flags, 0o644)
        descriptor = self._receiving.get(id)
        end = -1 if descriptor is None else os.fstat(descriptor).st_size
        if descriptor is None or position != end:
            raise ValueError(f"{file_name(id)}: a piece at {position}, where {end} bytes are")
        write_all(descriptor, data)

    def finish(self, id: SnapshotId) -> None:
        """The last piece is there: verify the snapshot and give it its name, durably. Raises
        `CorruptSnapshot`, and then nothing of it is left."""
        temporary = self._temporary(id, RECEIVING)
        descriptor = self._receiving[id]
        try:
            check_snapshot(temporary.read_bytes(), id.epoch)
            os.fsync(descriptor)
        except CorruptSnapshot:
            self.forget(id)
            raise
        os.close(self._receiving.pop(id))
        self._publish(temporary, id)

    def forget(self, id: SnapshotId) -> None:
        """Drop what was received of a snapshot; harmless where nothing was."""
        if (descriptor := self._receiving.pop(id, None)) is not None:
            os.close(descriptor)
            self._temporary(id, RECEIVING).unlink()

    def close(self) -> None:
        """Drop what is half received."""
        for id in tuple(self._receiving):
            self.forget(id)

    # --- names ----------------------------------------------------------------------------

    def _path(self, id: SnapshotId) -> Path:
        return self._directory / file_name(id)

    def _temporary(self, id: SnapshotId, suffix: str) -> Path:
        return self._directory / (file_name(id) + suffix)
