"""Nothing is called by a name that something else has had (D.19).

Topic ids, broker epochs, producer ids, (epoch, offset) pairs of the metadata log and of
partition logs, snapshot ids: each stands for one thing, whoever shows it. Controllers that live at
one time have different ids.

A topic's id is told before its record is committed, and stays its own where that is truncated.
Epochs of brokers and blocks of producer ids are nobody's until their record is committed: a later
leader may give them anew (KIP-631, KIP-730).
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from checkers.folds.committed_log import once_each
from checkers.folds.disk_logs import DISK_KINDS, committed_on_disks
from checkers.folds.values import heartbeat, heartbeat_answer, produce_of, revealed, topic_answer
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import (
    BrokerFenced,
    BrokerLeaving,
    BrokerRegistered,
    BrokerUnfenced,
    BrokerUnregistered,
    Change,
    ProducerIdsGiven,
    TopicCreated,
    TopicDeletionBegun,
)
from framework.evidence.clocks import Latest, moment_of, surely_before
from framework.evidence.kinds import (
    Appended,
    Booted,
    Evidence,
    Exited,
    HeartbeatAnswered,
    LeaseGranted,
    PartitionAppended,
    SnapshotFile,
    SnapshotLoaded,
    SnapshotWritten,
    either_of,
)
from framework.evidence.run_events import (
    RunEvents,
    from_no_disk,
    incarnations,
    of_kinds,
    unreported,
    voters,
)
from framework.history.pairing import Operation
from framework.plugins.checker import CLIENTS, DISKS, EVENTS, LEDGER, Clause, Count, Finding

TOPIC_FS: Final = ("create", "describe", "follow", "metadata")
FS: Final = (*TOPIC_FS, "heartbeat", "produce")

NamesEpoch = (
    BrokerRegistered
    | BrokerUnregistered
    | BrokerFenced
    | BrokerUnfenced
    | BrokerLeaving
    | ProducerIdsGiven
    | LeaseGranted
)
"""What says whose a broker epoch is."""

TOPICS: Final = Clause(
    name="topic-ids",
    says="A topic id is of one name, one record and one acknowledged creation",
    compares="mentions of a topic id beside another",
    floor=2,
    because="an id that is mentioned once is nobody else's",
    sources=(CLIENTS, DISKS, EVENTS),
)
BROKERS: Final = Clause(
    name="broker-epochs",
    says="A broker epoch is of one broker, and leases under it are of one process",
    compares="mentions of a broker epoch beside another",
    floor=2,
    because="an epoch that is mentioned once is nobody else's",
    sources=(CLIENTS, DISKS, EVENTS),
    blind="two processes of a broker of which only one shows itself",
)
ENTRIES: Final = Clause(
    name="log-entries",
    says="An (epoch, offset) of the metadata log is one record, truncated or not, and a snapshot "
    "id one state",
    compares="copies of a record or a snapshot beside another",
    floor=10,
    because="two replicas that began have as many records in common",
    sources=(DISKS, EVENTS),
    blind="records below a snapshot that no copy of a disk has kept",
)
BATCHES: Final = Clause(
    name="batches",
    says="A (leader epoch, base offset) of a partition is one batch",
    compares="copies of a batch beside another",
    floor=2,
    because="a batch of which there is one copy is like no other",
    sources=(DISKS, EVENTS),
    blind="partitions of one replica",
)
PRODUCERS: Final = Clause(
    name="producer-ids",
    says="A producer id is of one producer, and of a block that was given out; blocks follow each "
    "other",
    compares="mentions of a producer id, and blocks, beside another",
    floor=2,
    because="an id that is mentioned once is nobody else's",
    sources=(CLIENTS, DISKS, EVENTS),
)
VOTERS: Final = Clause(
    name="live-voters",
    says="No two processes live at one time under one voter's id",
    compares="processes of a voter beside an earlier one",
    floor=2,
    because="one restart may be the one that went well",
    sources=(LEDGER, EVENTS),
    blind="what a process does after the last event that it tells",
)


@dataclass(frozen=True, slots=True)
class Sighting:
    """Somebody showed that `name` stands for `owner`."""

    owner: Hashable
    operations: tuple[Operation, ...] = ()
    evidence: tuple[Evidence, ...] = ()


@dataclass(slots=True)
class Names:
    """The sightings of one kind of identifier, of a clause; the first two owners of each."""

    kind: str
    clause: Clause
    first: dict[Hashable, Sighting] = field(default_factory=dict)
    second: dict[Hashable, Sighting] = field(default_factory=dict)
    seen: int = 0

    def add(self, name: Hashable, sighting: Sighting) -> None:
        self.seen += 1
        known = self.first.setdefault(name, sighting)
        if known.owner != sighting.owner:
            self.second.setdefault(name, sighting)

    @property
    def again(self) -> int:
        """Sightings beside the first of a name."""
        return self.seen - len(self.first)

    def findings(self) -> Iterator[Finding]:
        for name, other in self.second.items():
            first = self.first[name]
            yield finding(
                f"{self.kind} {_text(name)} is {_text(first.owner)} and {_text(other.owner)}",
                [*first.operations, *other.operations],
                [*first.evidence, *other.evidence],
                clause=self.clause.name,
            )


def identity_uniqueness(events: RunEvents) -> Outcome:
    sure = committed_on_disks(events)
    applied = from_no_disk(
        events.of(
            BrokerRegistered,
            BrokerUnregistered,
            BrokerFenced,
            BrokerUnfenced,
            BrokerLeaving,
            ProducerIdsGiven,
        )
    )
    committed = [*applied, *sure.records]
    kinds = [
        _topic_ids(events),
        _topics_created(events),
        _broker_epochs(events, committed),
        _broker_processes(events),
        _entries(events),
        _partition_entries(events),
        _snapshots(events),
        _producers(events),
    ]
    findings = [found for kind in kinds for found in kind.findings()]
    blocks = once_each(
        of_kinds(sure.records, ProducerIdsGiven), of_kinds(applied, ProducerIdsGiven)
    )
    following, found = _producer_blocks(blocks)
    findings += found
    # Where disks do not say what is committed, any block that is on one may be.
    perhaps = events.of(ProducerIdsGiven) if sure.why else ()
    named, found = _not_given_out(events, [*blocks, *perhaps])
    findings += found
    again, found = _live_voters(events)
    findings += found
    compared = Counter({PRODUCERS.name: following + named, VOTERS.name: again})
    for kind in kinds:
        compared[kind.clause.name] += kind.again
    figures = {kind.kind.replace(" ", "_"): kind.seen for kind in kinds}
    return weighed(_counts(compared, events), findings, figures)


def _counts(compared: Mapping[str, int], events: RunEvents) -> dict[str, Count]:
    """Where nothing was compared, perhaps because nobody asked for what could have been."""
    done = {each.f for each in events.operations if each.ok}
    named = any(_producer(each) is not None for each in events.operations)
    reasons = {
        TOPICS: "" if "create" in done else "no client was acknowledged a topic",
        BROKERS: "",
        ENTRIES: "",
        BATCHES: "" if "produce" in done else "no client was acknowledged a record",
        PRODUCERS: "" if named else "no client said by which id it produces",
        VOTERS: unreported(events.plan) or _hardly_restarted(events),
    }
    return {each.name: each.count(compared[each.name], why) for each, why in reasons.items()}


def _hardly_restarted(events: RunEvents) -> str:
    members = set(voters(events.plan))
    ended = [each for each in events.faults if each.ends_processes]
    hit = sum(len(members - each.spared(members)) for each in ended)
    return "" if hit >= VOTERS.floor else "the ledger has not two ends of voters' processes"


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return "/".join(map(str, value))
    return str(value)


# --- topics -------------------------------------------------------------------------------


def _topic_ids(events: RunEvents) -> Names:
    """An id is of one name."""
    names = Names("topic id", TOPICS)
    topics: Iterable[TopicCreated | TopicDeletionBegun] = events.of(
        TopicCreated, TopicDeletionBegun
    )
    for each in topics:
        names.add(each.topic_id, Sighting(each.name, evidence=(each,)))
    for operation in events.operations:
        topic_id = _shown_topic(operation)
        if topic_id is not None:
            names.add(topic_id, Sighting(operation.key, (operation,)))
    return names


def _shown_topic(operation: Operation) -> str | None:
    if operation.f not in TOPIC_FS or not operation.ok:
        return None
    if not isinstance(operation.result, dict):
        return None
    topic_id = topic_answer(operation).get("topic_id")
    return None if topic_id is None else str(topic_id)


def _topics_created(events: RunEvents) -> Names:
    """An id is of one creation: of one record, and of one create that was answered with it."""
    names = Names("created topic", TOPICS)
    for each in events.of(TopicCreated):
        owner: Hashable = ("the record at offset", each.offset)
        names.add(("log", each.topic_id), Sighting(owner, evidence=(each,)))
    for operation in events.operations:
        topic_id = _shown_topic(operation)
        if operation.f == "create" and topic_id is not None:
            owner = ("operation", operation.index)
            names.add(("answered", topic_id), Sighting(owner, (operation,)))
    return names


# --- brokers ------------------------------------------------------------------------------


def _broker_epochs(events: RunEvents, committed: Iterable[Change]) -> Names:
    """An epoch is of one broker id, whoever assigned or carried it, or a record that names it."""
    names = Names("broker epoch", BROKERS)
    for each in (*committed, *events.of(LeaseGranted)):
        if isinstance(each, NamesEpoch):
            owner = ("broker", each.broker_id)
            names.add(each.broker_epoch, Sighting(owner, evidence=(each,)))
    for answer in events.of(HeartbeatAnswered):
        if answer.accepted and answer.answered_epoch is not None:
            owner = ("broker", answer.broker_id)
            names.add(answer.answered_epoch, Sighting(owner, evidence=(answer,)))
    for operation in events.operations:
        epoch = _answered_epoch(operation)
        if epoch is not None:
            owner = ("broker", heartbeat(operation)["broker_id"])
            names.add(epoch, Sighting(owner, (operation,)))
    return names


def _answered_epoch(operation: Operation) -> int | None:
    if operation.f != "heartbeat" or not operation.ok or not isinstance(operation.result, dict):
        return None
    epoch = heartbeat_answer(operation).get("broker_epoch")
    return epoch if isinstance(epoch, int) and epoch >= 0 else None


def _broker_processes(events: RunEvents) -> Names:
    """An epoch is of one process, by the leases that processes hold under it."""
    names = Names("leased broker epoch", BROKERS)
    for each in events.of(LeaseGranted):
        name = (each.broker_id, each.broker_epoch)
        names.add(name, Sighting(("process", each.incarnation), evidence=(each,)))
    for operation in events.operations:
        epoch = _answered_epoch(operation)
        if epoch is None or heartbeat(operation).get("zombie") is not None:
            continue
        beat = heartbeat(operation)
        if beat.get("incarnation") is not None:
            owner = ("process", beat["incarnation"])
            names.add((beat["broker_id"], epoch), Sighting(owner, (operation,)))
    return names


def _live_voters(events: RunEvents) -> tuple[int, list[Finding]]:
    """Processes of one voter id that live at one time, and how many were held against an earlier
    one. Brokers may be two for a while: it is what their leases are for."""
    compared, findings = 0, []
    lives: dict[int, list[Life]] = defaultdict(list)
    evidence: Iterable[Evidence] = events.of(Booted, Exited, Appended, Change)
    for processes in incarnations(evidence).values():
        for life in processes:
            boot = life[0]
            if isinstance(boot, Booted) and boot.replica_id in boot.voters:
                lives[boot.replica_id].append(Life(boot, life[-1]))
    for replica, own in sorted(lives.items()):
        former = Latest[Life]()
        compared += len(own) - 1
        for each in sorted(own, key=lambda life: moment_of(life.boot).in_order):
            other = next((life for life in former if life.meets(each)), None)
            if other is not None:
                message = f"two processes lived at one time as controller {replica}"
                boots = [other.boot, each.boot]
                findings.append(finding(message, evidence=boots, clause=VOTERS.name))
            former.add(moment_of(each.end), each)
    return compared, findings


@dataclass(frozen=True, slots=True)
class Life:
    """Of a process, as far as it told of itself."""

    boot: Booted
    end: Evidence

    def meets(self, other: "Life") -> bool:
        """Whether both surely lived at a time: it may not be known which of them began first."""
        return surely_before(moment_of(other.boot), moment_of(self.end)) and surely_before(
            moment_of(self.boot), moment_of(other.end)
        )


# --- logs and snapshots -------------------------------------------------------------------


def _entries(events: RunEvents) -> Names:
    """An (epoch, offset) of the metadata log is one record, truncated or not."""
    names = Names("metadata entry", ENTRIES)
    for each in events.of(Appended):
        for offset, crc in enumerate(each.crcs, each.base_offset):
            names.add((each.epoch, offset), Sighting(("CRC", crc), evidence=(each,)))
    return names


def _partition_entries(events: RunEvents) -> Names:
    """A (leader epoch, base offset) of a partition is one batch."""
    names = Names("partition entry", BATCHES)
    for each in events.of(PartitionAppended):
        name = (each.topic_id, each.partition, each.epoch, each.base_offset)
        owner = ("batch up to", each.end_offset, "CRC", each.crc)
        names.add(name, Sighting(owner, evidence=(each,)))
    return names


def _snapshots(events: RunEvents) -> Names:
    names = Names("snapshot", ENTRIES)
    snapshots: Iterable[SnapshotWritten | SnapshotLoaded] = events.of(
        SnapshotWritten, SnapshotLoaded
    )
    for each in snapshots:
        name: Hashable = (each.end_offset, each.epoch)
        names.add(name, Sighting(("state", each.digest), evidence=(each,)))
    for file in events.of(SnapshotFile):
        if file.digest is not None:
            name = (file.end_offset, file.epoch, "on disk")
            names.add(name, Sighting(("state", file.digest), evidence=(file,)))
    return names


# --- producers ----------------------------------------------------------------------------


def _producers(events: RunEvents) -> Names:
    """A producer id, where operations tell theirs, is of one producer."""
    names = Names("producer id", PRODUCERS)
    for operation in events.operations:
        producer_id = _producer(operation)
        if producer_id is not None:
            names.add(producer_id, Sighting(produce_of(operation)["producer"], (operation,)))
    return names


def _producer(operation: Operation) -> int | None:
    found = revealed(operation).get("producer_id") if operation.f == "produce" else None
    return found if isinstance(found, int) and found >= 0 else None


def _producer_blocks(blocks: Sequence[ProducerIdsGiven]) -> tuple[int, list[Finding]]:
    """Of blocks of producer ids, in the order of the log, each follows the one before; and how many
    were held against one."""
    findings = [
        finding(
            f"the block of producer ids at offset {each.offset} ends at "
            f"{each.next_producer_id}, the one at offset {before.offset} at "
            f"{before.next_producer_id}",
            evidence=[before, each],
            clause=PRODUCERS.name,
        )
        for before, each in pairwise(blocks)
        if each.next_producer_id <= before.next_producer_id
    ]
    return len(blocks[1:]), findings


def _not_given_out(
    events: RunEvents, blocks: Sequence[ProducerIdsGiven]
) -> tuple[int, list[Finding]]:
    """Batches that carry a producer's id, and the first whose id is above all blocks. Without a
    block the ids are of another system."""
    if not blocks:
        return 0, []
    last = max(blocks, key=lambda each: each.next_producer_id)
    named = [
        (each.producer_id, each)
        for each in events.of(PartitionAppended)
        if each.producer_id is not None
    ]
    findings = [
        finding(
            f"{batch.node} appended a batch of producer id {producer_id}; no block up to "
            f"{last.next_producer_id} holds it",
            evidence=[last, batch],
            clause=PRODUCERS.name,
        )
        for producer_id, batch in named
        if producer_id >= last.next_producer_id
    ]
    return len(named), findings[:1]


class IdentityUniqueness(RunChecker):
    name = "identity-uniqueness"
    summary = (
        "Topic ids, broker epochs, producer ids, log entries, snapshots and controllers' "
        "ids each stand for one thing, also across failovers"
    )
    requires = either_of(Change)
    clauses = (TOPICS, BROKERS, ENTRIES, BATCHES, PRODUCERS, VOTERS)
    check_run = RunCheck(
        identity_uniqueness,
        evidence=(
            Booted,
            Exited,
            Change,
            Appended,
            LeaseGranted,
            HeartbeatAnswered,
            SnapshotWritten,
            SnapshotLoaded,
            PartitionAppended,
        ),
        disk=(*DISK_KINDS, PartitionAppended),
        fs=FS,
        faults=True,
    )
