"""Files that are whole or not there: temporary file, fsync, rename, fsync of the directory."""

import os
from pathlib import Path


def sync_directory(directory: Path) -> None:
    """Make the names in `directory` durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: Path, data: bytes) -> None:
    """Make `data` the durable content of `path`. After a crash it has this or what it had."""
    temporary = path.with_name(path.name + ".tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    temporary.rename(path)
    sync_directory(path.parent)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of `data` at the descriptor's place."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
