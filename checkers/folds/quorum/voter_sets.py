"""Who votes, by the committed metadata log (KIP-853): a record names all voters, and holds for each
log that has it, from the record on."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from checkers.folds.metadata_log.disk_logs import CommittedOnDisks
from framework.evidence.changes import VotersNamed
from framework.evidence.quorum import SnapshotFile, Voter
from framework.evidence.run_events import RunEvents

Voters: TypeAlias = frozenset[Voter]
Change: TypeAlias = tuple[Literal["add", "remove"], Voter]


@dataclass(frozen=True, slots=True)
class Step:
    """A committed record that names the voters, and those before it."""

    record: VotersNamed
    before: Voters

    @property
    def after(self) -> Voters:
        return frozenset(self.record.voters)

    @property
    def changes(self) -> Sequence[Change]:
        """What it did; nothing, where it only says again who votes."""
        return changes(self.before, self.after)


def changes(before: Voters, after: Voters) -> Sequence[Change]:
    """What makes the one the other."""
    return [
        *(("remove", each) for each in sorted(before - after, key=str)),
        *(("add", each) for each in sorted(after - before, key=str)),
    ]


@dataclass(frozen=True, slots=True)
class VoterSets:
    """`first`: who voted below all records. `why`: not all that was committed is known, for this
    reason, so that nothing is told of changes."""

    first: Voters = frozenset()
    steps: Sequence[Step] = ()
    why: str = ""

    def at(self, offset: int) -> Voters:
        """Those in force for a log that ends there."""
        behind = bisect_left(self.steps, offset, key=lambda step: step.record.offset)
        return self.steps[behind - 1].after if behind else self.first

    def between(self, low: int, high: int) -> set[Voters]:
        """Those in force for logs that end at `low`, at `high`, or between."""
        return {self.at(low)} | {step.after for step in self.within(low, high)}

    def within(self, low: int, high: int) -> Sequence[Step]:
        """Those whose records lie from `low` on and below `high`."""
        return [step for step in self.steps if low <= step.record.offset < high]


def voter_sets(events: RunEvents, left: CommittedOnDisks) -> VoterSets:
    """`left`: by the disks, of whose records each has to be known."""
    if left.why:
        return VoterSets(why=left.why)
    if len(left.records) < left.end:
        return VoterSets(why="not all records of the committed log are on disks")
    named = [each for each in left.records if isinstance(each, VotersNamed)]
    below = [
        each.voters
        for each in events.of(SnapshotFile)
        if each.end_offset == 0 and each.voters is not None
    ]
    first = [*below, *(each.voters for each in named)][:1]
    if not first:
        return VoterSets(why="neither the log nor a snapshot says who votes")
    start = frozenset(first[0])
    return VoterSets(start, list(_steps(start, named)))


def _steps(first: Voters, named: Sequence[VotersNamed]) -> Iterator[Step]:
    before = first
    for each in named:
        yield Step(each, before)
        before = frozenset(each.voters)


def text(voters: Voters) -> str:
    """Their ids."""
    return str(sorted(each.id for each in voters))
