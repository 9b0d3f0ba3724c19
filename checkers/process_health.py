"""Processes run until they are told to stop."""

from checkers.kernels.process_health import EVENTS, FS, process_health
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


class ProcessHealth:
    """See `checkers.kernels.process_health`."""

    name = "process-health"
    summary = (
        "No unhandled error, no fatal exit, no process that ends without a fault, and no "
        "event loop that stands still without one"
    )

    def check(self, tables: Tables) -> DataFrame:
        rows = together(
            plan_rows(tables),
            mark_rows(tables),
            injection_rows(tables),
            operation_rows(tables, FS),
            event_rows(tables, EVENTS),
        )
        return check_runs(rows, self.name, process_health)
