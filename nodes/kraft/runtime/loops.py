"""Event loops that know how they fare: how much of the time they were idle, and when they stalled.

Measured where a loop waits for events, so it costs no timers: what passes between two waits is
one turn of callbacks; a wait that ends long after its time-out is a process that did not run.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from nodes.kraft.metrics.meters import Rate
from nodes.kraft.runtime.run_delay import delay_ns, run_delays

STALL_MS: Final = 250
_LOOK_S: Final = 0.1
"""So often is looked how long the process has had no core: far less than a stall lasts."""


class Vitals:
    """Of one loop. `stalled` hears how many ms it did not run, where that is over `STALL_MS`, and
    how many of them at most the process waited for a core, which is the machine's doing."""

    def __init__(self, stalled: Callable[[int, int], None]) -> None:
        self.idle = Rate()
        """Seconds in which it waited for events."""
        self.turns = Rate()
        self._stalled = stalled
        self._looked = 0.0
        self._delays: Mapping[str, int] = {}

    def loop(self) -> asyncio.AbstractEventLoop:
        """A new event loop that is watched."""
        return asyncio.SelectorEventLoop(_Watched(self))

    def turned(self, busy_s: float) -> None:
        self.turns.add()
        self._check(busy_s)

    def waited(self, seconds: float, beyond_s: float) -> None:
        """`beyond_s`: by how much the wait outlasted its time-out."""
        self.idle.add(seconds - beyond_s)
        self._check(beyond_s)

    def _check(self, seconds: float) -> None:
        now, ms = time.monotonic(), int(seconds * 1000)
        if ms <= STALL_MS and now - self._looked < _LOOK_S:
            return
        delays = run_delays()
        if ms > STALL_MS:
            self._stalled(ms, min(ms, delay_ns(self._delays, delays) // 1_000_000))
        self._looked, self._delays = now, delays


class _Watched(selectors.DefaultSelector):
    def __init__(self, vitals: Vitals) -> None:
        super().__init__()
        self._vitals = vitals
        self._woke: float | None = None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        began = time.monotonic()
        if self._woke is not None:
            self._vitals.turned(began - self._woke)
        ready: Sequence[tuple[selectors.SelectorKey, int]] = super().select(timeout)
        self._woke = time.monotonic()
        spent = self._woke - began
        beyond = 0.0 if timeout is None else max(0.0, spent - max(0.0, timeout))
        self._vitals.waited(spent, beyond)
        return list(ready)
