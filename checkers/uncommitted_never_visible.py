"""What is not committed is seen by nobody."""

from checkers.kernels.uncommitted import EVENTS, FS, uncommitted_never_visible
from checkers.observations import (
    check_runs,
    event_rows,
    operation_rows,
    plan_rows,
    together,
)
from framework.plugins.checker import DataFrame, Tables


class UncommittedNeverVisible:
    """See `checkers.kernels.uncommitted`."""

    name = "uncommitted-never-visible"
    summary = (
        "No success leaves, no node applies and no client is shown anything before it is "
        "durable on a majority, or that never was committed"
    )

    def check(self, tables: Tables) -> DataFrame:
        rows = together(
            plan_rows(tables),
            operation_rows(tables, FS),
            event_rows(tables, EVENTS),
        )
        return check_runs(rows, self.name, uncommitted_never_visible)
