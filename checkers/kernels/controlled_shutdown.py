"""A broker that was let go is missed by nobody (D.15; KIP-631's controlled shutdown, KIP-380).

A grant is a heartbeat with target SHUTDOWN that was answered with SHUTDOWN, to a broker or to
one that a workload plays. In the committed state below the grant's own records the broker leads
nothing, and is in no ISR that has another live member; every active broker had applied the
records that moved its leaderships; after it, until the broker is unfenced again, it is given no
leadership. Where no fault was about, clients go on: no partition refuses all that is produced
to it from the request to some time after the exit.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from checkers.kernels.evidence import (
    Evidence,
    Injection,
    NodeEvent,
    Operation,
    concluded,
    finding,
    incarnations,
    record_of,
)
from checkers.kernels.replay import Log, Replay, committed_log
from framework.checking.keyed import Outcome
from framework.plugins.checker import Finding

EVENTS: Final = ("boot", "exit", "bstate", "heartbeat", "decide", "apply")
FS: Final = ("heartbeat", "produce")
RETRIES: Final = 5
"""Produces to one partition, all refused, that count as more than retries."""
AFTERWARDS_NS: Final = 5_000_000_000
TOLD_NS: Final = 1_000_000_000
"""What is committed when an answer leaves is told as applied within this time."""


@dataclass(frozen=True, slots=True)
class Grant:
    """`begin_ns`: when the broker first asked. `fence`: the committed record that let it go."""

    broker: int
    epoch: int
    begin_ns: int
    granted_ns: int
    name: str
    event: NodeEvent | None = None
    operation: Operation | None = None

    def witnesses(self) -> tuple[list[Operation], list[NodeEvent]]:
        operations = [self.operation] if self.operation is not None else []
        return operations, [self.event] if self.event is not None else []


def controlled_shutdown(evidence: Evidence) -> Outcome:
    grants = [*_to_nodes(evidence), *_to_players(evidence.operations)]
    log = committed_log(evidence.of("apply"))
    fences = _fences(log)
    asked = _asked(evidence.of("decide"))
    findings: list[Finding] = []
    judged = 0
    at: dict[int, list[tuple[Grant, NodeEvent]]] = defaultdict(list)
    for grant in grants:
        fence = _fence_of(grant, fences)
        if fence is None:
            findings += _unlogged(grant, log)
            continue
        judged += 1
        if (late := _late(grant, fence, log)) is not None:
            findings.append(late)
            continue
        at[_moment(log, fence, grant, asked)].append((grant, fence))
        findings += _leads_again(grant, fence, log)
    readers = _readers(evidence)
    for offset, state in log.states(at):
        for grant, fence in at[offset]:
            findings += _left_behind(grant, fence, state)
            findings += _unread(grant, fence, state, asked, readers)
    refused, found = _clients(grants, evidence)
    findings += found
    figures: dict[str, float] = {"grants": len(grants), "produces_refused": refused}
    lasted = [(each.granted_ns - each.begin_ns) / 1e6 for each in grants]
    if lasted:
        figures["max_grant_ms"] = round(max(lasted), 1)
    return concluded(judged, findings, figures)


# --- grants -------------------------------------------------------------------------------


def _to_nodes(evidence: Evidence) -> Iterator[Grant]:
    for lives in incarnations(evidence.of("heartbeat")).values():
        for life in lives:
            begin: NodeEvent | None = None
            for event in life:
                fields = event.fields
                if fields["target"] != "SHUTDOWN":
                    continue
                begin = begin or event
                if fields["error"] == 0 and fields["next_state"] == "SHUTDOWN":
                    yield Grant(
                        fields["broker_id"],
                        fields["broker_epoch"],
                        begin.time_ns,
                        event.time_ns,
                        event.node,
                        event=event,
                    )
                    break


def _to_players(operations: Iterable[Operation]) -> Iterator[Grant]:
    for operation in operations:
        value, result = operation.value, operation.result
        if operation.f != "heartbeat" or not operation.ok or not isinstance(result, dict):
            continue
        if value.get("target") == "SHUTDOWN" and result.get("next_state") == "SHUTDOWN":
            yield Grant(
                value["broker_id"],
                value["broker_epoch"],
                operation.invoked_ns or 0,
                operation.completed_ns or 0,
                str(operation.key),
                operation=operation,
            )


Fences = dict[tuple[int, int], list[NodeEvent]]


def _fences(log: Log) -> Fences:
    found: Fences = defaultdict(list)
    for event in log.records:
        if event.fields.get("kind") == "FenceBrokerRecord":
            record = record_of(event)
            found[record["broker_id"], record["broker_epoch"]].append(event)
    return found


def _fence_of(grant: Grant, fences: Fences) -> NodeEvent | None:
    held = fences.get((grant.broker, grant.epoch))
    return held[-1] if held else None


def _unlogged(grant: Grant, log: Log) -> Iterator[Finding]:
    """A broker that never was active under its epoch is fenced without a record."""
    unfenced = any(
        event.fields.get("kind") == "UnfenceBrokerRecord"
        and record_of(event)["broker_id"] == grant.broker
        and record_of(event)["broker_epoch"] == grant.epoch
        for event in log.records
    )
    if unfenced:
        yield finding(
            f"{grant.name} was let go under epoch {grant.epoch}, and no committed record fences it",
            *grant.witnesses(),
        )


def _late(grant: Grant, fence: NodeEvent, log: Log) -> Finding | None:
    """A grant rests on a record that fences the broker. Where the first one came only later, the
    broker went with all that it led, and another reason fenced it: its lease, or its heir."""
    late_ns = log.first_ns[fence.fields["offset"]] - grant.granted_ns
    if late_ns <= TOLD_NS:
        return None
    operations, events = grant.witnesses()
    return finding(
        f"{grant.name} (broker {grant.broker}) was let go under epoch {grant.epoch} "
        f"{late_ns / 1e9:.1f} s before any record fenced it",
        operations,
        [*events, fence],
    )


Asked = dict[tuple[int, int], list[NodeEvent]]


def _asked(decides: Iterable[NodeEvent]) -> Asked:
    """(broker id, epoch) -> accepted heartbeats with target SHUTDOWN."""
    found: Asked = defaultdict(list)
    for event in decides:
        source = event.fields.get("source") or {}
        if event.fields["verdict"] == 0 and source.get("target") == "SHUTDOWN":
            found[source["broker_id"], source["broker_epoch"]].append(event)
    return found


def _own_decision(log: Log, grant: Grant, fence: NodeEvent, asked: Asked) -> NodeEvent | None:
    """The decision that made the fence; None: it was fenced for another reason."""
    for decide in asked.get((grant.broker, grant.epoch), ()):
        if (
            decide.fields["epoch"] == fence.fields["epoch"]
            and fence.fields["offset"] in decide.fields["records"]
        ):
            return decide
    return None


def _moment(log: Log, fence: NodeEvent, grant: Grant, asked: Asked) -> int:
    """The end offset of the state that the grant rests on: below its own records, or, where the
    broker was fenced before, above those of its fencing."""
    decide = _own_decision(log, grant, fence, asked)
    if decide is not None:
        return int(min(decide.fields["records"]))
    end = int(fence.fields["offset"]) + 1
    while (event := log.at(end)) is not None and event.fields.get("kind") == "IsrChangeRecord":
        end += 1
    return end


# --- what must hold -----------------------------------------------------------------------


def _left_behind(grant: Grant, fence: NodeEvent, state: Replay) -> Iterator[Finding]:
    operations, events = grant.witnesses()
    what = f"{grant.name} (broker {grant.broker}) was let go at offset {fence.fields['offset']}"
    for key, partition in sorted(state.partitions.items()):
        where = f"{key[0]}/{key[1]}"
        if partition.leader == grant.broker:
            yield finding(f"{what}, and leads {where}", operations, [*events, fence])
            return
        others = [each for each in partition.isr if each != grant.broker and state.live(each)]
        if grant.broker in partition.isr and others:
            yield finding(
                f"{what}, and is in the ISR of {where} beside broker {others[0]}",
                operations,
                [*events, fence],
            )
            return


def _leads_again(grant: Grant, fence: NodeEvent, log: Log) -> Iterator[Finding]:
    operations, events = grant.witnesses()
    for event in log.records[fence.fields["offset"] + 1 :]:
        record, kind = record_of(event), event.fields.get("kind")
        if kind == "UnfenceBrokerRecord" and record["broker_id"] == grant.broker:
            return
        if kind in ("PartitionRecord", "IsrChangeRecord") and record["leader"] == grant.broker:
            yield finding(
                f"{grant.name} (broker {grant.broker}) was let go at offset "
                f"{fence.fields['offset']}, and given {record['topic_id']}/"
                f"{record['partition_id']} at offset {event.fields['offset']}",
                operations,
                [*events, fence, event],
            )
            return


@dataclass(frozen=True, slots=True)
class Reader:
    """A process that was ACTIVE as (broker id, epoch), and what it had applied by when: rising
    offsets, with times."""

    active: NodeEvent
    applied: Sequence[tuple[int, int]]

    def had_read(self, offset: int, time_ns: int) -> bool:
        at = bisect_left(self.applied, offset, key=lambda step: step[0])
        return at < len(self.applied) and self.applied[at][1] <= time_ns


def _readers(evidence: Evidence) -> dict[tuple[int, int], Reader]:
    """By broker id and epoch."""
    found: dict[tuple[int, int], Reader] = {}
    for lives in incarnations(evidence.of("boot", "bstate", "apply")).values():
        for life in lives:
            applied = [
                (event.fields["offset"], event.time_ns) for event in life if event.type == "apply"
            ]
            for event in life:
                if event.type == "bstate" and event.fields["after"] == "ACTIVE":
                    key = (life[0].fields.get("broker_id", -1), event.fields["broker_epoch"])
                    found.setdefault(key, Reader(event, applied))
    return found


def _unread(
    grant: Grant,
    fence: NodeEvent,
    state: Replay,
    asked: Asked,
    readers: Mapping[tuple[int, int], Reader],
) -> Iterator[Finding]:
    """Brokers, active in the committed state, that had not applied what moved the leaver's
    leaderships. One that was registered later has read it on its way."""
    asks = asked.get((grant.broker, grant.epoch), ())
    if not any(fence.fields["offset"] in decide.fields["records"] for decide in asks):
        return
    moves = [
        max(decide.fields["records"])
        for decide in asks
        if decide.fields["records"]
        and decide.fields["epoch"] == fence.fields["epoch"]
        and max(decide.fields["records"]) < fence.fields["offset"]
    ]
    if not moves:
        return
    last = max(moves)
    for broker_id, broker in sorted(state.brokers.items()):
        reader = readers.get((broker_id, broker.epoch))
        if broker.fenced or broker_id == grant.broker or broker.epoch > last or reader is None:
            continue
        if not reader.had_read(last, grant.granted_ns):
            operations, events = grant.witnesses()
            yield finding(
                f"{grant.name} (broker {grant.broker}) was let go before {reader.active.node}, "
                f"which is active as broker {broker_id}, had read offset {last}, which moved its "
                f"leaderships",
                operations,
                [*events, fence, reader.active],
            )
            return


# --- clients ------------------------------------------------------------------------------


def _clients(grants: Iterable[Grant], evidence: Evidence) -> tuple[int, list[Finding]]:
    """Produces refused or lost while a broker went, and the partitions of which all were."""
    by_key: dict[str, list[Operation]] = defaultdict(list)
    for operation in evidence.operations:
        if operation.f == "produce" and operation.invoked_ns is not None:
            by_key[str(operation.key)].append(operation)
    refused, findings = 0, []
    for grant in grants:
        begin, end = grant.begin_ns, grant.granted_ns + AFTERWARDS_NS
        if _disturbed(evidence.injections, begin, end):
            continue
        for key, operations in sorted(by_key.items()):
            tried = _within(operations, begin, end)
            failed = [each for each in tried if not each.ok]
            refused += len(failed)
            if len(failed) >= RETRIES and len(failed) == len(tried):
                _, events = grant.witnesses()
                findings.append(
                    finding(
                        f"all {len(tried)} produces to {key} failed while {grant.name} "
                        f"(broker {grant.broker}) left",
                        failed,
                        events,
                    )
                )
    return refused, findings


def _within(operations: Sequence[Operation], begin: int, end: int) -> list[Operation]:
    ordered = sorted(operations, key=lambda each: each.invoked_ns or 0)
    first = bisect_left(ordered, begin, key=lambda each: each.invoked_ns or 0)
    return [
        each
        for each in ordered[first:]
        if each.completed_ns is not None and each.completed_ns <= end
    ]


def _disturbed(injections: Iterable[Injection], begin: int, end: int) -> bool:
    return any(
        (each.injected_ns or 0) <= end and (each.healed_ns is None or each.healed_ns >= begin)
        for each in injections
    )
