"""Brokers that were let go are missed by nobody."""

from checkers.kernels.controlled_shutdown import EVENTS, FS, controlled_shutdown
from checkers.observations import (
    check_runs,
    event_rows,
    injection_rows,
    operation_rows,
    plan_rows,
    together,
)
from framework.plugins.checker import DataFrame, Tables


class ControlledShutdownSafety:
    """See `checkers.kernels.controlled_shutdown`."""

    name = "controlled-shutdown-safety"
    summary = (
        "A broker that was granted its shutdown leads nothing, is in no ISR that can do "
        "without it, is given no leadership again, and was let go when all active brokers "
        "knew"
    )

    def check(self, tables: Tables) -> DataFrame:
        rows = together(
            plan_rows(tables),
            injection_rows(tables),
            operation_rows(tables, FS),
            event_rows(tables, EVENTS),
        )
        return check_runs(rows, self.name, controlled_shutdown)
