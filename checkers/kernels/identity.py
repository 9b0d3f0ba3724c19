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

from checkers.kernels.evidence import (
    Evidence,
    NodeEvent,
    Operation,
    concluded,
    finding,
    incarnations,
    record_of,
)
from framework.checking.keyed import Outcome
from framework.plugins.checker import Finding

EVENTS: Final = (
    "boot",
    "exit",
    "apply",
    "append",
    "lease",
    "heartbeat",
    "snap_write",
    "snap_load",
    "plog",
)
FS: Final = ("create", "describe", "metadata", "heartbeat", "produce")


@dataclass(frozen=True, slots=True)
class Sighting:
    """Somebody showed that `name` stands for `owner`."""

    owner: Hashable
    operations: tuple[Operation, ...] = ()
    events: tuple[NodeEvent, ...] = ()


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
                [*first.events, *other.events],
            )


def identity_uniqueness(evidence: Evidence) -> Outcome:
    kinds = [
        _topic_ids(evidence),
        _topics_created(evidence),
        _broker_epochs(evidence),
        _broker_processes(evidence),
        _entries(evidence),
        _partition_entries(evidence),
        _snapshots(evidence),
        _producers(evidence),
    ]
    findings = [found for kind in kinds for found in kind.findings()]
    findings += _producer_blocks(evidence)
    findings += _live_voters(evidence)
    figures = {kind.kind.replace(" ", "_"): kind.seen for kind in kinds}
    return concluded(sum(kind.seen for kind in kinds), findings, figures)


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return "/".join(map(str, value))
    return str(value)


# --- topics -------------------------------------------------------------------------------


def _topic_ids(evidence: Evidence) -> Names:
    """An id is of one name."""
    names = Names("topic id")
    for event in evidence.of("apply"):
        if event.fields.get("kind") == "TopicRecord":
            record = record_of(event)
            names.add(str(record["topic_id"]), Sighting(record["name"], events=(event,)))
    for operation in evidence.operations:
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


def _topics_created(evidence: Evidence) -> Names:
    """An id is of one creation: of one record, and of one create that was answered with it."""
    names = Names("created topic")
    for event in evidence.of("apply"):
        record = record_of(event)
        if event.fields.get("kind") == "TopicRecord" and not record.get("deleting"):
            owner = ("the record at offset", event.fields["offset"])
            names.add(("log", str(record["topic_id"])), Sighting(owner, events=(event,)))
    for operation in evidence.operations:
        topic_id = _shown_topic(operation)
        if operation.f == "create" and topic_id is not None:
            owner = ("operation", operation.index)
            names.add(("answered", topic_id), Sighting(owner, (operation,)))
    return names


# --- brokers ------------------------------------------------------------------------------


def _broker_epochs(evidence: Evidence) -> Names:
    """An epoch is of one broker id, whoever assigned or carried it."""
    names = Names("broker epoch")
    for event in evidence.of("apply"):
        if event.fields.get("kind") == "BrokerRecord":
            record = record_of(event)
            owner = ("broker", record["broker_id"])
            names.add(record["broker_epoch"], Sighting(owner, events=(event,)))
    for event in evidence.of("lease", "heartbeat"):
        accepted = event.type == "lease" or event.fields["error"] == 0
        epoch = event.fields["broker_epoch" if event.type == "lease" else "answered_epoch"]
        if accepted and epoch >= 0:
            owner = ("broker", event.fields["broker_id"])
            names.add(epoch, Sighting(owner, events=(event,)))
    for operation in evidence.operations:
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


def _broker_processes(evidence: Evidence) -> Names:
    """An epoch is of one process, by the leases that processes hold under it."""
    names = Names("leased broker epoch")
    for event in evidence.of("lease"):
        name = (event.fields["broker_id"], event.fields["broker_epoch"])
        names.add(name, Sighting(("process", event.incarnation), events=(event,)))
    for operation in evidence.operations:
        epoch = _answered_epoch(operation)
        if epoch is None or operation.value.get("zombie") is not None:
            continue
        if operation.value.get("incarnation") is not None:
            owner = ("process", operation.value["incarnation"])
            names.add((operation.value["broker_id"], epoch), Sighting(owner, (operation,)))
    return names


