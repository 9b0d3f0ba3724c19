"""A node's directory is held by one process: two that append to the same log destroy it.

Apache Kafka holds `.lock` in each log directory (`LogManager.lockLogDirs`). A process that ends, in
whatever way, holds nothing any more, and what it starts inherits nothing.
"""

import fcntl
import os
from pathlib import Path
from typing import Final

from nodes.kraft.storage.errors import StorageError

NAME: Final = ".lock"


def hold(directory: Path) -> int:
    """The descriptor of the file that is locked: until it is closed the directory is held. Raises
    `StorageError` where another process holds it."""
    directory.mkdir(parents=True, exist_ok=True)
    held = os.open(directory / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.lockf(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        os.close(held)
        raise StorageError(f"{directory}: another process works in this directory") from None
    return held
