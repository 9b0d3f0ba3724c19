"""What is not committed is seen by nobody."""

from checkers.kernels.uncommitted import EVENTS, FS, uncommitted_never_visible
from checkers.observations import Judge, RunChecker
from framework.plugins.capabilities import evidence


class UncommittedNeverVisible(RunChecker):
    """See `checkers.kernels.uncommitted`."""

    name = "uncommitted-never-visible"
    summary = (
        "No success leaves, no node applies and no client is shown anything before it is "
        "durable on a majority, or that never was committed"
    )
    requires = evidence("committed", "applied", "served")
    judge = Judge(uncommitted_never_visible, events=EVENTS, fs=FS)
