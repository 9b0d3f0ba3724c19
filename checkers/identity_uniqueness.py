"""No identifier is used twice."""

from checkers.kernels.identity import EVENTS, FS, identity_uniqueness
from checkers.observations import Judge, RunChecker
from framework.plugins.capabilities import evidence


class IdentityUniqueness(RunChecker):
    """See `checkers.kernels.identity`."""

    name = "identity-uniqueness"
    summary = (
        "Topic ids, broker epochs, producer ids, log entries, snapshots and controllers' "
        "ids each stand for one thing, also across failovers"
    )
    requires = evidence("applied")
    judge = Judge(identity_uniqueness, events=EVENTS, fs=FS)
