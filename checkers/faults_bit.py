"""Whether the faults of a run were faults."""

from checkers.kernels.bites import faults_bit
from checkers.observations import Judge, RunChecker


class FaultsBit(RunChecker):
    """See `checkers.kernels.bites`."""

    name = "faults-bit"
    summary = (
        "The faults that were asked for were seen to bite while they were injected, and seen to be "
        "over after they were healed"
    )
    requires = frozenset({"faults"})
    judge = Judge(faults_bit, injections=True)
