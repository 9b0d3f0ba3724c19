"""Nothing is called by a name that something else has had (D.19).

Topic ids, broker epochs, producer ids, (epoch, offset) pairs of the metadata log and of
partition logs, snapshot ids: each stands for one thing, whoever shows it, and also where the
record that made it was truncated afterwards. Controllers that live at one time have different
ids.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from framework.checking.findings import concluded, finding
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import (
    BrokerRegistered,
    Change,
    ProducerIdsGiven,
    TopicCreated,
    TopicDeletionBegun,
)
from framework.evidence.clocks import moment_of, surely_before
from framework.evidence.kinds import (
    Appended,
    Booted,
    Evidence,
    Exited,
    HeartbeatAnswered,
    LeaseGranted,
    PartitionAppended,
    SnapshotLoaded,
    SnapshotWritten,
    evidence_of,
)
from framework.evidence.run_events import RunEvents, incarnations
from framework.history.pairing import Operation
from framework.plugins.checker import Finding

FS: Final = ("create", "describe", "metadata", "heartbeat", "produce")


@dataclass(frozen=True, slots=True)
class Sighting:
    """Somebody showed that `name` stands for `owner`."""

    owner: Hashable
    operations: tuple[Operation, ...] = ()
    evidence: tuple[Evidence, ...] = ()


@dataclass(slots=True)
class Names:
    """The sightings of one kind of identifier; the first two owners of each."""

    kind: str
    first: dict[Hashable, Sighting] = field(default_factory=dict)
    second: dict[Hashable, Sighting] = field(default_factory=dict)
    seen: int = 0

    def add(self, name: Hashable, sighting: Sighting) -> None:
        self.seen += 1
        known = self.first.setdefault(name, sighting)
        if known.owner != sighting.owner:
            self.second.setdefault(name, sighting)

    def findings(self) -> Iterator[Finding]:
        for name, other in sorted(self.second.items(), key=lambda item: str(item[0])):
            first = self.first[name]
            yield finding(
                f"{self.kind} {_text(name)} is {_text(first.owner)} and {_text(other.owner)}",
                [*first.operations, *other.operations],
                [*first.evidence, *other.evidence],
            )


def identity_uniqueness(events: RunEvents) -> Outcome:
    kinds = [
        _topic_ids(events),
        _topics_created(events),
        _broker_epochs(events),
        _broker_processes(events),
        _entries(events),
        _partition_entries(events),
        _snapshots(events),
        _producers(events),
    ]
    findings = [found for kind in kinds for found in kind.findings()]
    findings += _producer_blocks(events)
    findings += _live_voters(events)
    figures = {kind.kind.replace(" ", "_"): kind.seen for kind in kinds}
    return concluded(sum(kind.seen for kind in kinds), findings, figures)


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return "/".join(map(str, value))
    return str(value)


# --- topics -------------------------------------------------------------------------------


def _topic_ids(events: RunEvents) -> Names:
    """An id is of one name."""
    names = Names("topic id")
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
    if operation.f not in ("create", "describe", "metadata") or not operation.ok:
        return None
    if not isinstance(operation.result, dict):
        return None
    topic_id = operation.result.get("topic_id")
    return None if topic_id is None else str(topic_id)


def _topics_created(events: RunEvents) -> Names:
    """An id is of one creation: of one record, and of one create that was answered with it."""
    names = Names("created topic")
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


def _broker_epochs(events: RunEvents) -> Names:
    """An epoch is of one broker id, whoever assigned or carried it."""
    names = Names("broker epoch")
    given: Iterable[BrokerRegistered | LeaseGranted] = events.of(BrokerRegistered, LeaseGranted)
    for each in given:
        owner = ("broker", each.broker_id)
        names.add(each.broker_epoch, Sighting(owner, evidence=(each,)))
    for answer in events.of(HeartbeatAnswered):
        if answer.accepted and answer.answered_epoch is not None:
            owner = ("broker", answer.broker_id)
            names.add(answer.answered_epoch, Sighting(owner, evidence=(answer,)))
    for operation in events.operations:
        epoch = _answered_epoch(operation)
        if epoch is not None:
            owner = ("broker", operation.value["broker_id"])
            names.add(epoch, Sighting(owner, (operation,)))
    return names


def _answered_epoch(operation: Operation) -> int | None:
    result = operation.result
    if operation.f != "heartbeat" or not operation.ok or not isinstance(result, dict):
        return None
    epoch = result.get("broker_epoch")
    return epoch if isinstance(epoch, int) and epoch >= 0 else None


def _broker_processes(events: RunEvents) -> Names:
    """An epoch is of one process, by the leases that processes hold under it."""
    names = Names("leased broker epoch")
    for each in events.of(LeaseGranted):
        name = (each.broker_id, each.broker_epoch)
        names.add(name, Sighting(("process", each.incarnation), evidence=(each,)))
    for operation in events.operations:
        epoch = _answered_epoch(operation)
        if epoch is None or operation.value.get("zombie") is not None:
            continue
        if operation.value.get("incarnation") is not None:
            owner = ("process", operation.value["incarnation"])
            names.add((operation.value["broker_id"], epoch), Sighting(owner, (operation,)))
    return names


def _live_voters(events: RunEvents) -> Iterator[Finding]:
    """Processes of one voter id that live at one time. Brokers may be two for a while: it is
    what their leases are for."""
    lives: dict[int, list[tuple[Evidence, Booted]]] = defaultdict(list)
    evidence: Iterable[Evidence] = events.of(Booted, Exited, Appended, Change)
    for processes in incarnations(evidence).values():
        for life in processes:
            boot = life[0]
            if isinstance(boot, Booted) and boot.replica_id in boot.voters:
                lives[boot.replica_id].append((life[-1], boot))
    for replica, spans in sorted(lives.items()):
        spans.sort(key=lambda span: (span[1].at_ns, span[1].node))
        last, first = spans[0]
        for end, boot in spans[1:]:
            if surely_before(moment_of(boot), moment_of(last)):
                yield finding(
                    f"two processes lived at one time as controller {replica}",
                    evidence=[first, boot],
                )
            if end.at_ns > last.at_ns:
                last, first = end, boot


# --- logs and snapshots -------------------------------------------------------------------


def _entries(events: RunEvents) -> Names:
    """An (epoch, offset) of the metadata log is one record, truncated or not."""
    names = Names("metadata entry")
    for each in events.of(Appended):
        for offset, crc in enumerate(each.crcs, each.base_offset):
            names.add((each.epoch, offset), Sighting(("CRC", crc), evidence=(each,)))
    return names


def _partition_entries(events: RunEvents) -> Names:
    """A (leader epoch, base offset) of a partition is one batch."""
    names = Names("partition entry")
    for each in events.of(PartitionAppended):
        name = (each.topic_id, each.partition, each.epoch, each.base_offset)
        owner = ("batch up to", each.end_offset, "CRC", each.crc)
        names.add(name, Sighting(owner, evidence=(each,)))
    return names


def _snapshots(events: RunEvents) -> Names:
    names = Names("snapshot")
    snapshots: Iterable[SnapshotWritten | SnapshotLoaded] = events.of(
        SnapshotWritten, SnapshotLoaded
    )
    for each in snapshots:
        name = (each.end_offset, each.epoch)
        names.add(name, Sighting(("state", each.digest[:16]), evidence=(each,)))
    return names


# --- producers ----------------------------------------------------------------------------


def _producers(events: RunEvents) -> Names:
    """A producer id, where operations tell theirs, is of one producer."""
    names = Names("producer id")
    for operation in events.operations:
        producer_id = (operation.ext or {}).get("producer_id")
        if operation.f == "produce" and isinstance(producer_id, int) and producer_id >= 0:
            names.add(producer_id, Sighting(operation.value["producer"], (operation,)))
    return names


def _producer_blocks(events: RunEvents) -> Iterator[Finding]:
    """Blocks of producer ids follow each other; a batch carries an id that was given out."""
    blocks: dict[int, ProducerIdsGiven] = {}
    for each in events.of(ProducerIdsGiven):
        blocks.setdefault(each.offset, each)
    before: ProducerIdsGiven | None = None
    for _, each in sorted(blocks.items()):
        if before is not None and each.next_producer_id <= before.next_producer_id:
            yield finding(
                f"the block of producer ids at offset {each.offset} ends at "
                f"{each.next_producer_id}, the one at offset {before.offset} at "
                f"{before.next_producer_id}",
                evidence=[before, each],
            )
        before = each
    yield from _not_given_out(events.of(PartitionAppended), before)


def _not_given_out(
    batches: Iterable[PartitionAppended], last: ProducerIdsGiven | None
) -> Iterator[Finding]:
    if last is None:
        return
    for batch in batches:
        if batch.producer_id is not None and batch.producer_id >= last.next_producer_id:
            yield finding(
                f"{batch.node} appended a batch of producer id {batch.producer_id}; no block up to "
                f"{last.next_producer_id} holds it",
                evidence=[last, batch],
            )
            return


class IdentityUniqueness(RunChecker):
    name = "identity-uniqueness"
    summary = (
        "Topic ids, broker epochs, producer ids, log entries, snapshots and controllers' "
        "ids each stand for one thing, also across failovers"
    )
    requires = evidence_of(Change)
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
        fs=FS,
    )
