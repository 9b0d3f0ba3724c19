"""When each offset of the metadata log was committed at the earliest, by what was on disk.

An offset is committed once, for some leader's epoch e, an entry of epoch e at or above it is
durable on a majority of voters (Raft, section 5.4.2): by log matching each of them then has
everything below. Reconstructed from what voters appended, truncated and flushed, not from what
they say of their watermark.

What is not known counts as durable, so that the times are never too late: what a boot found on
disk, what a loaded snapshot covers. Of a clock that may be off, the earliest time counts.
"""

import bisect
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from framework.evidence.clocks import earliest_ns
from framework.evidence.kinds import Evidence
from framework.evidence.processes import Booted
from framework.evidence.quorum import Appended, Flushed, SnapshotLoaded, Truncated
from framework.evidence.run_events import RunEvents, incarnations, node_ids

KINDS: Final = (Booted, Appended, Truncated, Flushed, SnapshotLoaded)

Step: TypeAlias = tuple[int, int]
"""(time, ns; end offset that is committed from then on)."""


@dataclass(frozen=True, slots=True)
class CommitTimes:
    """`steps` rise in both; the end offset of the last one is all that was seen to commit."""

    steps: Sequence[Step]

    def end_at(self, time_ns: int) -> int:
        """The end of what can have been committed by then."""
        at = bisect.bisect_right(self.steps, time_ns, key=lambda step: step[0])
        return self.steps[at - 1][1] if at else 0

    def of(self, offset: int) -> int | None:
        """When an offset was committed at the earliest; None: it was not seen to be."""
        at = bisect.bisect_right(self.steps, offset, key=lambda step: step[1])
        return self.steps[at][0] if at < len(self.steps) else None


@dataclass(slots=True)
class Disk:
    """A voter's log as runs of epochs, and how far it is durable."""

    runs: list[tuple[int, int]] = field(default_factory=list)
    """(base offset, epoch), rising."""
    end: int = 0
    durable: int = 0

    def append(self, base: int, end: int, epoch: int) -> None:
        self.truncate(base)
        if not self.runs or self.runs[-1][1] != epoch:
            self.runs.append((base, epoch))
        self.end = end

    def truncate(self, end: int) -> None:
        self.end, self.durable = min(self.end, end), min(self.durable, end)
        while self.runs and self.runs[-1][0] >= end:
            self.runs.pop()

    def known(self, end: int, epoch: int) -> None:
        """Everything below `end` is on disk; its last record is of `epoch`."""
        self.truncate(end)
        self.runs.append((max(end - 1, 0), epoch))
        self.end = self.durable = end

    def held(self) -> dict[int, int]:
        """Epoch -> the end of its durable entries, for each epoch that has some."""
        ends: dict[int, int] = {}
        end = self.end
        for base, epoch in reversed(self.runs):
            if base < self.durable:
                ends.setdefault(epoch, min(end, self.durable))
            end = base
        return ends


def commit_times(events: RunEvents) -> CommitTimes | None:
    """None where nothing tells who the voters are."""
    ids, voters = node_ids(events), _voters(events)
    if not voters:
        return None
    changes: list[tuple[int, str, dict[int, int]]] = []
    for node, lives in incarnations(events.of(*KINDS)).items():
        if ids.get(node) in voters:
            changes += _durable(node, lives)
    changes.sort(key=lambda change: change[0])
    return CommitTimes(_steps(changes, len(voters) // 2 + 1))


def _voters(events: RunEvents) -> frozenset[int]:
    return next((frozenset(boot.voters) for boot in events.of(Booted) if boot.voters), frozenset())


def _durable(
    node: str, lives: Iterable[Iterable[Evidence]]
) -> list[tuple[int, str, dict[int, int]]]:
    """(time, node, epoch -> durable end) after each event that changed it."""
    disk = Disk()
    changes = []
    for each in (each for life in lives for each in life):
        match each:
            case Appended():
                disk.append(each.base_offset, each.end_offset, each.epoch)
                continue
            case Truncated():
                disk.truncate(each.end_offset)
            case Flushed():
                disk.durable = max(disk.durable, min(disk.end, each.end_offset))
            case SnapshotLoaded():
                if each.end_offset > disk.end:
                    disk.known(each.end_offset, each.epoch)
            case Booted():
                disk.known(each.log_end or 0, each.last_epoch or 0)
        changes.append((earliest_ns(each), node, disk.held()))
    return changes


def _steps(changes: Iterable[tuple[int, str, Mapping[int, int]]], majority: int) -> list[Step]:
    """What was once committed stays so, whatever becomes of the disks."""
    held: dict[str, Mapping[int, int]] = {}
    steps: list[Step] = []
    committed = 0
    for time_ns, node, now in changes:
        held[node] = now
        ends: dict[int, list[int]] = defaultdict(list)
        for each in held.values():
            for epoch, end in each.items():
                ends[epoch].append(end)
        for own in ends.values():
            if len(own) >= majority:
                committed = max(committed, sorted(own, reverse=True)[majority - 1])
        if not steps or committed > steps[-1][1]:
            steps.append((time_ns, committed))
    return steps
