"""Epochs, watermarks, versions and offsets never go back."""

from checkers.kernels.counters import EVENTS, FS, monotonic_counters
from checkers.observations import check_runs, event_rows, operation_rows, plan_rows, together
from framework.plugins.checker import DataFrame, Tables


class MonotonicCounters:
    """Over restarts where they are saved; see `checkers.kernels.counters`."""

    name = "monotonic-counters"
    summary = (
        "Saved epochs and votes, high watermarks, applied offsets, broker, leader and "
        "partition epochs only rise, on nodes, in the log and in what clients are shown"
    )

    def check(self, tables: Tables) -> DataFrame:
        rows = together(
            plan_rows(tables),
            operation_rows(tables, FS),
            event_rows(tables, EVENTS),
        )
        return check_runs(rows, self.name, monotonic_counters)
