"""What the metadata log's events say of its speed: latency and rate of commits, last snapshot.

Taken from the node's own events (docs/operating.md), so that nothing else has to report.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from nodes.kraft.metrics.meters import Rate, Values


class CommitMeters:
    """Hears each event of the node, by `observe`. Those that count come from one thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.latency_ms = Values()
        """From append on the active controller to commit."""
        self.committed = Rate(clock)
        """Records committed while this node led."""
        self.snapshot_end: int | None = None
        """The newest snapshot's end offset."""
        self._clock = clock
        self._pending: deque[tuple[int, int, float]] = deque()

    def observe(self, type: str, fields: Mapping[str, Any]) -> None:
        match type:
            case "append" if fields["leader"]:
                entry = (fields["base_offset"], fields["end_offset"], self._clock())
                self._pending.append(entry)
            case "hw":
                self._commit(fields["offset"])
            case "truncate" | "renounce" | "resign":
                self._pending.clear()
            case "snap_write" | "snap_load":
                self.snapshot_end = max(fields["end_offset"], self.snapshot_end or 0)

    def _commit(self, high_watermark: int) -> None:
        now = self._clock()
        while self._pending and self._pending[0][1] <= high_watermark:
            base_offset, end_offset, appended = self._pending.popleft()
            self.latency_ms.add((now - appended) * 1000)
            self.committed.add(end_offset - base_offset)
