"""Counters that only rise (D.8): quorum-state over restarts, high watermarks, applied offsets,
broker epochs, leader and partition epochs, and what clients saw of them."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

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

EVENTS = ("boot", "epoch", "hw", "apply", "state", "publish")
FS = ("metadata", "heartbeat")
NONE = -1


@dataclass(slots=True)
class Tally:
    """Findings and how many values were compared."""

    findings: list[Finding]
    seen: int = 0

    def add(self, found: Iterable[Finding]) -> None:
        self.seen += 1
        self.findings += found


def monotonic_counters(evidence: Evidence) -> Outcome:
    tally = Tally([])
    nodes = incarnations(evidence.events)
    for lives in nodes.values():
        _quorum_state(tally, lives)
        for life in lives:
            _within_incarnation(tally, life)
    _leaders_watermarks(tally, evidence.of("hw"))
    _records(tally, evidence.of("apply"))
    _answered_broker_epochs(tally, evidence.operations)
    _metadata(tally, evidence.operations, _boots(nodes))
    return concluded(tally.seen, tally.findings, {"nodes": len(nodes)})


# --- nodes --------------------------------------------------------------------------------


def _quorum_state(tally: Tally, lives: list[list[NodeEvent]]) -> None:
    """What a node saved never goes back, over all its incarnations. A boot may know more than
    the events before it: the line of a process that was killed."""
    before: tuple[NodeEvent, Mapping[str, int]] | None = None
    for event in (event for life in lives for event in life):
        if event.type not in ("boot", "epoch"):
            continue
        saved = event.fields if event.type == "epoch" else event.fields.get("quorum")
        if before is None and saved is None:
            continue
        if before is not None:
            tally.add(_went_back(*before, event, saved))
        if saved is not None:
            before = (event, saved)


def _went_back(
    earlier: NodeEvent, was: Mapping[str, int], event: NodeEvent, now: Mapping[str, int] | None
) -> Iterator[Finding]:
    again = "came back with" if event.type == "boot" else "saved"
    if now is None:
        yield finding(
            f"{event.node} came back without its quorum state; it had saved epoch {was['epoch']}",
            events=[earlier, event],
        )
    elif now["epoch"] < was["epoch"]:
        yield finding(
            f"{event.node} {again} epoch {now['epoch']} after epoch {was['epoch']}",
            events=[earlier, event],
        )
    elif now["epoch"] == was["epoch"]:
        for name, words in (("leader_id", "leader"), ("voted_id", "vote")):
            if was[name] != NONE and now[name] != was[name]:
                lost = "forgot" if now[name] == NONE else "changed"
                yield finding(
                    f"{event.node} {lost} its {words} of epoch {was['epoch']}: it {again} "
                    f"{now[name]} after {was[name]}",
                    events=[earlier, event],
                )


def _within_incarnation(tally: Tally, life: list[NodeEvent]) -> None:
    counters = {
        "hw": "high watermark",
        "state": "applied offset",
        "publish": "published offset",
        "apply": "applied record",
    }
    last: dict[str, NodeEvent] = {}
    for event in life:
        if event.type not in counters:
            continue
        before = last.get(event.type)
        last[event.type] = event
        if before is None:
            continue
        was, now = before.fields["offset"], event.fields["offset"]
        wrong = now <= was if event.type == "apply" else now < was
        message = f"{event.node}'s {counters[event.type]} went from {was} to {now}"
        tally.add([finding(message, events=[before, event])] if wrong else [])


def _leaders_watermarks(tally: Tally, events: Iterable[NodeEvent]) -> None:
    """A leader commits nothing before a record of its own epoch, which stands above all that
    earlier leaders committed: so its first high watermark is above all of theirs."""
    lowest: dict[int, NodeEvent] = {}
    highest: dict[int, NodeEvent] = {}
    for event in events:
        if event.fields.get("role") != "leader":
            continue
        epoch, offset = event.fields["epoch"], event.fields["offset"]
        if epoch not in lowest or offset < lowest[epoch].fields["offset"]:
            lowest[epoch] = event
        if epoch not in highest or offset > highest[epoch].fields["offset"]:
            highest[epoch] = event
    best: NodeEvent | None = None
    for epoch in sorted(lowest):
        event = lowest[epoch]
        if best is not None:
            was, now = best.fields["offset"], event.fields["offset"]
            message = (
                f"the quorum's high watermark went back: {event.node} reported {now} as leader "
                f"of epoch {epoch}, {best.node} had reported {was} as leader of epoch "
                f"{best.fields['epoch']}"
            )
            tally.add([finding(message, events=[best, event])] if now < was else [])
        if best is None or highest[epoch].fields["offset"] > best.fields["offset"]:
            best = highest[epoch]


# --- the log ------------------------------------------------------------------------------


def _records(tally: Tally, events: Iterable[NodeEvent]) -> None:
    """Committed records in log order; each offset once, whoever applied it first."""
    by_offset: dict[int, NodeEvent] = {}
    for event in events:
        by_offset.setdefault(event.fields["offset"], event)
    brokers: dict[int, NodeEvent] = {}
    partitions: dict[tuple[str, int], NodeEvent] = {}
    for _, event in sorted(by_offset.items()):
        kind, record = event.fields.get("kind"), record_of(event)
        if kind == "BrokerRecord":
            broker = record["broker_id"]
            if broker in brokers:
                tally.add(_broker_epoch(brokers[broker], event, broker))
            brokers[broker] = event
        elif kind in ("PartitionRecord", "IsrChangeRecord"):
            key = (str(record["topic_id"]), record["partition_id"])
            if key in partitions:
                tally.add(_partition_epochs(partitions[key], event, f"{key[0]}/{key[1]}"))
            partitions[key] = event


def _broker_epoch(before: NodeEvent, event: NodeEvent, broker: int) -> Iterator[Finding]:
    was, now = record_of(before)["broker_epoch"], record_of(event)["broker_epoch"]
    if now <= was:
        yield finding(
            f"broker {broker} was registered with epoch {now} at offset "
            f"{event.fields['offset']}, after epoch {was} at offset {before.fields['offset']}",
            events=[before, event],
        )


def _partition_epochs(before: NodeEvent, event: NodeEvent, partition: str) -> Iterator[Finding]:
    was, now = record_of(before), record_of(event)
    where = f"partition {partition} at offset {event.fields['offset']}"
    if now["partition_epoch"] != was["partition_epoch"] + 1:
        yield finding(
            f"{where}: partition epoch {now['partition_epoch']} after {was['partition_epoch']}",
            events=[before, event],
        )
    if now["leader_epoch"] < was["leader_epoch"]:
        yield finding(
            f"{where}: leader epoch {now['leader_epoch']} after {was['leader_epoch']}",
            events=[before, event],
        )
    elif now["leader"] != was["leader"] and now["leader_epoch"] == was["leader_epoch"]:
        yield finding(
            f"{where}: the leader changed from {was['leader']} to {now['leader']} within leader "
            f"epoch {now['leader_epoch']}",
            events=[before, event],
        )


# --- clients ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sight:
    """A value that an operation showed of some counter."""

    operation: Operation
    value: int


def _never_back(tally: Tally, sights: list[Sight], describe: Callable[[Sight, Sight], str]) -> None:
    """An operation shows no less than those that had ended before it began. Sweeps over
    invocations with the greatest value of what had ended by then."""
    ended = sorted(sights, key=lambda sight: sight.operation.end or 0)
    at = 0
    best: Sight | None = None
    for sight in sorted(sights, key=lambda sight: sight.operation.index):
        while at < len(ended) and ended[at].operation.precedes(sight.operation):
            if best is None or ended[at].value > best.value:
                best = ended[at]
            at += 1
        wrong = best is not None and sight.value < best.value
        if best is not None and wrong:
            operations = [best.operation, sight.operation]
            tally.add([finding(describe(best, sight), operations)])
        else:
            tally.add([])


def _answered_broker_epochs(tally: Tally, operations: Iterable[Operation]) -> None:
    sights: dict[int, list[Sight]] = defaultdict(list)
    for operation in operations:
        epoch = (operation.result or {}).get("broker_epoch") if operation.ok else None
        if operation.f == "heartbeat" and isinstance(epoch, int) and epoch >= 0:
            sights[operation.value["broker_id"]].append(Sight(operation, epoch))
    for broker, seen in sorted(sights.items()):

        def describe(best: Sight, sight: Sight, broker: int = broker) -> str:
            return (
                f"broker {broker} was answered epoch {sight.value} by operation "
                f"{sight.operation.index}, after epoch {best.value} by operation "
                f"{best.operation.index}"
            )

        _never_back(tally, seen, describe)


Boots = Mapping[str, list[int]]
"""Node -> times at which its incarnations began, ns."""


def _boots(nodes: Mapping[str, list[list[NodeEvent]]]) -> Boots:
    return {node: [life[0].time_ns for life in lives] for node, lives in nodes.items()}


def _metadata(tally: Tally, operations: Iterable[Operation], boots: Boots) -> None:
    """What one incarnation of a broker tells of a partition never goes back. Reads of which it
    is not known which incarnation answered are left out."""
    sights: dict[tuple[str, int, str, int], list[Sight]] = defaultdict(list)
    for operation in operations:
        life = _life(operation, boots)
        if operation.f != "metadata" or life is None or not isinstance(operation.result, dict):
            continue
        for partition in operation.result.get("partitions") or ():
            key = (str(operation.node), life, _topic(operation), partition["partition"])
            if partition.get("leader_epoch", NONE) >= 0:
                sights[key].append(Sight(operation, partition["leader_epoch"]))
    for (node, _, topic, partition), seen in sorted(sights.items()):

        def describe(
            best: Sight,
            sight: Sight,
            node: str = node,
            where: str = f"{topic}/{partition}",
        ) -> str:
            return (
                f"{node} showed leader epoch {sight.value} of {where} to operation "
                f"{sight.operation.index}, after {best.value} to operation {best.operation.index}"
            )

        _never_back(tally, seen, describe)


def _topic(operation: Operation) -> str:
    result: Any = operation.result
    return str(result.get("topic_id"))


def _life(operation: Operation, boots: Boots) -> int | None:
    """Which incarnation of its node answered; None: it cannot be told."""
    begin, end = operation.invoked_ns, operation.completed_ns
    starts = boots.get(operation.node or "", [])
    if not operation.ok or begin is None or end is None:
        return None
    first = sum(start <= begin for start in starts)
    last = sum(start <= end for start in starts)
    return first if first == last and first else None
