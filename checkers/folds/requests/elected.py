"""Preferred leaders that clients had elected (KIP-460), and what the log made of that.

An election that was acknowledged is a record by which the first replica of the partition, as that
record has them, becomes its leader, and it is no other election's. Controllers elect of their own
accord, too, so there may be more such records. An election that was refused as needless met the
first replica as the leader.

A record stands before an operation if it was committed when that was asked for, and behind it if it
was not when that had ended: as somebody was shown the log, or had applied the record by then.
"""

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, TypeAlias

from checkers.folds.metadata_log.commit_dates import CommitDates, commit_dates
from checkers.folds.metadata_log.committed_log import CommittedLog
from checkers.folds.metadata_log.disk_logs import committed_on_disks
from framework.checking.findings import finding
from framework.evidence.changes import (
    Change,
    PartitionCreated,
    PartitionState,
    TopicCreated,
    TopicRemoved,
)
from framework.evidence.run_events import RunEvents, settled
from framework.history.pairing import Operation
from framework.plugins.checker import DISKS, EVENTS, Finding
from framework.plugins.outcomes import NEEDLESS

ELECT: Final = "elect"
STRICT: Final = "linearizable-topic-read"
"""Whose controllers know that they lead when they answer, whatever they answer. Others may refuse
by a state that is over, as one that was deposed and does not know it."""


@dataclass(frozen=True, slots=True)
class Step:
    """A record of a partition, or the one that ends it. `leads`: its first replica leads from then
    on; `gives`: and did not before, though the partition was there. `by_ns`: somebody had applied
    the record by then."""

    change: Change
    leads: bool
    gives: bool
    by_ns: int


Steps: TypeAlias = Mapping[str, Sequence[Step]]
"""By partition, `<topic>/<number>`, in the order of the log: of each topic that ever had the
name."""


def steps_of(log: CommittedLog) -> Steps:
    names: dict[str, str] = {}
    last: dict[tuple[str, int], tuple[PartitionState, Sequence[int]]] = {}
    found: dict[str, list[Step]] = defaultdict(list)
    for change, by_ns in zip(log.records, log.by_ns, strict=True):
        match change:
            case TopicCreated():
                names[change.topic_id] = change.name
            case PartitionState() if change.topic_id in names:
                before, replicas = last.get(change.key, (None, ()))
                if isinstance(change, PartitionCreated):
                    replicas = change.replicas
                leads = change.leader in replicas[:1]
                gives = leads and before is not None and before.leader != change.leader
                last[change.key] = change, replicas
                key = f"{names[change.topic_id]}/{change.partition}"
                found[key].append(Step(change, leads, gives, by_ns))
            case TopicRemoved():
                for topic_id, number in (key for key in last if key[0] == change.topic_id):
                    ended = Step(change, leads=False, gives=False, by_ns=by_ns)
                    found[f"{names[topic_id]}/{number}"].append(ended)
    return found


# --- which operations are judged ----------------------------------------------------------


def asked(operations: Iterable[Operation]) -> Iterator[Operation]:
    """Elections that were acknowledged, and those that were refused as needless."""
    return (
        each for each in operations if each.f == ELECT and (each.ok or each.asserts == NEEDLESS)
    )


def hardly_asked(operations: Iterable[Operation]) -> str:
    """Why there was no occasion; empty: there was one."""
    if not any(each.f == ELECT for each in operations):
        return "nobody asked for an election"
    few = sum(1 for _ in asked(operations)) < 2
    return "hardly an election was granted, or refused as needless" if few else ""


