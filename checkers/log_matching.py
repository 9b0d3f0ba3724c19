"""Logs that agree somewhere agree everywhere below."""

from checkers.kernels.matching import log_matching
from checkers.kernels.metadata_log import EVENTS
from checkers.observations import check_runs, event_rows, plan_rows, together
from framework.plugins.checker import DataFrame, Tables


class LogMatching:
    """Raft's Log Matching; see `checkers.kernels.matching`."""

    name = "log-matching"
    summary = (
        "Every (epoch, offset) of the metadata log is one record on all nodes that ever held "
        "it, and logs that agree at one agree at all below"
    )

    def check(self, tables: Tables) -> DataFrame:
        rows = together(
            plan_rows(tables),
            event_rows(tables, EVENTS),
        )
        return check_runs(rows, self.name, log_matching)
