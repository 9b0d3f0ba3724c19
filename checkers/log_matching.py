"""Logs that agree somewhere agree everywhere below."""

from checkers.kernels.matching import log_matching
from checkers.kernels.metadata_log import EVENTS
from checkers.observations import Judge, RunChecker
from framework.plugins.capabilities import evidence


class LogMatching(RunChecker):
    """Raft's Log Matching; see `checkers.kernels.matching`."""

    name = "log-matching"
    summary = (
        "Every (epoch, offset) of the metadata log is one record on all nodes that ever held "
        "it, and logs that agree at one agree at all below"
    )
    requires = evidence("appended")
    judge = Judge(log_matching, events=EVENTS)
