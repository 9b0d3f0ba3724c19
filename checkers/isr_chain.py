"""Leaders and ISRs of a partition are a chain of committed records (D.2; KIP-497, KIP-631).

Each record raises the version, the partition epoch, by one. A request that is accepted is one
record, on the version that it named; a refused one is none; what clients were shown of a version is
its record. A leader that is elected was in the ISR before, unless unclean elections are allowed.
Nobody joins an ISR but by a request of its leader, and in service, and controllers make no version
that changes nothing. And what an ISR is for (`folds.isr.in_sync`): a produce with acks of all needs
enough members, and each of them has all that was acknowledged so, or was below a high watermark.

The records are those that lie on the voters' disks, committed for good, and those that nodes
applied. What clients see of it by themselves is isr-linearizability's.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from checkers.folds.history.brokers import FS as SYNTHETIC_FS
from checkers.folds.history.brokers import LIFE_FS, synthetic
from checkers.folds.history.values import alter_isr
from checkers.folds.isr.in_sync import (
    IN_SYNC_FS,
    UNCLEAN,
    Settings,
    answered_short,
    watermarks,
)
from checkers.folds.isr.isr import (
    FS,
    FirstShown,
    Key,
    asked_earlier,
    by_version,
    clients_asked,
    sights,
    step,
)
from checkers.folds.isr.isr_counts import (
    Counts,
    joins_known,
    members_known,
    one_occasion,
    requests_known,
)
from checkers.folds.isr.isr_requests import MEMBERS, REQUESTS, Requests
from checkers.folds.isr.partition_links import (
    CHAIN,
    Gaps,
    Link,
    Partition,
    electors,
    eligible,
    is_no_wish,
    only_by_request,
    partitions_of,
    unled,
)
from checkers.folds.isr.shown_states import SHOWN_FS
from checkers.folds.metadata_log.disk_logs import DISK_KINDS, CommittedOnDisks, committed_on_disks
from checkers.folds.metadata_log.service import OF_BROKERS, OfBroker, Service, out_of_service
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import (
    NO_LEADER,
    Change,
)
from framework.evidence.kinds import DISK, either_of
from framework.evidence.partitions import (
    PartitionCommitted,
    PartitionLogOnDisk,
    PartitionOffsetSaved,
)
from framework.evidence.processes import Booted
from framework.evidence.requests import Decided, IsrDecided
from framework.evidence.run_events import RunEvents, uncollected
from framework.history.pairing import Operation
from framework.plugins.checker import CLIENTS, DISKS, EVENTS, LEDGER, Clause, Count, Finding

CLEAN: Final = Clause(
    name="clean-election",
    says="A leader was in the ISR before it was elected, or among those that may lead once that is "
    "empty (KIP-966), unless unclean elections are allowed",
    compares="leaderships that records give, the first ones of a topic's partitions together",
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


def isr_chain(events: RunEvents) -> Outcome:
    sure = committed_on_disks(events)
    partitions = partitions_of(events, sure)
    gaps, counts = Gaps.of(events, sure), Counts()
    service = Service.of(_of_brokers(events, sure), gaps.lost)
    judge = Judge(
        gaps=gaps,
        service=service,
        leaders=synthetic(events.operations) | _asking(events.operations),
        last_reported=_last_reported(events),
        of_batches=_of_batches(events),
        requests=Requests(gaps, service, bool(uncollected(events.plan)), counts),
        settings=Settings.of(events),
        counts=counts,
    )
    findings: list[Finding] = []
    for key, partition in sorted(partitions.items()):
        findings += judge.of(key, partition)
    links = {key: each.links for key, each in partitions.items() if each.links}
    changed = {key: [link.change for link in own] for key, own in links.items()}
    short, few = answered_short(events, changed, judge.settings)
    above, held = watermarks(events, changed)
    findings += (replace(each, clause=ENOUGH.name) for each in few)
    findings += (replace(each, clause=WATERMARK.name) for each in held)
    once = one_occasion(events)
    by_clause: dict[str, Count] = {
        CHAIN.name: counts.chain + CHAIN.sightings(counts.answers),
        REQUESTS.name: requests_known(counts, events),
        CLEAN.name: CLEAN.count(CLEAN.sightings(counts.elections), once),
        JOINS.name: joins_known(counts, events),
        MEMBERS.name: members_known(counts, events),
        ENOUGH.name: short,
        WATERMARK.name: above,
    }
    for clause in (REQUESTS, JOINS, MEMBERS):
        if once and by_clause[clause.name] in (1, (1, 1)):
            by_clause[clause.name] = once
    figures = {"partitions": len(partitions), "records": counts.records}
    return weighed(by_clause, findings, figures)


def _of_brokers(events: RunEvents, sure: CommittedOnDisks) -> Iterator[OfBroker]:
    """What is committed for good, or reported."""
    yield from (each for each in sure.records if isinstance(each, OF_BROKERS))
    reported: Iterable[OfBroker] = events.of(*OF_BROKERS)
    yield from (each for each in reported if each.source != DISK)


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
    `of_batches`: see there."""

    gaps: Gaps
    service: Service
    leaders: set[int]
    last_reported: dict[int, int]
    of_batches: Mapping[tuple[int, int], set[Key]]
    requests: Requests
    settings: Settings
    counts: Counts

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
        yield from self.requests.of(partition)

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
                self.counts.elections.append(key[0] if before is None else (key, link.offset))
                electors = isr if before is None else self._may_lead(before, link)
                if electors and leader not in electors and not self.settings.unclean(key[0]):
                    yield finding(
                        f"the record at offset {link.offset} gives {key[0]}/{key[1]} to broker "
                        f"{leader}, which was not in the ISR {_or_else(before, isr)}; {UNCLEAN} is "
                        "off",
                        evidence=[each.change for each in (before, link) if each is not None],
                        clause=CLEAN.name,
                    )
            before = link

    def _may_lead(self, before: Link, link: Link) -> frozenset[int]:
        """Of whom the leader of `link` is to be; empty: that is not known. Where the record takes
        out the last one who was eligible, for his next process registers with it, who was last
        known to be may lead by that very record (KIP-966)."""
        known, gone = electors(before, link), before.change.eligible or ()
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
            if after.version != before.version + 1 or not only_by_request(before, after):
                continue
            self.counts.joins += 1
            version = before.version
            went_on = self.last_reported.get(after.epoch, -1) > after.offset
            if unled(before, after):
                asked = False
            elif before.state.leader in self.leaders:
                named, shown = on_version.get(version, ()), later.than(version)
                asked = clients_asked(named, shown, version, before.state, after.state)
            elif version in accepted or self._of_batch(key, after):
                asked = True
            elif went_on or is_no_wish(before, after):
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
                if not standing.may_join:
                    yield finding(
                        f"the record at offset {after.offset} takes broker {member} into the ISR "
                        f"of {key[0]}/{key[1]}, which was {out_of_service(standing)} then: the "
                        f"record at offset {standing.by.offset} is the last of it",
                        evidence=[standing.by, after.change],
                        clause=MEMBERS.name,
                    )

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
            by_record, by_answer = str(made.state), str(sight.state)
            recorded, shown = made.change.eligible, sight.eligible
            if recorded is not None and shown is not None:
                by_record += f", eligible leaders {sorted(set(recorded))}"
                by_answer += f", eligible leaders {sorted(shown)}"
            if by_record != by_answer:
                yield finding(
                    f"version {sight.version} has two states: {by_record} by the record at "
                    f"offset {made.offset}, {by_answer} by operation {sight.operation.index}",
                    [sight.operation],
                    [made.change],
                    clause=CHAIN.name,
                )


def _or_else(before: Link | None, isr: frozenset[int]) -> str:
    """The ISR of which a leader should be, and who else it might have been."""
    if before is None:
        return str(sorted(isr))
    who = sorted(eligible(before.change))
    return f"{sorted(before.state.isr)}{f' nor eligible {who}' if who else ''}"


def _nobody_asked(changes: Iterable[Operation], before: Link, after: Link) -> Finding:
    twice, earlier = asked_earlier(changes, before.version, after.state)
    return finding(
        f"version {after.version}, the record at offset {after.offset}, "
        f"{step(before.state, after.state, before.version)}, and nobody asked for that{twice}",
        earlier,
        [before.change, after.change],
        clause=JOINS.name,
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
