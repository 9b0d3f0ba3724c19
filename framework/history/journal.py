"""The journal of a run: `history.jsonl`, and its columnar copy when the run is over.

Every line goes to the operating system in a write of its own before anything else happens, so a
harness that is killed loses nothing that it had written. (A machine that loses power may: there
is no fsync a line. The journal then simply ends earlier.)
"""

import os
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from framework.errors import EngineError
from framework.history.columns import write_parquet
from framework.history.event import Event
from framework.history.jsonl import encode

FILE: Final = "history.jsonl"
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
PART: Final = Path("history", "part-00000.parquet")


class Journal:
    """Append-only. Used by one thread at a time."""

    def __init__(self, folder: Path) -> None:
        """Begin `folder`/history.jsonl. Raises `EngineError` where there is one already."""
        self._next_index = 0
        try:
            self._fd = os.open(folder / FILE, _FLAGS, mode=0o644)
        except OSError as error:
            raise EngineError(
                f"{folder / FILE}: cannot begin a history ({error.strerror})"
            ) from error

    @property
    def next_index(self) -> int:
        """The index that the next event must have."""
        return self._next_index

    def write(self, event: Event) -> None:
        """Append a line. Once this returns, the operating system has it.

        Raises `ValueError` or `TypeError`, nothing written, for an event out of turn or with
        something in it that is not JSON; `OSError` where the disk refuses.
        """
        if event.index != self._next_index:
            raise ValueError(f"event {event.index} out of turn: {self._next_index} is next")
        line = encode(event)
        written = os.write(self._fd, line)
        while written < len(line):
            written += os.write(self._fd, line[written:])
        self._next_index += 1

    def close(self) -> None:
        """No more events. Idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def seal(folder: Path) -> Path:
    """The columnar copy of `folder`'s history.jsonl, whole or not at all: written under a name
    that readers pass over, then renamed."""
    part = folder / PART
    part.parent.mkdir(exist_ok=True)
    temporary = part.with_name(f".{part.name}.tmp")
    with (folder / FILE).open("rb") as lines:
        write_parquet(lines, temporary)
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    return temporary.rename(part)
