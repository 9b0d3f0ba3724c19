"""No operation takes effect twice, none after it failed."""

from checkers.kernels.effects import EVENTS, FS, effects_once
from checkers.observations import Judge, RunChecker
from framework.plugins.capabilities import evidence


class EffectsOnce(RunChecker):
    """See `checkers.kernels.effects`."""

    name = "effects-once"
    summary = (
        "Every topic that came or went is the doing of one operation that was not "
        "refused, and every request id is in one batch"
    )
    requires = evidence("applied", "decided")
    judge = Judge(effects_once, events=EVENTS, fs=FS)
