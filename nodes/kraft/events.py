"""`events.jsonl`: what a node did, a line as it happens (docs/operating.md has the types)."""

import json
import logging
import os
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from nodes.kraft.storage.files import write_all

AT_ONCE: Final = 500
"""Lines that are written under one lock."""
_dumps: Final = json.JSONEncoder(separators=(",", ":"), default=str).encode


class EventLog:
    """Appends events to a file, each handed to the operating system before `emit` returns."""

    def __init__(
        self,
        path: Path | None,
        node: str,
        tap: Callable[[str, Mapping[str, Any]], None] = lambda *_: None,
    ) -> None:
        """`path` None: nothing is written down. `tap` hears each event's type and fields (JSON), on
        the thread that emits it."""
        self.incarnation = uuid.uuid4()
        self._who = _dumps({"node": node, "incarnation": self.incarnation})[1:-1]
        self._tap = tap
        self._seq = 0
        self._lock = threading.Lock()
        self._file = None if path is None else _opened(path)

    def emit(self, type: str, **fields: object) -> None:
        """Write one event. May be called from any thread; what takes long is done outside of
        the lock, for which the control loop must never wait behind a flood of events."""
        if self._file is not None:  # a line that nobody reads costs as much as any other
            rest = _dumps({"type": type, **fields})
            with self._lock:
                head = f'{{"time_ns":{time.monotonic_ns()},{self._who},"seq":{self._seq},'
                self._seq += 1
                os.write(self._file, f"{head}{rest[1:]}\n".encode())
        self._tap(type, fields)

    def emit_many(self, type: str, texts: Sequence[str]) -> None:
        """Write many events of a type, each given as the JSON text of its fields without the
        braces: hundreds in one call of the operating system, at one time. `tap` does not hear
        them."""
        if self._file is None:
            return
        for first in range(0, len(texts), AT_ONCE):
            some = [f'"type":"{type}",{text}}}\n' for text in texts[first : first + AT_ONCE]]
            with self._lock:
                head = f'{{"time_ns":{time.monotonic_ns()},{self._who},"seq":'
                lines = [f"{head}{seq},{text}" for seq, text in enumerate(some, self._seq)]
                self._seq += len(some)
                write_all(self._file, "".join(lines).encode())


def _opened(path: Path) -> int:
    """The file, its last line ended where a kill had cut it off."""
    path.parent.mkdir(parents=True, exist_ok=True)
    torn = path.exists() and path.stat().st_size > 0 and path.read_bytes()[-1:] != b"\n"
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    if torn:
        os.write(opened, b"\n")
    return opened


class ErrorEvents(logging.Handler):
    """Writes an `error` event for each exception that is logged: those that nothing handled."""

    def __init__(self, emit: Callable[..., None]) -> None:
        super().__init__(logging.ERROR)
        self._emit = emit

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            return
        try:
            what = f"{record.getMessage()}: {type(error).__name__}: {error}"
            self._emit("error", where=f"{record.name}:{record.lineno}", message=what[:1000])
        except Exception:
            self.handleError(record)
