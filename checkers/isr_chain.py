"""Leaders and ISRs of a partition are a chain of committed records (D.2; KIP-497, KIP-631).

Each record raises the version, the partition epoch, by one. A request that is accepted is one
record, on the version that it named; a refused one is none; what clients were shown of a version is
its record. A leader that is elected was in the ISR before, unless unclean elections are allowed.
Nobody joins an ISR but by a request of its leader, and in service, and controllers make no version
that changes nothing. And what an ISR is for (`folds.in_sync`): a produce with acks of all needs
enough members, and each of them has all that was acknowledged so, or was below a high watermark.

The records are those that lie on the voters' disks, committed for good, and those that nodes
applied. What clients see of it by themselves is isr-linearizability's.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from checkers.folds.brokers import FS as SYNTHETIC_FS
from checkers.folds.brokers import ISR_FS, LIFE_FS, nothing_done, synthetic
from checkers.folds.disk_logs import DISK_KINDS, CommittedOnDisks, committed_on_disks
from checkers.folds.in_sync import (
    IN_SYNC_FS,
    UNCLEAN,
    Settings,
    answered_short,
    watermarks,
)
from checkers.folds.isr import (
    FS,
    FirstShown,
    Key,
    Sight,
    State,
    asked_earlier,
    asking,
    by_version,
    clients_asked,
    keys_of,
    needs_a_request,
    sights,
    step,
)
from checkers.folds.roles import BROKER, with_roles
from checkers.folds.service import OF_BROKERS, OfBroker, Service
from checkers.folds.shown_states import SHOWN_FS
from checkers.folds.values import alter_isr, altered_isr
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import (
    NO_LEADER,
    Change,
    EligibleForgotten,
    PartitionCreated,
    PartitionState,
)
from framework.evidence.clocks import Moment, moment_of, surely_before
from framework.evidence.kinds import (
    DISK,
    Booted,
    Decided,
    IsrDecided,
    PartitionCommitted,
    PartitionLogOnDisk,
    PartitionOffsetSaved,
    either_of,
)
from framework.evidence.run_events import RunEvents, uncollected, unreported
from framework.history.pairing import Operation
from framework.plugins.checker import CLIENTS, DISKS, EVENTS, LEDGER, Clause, Count, Finding

NO_EPOCH: Final = -1
CHAIN: Final = Clause(
    name="one-chain",
    says="Records of a partition raise its version by one each, all who have one have the same, "
    "and it is what clients are shown of that version",
    compares="records beside another of their partition, and answers beside a record",
    floor=2,
    because="one record is a chain by itself",
    sources=(CLIENTS, DISKS, EVENTS),
)
REQUESTS: Final = Clause(
    name="request-is-a-record",
    says="An accepted ISR change is one record, on the version that it named; a refused one none",
    compares="ISR changes held against the records",
    floor=2,
    because="as many as clients had accepted: each must be there",
    sources=(CLIENTS, DISKS, EVENTS),
    blind="requests of brokers that no client plays, where controllers tell nothing of them",
)
CLEAN: Final = Clause(
    name="clean-election",
    says="A leader was in the ISR before it was elected, or among those that may lead once that is "
    "empty (KIP-966), unless unclean elections are allowed",
    compares="leaderships that records give",
    floor=2,
    because="a topic's first leaders, and one more",
    sources=(DISKS, EVENTS),
    blind="elections out of an empty ISR where the record does not say who is eligible then",
)
JOINS: Final = Clause(
    name="asked-joins",
    says="Nobody joins an ISR but by a request of its leader, and no record repeats a version",
    compares="records that only a request of the leader makes, and whose requests are known",
    floor=2,
    because="all that there are: one of which no request is known may have had none",
    sources=(CLIENTS, DISKS, EVENTS),
    blind="a controller that tells of requests that no leader sent; of leaders that are processes "
    "of their own, where nodes tell nothing, who joins while such a one leads",
)
MEMBERS: Final = Clause(
    name="members-in-service",
    says="Who joins an ISR is in service by the log below that record (KIP-841), and an accepted "
    "change named the broker epochs that its leader and members had there (KIP-380, KIP-903)",
    compares="brokers that joined an ISR, and broker epochs that accepted changes named",
    floor=2,
    because="one may be in service by chance",
    sources=(CLIENTS, DISKS, EVENTS),
    blind="a broker that is shutting down",
)
ENOUGH: Final = Clause(
    name="enough-replicas",
    says="A produce with acks of all is answered ok only where the ISR is large enough",
    compares="acknowledged produces to topics that ask for more than one in-sync replica, of which "
    "it is known what their leader took for its ISR",
    floor=2,
    because="one may have met a large ISR by chance",
    sources=(CLIENTS, LEDGER, DISKS, EVENTS),
    blind="a leader that did not know yet that its ISR had shrunk; without events, an ISR that was "
    "small for a shorter time than the observer lets pass between two questions",
)
WATERMARK: Final = Clause(
    name="watermark-held",
    says="No high watermark of a replica, and nothing that was acknowledged by all, is above the "
    "end of the log of a replica in the last ISR",
    compares="such offsets held against the log of another replica",
    floor=2,
    because="each of a partition's replicas may be wrong",
    sources=(CLIENTS, DISKS, EVENTS),
    blind="a follower's high watermark that it does not write down; what all brokers may have lost "
    "by losing power at once",
)
CLAUSES: Final = (CHAIN, REQUESTS, CLEAN, JOINS, MEMBERS, ENOUGH, WATERMARK)


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
    """Offsets of which nobody knows the record any more: a snapshot took its place. And those of
    records that make a new version of partitions which they do not name."""

    offsets: Sequence[int] = ()

    @classmethod
    def of(cls, events: RunEvents, sure: CommittedOnDisks) -> "Gaps":
        """Of a log that disks carry in part."""
        reported = {each.offset for each in events.of(Change) if each.source != DISK}
        known = reported | sure.entries.keys()
        unnamed = {each.offset for each in events.of(EligibleForgotten)}
        missing = set(range(max(known, default=0))) - known if sure.records else set()
        return cls(sorted(missing | unnamed))

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


@dataclass(slots=True)
class Counts:
    """What was compared; `_known`: of how many that there were."""

    records: int = 0
    chain: int = 0
    """Of records."""
    answers: list[int] = field(default_factory=list)
    """Operations, for each partition of which they show what a record made."""
    decisions: int = 0
    accepted: int = 0
    accepted_known: int = 0
    accepted_owed: int = 0
    """Those whose record is there, or nothing excuses that it is not."""
    elections: int = 0
    joins: int = 0
    joins_known: int = 0
    joined: int = 0
    members: int = 0


def isr_chain(events: RunEvents) -> Outcome:
    sure = committed_on_disks(events)
    partitions = _partitions(events, sure)
    gaps = Gaps.of(events, sure)
    judge = Judge(
        gaps=gaps,
        service=Service.of(_of_brokers(events, sure), gaps.offsets),
        leaders=synthetic(events.operations) | _asking(events.operations),
        last_reported=_last_reported(events),
        of_batches=_of_batches(events),
        lost=bool(uncollected(events.plan)),
        settings=Settings.of(events),
    )
    findings: list[Finding] = []
    for key, partition in sorted(partitions.items()):
        findings += judge.of(key, partition)
    counts = judge.counts
    links = {key: each.links for key, each in partitions.items() if each.links}
    changed = {key: [link.change for link in own] for key, own in links.items()}
    short, few = answered_short(events, changed, judge.settings)
    above, held = watermarks(events, changed)
    findings += (replace(each, clause=ENOUGH.name) for each in few)
    findings += (replace(each, clause=WATERMARK.name) for each in held)
    by_clause: dict[str, Count] = {
        CHAIN.name: counts.chain + CHAIN.sightings(counts.answers),
        REQUESTS.name: _requests(counts, events),
        CLEAN.name: counts.elections,
        JOINS.name: _joins(counts, events),
        MEMBERS.name: _members(counts, events),
        ENOUGH.name: short,
        WATERMARK.name: above,
    }
    once = _one_occasion(events)
    for clause in (REQUESTS, JOINS, MEMBERS):
        if once and by_clause[clause.name] in (1, (1, 1)):
            by_clause[clause.name] = once
    figures = {"partitions": len(partitions), "records": counts.records}
    return weighed(by_clause, findings, figures)


def _requests(counts: Counts, events: RunEvents) -> Count:
    """Those of clients, if there are any: each one that was accepted; where nodes tell nothing,
    those whose record neither a snapshot nor a disk that nobody has may have taken away."""
    if counts.accepted:
        owed = counts.accepted_owed if unreported(events.plan) else counts.accepted
        return counts.accepted_known, owed
    return counts.decisions or _no_occasion(events) or unreported(events.plan) or 0


def _joins(counts: Counts, events: RunEvents) -> Count:
    """Where nodes tell nothing, by the plan, only what clients asked for is known."""
    if counts.records and (why := unreported(events.plan)):
        return counts.joins_known or why
    if not counts.joins:
        return _no_occasion(events) or 0
    return counts.joins_known, counts.joins


def _members(counts: Counts, events: RunEvents) -> Count:
    """Of real brokers nobody may have joined, as records tell; of those that did, nodes that tell
    nothing may have left nothing of what was before."""
    if counts.members or counts.accepted:
        return counts.members
    if counts.joined:
        return unreported(events.plan) or 0
    if any(each.f == "alter-isr" for each in events.operations):
        return 0
    return _no_occasion(events) or ("no client asked for an ISR change" if counts.records else 0)


def _of_brokers(events: RunEvents, sure: CommittedOnDisks) -> Iterator[OfBroker]:
    """What is committed for good, or reported."""
    yield from (each for each in sure.records if isinstance(each, OF_BROKERS))
    reported: Iterable[OfBroker] = events.of(*OF_BROKERS)
    yield from (each for each in reported if each.source != DISK)


def _no_occasion(events: RunEvents) -> str:
    """Why no ISR changed, where clients and the ledger say so."""
    if nothing := nothing_done(events):
        return nothing
    if any(each.f == "alter-isr" for each in events.operations):
        return ""
    versions = {
        sight.version
        for operation in events.operations
        for key in keys_of(operation)
        for sight in sights([operation], key)
    }
    return "clients were shown the first version of each partition alone" if versions == {0} else ""


def _one_occasion(events: RunEvents) -> str:
    """Why an ISR may have changed but once, where clients and the ledger say so: a broker that is
    gone comes back to its ISRs, and that happened to one."""
    brokers = with_roles(events.plan, BROKER)
    met = sum(not brokers.isdisjoint(each.gone or each.nodes) for each in events.faults)
    if met > 1 or any(each.f in (*ISR_FS, *LIFE_FS) for each in events.operations):
        return ""
    return f"{met} faults met a broker, and no client asked for an ISR change"


def _partitions(events: RunEvents, sure: CommittedOnDisks) -> dict[Key, Partition]:
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


def _last_reported(events: RunEvents) -> dict[int, int]:
    """Controller's epoch -> the end of the log that its last decision rests on: what it decided
    before, it told."""
    ends: dict[int, int] = {}
    decisions: Iterable[Decided | IsrDecided] = events.of(Decided, IsrDecided)
    for each in decisions:
        ends[each.epoch] = max(each.as_of, ends.get(each.epoch, each.as_of))
    return ends


def _of_batches(events: RunEvents) -> dict[tuple[int, int], set[Key]]:
    """Epoch and offset of a record that was made for a request -> the partition that the request
    names. Nodes that tell of its first partition alone tell the records of the others with it."""
    found: dict[tuple[int, int], set[Key]] = defaultdict(set)
    for each in events.of(IsrDecided):
        for offset in each.records:
            found[each.epoch, offset].add(each.key)
    return found


def _asking(operations: Iterable[Operation]) -> set[int]:
    """Brokers for whom clients ask."""
    return {alter_isr(each)["broker_id"] for each in operations if each.f == "alter-isr"}


@dataclass(slots=True)
class Judge:
    """Of one partition after the other. `leaders`: brokers that clients play; `last_reported`,
    `of_batches`: see there; `lost`: nodes whose files nobody has, where a record may be that is
    nowhere else."""

    gaps: Gaps
    service: Service
    leaders: set[int]
    last_reported: dict[int, int]
    of_batches: Mapping[tuple[int, int], set[Key]]
    lost: bool
    settings: Settings
    counts: Counts = field(default_factory=Counts)

    def of(self, key: Key, partition: Partition) -> Iterator[Finding]:
        records = partition.records
        partition.links = records.in_order()
        partition.shown = list(sights(partition.operations, key))
        self.counts.records += len(partition.links)
        self.counts.chain += max(records.heard - 1, 0)
        yield from records.conflicts.values()
        yield from self._chain(partition.links)
        yield from self._elections(key, partition.links)
        yield from self._joins(key, partition)
        yield from self._joined(key, partition.links)
        yield from self._shown(partition)
        yield from self._recorded(partition)
        yield from self._decisions(partition)
        yield from _refused(partition)

    # --- records --------------------------------------------------------------------------

    def _steps(self, links: Sequence[Link]) -> Iterator[tuple[Link, Link]]:
        """Records and the next ones."""
        return (pair for pair in pairwise(links) if not self.gaps.between(*pair))

    def _chain(self, links: Sequence[Link]) -> Iterator[Finding]:
        for before, link in self._steps(links):
            if link.version != before.version + 1:
                yield finding(
                    f"the record at offset {link.offset} has version {link.version}, the one "
                    f"before it (offset {before.offset}) version {before.version}",
                    evidence=[before.change, link.change],
                    clause=CHAIN.name,
                )

    def _elections(self, key: Key, links: Sequence[Link]) -> Iterator[Finding]:
        before: Link | None = None
        for link in links:
            if self.gaps.between(before, link):
                before = link
                continue
            leader, isr = link.state.leader, link.state.isr
            elected = before is None or leader != before.state.leader
            if leader != NO_LEADER and elected:
                self.counts.elections += 1
                electors = isr if before is None else self._electors(before, link)
                if electors and leader not in electors and not self.settings.unclean(key[0]):
                    yield finding(
                        f"the record at offset {link.offset} gives {key[0]}/{key[1]} to broker "
                        f"{leader}, which was not in the ISR {_named(before, isr)}; {UNCLEAN} is "
                        "off",
                        evidence=[each.change for each in (before, link) if each is not None],
                        clause=CLEAN.name,
                    )
            before = link

    def _electors(self, before: Link, link: Link) -> frozenset[int]:
        """Of whom the leader of `link` is to be; empty: that is not known. Where the record takes
        out the last one who was eligible, for his next process registers with it, who was last
        known to be may lead by that very record (KIP-966)."""
        known, gone = _electors(before, link), before.change.eligible or ()
        if before.state.isr or len(gone) != 1 or link.change.eligible != ():
            return known
        anew = self.service.comes_anew(link.offset, gone[0])
        return known | frozenset(before.change.last_eligible) if anew else known

    def _joins(self, key: Key, partition: Partition) -> Iterator[Finding]:
        """Steps that only a request makes. Of leaders that clients play all requests are known; of
        others those that controllers tell of, as long as they tell."""
        changes, later = partition.changes, FirstShown(partition.shown)
        on_version = by_version(partition.changes)
        accepted = {
            each.partition_epoch for each in partition.decisions if each.accepted is not False
        }
        for before, after in self._steps(partition.links):
            if after.version != before.version + 1 or not _needs_a_request(before, after):
                continue
            self.counts.joins += 1
            version = before.version
            went_on = self.last_reported.get(after.epoch, -1) > after.offset
            if _unled(before, after):
                asked = False
            elif before.state.leader in self.leaders:
                named, shown = on_version.get(version, ()), later.than(version)
                asked = clients_asked(named, shown, version, before.state, after.state)
            elif version in accepted or self._of_batch(key, after):
                asked = True
            elif went_on or _is_no_wish(before, after):
                asked = False
            else:
                continue
            self.counts.joins_known += 1
            if not asked:
                yield _nobody_asked(changes, before, after)

    def _of_batch(self, key: Key, link: Link) -> bool:
        """Whether a request made the record that tells of another partition, its first one."""
        named = self.of_batches.get((link.epoch, link.offset), set())
        return bool(named) and key not in named

    def _joined(self, key: Key, links: Sequence[Link]) -> Iterator[Finding]:
        """Who is new in an ISR, as the log below the record has him."""
        for before, after in self._steps(links):
            for member in sorted(after.state.isr - before.state.isr):
                self.counts.joined += 1
                standing = self.service.before(after.offset, member)
                if standing is None:
                    continue
                self.counts.members += 1
                if not standing.serves:
                    yield finding(
                        f"the record at offset {after.offset} takes broker {member} into the ISR "
                        f"of {key[0]}/{key[1]}, which was not in service then: the record at "
                        f"offset {standing.by.offset} is the last of it",
                        evidence=[standing.by, after.change],
                        clause=MEMBERS.name,
                    )

    # --- clients --------------------------------------------------------------------------

    def _shown(self, partition: Partition) -> Iterator[Finding]:
        """All that was shown of one version agrees with the record that made it."""
        known: dict[int, Link] = {}
        for link in partition.links:
            known.setdefault(link.version, link)
        for sight in partition.shown:
            made = known.get(sight.version)
            if made is None:
                continue
            self.counts.answers.append(sight.operation.index)
            if made.state != sight.state:
                yield finding(
                    f"version {sight.version} has two states: {made.state} by the record at "
                    f"offset {made.offset}, {sight.state} by operation {sight.operation.index}",
                    [sight.operation],
                    [made.change],
                    clause=CHAIN.name,
                )

    def _recorded(self, partition: Partition) -> Iterator[Finding]:
        """Each ok answer is exactly one record, on the predecessor that the request named."""
        links = partition.links
        places_of: dict[int, list[int]] = defaultdict(list)
        for at, link in enumerate(links):
            places_of[link.version].append(at)
        self.counts.decisions += len(partition.decisions)
        for change in partition.changes:
            if not change.ok:
                continue
            self.counts.accepted += 1
            places = places_of.get(altered_isr(change)["partition_epoch"], [])
            if places or not (self.gaps.offsets or self.lost):
                self.counts.accepted_owed += 1
                if links:
                    self.counts.accepted_known += 1
                    yield from self._as_recorded(change, places, links)

    # --- requests -------------------------------------------------------------------------

    def _as_recorded(
        self, change: Operation, places: Sequence[int], links: Sequence[Link]
    ) -> Iterator[Finding]:
        asked, version = alter_isr(change), altered_isr(change)["partition_epoch"]
        what = f"ISR change {change.index} of {change.key}, answered version {version},"
        if len(places) != 1:
            yield finding(
                f"{what} is {len(places)} committed records, not one",
                [change],
                [links[at].change for at in places],
                by=[EVENTS],
                clause=REQUESTS.name,
            )
            return
        link = links[places[0]]
        yield from self._named(change, link)
        if link.state.isr != set(asked["isr"]):
            yield finding(
                f"{what} asked for ISR {sorted(asked['isr'])}; the record at offset "
                f"{link.offset} has {sorted(link.state.isr)}",
                [change],
                [link.change],
                clause=REQUESTS.name,
            )
        if places[0] > 0 and not self.gaps.between(links[places[0] - 1], link):
            before = links[places[0] - 1]
            named = (asked["partition_epoch"], asked["leader_epoch"], asked["broker_id"])
            found = (before.version, before.state.leader_epoch, before.state.leader)
            if named != found:
                yield finding(
                    f"{what} named (version, leader epoch, leader) {named}; the record before "
                    f"it, at offset {before.offset}, has {found}",
                    [change],
                    [before.change, link.change],
                    clause=REQUESTS.name,
                )

    def _named(self, change: Operation, link: Link) -> Iterator[Finding]:
        """The broker epochs that an accepted change named, as the log below its record has them."""
        asked = alter_isr(change)
        named = {asked["broker_id"]: asked["broker_epoch"]}
        named |= dict(zip(asked["isr"], asked.get("isr_epochs") or (), strict=False))
        for broker_id, epoch in named.items():
            standing = self.service.before(link.offset, broker_id)
            if standing is None or epoch == NO_EPOCH:
                continue
            self.counts.members += 1
            if epoch != standing.epoch:
                yield finding(
                    f"ISR change {change.index} of {change.key} named epoch {epoch} of broker "
                    f"{broker_id} and is the record at offset {link.offset}; below that the broker "
                    f"has epoch {standing.epoch}, since offset {standing.by.offset}",
                    [change],
                    [standing.by, link.change],
                    clause=MEMBERS.name,
                )

    def _decisions(self, partition: Partition) -> Iterator[Finding]:
        """What controllers decided: a refusal appends nothing, an acceptance one record here, on
        the version that it named. Records that were truncated have no say."""
        links, changes = partition.links, partition.changes
        places = {(link.epoch, link.offset): at for at, link in enumerate(links)}
        for each in partition.decisions:
            made = [places[each.epoch, at] for at in each.records if (each.epoch, at) in places]
            if each.accepted is False and each.records:
                yield finding(
                    f"{each.node} refused an ISR change with error {each.code}, and "
                    f"appended records {list(each.records)} for it",
                    _asked_by(each, changes),
                    [each],
                    clause=REQUESTS.name,
                )
            elif len(made) > 1:
                yield finding(
                    f"{each.node} applied one ISR change {len(made)} times, at offsets "
                    f"{[links[at].offset for at in made]}",
                    _asked_by(each, changes),
                    [each, *(links[at].change for at in made)],
                    clause=REQUESTS.name,
                )
            elif made and made[0] > 0:
                before, named = links[made[0] - 1], each.partition_epoch
                unknown = self.gaps.between(before, links[made[0]])
                if before.version != named and not unknown:
                    yield finding(
                        f"{each.node} accepted an ISR change that names version {named} on top of "
                        f"version {before.version}",
                        _asked_by(each, changes),
                        [before.change, each, links[made[0]].change],
                        clause=REQUESTS.name,
                    )


def _electors(before: Link, link: Link) -> frozenset[int]:
    """Of whom the leader of `link` is to be; empty: that is not known. The wish of a leader that
    completes a reassignment takes the last one in, and may hand over to it at once, where it is no
    replica any more itself."""
    change, joined = link.change, frozenset[int]()
    led = before.state.leader
    if isinstance(change, PartitionCreated) and led not in (NO_LEADER, *change.replicas):
        joined = link.state.isr
    return before.state.isr | frozenset(_eligible(before.change)) | joined


def _eligible(change: PartitionState) -> Sequence[int]:
    """Beside the ISR: also where unclean elections are off, who was last known to be."""
    return change.eligible or change.last_eligible


def _named(before: Link | None, isr: frozenset[int]) -> str:
    """The ISR of which a leader should be, and who else it might have been."""
    if before is None:
        return str(sorted(isr))
    who = sorted(_eligible(before.change))
    return f"{sorted(before.state.isr)}{f' nor eligible {who}' if who else ''}"


def _needs_a_request(before: Link, after: Link) -> bool:
    """Also where a leader is elected: it may come into an ISR by that itself, if uncleanly."""
    was, is_now = before.state, after.state
    if isinstance(after.change, PartitionCreated):  # other replicas: an administrator's wish
        return not is_now.isr <= was.isr
    moved = (was.leader, was.leader_epoch) != (is_now.leader, is_now.leader_epoch)
    if moved:
        return not is_now.isr <= was.isr | {is_now.leader}
    others = before.change.eligible != after.change.eligible
    needs = needs_a_request(was, is_now) or _unled(before, after)
    return needs and not (was == is_now and others)


def _unled(before: Link, after: Link) -> bool:
    """Others than a new leader come into an ISR that nobody leads, so that nobody could ask."""
    was, is_now = before.state, after.state
    return was.leader == NO_LEADER and not is_now.isr <= was.isr | {is_now.leader}


def _is_no_wish(before: Link, after: Link) -> bool:
    """A leader's wish leaves it where it is (KIP-497), but where it completes a move."""
    moved = before.state.leader != after.state.leader
    return moved and not isinstance(after.change, PartitionCreated)


