"""What controllers accepted, against what they had applied (D.10, logged part; no clocks).

A controller that accepts a request must not have applied, before it decided, a record with a
newer generation than the request carries; nor may such a record stand below the records that
it appended for the request, once those are committed.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from checkers.kernels.decisions import IsrDecision, isr_decisions
from checkers.kernels.evidence import (
    Evidence,
    NodeEvent,
    Operation,
    finding,
    incarnations,
    record_of,
)
from framework.plugins.checker import Finding

Kind: TypeAlias = tuple[str, object]
Applied: TypeAlias = Mapping[int, NodeEvent]
"""Offset -> the committed record there."""

_APIS = {"BrokerHeartbeat": "heartbeat", "AlterPartition": "alter-isr"}


@dataclass(frozen=True, slots=True)
class Carried:
    """A generation that an accepted request rests on. `part`: the part of it that does; None:
    the request as a whole."""

    kind: Kind
    value: int
    part: IsrDecision | None = None


@dataclass(frozen=True, slots=True)
class Stale:
    """A decision, and the record that made what it rests on stale."""

    decide: NodeEvent
    carried: Carried
    newest: int
    by: NodeEvent


def decided_on_stale(evidence: Evidence) -> tuple[int, list[Finding]]:
    """How many acceptances were judged, and those that rest on something stale."""
    log: dict[int, NodeEvent] = {}
    for event in evidence.of("apply"):
        log.setdefault(event.fields["offset"], event)
    found: dict[tuple[str, int], Stale] = {}
    for lives in incarnations(evidence.of("apply", "decide")).values():
        for life in lives:
            for stale in _applied_before(life, log):
                found.setdefault((stale.decide.incarnation, stale.decide.seq), stale)
    decides = [event for event in evidence.of("decide") if _accepted(event, log)]
    for stale in _below_records(decides, log):
        found.setdefault((stale.decide.incarnation, stale.decide.seq), stale)
    return len(decides), [_finding(stale, evidence.operations) for stale in found.values()]


def _accepted(event: NodeEvent, log: Applied) -> bool:
    return any(True for _ in _carried(event, log))


def _carried(decide: NodeEvent, log: Applied) -> Iterator[Carried]:
    """The generations on which what was accepted rests. Epoch -1 is a newcomer's: it carries
    none."""
    if decide.fields["verdict"] != 0:
        return
    source: Mapping[str, Any] = decide.fields.get("source") or {}
    broker, epoch = source.get("broker_id"), source.get("broker_epoch")
    if broker is not None and epoch is not None and epoch >= 0:
        yield Carried(("broker epoch", broker), epoch)
    for part in isr_decisions(decide):
        if part.accepted or (part.code is None and _made_by(part, log)):
            where = (part.topic_id, part.partition)
            yield Carried(("leader epoch", where), part.leader_epoch, part)
            yield Carried(("version", where), part.partition_epoch, part)


def _made_by(part: IsrDecision, log: Applied) -> bool:
    """Whether a committed record shows that this part was accepted."""
    held = (log[offset] for offset in part.records if offset in log)
    return any(
        event.fields["epoch"] == part.event.fields["epoch"]
        and record_of(event).get("partition_id") == part.partition
        and str(record_of(event).get("topic_id")) == part.topic_id
        for event in held
    )


def _made(apply: NodeEvent) -> Iterator[tuple[Kind, int]]:
    """The generations that a committed record begins."""
    record = record_of(apply)
    match apply.fields.get("kind"):
        case "BrokerRecord":
            yield ("broker epoch", record["broker_id"]), record["broker_epoch"]
        case "PartitionRecord" | "IsrChangeRecord":
            where = (str(record["topic_id"]), record["partition_id"])
            yield ("leader epoch", where), record["leader_epoch"]
            yield ("version", where), record["partition_epoch"]


class Newest:
    """The greatest generation of each kind among the records given so far."""

    def __init__(self) -> None:
        self._best: dict[Kind, tuple[int, NodeEvent]] = {}

    def add(self, apply: NodeEvent) -> None:
        for kind, value in _made(apply):
            if kind not in self._best or value > self._best[kind][0]:
                self._best[kind] = (value, apply)

    def outdating(self, decide: NodeEvent, log: Applied) -> Iterator[Stale]:
        for carried in _carried(decide, log):
            if carried.kind not in self._best:
                continue
            value, by = self._best[carried.kind]
            # What it decided on ends at `as_of`: its own record may be applied already.
            if carried.value < value and by.fields["offset"] < decide.fields["as_of"]:
                yield Stale(decide, carried, value, by)


def _name(kind: Kind) -> str:
    if isinstance(kind[1], tuple):
        return "partition " + "/".join(map(str, kind[1]))
    return f"broker {kind[1]}"


def _applied_before(life: Iterable[NodeEvent], log: Applied) -> Iterator[Stale]:
    """By the order of one incarnation's own events."""
    newest = Newest()
    for event in life:
        if event.type == "apply":
            newest.add(event)
        else:
            yield from newest.outdating(event, log)


def _below_records(decides: Iterable[NodeEvent], log: Applied) -> Iterator[Stale]:
    """By the order of the log, for decisions whose records were committed: what is committed
    below them is what their leader's log held below them."""
    at: dict[int, list[NodeEvent]] = defaultdict(list)
    for decide in decides:
        records = decide.fields["records"]
        if records and min(records) in log:
            first = log[min(records)]
            if first.fields["epoch"] == decide.fields["epoch"]:
                at[first.fields["offset"]].append(decide)
    newest = Newest()
    for offset in sorted(log):
        for decide in at.get(offset, ()):
            yield from newest.outdating(decide, log)
        newest.add(log[offset])


def _finding(stale: Stale, operations: Iterable[Operation]) -> Finding:
    fields, carried = stale.decide.fields, stale.carried
    asking = [each for each in operations if _may_be(each, stale.decide, carried.part)]
    named = ", ".join(str(each.index) for each in asking) or "none recorded"
    return finding(
        f"{stale.decide.node} accepted {fields['api']} with {carried.kind[0]} of "
        f"{_name(carried.kind)} at {carried.value}, which the record at offset "
        f"{stale.by.fields['offset']} had raised to {stale.newest} (operations: {named})",
        asking,
        [stale.by, stale.decide],
    )


def _may_be(operation: Operation, decide: NodeEvent, part: IsrDecision | None) -> bool:
    """Whether this operation may have sent the request: same contents, under way then."""
    source, value = dict(decide.fields.get("source") or {}), operation.value
    if part is not None:
        epochs = {"leader_epoch": part.leader_epoch, "partition_epoch": part.partition_epoch}
        source |= epochs | {"partition": part.partition}
    if operation.f != _APIS.get(decide.fields["api"]) or not isinstance(value, dict):
        return False
    begin, end = operation.invoked_ns, operation.completed_ns
    if begin is None or begin > decide.time_ns:
        return False
    if end is not None and operation.type != "info" and end < decide.time_ns:
        return False
    names = ("broker_id", "broker_epoch", "leader_epoch", "partition_epoch", "partition")
    return all(
        value.get(name) == source[name]
        for name in names
        if source.get(name) is not None and name in value
    )
