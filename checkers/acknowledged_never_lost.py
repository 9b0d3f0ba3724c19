"""What clients were told was done stays done."""

from checkers.kernels.acknowledged import EVENTS, FS, acknowledged_never_lost
from checkers.observations import (
    check_runs,
    event_rows,
    mark_rows,
    operation_rows,
    plan_rows,
    together,
)
from framework.plugins.checker import DataFrame, Tables


class AcknowledgedNeverLost:
    """The clients' side of durability; see `checkers.kernels.acknowledged`."""

    name = "acknowledged-never-lost"
    summary = (
        "Topics whose creation was acknowledged are there until they are deleted, deleted "
        "ones never come back, acknowledged ISR versions are reached, and no success leaves "
        "before its commit"
    )

    def check(self, tables: Tables) -> DataFrame:
        rows = together(
            plan_rows(tables),
            mark_rows(tables),
            operation_rows(tables, FS),
            event_rows(tables, EVENTS),
        )
        return check_runs(rows, self.name, acknowledged_never_lost)