def _nobody_asked(changes: Iterable[Operation], before: Link, after: Link) -> Finding:
    twice, earlier = asked_earlier(changes, before.version, after.state)
    return finding(
        f"version {after.version}, the record at offset {after.offset}, "
        f"{step(before.state, after.state, before.version)}, and nobody asked for that{twice}",
        earlier,
        [before.change, after.change],
        clause=JOINS.name,
    )


def _asked_by(decision: IsrDecided, changes: Iterable[Operation]) -> list[Operation]:
    """The operations whose request this may have been: same epochs, under way then."""
    at = moment_of(decision)
    return [
        change
        for change in changes
        if _epochs_of(change) == _epochs_decided(decision)
        and not surely_before(at, Moment(change.invoked_ns or 0))
        and (change.type == "info" or not surely_before(Moment(change.completed_ns or 0), at))
    ]


def _epochs_of(change: Operation) -> Sequence[int | None]:
    asked = alter_isr(change)
    return [
        asked.get("broker_id"),
        asked.get("broker_epoch"),
        asked.get("leader_epoch"),
        asked.get("partition_epoch"),
    ]


def _epochs_decided(decision: IsrDecided) -> Sequence[int | None]:
    epoch = -1 if decision.broker_epoch is None else decision.broker_epoch
    return [decision.broker_id, epoch, decision.leader_epoch, decision.partition_epoch]


