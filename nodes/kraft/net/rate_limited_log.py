"""Log lines about strangers: few, however many strangers there are."""

from __future__ import annotations

import logging
import time
from typing import Final

BURST: Final = 5
WINDOW_S: Final = 1.0


class RateLimitedLog:
    """At most `BURST` lines in `WINDOW_S`; the next one says how many were left out."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._since = 0.0
        self._written = 0
        self._left_out = 0

    def warning(self, text: str, *args: object) -> None:
        now = time.monotonic()
        if now - self._since >= WINDOW_S:
            self._since, self._written = now, 0
        if self._written >= BURST:
            self._left_out += 1
            return
        self._written += 1
        if self._left_out:
            text += f" ({self._left_out} more such lines left out)"
            self._left_out = 0
        self._log.warning(text, *args)
