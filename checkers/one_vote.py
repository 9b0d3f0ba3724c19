"""No voter votes twice in an epoch, nor for a candidate that has less of the log."""

from checkers.kernels.votes import EVENTS, one_vote
from checkers.observations import check_runs, event_rows, plan_rows, together
from framework.plugins.checker import DataFrame, Tables


class OneVote:
    """Over restarts, too; see `checkers.kernels.votes`."""

    name = "one-vote"
    summary = (
        "Each voter gives one candidate at most its vote in an epoch, over all its restarts, and "
        "none to a candidate whose log is behind its own"
    )

    def check(self, tables: Tables) -> DataFrame:
        rows = together(
            plan_rows(tables),
            event_rows(tables, EVENTS),
        )
        return check_runs(rows, self.name, one_vote)