def _live_voters(evidence: Evidence) -> Iterator[Finding]:
    """Processes of one voter id that live at one time. Brokers may be two for a while: it is
    what their leases are for."""
    lives: dict[int, list[tuple[int, int, NodeEvent]]] = defaultdict(list)
    for processes in incarnations(evidence.of("boot", "exit", "append", "apply")).values():
        for life in processes:
            boot = life[0]
            replica = boot.fields.get("replica_id")
            if (
                boot.type == "boot"
                and replica is not None
                and replica in (boot.fields.get("voters") or ())
            ):
                lives[replica].append((boot.time_ns, life[-1].time_ns, boot))
    for replica, spans in sorted(lives.items()):
        spans.sort(key=lambda span: (span[0], span[2].node))
        last = spans[0]
        for span in spans[1:]:
            if span[0] < last[1]:
                yield finding(
                    f"two processes lived at one time as controller {replica}",
                    events=[last[2], span[2]],
                )
            last = max(last, span, key=lambda each: each[1])


# --- logs and snapshots -------------------------------------------------------------------


def _entries(evidence: Evidence) -> Names:
    """An (epoch, offset) of the metadata log is one record, truncated or not."""
    names = Names("metadata entry")
    for event in evidence.of("append"):
        epoch, base = event.fields["epoch"], event.fields["base_offset"]
        for at, crc in enumerate(event.fields["crcs"]):
            names.add((epoch, base + at), Sighting(("CRC", crc), events=(event,)))
    return names


def _partition_entries(evidence: Evidence) -> Names:
    """A (leader epoch, base offset) of a partition is one batch."""
    names = Names("partition entry")
    for event in evidence.of("plog"):
        fields = event.fields
        name = (
            fields["topic_id"],
            fields["partition"],
            fields["epoch"],
            fields["base_offset"],
        )
        owner = ("batch up to", fields["end_offset"], "CRC", fields["crc"])
        names.add(name, Sighting(owner, events=(event,)))
    return names


def _snapshots(evidence: Evidence) -> Names:
    names = Names("snapshot")
    for event in evidence.of("snap_write", "snap_load"):
        name = (event.fields["end_offset"], event.fields["epoch"])
        names.add(name, Sighting(("state", event.fields["digest"][:16]), events=(event,)))
    return names


# --- producers ----------------------------------------------------------------------------


def _producers(evidence: Evidence) -> Names:
    """A producer id, where operations tell theirs, is of one producer."""
    names = Names("producer id")
    for operation in evidence.operations:
        producer_id = (operation.ext or {}).get("producer_id")
        if operation.f == "produce" and isinstance(producer_id, int) and producer_id >= 0:
            names.add(producer_id, Sighting(operation.value["producer"], (operation,)))
    return names


def _producer_blocks(evidence: Evidence) -> Iterator[Finding]:
    """Blocks of producer ids follow each other; a batch carries an id that was given out."""
    records: dict[int, NodeEvent] = {}
    for event in evidence.of("apply"):
        if event.fields.get("kind") == "ProducerIdsRecord":
            records.setdefault(event.fields["offset"], event)
    before: NodeEvent | None = None
    for _, event in sorted(records.items()):
        if before is not None and _next_id(event) <= _next_id(before):
            yield finding(
                f"the block of producer ids at offset {event.fields['offset']} ends at "
                f"{_next_id(event)}, the one at offset {before.fields['offset']} at "
                f"{_next_id(before)}",
                events=[before, event],
            )
        before = event
    yield from _not_given_out(evidence.of("plog"), before)


def _next_id(event: NodeEvent) -> int:
    return int(record_of(event)["next_producer_id"])


def _not_given_out(batches: Iterable[NodeEvent], last: NodeEvent | None) -> Iterator[Finding]:
    if last is None:
        return
    for event in batches:
        producer_id = event.fields.get("producer_id", -1)
        if producer_id >= _next_id(last):
            yield finding(
                f"{event.node} appended a batch of producer id {producer_id}; no block up to "
                f"{_next_id(last)} holds it",
                events=[last, event],
            )
            return
