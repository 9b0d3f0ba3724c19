"""Processes run until they are told to stop."""

from checkers.kernels.process_health import EVENTS, FS, process_health
from checkers.observations import Judge, RunChecker
from framework.plugins.capabilities import evidence


class ProcessHealth(RunChecker):
    """See `checkers.kernels.process_health`."""

    name = "process-health"
    summary = (
        "No unhandled error, no fatal exit, no process that ends without a fault, and no "
        "event loop that stands still without one"
    )
    requires = evidence("booted")
    judge = Judge(process_health, events=EVENTS, fs=FS, marks=True, injections=True)
