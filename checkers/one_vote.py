"""No voter votes twice in an epoch, nor for a candidate that has less of the log."""

from checkers.kernels.votes import EVENTS, one_vote
from checkers.observations import Judge, RunChecker
from framework.plugins.capabilities import evidence


class OneVote(RunChecker):
    """Over restarts, too; see `checkers.kernels.votes`."""

    name = "one-vote"
    summary = (
        "Each voter gives one candidate at most its vote in an epoch, over all its restarts, and "
        "none to a candidate whose log is behind its own"
    )
    requires = evidence("voted")
    judge = Judge(one_vote, events=EVENTS)