def _refused(partition: Partition) -> Iterator[Finding]:
    """A record that only refused requests asked for."""
    places = {(link.epoch, link.offset): link for link in partition.links}
    on_version = by_version(partition.changes)
    for each in partition.decisions:
        named = on_version.get(each.partition_epoch, ())
        for offset in each.records:
            link = places.get((each.epoch, offset))
            if link is None:
                continue
            asked = [
                change
                for change in asking(named, each.partition_epoch, link.state)
                if alter_isr(change)["broker_id"] == each.broker_id
            ]
            if asked and all(change.failed for change in asked):
                who = ", ".join(str(change.index) for change in asked)
                yield finding(
                    f"operations {who} were refused ({asked[0].error_code}), yet the record at "
                    f"offset {offset} carries out what they asked for",
                    asked,
                    [each, link.change],
                    clause=REQUESTS.name,
                )


class IsrChain(RunChecker):
    name = "isr-chain"
    summary = (
        "A partition's leaders and ISRs are one chain of records: each accepted request is one, "
        "leaders come from the ISR, nobody joins it unasked or fenced, and it keeps what was "
        "acknowledged"
    )
    parted_from = "isr-linearizability"
    requires = either_of(Change)
    clauses = CLAUSES
    check_run = RunCheck(
        isr_chain,
        evidence=(Booted, Change, Decided, IsrDecided, PartitionCommitted),
        disk=(*DISK_KINDS, PartitionLogOnDisk, PartitionOffsetSaved),
        fs=(*FS, *SYNTHETIC_FS, *LIFE_FS, *IN_SYNC_FS, *SHOWN_FS),
        observations=True,
        faults=True,
    )
