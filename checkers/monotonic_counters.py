"""Epochs, watermarks, versions and offsets never go back."""

from checkers.kernels.counters import EVENTS, FS, monotonic_counters
from checkers.observations import Judge, RunChecker
from framework.plugins.capabilities import evidence


class MonotonicCounters(RunChecker):
    """Over restarts where they are saved; see `checkers.kernels.counters`."""

    name = "monotonic-counters"
    summary = (
        "Saved epochs and votes, high watermarks, applied offsets, broker, leader and "
        "partition epochs only rise, on nodes, in the log and in what clients are shown"
    )
    requires = evidence("committed", "applied")
    judge = Judge(monotonic_counters, events=EVENTS, fs=FS)
