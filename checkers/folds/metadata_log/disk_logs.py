"""Metadata logs as they lie on the nodes' disks, and what of them is committed for good.

Of what lies on a disk nobody tells whether it was committed. But what every voter has that could
still win an election - a majority has no later log, by epoch of the last record and end - no leader
will ever cut off (Raft, section 5.4.1), and whatever was committed is among it (leader
completeness). So the common beginning of their logs is the committed log, at the end of the run:
what was committed is in it, and what is in it stays.

Who votes, the plan says; where logs do (KIP-853), a node asks those for their votes whom its own
log names last, committed or not, and only who is one of them asks.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from checkers.folds.metadata_log.node_log import Entry
from framework.evidence.changes import Change, VotersNamed
from framework.evidence.kinds import Evidence
from framework.evidence.quorum import Appended, LogBegan, LogOnDisk, SnapshotFile, Truncated, Voter
from framework.evidence.run_events import (
    RunEvents,
    folded,
    from_disks,
    node_ids,
    of_disks,
    voters,
)

LOG_KINDS: Final = (Appended, Truncated, LogBegan, LogOnDisk, SnapshotFile, VotersNamed)
"""What a log, and who votes by it, is known by, but for what its records say."""
DISK_KINDS: Final = (*LOG_KINDS, Change)
"""What a rule has to ask of disks (`RunCheck(disk=...)`)."""


@dataclass(slots=True)
class DiskLog:
    """Feed it what is told of a node's disk, in order: it is the log that its last process left.
    What a snapshot took the place of stays known where the rest of the log went on."""

    entries: dict[int, Entry] = field(default_factory=dict)
    snapshots: dict[int, SnapshotFile] = field(default_factory=dict)
    """By the offset at which they end."""
    named: dict[int, VotersNamed] = field(default_factory=dict)
    """By offset, the records that say who votes."""
    end: int = 0
    found: LogOnDisk | None = None

    @property
    def voters(self) -> tuple[Voter, ...] | None:
        """Who votes by the last record or snapshot that says so; None: none does."""
        said = {at: each.voters for at, each in self.snapshots.items() if each.voters is not None}
        said |= {at + 1: each.voters for at, each in self.named.items()}
        return said[max(said)] if said else None

    @property
    def last(self) -> tuple[int, int] | None:
        """(epoch of the last record, end): of two, the later log. None: it cannot be told, or not
        all of the log can be read."""
        if self.found is None or self.found.wrong:
            return None
        if self.end - 1 in self.entries:
            return self.entries[self.end - 1][0], self.end
        if self.end in self.snapshots:
            return self.snapshots[self.end].epoch, self.end
        return None if self.end else (0, 0)

    def feed(self, each: Evidence) -> None:
        match each:
            case Appended():
                for offset, crc in enumerate(each.crcs, each.base_offset):
                    self.entries[offset] = (each.epoch, crc)
                self.end = each.end_offset
            case Truncated(end_offset=end):
                self._cut(end)
            case LogBegan(offset=start, dropped=dropped):
                if dropped:
                    self._cut(0)
                self.end = max(self.end, start)
            case SnapshotFile():
                self.snapshots[each.end_offset] = each
            case LogOnDisk():
                self.found = each
            case VotersNamed(offset=offset):
                self.named[offset] = each

    def _cut(self, end: int) -> None:
        for offset in range(end, self.end):
            self.entries.pop(offset, None)
            self.named.pop(offset, None)
        self.end = min(self.end, end)


def disk_logs(evidence: Iterable[Evidence]) -> dict[str, DiskLog]:
    """Node -> its log; `seq` goes on from one of its processes to the next."""
    return folded(_disk_logs, of_disks(evidence, LOG_KINDS))


def _disk_logs(evidence: Iterable[Evidence]) -> dict[str, DiskLog]:
    logs: dict[str, DiskLog] = {}
    for node, found in from_disks(evidence).items():
        for each in found:
            logs.setdefault(node, DiskLog()).feed(each)
    return {node: log for node, log in logs.items() if log.found is not None}


@dataclass(frozen=True, slots=True)
class CommittedOnDisks:
    """What is committed for good lies below `end`. `records`: all that is known of it, by offset,
    and `entries` likewise. `why`: nothing is sure, for this reason."""

    end: int = 0
    records: Sequence[Change] = ()
    entries: dict[int, Entry] = field(default_factory=dict)
    why: str = ""


def committed_on_disks(
    events: RunEvents, logs: Mapping[str, DiskLog] | None = None
) -> CommittedOnDisks:
    """Of all voters' disks: one that was not read may have a log that all others will follow.
    `logs`: of whom it is known already."""
    names = voters(events.plan)
    if not names:
        return CommittedOnDisks(why="nothing says who votes")
    if (events.plan.get("options") or {}).get("keep"):
        return CommittedOnDisks(why="the nodes went on while their disks were read")
    if logs is None:
        logs = disk_logs(events.evidence)
    lasts = {node: logs[node].last for node in names if node in logs}
    known = {node: last for node, last in lasts.items() if last is not None}
    if unread := sorted(set(names) - set(known)):
        return CommittedOnDisks(why=f"the log of {', '.join(unread)} cannot be read whole")
    nodes = {number: node for node, number in node_ids(events).items()}
    leaders = []
    for node in known:
        named = logs[node].voters
        electors = names if named is None else [nodes.get(each.id, str(each.id)) for each in named]
        if unread := sorted(set(electors) - set(known)):
            return CommittedOnDisks(
                why=f"by {node}'s log {', '.join(unread)} votes, who is no voter of the plan"
            )
        if _could_win(node, electors, known):
            leaders.append(node)
    if not leaders:
        return CommittedOnDisks(why="by their logs nobody could win an election")
    end, entries = _common([logs[node] for node in leaders])
    return CommittedOnDisks(end, _records(events, leaders, end), entries)


def _could_win(node: str, electors: Sequence[str], lasts: Mapping[str, tuple[int, int]]) -> bool:
    """Whether a majority of those whom it would ask has no later log."""
    votes = sum(lasts[other] <= lasts[node] for other in electors)
    return node in electors and 2 * votes > len(electors)


def _common(leaders: Sequence[DiskLog]) -> tuple[int, dict[int, Entry]]:
    """How far the logs of all who could still win an election are one, and what is in it."""
    entries: dict[int, Entry] = {}
    for offset in range(end := min(log.end for log in leaders)):
        held = {log.entries[offset] for log in leaders if offset in log.entries}
        if len(held) > 1:
            return offset, entries
        if held:
            entries[offset] = held.pop()
    return end, entries


def _records(events: RunEvents, leaders: Sequence[str], end: int) -> list[Change]:
    """What is known of them below `end`: where the first leader has all, nobody else is asked."""
    known: dict[int, Change] = {}
    left = from_disks(events.of(LogBegan, Change))
    for node in leaders:
        if len(known) < end:
            known = folded(_changes, left.get(node, ())) | known
            known = {offset: each for offset, each in known.items() if offset < end}
    return [known[offset] for offset in sorted(known)]


def _changes(left: Iterable[Evidence]) -> dict[int, Change]:
    """By offset, those of the log that a node's last process left: what was cut off has another
    record in its place, as far as the log goes."""
    found: dict[int, Change] = {}
    for each in left:
        match each:
            case Change():
                found[each.offset] = each
            case LogBegan(dropped=True):
                found.clear()
    return found
