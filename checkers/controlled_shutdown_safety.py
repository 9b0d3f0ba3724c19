"""Brokers that were let go are missed by nobody."""

from checkers.kernels.controlled_shutdown import EVENTS, FS, controlled_shutdown
from checkers.observations import Judge, RunChecker
from framework.plugins.capabilities import evidence


class ControlledShutdownSafety(RunChecker):
    """See `checkers.kernels.controlled_shutdown`."""

    name = "controlled-shutdown-safety"
    summary = (
        "A broker that was granted its shutdown leads nothing, is in no ISR that can do "
        "without it, is given no leadership again, and was let go when all active brokers "
        "knew"
    )
    requires = frozenset({"broker-life-cycles"}) | evidence("broker-state", "decided")
    judge = Judge(controlled_shutdown, events=EVENTS, fs=FS, injections=True)
