"""What was committed stays in the log of every later leader."""

from checkers.kernels.durability import EVENTS, committed_never_lost
from checkers.observations import check_runs, event_rows, mark_rows, plan_rows, together
from framework.plugins.checker import DataFrame, Tables


class CommittedNeverLost:
    """Raft's Leader Completeness; see `checkers.kernels.durability`."""

    name = "committed-never-lost"
    summary = (
        "A record below a high watermark is the only one ever at its offset, is in the log of "
        "every later leader at its election, and in every node's log once the cluster has "
        "settled"
    )

    def check(self, tables: Tables) -> DataFrame:
        rows = together(
            plan_rows(tables),
            mark_rows(tables),
            event_rows(tables, EVENTS),
        )
        return check_runs(rows, self.name, committed_never_lost)
