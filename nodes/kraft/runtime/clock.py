"""The node's one clock: monotonic, never set back (A.7.7)."""

import time


def now_ms() -> int:
    """CLOCK_MONOTONIC in whole ms."""
    return time.monotonic_ns() // 1_000_000
