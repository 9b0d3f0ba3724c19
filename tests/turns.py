"""Turns on the machine, of all workers of one test run: most tests share it, some need it alone.

Whoever is alone in a test run of one process has no need of this, and nothing happens: a test may
start such a run, and must not wait for those that wait for it.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Turns:
    """Of one worker. Two files, the same ones for all: `turn` is held by whoever has the machine,
    `gate` by whoever comes in or waits to be alone."""

    folder: Path
    gate: int
    turn: int

    @classmethod
    def of(cls, run: str) -> "Turns":
        """`run`: the name of the test run."""
        folder = Path(tempfile.gettempdir()) / f"kraft-proof-turns-{run}"
        folder.mkdir(exist_ok=True)
        flags = os.O_CREAT | os.O_RDWR
        return cls(folder, *(os.open(folder / name, flags) for name in ("gate", "turn")))

    def leave(self) -> None:
        """Whoever has come keeps its files, and the folder goes with the first that leaves."""
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextmanager
    def shared(self) -> Iterator[None]:
        """While a test runs beside others. Whoever waits to be alone lets nobody in before it."""
        fcntl.flock(self.gate, fcntl.LOCK_EX)
        fcntl.flock(self.turn, fcntl.LOCK_SH)
        fcntl.flock(self.gate, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(self.turn, fcntl.LOCK_UN)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """For a part of a test: those under way have ended, and none begins."""
        fcntl.flock(self.turn, fcntl.LOCK_UN)  # or two that wait for this wait for each other
        fcntl.flock(self.gate, fcntl.LOCK_EX)
        fcntl.flock(self.turn, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self.turn, fcntl.LOCK_SH)
            fcntl.flock(self.gate, fcntl.LOCK_UN)
