"""No epoch of the quorum has two leaders."""

from checkers.kernels.leaders import EVENTS, FS, one_leader
from checkers.observations import check_runs, event_rows, operation_rows, plan_rows, together
from framework.plugins.checker import DataFrame, Tables


class OneLeaderPerEpoch:
    """Raft's election safety; see `checkers.kernels.leaders`."""

    name = "one-leader-per-epoch"
    summary = (
        "In every epoch of the metadata quorum at most one node leads, whoever tells: the "
        "node, its followers, the log, or the clients that it answered"
    )

    def check(self, tables: Tables) -> DataFrame:
        rows = together(
            plan_rows(tables),
            operation_rows(tables, FS),
            event_rows(tables, EVENTS),
        )
        return check_runs(rows, self.name, one_leader)
