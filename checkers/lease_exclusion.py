"""One process at a time holds a broker id."""

from checkers.kernels.lease_exclusion import EVENTS, FS, lease_exclusion
from checkers.observations import Judge, RunChecker
from framework.plugins.capabilities import evidence


class LeaseExclusion(RunChecker):
    """See `checkers.kernels.lease_exclusion`."""

    name = "lease-exclusion"
    summary = (
        "An epoch of a broker id is leased to one process, nothing is done under an older "
        "one once a newer is acknowledged, and a broker's end of its lease is never after "
        "its controller's"
    )
    requires = evidence("lease-granted", "served")
    judge = Judge(lease_exclusion, events=EVENTS, fs=FS)
