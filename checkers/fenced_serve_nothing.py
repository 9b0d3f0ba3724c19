"""Brokers that are not active serve no client."""

from checkers.kernels.fenced_serving import EVENTS, FS, fenced_serve_nothing
from checkers.observations import Judge, RunChecker
from framework.plugins.capabilities import evidence


class FencedServeNothing(RunChecker):
    """See `checkers.kernels.fenced_serving`."""

    name = "fenced-serve-nothing"
    summary = (
        "A broker that is not ACTIVE answers no client with success, by its own events "
        "and by what clients were answered; controllers refuse what is a client's"
    )
    requires = evidence("lease-granted", "served")
    judge = Judge(fenced_serve_nothing, events=EVENTS, fs=FS)
