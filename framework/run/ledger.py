"""The fault ledger, `faults.jsonl`: what was planned, done and seen, a line before each deed.

Victims are on disk before anything is done to them, so that healing never depends on the
harness having lived through the injection.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from framework.plugins.fault import Plan, Probe


class Ledger:
    """Appends to the ledger; each line is handed to the operating system at once."""

    def __init__(self, path: Path, clock: Callable[[], int]) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._clock = clock
        self._count = 0

    def plan(self, plan: Plan) -> int:
        """Write a plan down; the id of its injection."""
        self._count += 1
        self._write(self._count, "planned", plan)
        return self._count

    def done(self, ident: int, step: str, plan: Plan) -> None:
        """`step`: "injected" or "healed"."""
        self._write(ident, step, plan)

    def probed(self, ident: int, step: str, plan: Plan, probe: Probe) -> None:
        """`step`: "probed-before", "probed-during" or "probed-after"."""
        self._write(
            ident, step, plan, probe={"bites": probe.bites, "evidence": dict(probe.evidence)}
        )

    def failed(self, ident: int, plan: Plan, error: BaseException) -> None:
        """A deed or a look that went wrong."""
        self._write(ident, "failed", plan, error=f"{type(error).__name__}: {error}")

    def close(self) -> None:
        """What is written from now on raises `OSError`: nothing is done that is not written."""
        os.close(self._file)
        self._file = -1  # the number may soon be another file's

    def _write(self, ident: int, step: str, plan: Plan, **more: Any) -> None:
        line = {
            "id": ident,
            "time": self._clock(),
            "step": step,
            "fault": plan.fault,
            "shape": plan.shape,
            "victims": dict(plan.victims),
            **more,
        }
        os.write(self._file, json.dumps(line, separators=(",", ":"), default=str).encode() + b"\n")
