"""After the last heal all nodes come to one state."""

from checkers.kernels.convergence import EVENTS, FS, convergence
from checkers.observations import (
    check_runs,
    event_rows,
    injection_rows,
    mark_rows,
    operation_rows,
    plan_rows,
    together,
)
from framework.plugins.checker import DataFrame, Tables


class Convergence:
    """See `checkers.kernels.convergence`."""

    name = "convergence"
    summary = (
        "Once all faults are healed, every node reaches what is committed with the same "
        "state, every broker is active, and every partition that can have a leader has one"
    )

    def check(self, tables: Tables) -> DataFrame:
        rows = together(
            plan_rows(tables),
            mark_rows(tables),
            injection_rows(tables),
            operation_rows(tables, FS),
            event_rows(tables, EVENTS),
        )
        return check_runs(rows, self.name, convergence)
