"""What was committed stays in the log of every later leader."""

from checkers.kernels.durability import EVENTS, committed_never_lost
from checkers.observations import Judge, RunChecker
from framework.plugins.capabilities import evidence


class CommittedNeverLost(RunChecker):
    """Raft's Leader Completeness; see `checkers.kernels.durability`."""

    name = "committed-never-lost"
    summary = (
        "A record below a high watermark is the only one ever at its offset, is in the log of "
        "every later leader at its election, and in every node's log once the cluster has "
        "settled"
    )
    requires = evidence("appended", "committed", "truncated")
    judge = Judge(committed_never_lost, events=EVENTS, marks=True)
