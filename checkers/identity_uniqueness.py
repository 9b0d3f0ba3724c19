"""Nothing is called by a name that something else has had (D.19).

Topic ids, broker epochs, producer ids, (epoch, offset) pairs of the metadata log and of
partition logs, snapshot ids: each stands for one thing, whoever shows it. Controllers that live at
one time have different ids.

A topic's id is told before its record is committed, and stays its own where that is truncated.
Epochs of brokers and blocks of producer ids are nobody's until their record is committed: a later
leader may give them anew (KIP-631, KIP-730).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np

from checkers.folds.history.log_values import produce_of
from checkers.folds.history.values import heartbeat, heartbeat_answer, revealed, topic_answer
from checkers.folds.metadata_log.committed_log import once_each
from checkers.folds.metadata_log.disk_logs import DISK_KINDS, committed_on_disks
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.brokers import HeartbeatAnswered, LeaseGranted
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
from framework.evidence.kinds import Evidence, either_of
from framework.evidence.partitions import PartitionAppended
from framework.evidence.processes import Booted, Exited
from framework.evidence.quorum import Appended, SnapshotFile, SnapshotLoaded, SnapshotWritten
from framework.evidence.relations import Relation, relation, relation_of
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

NAMES_EPOCH: Final = (
    BrokerRegistered,
    BrokerUnregistered,
    BrokerFenced,
    BrokerUnfenced,
    BrokerLeaving,
    ProducerIdsGiven,
)
"""Records that say whose a broker epoch is."""

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


Witness: TypeAlias = Evidence | Operation


@dataclass(frozen=True, slots=True)
class Names:
    """Who showed what identifiers of one kind stand for, of a clause. `name`, `owner`: the columns
    that an identifier, and what it stands for, are made of; `words`: how a finding says `owner`."""

    kind: str
    clause: Clause
    shown: Relation[Witness]
    name: Sequence[str]
    owner: Sequence[str]
    words: str = "{}"

    @property
    def again(self) -> int:
        """Sightings beside the first of a name."""
        return len(self.shown) - len(self.shown.first(*self.name))

    def findings(self) -> Iterator[Finding]:
        """Of each name that has several owners, the first two."""
        for first, other, *_ in self.shown.disagreeing(*self.name, on=self.owner):
            name = [str(each) for each in self.shown.values(first, *self.name) if each != ""]
            owners = [
                self.words.format(*self.shown.values(row, *self.owner)) for row in (first, other)
            ]
            witnesses = self.shown.objects(np.array([first, other]))
            yield finding(
                f"{self.kind} {'/'.join(name)} is {owners[0]} and {owners[1]}",
                [each for each in witnesses if isinstance(each, Operation)],
                [each for each in witnesses if isinstance(each, Evidence)],
                clause=self.clause.name,
            )


def identity_uniqueness(events: RunEvents) -> Outcome:
    sure = committed_on_disks(events)
    applied = from_no_disk(events.of(*NAMES_EPOCH))
    kinds = [
        _topic_ids(events),
        _topics_created(events),
        _broker_epochs(events, applied, sure.records),
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
    figures = {kind.kind.replace(" ", "_"): len(kind.shown) for kind in kinds}
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


# --- topics -------------------------------------------------------------------------------


def _topic_ids(events: RunEvents) -> Names:
    """An id is of one name."""
    records = relation(events.of(TopicCreated, TopicDeletionBegun), "topic_id", "name")
    answers = [each for each in events.operations if _shown_topic(each) is not None]
    shown = relation_of(
        answers,
        topic_id=map(_shown_topic, answers),
        name=(str(each.key) for each in answers),
    )
    return Names("topic id", TOPICS, records.union(shown), ["topic_id"], ["name"])


def _shown_topic(operation: Operation) -> str | None:
    if operation.f not in TOPIC_FS or not operation.ok:
        return None
    if not isinstance(operation.result, dict):
        return None
    topic_id = topic_answer(operation).get("topic_id")
    return None if topic_id is None else str(topic_id)


def _topics_created(events: RunEvents) -> Names:
    """An id is of one creation: of one record, and of one create that was answered with it."""
    records = relation(events.of(TopicCreated), "topic_id", "offset").renamed(offset="place")
    records = records.with_column("where", "log").with_column("what", "the record at offset")
    creates = [
        each for each in events.operations if each.f == "create" and _shown_topic(each) is not None
    ]
    answered = relation_of(
        creates,
        topic_id=map(_shown_topic, creates),
        place=(each.index for each in creates),
    )
    answered = answered.with_column("where", "answered").with_column("what", "operation")
    shown = records.union(answered)
    return Names("created topic", TOPICS, shown, ["where", "topic_id"], ["what", "place"], "{}/{}")


# --- brokers ------------------------------------------------------------------------------


def _broker_epochs(events: RunEvents, applied: Iterable[Change], sure: Sequence[Change]) -> Names:
    """An epoch is of one broker id, whoever assigned or carried it, or a record that names it."""
    columns = ("broker_epoch", "broker_id")
    accepted = relation(
        events.of(HeartbeatAnswered), "answered_epoch", "broker_id", "accepted"
    ).where(accepted=True)
    beats = [each for each in events.operations if _answered_epoch(each) is not None]
    answers = relation_of(
        beats,
        broker_epoch=map(_answered_epoch, beats),
        broker_id=(heartbeat(each)["broker_id"] for each in beats),
    )
    shown: Relation[Witness] = relation(of_kinds(applied, *NAMES_EPOCH), *columns).union(
        relation(of_kinds(sure, *NAMES_EPOCH), *columns),
        relation(events.of(LeaseGranted), *columns),
        accepted.known("answered_epoch").renamed(answered_epoch="broker_epoch"),
        answers,
    )
    return Names("broker epoch", BROKERS, shown, ["broker_epoch"], ["broker_id"], "broker/{}")


def _answered_epoch(operation: Operation) -> int | None:
    if operation.f != "heartbeat" or not operation.ok or not isinstance(operation.result, dict):
        return None
    epoch = heartbeat_answer(operation).get("broker_epoch")
    return epoch if isinstance(epoch, int) and epoch >= 0 else None


def _broker_processes(events: RunEvents) -> Names:
    """An epoch is of one process, by the leases that processes hold under it."""
    name, owner = ["broker_id", "broker_epoch"], ["incarnation"]
    leases = relation(events.of(LeaseGranted), *name, *owner)
    beats = [each for each in events.operations if _own_beat(each)]
    answers = relation_of(
        beats,
        broker_id=(heartbeat(each)["broker_id"] for each in beats),
        broker_epoch=map(_answered_epoch, beats),
        incarnation=(str(heartbeat(each)["incarnation"]) for each in beats),
    )
    shown = leases.union(answers)
    return Names("leased broker epoch", BROKERS, shown, name, owner, "process/{}")


def _own_beat(operation: Operation) -> bool:
    """Whether it gave a lease to the process that it names."""
    if _answered_epoch(operation) is None:
        return False
    beat = heartbeat(operation)
    return beat.get("zombie") is None and beat.get("incarnation") is not None


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
    appends = relation(events.of(Appended), "epoch", "base_offset", "crcs")
    entries = appends.explode("crcs", index="nth")
    entries = entries.with_column("offset", entries["base_offset"] + entries["nth"])
    return Names("metadata entry", ENTRIES, entries, ["epoch", "offset"], ["crcs"], "CRC/{}")


def _partition_entries(events: RunEvents) -> Names:
    """A (leader epoch, base offset) of a partition is one batch."""
    name, owner = ["topic_id", "partition", "epoch", "base_offset"], ["end_offset", "crc"]
    shown = relation(events.of(PartitionAppended), *name, *owner)
    words = "batch up to/{}/CRC/{}"
    return Names("partition entry", BATCHES, shown, name, owner, words)


def _snapshots(events: RunEvents) -> Names:
    columns = ("end_offset", "epoch", "digest")
    told = relation(events.of(SnapshotWritten, SnapshotLoaded), *columns).with_column("where", "")
    files = relation(events.of(SnapshotFile), *columns).with_column("where", "on disk")
    shown = told.union(files.known("digest"))
    return Names(
        "snapshot", ENTRIES, shown, ["end_offset", "epoch", "where"], ["digest"], "state/{}"
    )


# --- producers ----------------------------------------------------------------------------


def _producers(events: RunEvents) -> Names:
    """A producer id, where operations tell theirs, is of one producer."""
    named = [each for each in events.operations if _producer(each) is not None]
    shown = relation_of(
        named,
        producer_id=map(_producer, named),
        producer=(str(produce_of(each)["producer"]) for each in named),
    )
    return Names("producer id", PRODUCERS, shown, ["producer_id"], ["producer"])


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
