"""After the last heal all nodes come to one state."""

from checkers.kernels.convergence import EVENTS, FS, convergence
from checkers.observations import Judge, RunChecker
from framework.plugins.capabilities import evidence


class Convergence(RunChecker):
    """See `checkers.kernels.convergence`."""

    name = "convergence"
    summary = (
        "Once all faults are healed, every node reaches what is committed with the same "
        "state, every broker is active, and every partition that can have a leader has one"
    )
    requires = evidence("committed", "applied")
    judge = Judge(convergence, events=EVENTS, fs=FS, marks=True, injections=True)
