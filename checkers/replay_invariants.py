"""What holds at every offset of the committed metadata log."""

from checkers.kernels.log_invariants import EVENTS, log_invariants
from checkers.observations import Judge, RunChecker
from framework.plugins.capabilities import evidence


class ReplayInvariants(RunChecker):
    """See `checkers.kernels.log_invariants`."""

    name = "replay-invariants"
    summary = (
        "Replayed record by record, the metadata log keeps every invariant of brokers, "
        "topics, partitions and ISRs, and nodes' states are what it makes"
    )
    requires = evidence("applied")
    judge = Judge(log_invariants, events=EVENTS)