def elected(events: RunEvents, log: CommittedLog) -> tuple[int, list[Finding]]:
    """How many of them were held against the log, and what it says otherwise: where it is known
    from its begin to where it has to have what was acknowledged. That is so on disks, and of what
    nodes told once they had agreed; of a partition of which they told nothing nothing is known."""
    sure, steps = committed_on_disks(events), steps_of(log)
    agreed = settled(events.nemesis) is True
    by_key: dict[str, list[Operation]] = defaultdict(list)
    for each in asked(events.operations):
        told = agreed and each.phase == "main" and str(each.key) in steps
        if log.gap is None and (told or not sure.why):
            by_key[str(each.key)].append(each)
    if not by_key:
        return 0, []
    judge = Judge(
        commit_dates(events, sure),
        strict=STRICT in (events.plan.get("capabilities") or ()),
        by=DISKS if log.on_disk else EVENTS,
    )
    found = [one for key, own in by_key.items() for one in judge.of(own, steps.get(key, ()))]
    return sum(map(len, by_key.values())), found


# --- when ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Course:
    """Steps of a partition, and of each: the event by which it was committed (endless: nobody was
    shown it), when somebody had applied it, and the event before which it was not committed (-1:
    nothing shows that). All rise, as the log goes on."""

    steps: Sequence[Step]
    by: Sequence[float]
    by_ns: Sequence[int]
    after: Sequence[int]

    @classmethod
    def of(cls, steps: Sequence[Step], dates: CommitDates) -> "Course":
        by = [dates.by(each.change.offset) for each in steps]
        after = [dates.after(each.change.offset) for each in steps]
        applied = accumulate((each.by_ns for each in reversed(steps)), min)
        return cls(
            steps,
            [math.inf if each is None else each.operation.end or 0 for each in by],
            list(applied)[::-1],
            [-1 if each is None else each.operation.index for each in after],
        )

    def during(self, operation: Operation) -> tuple[int, int]:
        """The first and the last step that may have been committed while it was under way."""
        shown = bisect_left(self.by, operation.index)
        applied = bisect_left(self.by_ns, operation.began_ns)
        end = math.inf if operation.end is None else operation.end
        return max(shown, applied), bisect_right(self.after, end) - 1


# --- and what is wrong --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Judge:
    """Of one partition after the other. `dates`: when records were committed; `strict`: see
    `STRICT`; `by`: what tells of records, and of those that are missing."""

    dates: CommitDates
    strict: bool
    by: str

    def of(self, operations: Sequence[Operation], steps: Sequence[Step]) -> Iterator[Finding]:
        """`operations`: on the partition."""
        given = [step for step in steps if step.gives]
        yield from self._not_made([each for each in operations if each.ok], given)
        course = Course.of(steps, self.dates)
        for each in operations:
            if not each.ok and not self._first_led(each, course):
                leads = [step for step in steps if step.leads]
                yield finding(
                    f"operation {each.index}, an election of {each.key}, was refused as needless, "
                    f"and the first replica did not lead then: it does by {_listed(leads)}",
                    [each],
                    [step.change for step in leads],
                    by=[self.by],
                )

    def _not_made(self, granted: Sequence[Operation], given: Sequence[Step]) -> Iterator[Finding]:
        """Each takes the first record that is left to it, those first that must have an early one:
        if there is a way to give each one of its own, this is one."""
        course, free = Course.of(given, self.dates), set(range(len(given)))
        spans = [(course.during(each), each) for each in granted]
        for (first, last), each in sorted(spans, key=lambda span: (span[0][1], span[1].index)):
            own = min((number for number in free if first <= number <= last), default=None)
            if own is not None:
                free.remove(own)
                continue
            yield finding(
                f"operation {each.index} was granted an election of {each.key}, and no record is "
                "left that it may have made: the first replica becomes the leader by "
                f"{_listed(given)}, and {len(granted)} elections were granted",
                granted,
                [step.change for step in given],
                by=[self.by],
            )

    def _first_led(self, operation: Operation, course: Course) -> bool:
        """Whether it may have, when the operation was decided: from a step that was committed by
        then, or was about to be, up to the next one."""
        first, last = course.during(operation)
        since = max(first - 1, 0) if self.strict else 0
        return any(step.leads for step in course.steps[since : last + 1])


def _listed(steps: Sequence[Step]) -> str:
    offsets = ", ".join(str(each.change.offset) for each in steps)
    return f"the records at offsets {offsets}" if steps else "no record"
