"""What answers have to show: what clients had been acknowledged by then; of a cache, or of who may
have been deposed, that is in peace alone, and what was acknowledged longer ago than recovery takes.
Nor need a cache have at once what others were shown to be committed.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from checkers.folds.history.peace import Quiet, Upset, quiet_times
from checkers.folds.history.values import topic_answer
from checkers.folds.metadata_log.log_points import NEVER_AGAIN, LogPoints
from checkers.folds.metadata_log.shown_ends import ShownEnd
from framework.evidence.machine import Machine
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation

FOLLOWS_NS: Final = 2_000_000_000
"""Once a cluster has settled, a node has within this time what the others know to be committed: it
hears of that by a fetch that may wait for half a second."""


@dataclass(frozen=True, slots=True)
class Peace:
    """When a system owes what had been acknowledged, and how long before that."""

    quiet: Sequence[Quiet]
    upset: Upset
    machine: Machine

    @classmethod
    def of(cls, events: RunEvents) -> "Peace":
        machine = events.machines.cluster
        return cls(quiet_times(events), Upset.of(events), machine)

    def owed_ns(self, operation: Operation) -> int | None:
        """An answer owes what had been acknowledged by then; None: it owes nothing."""
        asked_ns = operation.invoked_ns or 0
        holding = [each for each in self.quiet if each.holds(operation)]
        if any(each.settled for each in holding):
            return None if self.upset.at(asked_ns) else holding[-1].since_ns
        return self.machine.since_ns(asked_ns, self.upset.recovery_ns) if holding else None

    def followed_ns(self, operation: Operation, owed_ns: int) -> int:
        """An answer that owes what had been acknowledged by `owed_ns` owes what had been shown by
        then to be committed."""
        settled = any(each.settled and each.holds(operation) for each in self.quiet)
        return self.machine.since_ns(operation.invoked_ns or 0, FOLLOWS_NS) if settled else owed_ns


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A change that a client was acknowledged, and the first point that has it; or a point up to
    which somebody was shown that all is committed."""

    at_ns: int
    point: int
    operation: Operation


def acknowledged(changed: Iterable[Operation], points: LogPoints) -> list[Acknowledged]:
    """Those creates and deletes that the log has. All of them were ok."""
    found = []
    for each in changed:
        life = points.lives.get(str(topic_answer(each).get("topic_id")))
        if life is None or each.completed_ns is None:
            continue
        point = life.created if each.f == "create" else life.going
        if point < NEVER_AGAIN:
            found.append(Acknowledged(each.completed_ns, point, each))
    return found


def shown_committed(shown: Iterable[ShownEnd]) -> list[Acknowledged]:
    """A log is committed up to its end: that is the point at which all of it was applied."""
    return [
        Acknowledged(each.operation.completed_ns, each.end, each.operation)
        for each in shown
        if each.operation.completed_ns is not None
    ]


class Latest:
    """Of changes that had been acknowledged by some moment, the one with the last point."""

    def __init__(
        self, changes: Iterable[Acknowledged], moment: Callable[[Acknowledged], int]
    ) -> None:
        """`moment`: when a change had been."""
        in_order = sorted(changes, key=moment)
        self._moments = [moment(each) for each in in_order]
        self._latest = list(accumulate(in_order, lambda *two: max(two, key=lambda it: it.point)))

    def before(self, moment: int) -> Acknowledged | None:
        """None: there was none."""
        at = bisect_left(self._moments, moment)
        return self._latest[at - 1] if at else None


class Earliest:
    """Of changes that were asked for after some event, the one with the first point."""

    def __init__(self, changes: Iterable[Acknowledged]) -> None:
        in_order = sorted(changes, key=lambda each: each.operation.index)
        self._asked = [each.operation.index for each in in_order]
        last_first = accumulate(reversed(in_order), lambda *two: min(two, key=lambda it: it.point))
        self._earliest = list(last_first)[::-1]

    def after(self, event: int) -> Acknowledged | None:
        """None: there was none."""
        at = bisect_right(self._asked, event)
        return self._earliest[at] if at < len(self._earliest) else None
