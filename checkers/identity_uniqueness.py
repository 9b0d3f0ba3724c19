"""No identifier is used twice."""

from checkers.kernels.identity import EVENTS, FS, identity_uniqueness
from checkers.observations import (
    check_runs,
    event_rows,
    operation_rows,
    plan_rows,
    together,
)
from framework.plugins.checker import DataFrame, Tables


class IdentityUniqueness:
    """See `checkers.kernels.identity`."""

    name = "identity-uniqueness"
    summary = (
        "Topic ids, broker epochs, producer ids, log entries, snapshots and controllers' "
        "ids each stand for one thing, also across failovers"
    )

    def check(self, tables: Tables) -> DataFrame:
        rows = together(
            plan_rows(tables),
            operation_rows(tables, FS),
            event_rows(tables, EVENTS),
        )
        return check_runs(rows, self.name, identity_uniqueness)
