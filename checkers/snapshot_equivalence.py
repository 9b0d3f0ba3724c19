"""Snapshots say what the log below them says."""

from checkers.kernels.snapshots import EVENTS, snapshot_equivalence
from checkers.observations import Judge, RunChecker


class SnapshotEquivalence(RunChecker):
    """See `checkers.kernels.snapshots`."""

    name = "snapshot-equivalence"
    summary = (
        "Every snapshot is the replay of the committed log below its end, minimal, of the "
        "right epoch, not above the high watermark, and the same on all nodes; logs begin "
        "where one ends"
    )
    requires = frozenset({"broker-life-cycles", "snapshots"})
    judge = Judge(snapshot_equivalence, events=EVENTS, snapshots=True)
