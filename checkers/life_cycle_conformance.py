"""Brokers and replicas live by their state machines."""

from checkers.kernels.life_cycle import EVENTS, life_cycle
from checkers.observations import Judge, RunChecker
from framework.plugins.capabilities import evidence


class LifeCycleConformance(RunChecker):
    """See `checkers.kernels.life_cycle`."""

    name = "life-cycle-conformance"
    summary = (
        "Every transition of a broker's state and of a replica's role is one that is "
        "drawn, and has its trigger before it"
    )
    requires = evidence("broker-state")
    judge = Judge(life_cycle, events=EVENTS)
