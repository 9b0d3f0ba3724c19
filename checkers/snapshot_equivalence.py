"""Snapshots say what the log below them says."""

from checkers.kernels.snapshots import EVENTS, snapshot_equivalence
from checkers.observations import (
    check_runs,
    event_rows,
    plan_rows,
    together,
)
from framework.plugins.checker import DataFrame, Tables


class SnapshotEquivalence:
    """See `checkers.kernels.snapshots`."""

    name = "snapshot-equivalence"
    summary = (
        "Every snapshot is the replay of the committed log below its end, minimal, of the "
        "right epoch, not above the high watermark, and the same on all nodes; logs begin "
        "where one ends"
    )

    def check(self, tables: Tables) -> DataFrame:
        rows = together(
            plan_rows(tables),
            event_rows(tables, EVENTS),
        )
        return check_runs(rows, self.name, snapshot_equivalence)
