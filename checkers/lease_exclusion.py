"""One process at a time holds a broker id."""

from checkers.kernels.lease_exclusion import EVENTS, FS, lease_exclusion
from checkers.observations import (
    check_runs,
    event_rows,
    operation_rows,
    plan_rows,
    together,
)
from framework.plugins.checker import DataFrame, Tables


class LeaseExclusion:
    """See `checkers.kernels.lease_exclusion`."""

    name = "lease-exclusion"
    summary = (
        "An epoch of a broker id is leased to one process, nothing is done under an older "
        "one once a newer is acknowledged, and a broker's end of its lease is never after "
        "its controller's"
    )

    def check(self, tables: Tables) -> DataFrame:
        rows = together(
            plan_rows(tables),
            operation_rows(tables, FS),
            event_rows(tables, EVENTS),
        )
        return check_runs(rows, self.name, lease_exclusion)
