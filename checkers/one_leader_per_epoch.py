"""No epoch of the quorum has two leaders."""

from checkers.kernels.leaders import EVENTS, FS, one_leader
from checkers.observations import Judge, RunChecker
from framework.plugins.capabilities import evidence


class OneLeaderPerEpoch(RunChecker):
    """Raft's election safety; see `checkers.kernels.leaders`."""

    name = "one-leader-per-epoch"
    summary = (
        "In every epoch of the metadata quorum at most one node leads, whoever tells: the "
        "node, its followers, the log, or the clients that it answered"
    )
    requires = evidence("elected")
    judge = Judge(one_leader, events=EVENTS, fs=FS)
