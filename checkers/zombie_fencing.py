"""Requests of a past generation have no effect, and brokers without a lease serve nobody."""

from checkers.kernels.fencing import EVENTS, FS, zombie_fencing
from checkers.observations import Judge, RunChecker
from framework.plugins.capabilities import evidence


class ZombieFencing(RunChecker):
    """KIP-380's broker epochs and KIP-631's leases; see `checkers.kernels.fencing`."""

    name = "zombie-fencing"
    summary = (
        "Once a newer broker epoch, leader epoch or version is acknowledged, requests that "
        "carry an older one are refused, and a broker whose lease has ended serves no client"
    )
    requires = evidence("applied", "decided", "lease-granted")
    judge = Judge(zombie_fencing, events=EVENTS, fs=FS)
