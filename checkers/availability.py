"""How much of what was asked was done, and how soon after each fault."""

from checkers.kernels.availability import EVENTS, availability
from checkers.observations import Judge, RunChecker


class Availability(RunChecker):
    """Figures first; see `checkers.kernels.availability`."""

    name = "availability"
    summary = (
        "Every kind of operation succeeds, and some do within 30 s of every heal that is "
        "followed by so much peace"
    )
    requires = frozenset[str]()
    judge = Judge(availability, events=EVENTS, fs=None, injections=True)
