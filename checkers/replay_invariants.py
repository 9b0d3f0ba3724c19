"""What holds at every offset of the committed metadata log."""

from checkers.kernels.log_invariants import EVENTS, log_invariants
from checkers.observations import (
    check_runs,
    event_rows,
    plan_rows,
    together,
)
from framework.plugins.checker import DataFrame, Tables


class ReplayInvariants:
    """See `checkers.kernels.log_invariants`."""

    name = "replay-invariants"
    summary = (
        "Replayed record by record, the metadata log keeps every invariant of brokers, "
        "topics, partitions and ISRs, and nodes' states are what it makes"
    )

    def check(self, tables: Tables) -> DataFrame:
        rows = together(
            plan_rows(tables),
            event_rows(tables, EVENTS),
        )
        return check_runs(rows, self.name, log_invariants)
