"""Whether the faults of a run were faults."""

from checkers.kernels.bites import faults_bit
from checkers.observations import check_runs, injection_rows, plan_rows, together
from framework.plugins.checker import DataFrame, Tables


class FaultsBit:
    """See `checkers.kernels.bites`."""

    name = "faults-bit"
    summary = (
        "The faults that were asked for were seen to bite while they were injected, and seen to be "
        "over after they were healed"
    )

    def check(self, tables: Tables) -> DataFrame:
        rows = together(
            plan_rows(tables),
            injection_rows(tables),
        )
        return check_runs(rows, self.name, faults_bit)
