"""What clients were told was done stays done."""

from checkers.kernels.acknowledged import EVENTS, FS, acknowledged_never_lost
from checkers.observations import Judge, RunChecker


class AcknowledgedNeverLost(RunChecker):
    """The clients' side of durability; see `checkers.kernels.acknowledged`."""

    name = "acknowledged-never-lost"
    summary = (
        "Topics whose creation was acknowledged are there until they are deleted, deleted "
        "ones never come back, acknowledged ISR versions are reached, and no success leaves "
        "before its commit"
    )
    requires = frozenset({"topic-operations", "linearizable-topic-read"})
    judge = Judge(acknowledged_never_lost, events=EVENTS, fs=FS, marks=True)
