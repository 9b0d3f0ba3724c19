"""The fault ledger, `faults.jsonl`: what was planned, done and seen, a line before each act.

Victims are on disk before anything is done to them, so that healing never depends on the
harness having lived through the injection.
"""

import json
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from framework.history.event import Json
from framework.plugins.fault import Fault, Injection, Probe


class Ledger:
    """Appends to the ledger; each line is handed to the operating system at once."""

    def __init__(self, path: Path, clock: Callable[[], int]) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._clock = clock
        self._count = 0

    def plan(self, fault: Fault, injection: Injection, **nodes: Collection[str] | None) -> "Entry":
        """Write a plan down; the entry that its other lines belong to. `nodes`: what is known of
        them; of `spared`, those that it leaves alone, where that are not just those that are no
        victims; of `cut_off`, those that it takes from the system; of `loses`, those from whose
        disks it takes something, and of `keeps` the others that have such things."""
        self._count += 1
        entry = Entry(self._count, fault.name, injection.shape, injection.to_json(), self._write)
        entry.planned(fault.ends_processes, nodes)
        return entry

    def close(self) -> None:
        """What is written from now on raises `OSError`: nothing is done that is not written."""
        os.close(self._file)
        self._file = -1  # the number may soon be another file's

    def _write(self, line: Mapping[str, Json]) -> None:
        stamped = {"id": line["id"], "time": self._clock(), **line}
        text = json.dumps(stamped, separators=(",", ":"), default=str)
        os.write(self._file, text.encode() + b"\n")


@dataclass(frozen=True, slots=True)
class Entry:
    """One injection in the ledger. Its lines are written as it goes on."""

    id: int
    fault: str
    shape: str
    victims: Mapping[str, Json]
    write: Callable[[Mapping[str, Json]], None]

    def planned(self, ends_processes: bool, nodes: Mapping[str, Collection[str] | None]) -> None:
        """The first line: before anything is done."""
        known = {name: sorted(those) for name, those in nodes.items() if those is not None}
        self._line("planned", ends_processes=ends_processes, **known)

    def step(self, step: str) -> None:
        """`step`: "injected" or "healed"."""
        self._line(step)

    def probed(self, step: str, probe: Probe) -> None:
        """`step`: "probed-before", "probed-during" or "probed-after"."""
        self._line(step, probe={"bites": probe.bites, "evidence": dict(probe.evidence)})

    def failed(self, error: BaseException) -> None:
        """An act or a look that went wrong."""
        self._line("failed", error=f"{type(error).__name__}: {error}")

    def _line(self, step: str, **more: Json) -> None:
        self.write(
            {
                "id": self.id,
                "step": step,
                "fault": self.fault,
                "shape": self.shape,
                "victims": dict(self.victims),
                **more,
            }
        )
