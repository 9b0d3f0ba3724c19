"""Meters: rates over the last seconds, and quantiles of the last values.

Each has one writer, on one thread; other threads may read.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Final

WINDOW_S: Final = 10
KEPT: Final = 1000


class Rate:
    """How much a second, over the last `WINDOW_S` whole seconds; and how much in all."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._start = clock()
        self._slots = [(0, 0.0)] * (WINDOW_S + 1)
        self.total = 0.0

    def add(self, amount: float = 1.0) -> None:
        second = int(self._clock())
        at = second % len(self._slots)
        when, sum_ = self._slots[at]
        self._slots[at] = (second, sum_ + amount if when == second else amount)
        self.total += amount

    def per_second(self) -> float:
        now = self._clock()
        second = int(now)
        sum_ = sum(amount for when, amount in self._slots if second - WINDOW_S <= when <= second)
        return sum_ / max(1.0, min(now - self._start, now - second + WINDOW_S))


class Values:
    """The last `KEPT` values; their number and sum are of all there ever were."""

    def __init__(self) -> None:
        self._kept: deque[float] = deque(maxlen=KEPT)
        self.count = 0
        self.sum = 0.0

    def add(self, value: float) -> None:
        self._kept.append(value)
        self.count += 1
        self.sum += value

    def quantiles(self, *shares: float) -> list[float]:
        """The values that `shares` (0 to 1) of the kept ones do not exceed; 0 where there are
        none."""
        kept = sorted(self._kept.copy())
        if not kept:
            return [0.0] * len(shares)
        return [kept[min(len(kept) - 1, int(share * len(kept)))] for share in shares]
