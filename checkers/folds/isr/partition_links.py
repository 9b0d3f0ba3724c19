"""Committed records of a partition, one after another: what each made of its leader and its ISR,
and what it took for that."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from checkers.folds.isr.isr import Key, Sight, State, keys_of, needs_a_request
from checkers.folds.metadata_log.disk_logs import CommittedOnDisks
from framework.checking.findings import finding
from framework.evidence.changes import (
    NO_LEADER,
    Change,
    EligibleForgotten,
    PartitionCreated,
    PartitionState,
)
from framework.evidence.kinds import DISK
from framework.evidence.requests import IsrDecided
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation
from framework.plugins.checker import CLIENTS, DISKS, EVENTS, Clause, Finding

CHAIN: Final = Clause(
    name="one-chain",
    says="Records of a partition raise its version by one each, all who have one have the same, "
    "and it is what clients are shown of that version",
    compares="records beside another of their partition, and answers beside a record",
    floor=2,
    because="one record is a chain by itself",
    sources=(CLIENTS, DISKS, EVENTS),
)


@dataclass(frozen=True, slots=True)
class Link:
    """A committed record of the partition."""

    offset: int
    epoch: int
    version: int
    state: State
    change: PartitionState


@dataclass(slots=True)
class Records:
    """Feed it what disks carry and nodes applied of a partition: of each offset the first is kept,
    and where others disagree with it. `heard`: how many there were."""

    heard: int = 0
    first: dict[int, Link] = field(default_factory=dict)
    conflicts: dict[int, Finding] = field(default_factory=dict)

    def feed(self, each: PartitionState) -> None:
        self.heard += 1
        state = State(each.leader, each.leader_epoch, frozenset(each.isr))
        link = Link(each.offset, each.epoch, each.partition_epoch, state, each)
        known = self.first.setdefault(link.offset, link)
        if (known.epoch, known.version, known.state) != (link.epoch, link.version, link.state):
            self.conflicts.setdefault(link.offset, _disagree(known, link))

    def in_order(self) -> list[Link]:
        """Of the log."""
        return [self.first[offset] for offset in sorted(self.first)]


def _disagree(known: Link, link: Link) -> Finding:
    return finding(
        f"nodes disagree on offset {link.offset}: {known.change.node} has version "
        f"{known.version} ({known.state}), {link.change.node} version {link.version} "
        f"({link.state})",
        evidence=[known.change, link.change],
        clause=CHAIN.name,
    )


@dataclass(frozen=True, slots=True)
class Gaps:
    """`lost`: offsets of which nobody knows the record any more: a snapshot took its place.
    `offsets`: and those of records that make a new version of partitions which they do not name;
    they say all that there is to know of brokers and of requests."""

    offsets: Sequence[int] = ()
    lost: Sequence[int] = ()

    @classmethod
    def of(cls, events: RunEvents, sure: CommittedOnDisks) -> "Gaps":
        """Of a log that disks carry in part."""
        reported = {each.offset for each in events.of(Change) if each.source != DISK}
        known = reported | sure.entries.keys()
        unnamed = {each.offset for each in events.of(EligibleForgotten)}
        missing = set(range(max(known, default=0))) - known if sure.records else set()
        return cls(sorted(missing | unnamed), sorted(missing))

    def between(self, before: Link | None, after: Link) -> bool:
        """Whether there may have been another record; `before` None: a first one."""
        at = bisect_right(self.offsets, -1 if before is None else before.offset)
        return at < len(self.offsets) and self.offsets[at] < after.offset


@dataclass(slots=True)
class Partition:
    """What is known of one partition."""

    records: Records = field(default_factory=Records)
    decisions: list[IsrDecided] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    shown: list[Sight] = field(default_factory=list)

    @property
    def changes(self) -> list[Operation]:
        return [each for each in self.operations if each.f == "alter-isr"]


def partitions_of(events: RunEvents, sure: CommittedOnDisks) -> dict[Key, Partition]:
    """What is told counts, and of what lies on disks that which is committed for good."""
    found: dict[Key, Partition] = defaultdict(Partition)
    for record in sure.records:
        if isinstance(record, PartitionState):
            found[record.key].records.feed(record)
    for each in events.of(PartitionState):
        if each.source != DISK:
            found[each.key].records.feed(each)
    for decision in events.of(IsrDecided):
        found[decision.key].decisions.append(decision)
    for operation in events.operations:
        for key in dict.fromkeys(keys_of(operation)):
            found[key].operations.append(operation)
    return found


def electors(before: Link, link: Link) -> frozenset[int]:
    """Of whom the leader of `link` is to be; empty: that is not known. The wish of a leader that
    completes a reassignment takes the last one in, and may hand over to it at once, where it is no
    replica any more itself."""
    change, joined = link.change, frozenset[int]()
    led = before.state.leader
    if isinstance(change, PartitionCreated) and led not in (NO_LEADER, *change.replicas):
        joined = link.state.isr
    return before.state.isr | frozenset(eligible(before.change)) | joined


def eligible(change: PartitionState) -> Sequence[int]:
    """Beside the ISR: also where unclean elections are off, who was last known to be."""
    return change.eligible or change.last_eligible


def only_by_request(before: Link, after: Link) -> bool:
    """Also where a leader is elected: it may come into an ISR by that itself, if uncleanly."""
    was, is_now = before.state, after.state
    if isinstance(after.change, PartitionCreated):  # other replicas: an administrator's wish
        return not is_now.isr <= was.isr
    moved = (was.leader, was.leader_epoch) != (is_now.leader, is_now.leader_epoch)
    if moved:
        return not is_now.isr <= was.isr | {is_now.leader}
    others = before.change.eligible != after.change.eligible
    needs = needs_a_request(was, is_now) or unled(before, after)
    return needs and not (was == is_now and others)


def unled(before: Link, after: Link) -> bool:
    """Others than a new leader come into an ISR that nobody leads, so that nobody could ask."""
    was, is_now = before.state, after.state
    return was.leader == NO_LEADER and not is_now.isr <= was.isr | {is_now.leader}


def is_no_wish(before: Link, after: Link) -> bool:
    """A leader's wish leaves it where it is (KIP-497), but where it completes a move."""
    moved = before.state.leader != after.state.leader
    return moved and not isinstance(after.change, PartitionCreated)
