"""`events.jsonl`: what a node did, a line as it happens (docs/events.md has the types)."""

import json
import os
import threading
import time
import uuid
from pathlib import Path
from typing import Any


class EventLog:
    """Appends events to a file, each handed to the operating system before `emit` returns."""

    def __init__(self, path: Path, node: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.incarnation = uuid.uuid4()
        self._node = node
        self._seq = 0
        self._lock = threading.Lock()
        torn = path.exists() and path.stat().st_size > 0 and path.read_bytes()[-1:] != b"\n"
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        if torn:
            os.write(self._file, b"\n")

    def emit(self, type: str, **fields: Any) -> None:
        """Write one event. May be called from any thread."""
        with self._lock:
            event = {
                "time_ns": time.monotonic_ns(),
                "node": self._node,
                "incarnation": str(self.incarnation),
                "seq": self._seq,
                "type": type,
                **fields,
            }
            self._seq += 1
            line = json.dumps(event, separators=(",", ":"), default=str)
            os.write(self._file, line.encode() + b"\n")
