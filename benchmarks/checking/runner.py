"""Runs cells, each in a process of its own, and another checker beside."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.checking.cells import Cell
from benchmarks.checking.child import Outcome
from benchmarks.checking.measured import Measured
from benchmarks.checking.peer import Porcupine

_PREPARATION_S: Final = 300.0
"""To start, to make a history, to start Spark."""
AHEAD: Final = 20.0
"""So many times quicker we want to be."""
PEER_MODELS: Final = ("register", "queue")
"""Of which the other checker knows the objects."""
COUNTS_S: Final = 0.005
"""Below that, ratios mean nothing."""


@dataclass(frozen=True, slots=True)
class Limits:
    """For each key, and for the other checker for all keys."""

    seconds: float = 30.0
    mebibytes: int = 1024
    peer_mebibytes: int = 6144
    peer_seconds: float | None = None
    """Enough for the other checker where it is also `AHEAD` times what we took; None: `seconds`."""
    processor_time: bool = False
    without: tuple[str, ...] = ()
    """Methods that are not asked."""


@dataclass(frozen=True, slots=True)
class Row:
    """A cell, what we say of it, and what the other checker says."""

    cell: Cell
    ours: Outcome
    peer: Measured | None = None

    @property
    def is_wrong(self) -> bool:
        """A verdict that cannot be."""
        answered = self.ours.verdict in ("VALID", "INVALID")
        disagrees = self.peer is not None and self.peer.has_verdict and answered
        return (answered and self.ours.verdict != self.cell.expected) or (
            disagrees and self.peer is not None and self.peer.verdict != self.ours.verdict
        )

    @property
    def ratio(self) -> float | None:
        """How many times the other takes as long; None where it gives no answer."""
        if self.peer is None or not self.peer.has_verdict:
            return None
        return self.peer.seconds / self.ours.seconds

    @property
    def complaint(self) -> str:
        """What is not as it should be, or nothing."""
        if self.is_wrong:
            return "wrong"
        if self.ours.verdict not in ("VALID", "INVALID"):
            return "no answer"
        if self.peer is not None and self.ratio is not None and self.peer.seconds > COUNTS_S:
            return "" if self.ratio >= AHEAD else f"only {self.ratio:.1f} times"
        return ""


def run(
    cells: Sequence[Cell],
    limits: Limits,
    peer: Porcupine | None = None,
    end_to_end: str | None = None,
) -> Iterator[Row]:
    """Rows, one after the other: nothing else runs meanwhile. `end_to_end`: "here" or "spark"."""
    for cell in cells:
        with tempfile.NamedTemporaryFile(suffix=".history") as file:
            is_known = peer is not None and cell.model in PEER_MODELS
            rows = file.name if is_known else None
            ours = _ours(cell, limits, rows, end_to_end)
            theirs = None
            if peer is not None and Path(file.name).stat().st_size:
                runs = 3 if cell.operations <= 10_000 else 1
                limit_s = _peer_limit_s(limits, ours)
                theirs = peer.check(
                    cell.model, Path(file.name), limit_s, limits.peer_mebibytes, runs
                )
            yield Row(cell, ours, theirs)


def _peer_limit_s(limits: Limits, ours: Outcome) -> float:
    if limits.peer_seconds is None:
        return limits.seconds
    return min(limits.seconds, max(limits.peer_seconds, 1.5 * AHEAD * ours.seconds))


def _ours(cell: Cell, limits: Limits, rows: str | None, end_to_end: str | None) -> Outcome:
    job = {
        "cell": cell.name,
        "limit_s": limits.seconds,
        "limit_mib": limits.mebibytes,
        "rows": rows,
        "end_to_end": end_to_end,
        "processor_time": limits.processor_time,
        "without": limits.without,
    }
    longest = _PREPARATION_S + cell.keys * limits.seconds * (2 if end_to_end else 1)
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "benchmarks.checking.child", json.dumps(job)],
            capture_output=True,
            text=True,
            timeout=longest,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Outcome("time", longest, 0, 0)
    if ended.returncode:
        last = (ended.stderr.strip().splitlines() or [f"exit {ended.returncode}"])[-1]
        return Outcome("failed", 0.0, 0, 0, note=last)
    answer = json.loads(ended.stdout.strip().splitlines()[-1])
    return Outcome(**answer)
