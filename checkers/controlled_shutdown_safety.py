"""A broker that was let go is missed by nobody (D.15; KIP-631's controlled shutdown, KIP-380).

A grant lets a broker go that asked for it by a heartbeat, be it synthetic or not. In the
committed state below the grant's own records the broker leads nothing, and is in no ISR that has
another live member; every active broker had applied the records that moved its leaderships; after
it, until the broker is unfenced again, it is given no leadership. Where no fault was about,
clients go on: no partition refuses all that is produced to it from the request to some time after
the exit.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from checkers.folds.committed_log import CommittedLog, committed_log
from checkers.folds.replay import Replay, states
from framework.checking.findings import concluded, finding
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import (
    BrokerFenced,
    BrokerUnfenced,
    Change,
    PartitionChanged,
    PartitionState,
)
from framework.evidence.clocks import Moment, moment_of, surely_before
from framework.evidence.kinds import (
    Booted,
    BrokerStateChanged,
    Decided,
    Evidence,
    Exited,
    HeartbeatAnswered,
    evidence_of,
)
from framework.evidence.run_events import FaultRecord, RunEvents, incarnations
from framework.history.pairing import Operation
from framework.plugins.checker import EVENTS, Finding
from framework.plugins.options import need_positive

FS: Final = ("heartbeat", "produce")
TOLD_NS: Final = 1_000_000_000
"""What is committed when an answer leaves is told as applied within this time."""


@dataclass(frozen=True, slots=True)
class ControlledShutdownOptions:
    """`produces`: so many to one partition, all refused, are more than retries. `afterwards`: for
    how long after a grant, in s, clients must get through."""

    produces: int = 5
    afterwards: float = 5.0

    def __post_init__(self) -> None:
        need_positive(produces=self.produces, afterwards=self.afterwards)


@dataclass(frozen=True, slots=True)
class Grant:
    """`begin`: when the broker first asked. A synthetic broker's is an operation, another's the
    answer to its heartbeat."""

    broker: int
    epoch: int
    begin: Moment
    granted: Moment
    name: str
    answer: HeartbeatAnswered | None = None
    operation: Operation | None = None

    def witnesses(self) -> tuple[list[Operation], list[Evidence]]:
        operations = [self.operation] if self.operation is not None else []
        return operations, [self.answer] if self.answer is not None else []


def controlled_shutdown_safety(
    events: RunEvents, options: ControlledShutdownOptions = ControlledShutdownOptions()
) -> Outcome:
    grants = [*_to_nodes(events), *_to_synthetic_brokers(events.operations)]
    log = committed_log(events.of(Change))
    fences = _fences(log)
    asked = _asked(events.of(Decided))
    findings: list[Finding] = []
    judged = 0
    at: dict[int, list[tuple[Grant, BrokerFenced]]] = defaultdict(list)
    for grant in grants:
        fence = _fence_of(grant, fences)
        if fence is None:
            findings += _unlogged(grant, log)
            continue
        judged += 1
        if (late := _late(grant, fence, log)) is not None:
            findings.append(late)
            continue
        at[_offset(log, fence, grant, asked)].append((grant, fence))
        findings += _leads_again(grant, fence, log)
    readers = _readers(events)
    for offset, state in states(log, at):
        for grant, fence in at[offset]:
            findings += _left_behind(grant, fence, state)
            findings += _unread(grant, fence, state, asked, readers)
    refused, found = _clients(grants, events, options)
    findings += found
    figures: dict[str, float] = {"grants": len(grants), "produces_refused": refused}
    lasted = [(each.granted.at_ns - each.begin.at_ns) / 1e6 for each in grants]
    if lasted:
        figures["max_grant_ms"] = round(max(lasted), 1)
    return concluded(judged, findings, figures)


# --- grants -------------------------------------------------------------------------------


def _to_nodes(events: RunEvents) -> Iterator[Grant]:
    for lives in incarnations(events.of(HeartbeatAnswered)).values():
        for life in lives:
            begin: HeartbeatAnswered | None = None
            for each in life:
                if each.target != "leaving":
                    continue
                begin = begin or each
                if each.accepted and each.next_state == "leaving":
                    yield Grant(
                        each.broker_id,
                        -1 if each.broker_epoch is None else each.broker_epoch,
                        moment_of(begin),
                        moment_of(each),
                        each.node,
                        answer=each,
                    )
                    break


def _to_synthetic_brokers(operations: Iterable[Operation]) -> Iterator[Grant]:
    for operation in operations:
        value, result = operation.value, operation.result
        if operation.f != "heartbeat" or not operation.ok or not isinstance(result, dict):
            continue
        if value.get("target") == result.get("next_state") == "leaving":
            yield Grant(
                value["broker_id"],
                value["broker_epoch"],
                Moment(operation.invoked_ns or 0),
                Moment(operation.completed_ns or 0),
                str(operation.key),
                operation=operation,
            )


Fences = dict[tuple[int, int], list[BrokerFenced]]


def _fences(log: CommittedLog) -> Fences:
    found: Fences = defaultdict(list)
    for change in log.records:
        if isinstance(change, BrokerFenced):
            found[change.broker_id, change.broker_epoch].append(change)
    return found


def _fence_of(grant: Grant, fences: Fences) -> BrokerFenced | None:
    held = fences.get((grant.broker, grant.epoch))
    return held[-1] if held else None


def _unlogged(grant: Grant, log: CommittedLog) -> Iterator[Finding]:
    """A broker that never was active under its epoch is fenced without a record."""
    unfenced = any(
        isinstance(change, BrokerUnfenced)
        and (change.broker_id, change.broker_epoch) == (grant.broker, grant.epoch)
        for change in log.records
    )
    if unfenced:
        yield finding(
            f"{grant.name} was let go under epoch {grant.epoch}, and no committed record fences it",
            *grant.witnesses(),
            by=[EVENTS],
        )


def _late(grant: Grant, fence: BrokerFenced, log: CommittedLog) -> Finding | None:
    """A grant rests on a record that fences the broker. Where the first one came only later, the
    broker went with all that it led, and another reason fenced it: its lease, or its heir."""
    granted_ns = grant.granted.at_ns + grant.granted.within_ns
    late_ns = log.not_before_ns[fence.offset] - granted_ns
    if late_ns <= TOLD_NS:
        return None
    operations, evidence = grant.witnesses()
    return finding(
        f"{grant.name} (broker {grant.broker}) was let go under epoch {grant.epoch} "
        f"{late_ns / 1e9:.1f} s before any record fenced it",
        operations,
        [*evidence, fence],
    )


Asked = dict[tuple[int, int], list[Decided]]


def _asked(decisions: Iterable[Decided]) -> Asked:
    """(broker id, epoch) -> accepted wishes to shut down."""
    found: Asked = defaultdict(list)
    for each in decisions:
        if not each.accepted or each.target != "leaving" or each.broker_id is None:
            continue
        found[each.broker_id, -1 if each.broker_epoch is None else each.broker_epoch].append(each)
    return found


def _own_decision(grant: Grant, fence: BrokerFenced, asked: Asked) -> Decided | None:
    """The decision that made the fence; None: it was fenced for another reason."""
    for decision in asked.get((grant.broker, grant.epoch), ()):
        if decision.epoch == fence.epoch and fence.offset in decision.records:
            return decision
    return None


def _offset(log: CommittedLog, fence: BrokerFenced, grant: Grant, asked: Asked) -> int:
    """The end offset of the state that the grant rests on: below its own records, or, where the
    broker was fenced before, above those of its fencing."""
    decision = _own_decision(grant, fence, asked)
    if decision is not None:
        return min(decision.records)
    end = fence.offset + 1
    while isinstance(log.at(end), PartitionChanged):
        end += 1
    return end


# --- what must hold -----------------------------------------------------------------------


def _left_behind(grant: Grant, fence: BrokerFenced, state: Replay) -> Iterator[Finding]:
    operations, evidence = grant.witnesses()
    what = f"{grant.name} (broker {grant.broker}) was let go at offset {fence.offset}"
    for key, partition in sorted(state.partitions.items()):
        where = f"{key[0]}/{key[1]}"
        if partition.leader == grant.broker:
            yield finding(f"{what}, and leads {where}", operations, [*evidence, fence])
            return
        others = [each for each in partition.isr if each != grant.broker and state.live(each)]
        if grant.broker in partition.isr and others:
            yield finding(
                f"{what}, and is in the ISR of {where} beside broker {others[0]}",
                operations,
                [*evidence, fence],
            )
            return


def _leads_again(grant: Grant, fence: BrokerFenced, log: CommittedLog) -> Iterator[Finding]:
    operations, evidence = grant.witnesses()
    for change in log.records[fence.offset + 1 :]:
        if isinstance(change, BrokerUnfenced) and change.broker_id == grant.broker:
            return
        if isinstance(change, PartitionState) and change.leader == grant.broker:
            yield finding(
                f"{grant.name} (broker {grant.broker}) was let go at offset {fence.offset}, and "
                f"given {change.topic_id}/{change.partition} at offset {change.offset}",
                operations,
                [*evidence, fence, change],
            )
            return


@dataclass(frozen=True, slots=True)
class Reader:
    """A process that was active as (broker id, epoch), and what it applied, by rising offsets."""

    active: BrokerStateChanged
    applied: Sequence[Change]

    def had_not_read(self, offset: int, moment: Moment) -> bool:
        """Whether it surely had not applied that by then."""
        at = bisect_left(self.applied, offset, key=lambda each: each.offset)
        return at == len(self.applied) or surely_before(moment, moment_of(self.applied[at]))


def _readers(events: RunEvents) -> dict[tuple[int, int], Reader]:
    """By broker id and epoch."""
    found: dict[tuple[int, int], Reader] = {}
    evidence: Iterable[Evidence] = events.of(Booted, BrokerStateChanged, Change)
    for lives in incarnations(evidence).values():
        for life in lives:
            applied = [each for each in life if isinstance(each, Change)]
            boot = life[0]
            if not isinstance(boot, Booted) or boot.broker_id is None:
                continue
            for each in life:
                if not isinstance(each, BrokerStateChanged) or each.after != "active":
                    continue
                if each.broker_epoch is not None:
                    key = (boot.broker_id, each.broker_epoch)
                    found.setdefault(key, Reader(each, applied))
    return found


def _unread(
    grant: Grant,
    fence: BrokerFenced,
    state: Replay,
    asked: Asked,
    readers: Mapping[tuple[int, int], Reader],
) -> Iterator[Finding]:
    """Brokers, active in the committed state, that had not applied what moved the leaver's
    leaderships. One that was registered later has read it on its way."""
    if _own_decision(grant, fence, asked) is None:
        return
    moves = [
        max(decision.records)
        for decision in asked.get((grant.broker, grant.epoch), ())
        if decision.records
        and decision.epoch == fence.epoch
        and max(decision.records) < fence.offset
    ]
    if not moves:
        return
    last = max(moves)
    for broker_id, broker in sorted(state.brokers.items()):
        reader = readers.get((broker_id, broker.epoch))
        if broker.fenced or broker_id == grant.broker or broker.epoch > last or reader is None:
            continue
        if reader.had_not_read(last, grant.granted):
            operations, evidence = grant.witnesses()
            yield finding(
                f"{grant.name} (broker {grant.broker}) was let go before {reader.active.node}, "
                f"which is active as broker {broker_id}, had read offset {last}, which moved its "
                f"leaderships",
                operations,
                [*evidence, fence, reader.active],
            )
            return


# --- clients ------------------------------------------------------------------------------


def _clients(
    grants: Iterable[Grant], events: RunEvents, options: ControlledShutdownOptions
) -> tuple[int, list[Finding]]:
    """Produces refused or lost while a broker went, and the partitions of which all were."""
    by_key: dict[str, list[Operation]] = defaultdict(list)
    for operation in events.operations:
        if operation.f == "produce" and operation.invoked_ns is not None:
            by_key[str(operation.key)].append(operation)
    refused, findings = 0, []
    for grant in grants:
        begin = grant.begin.at_ns + grant.begin.within_ns
        end = grant.granted.at_ns - grant.granted.within_ns + round(options.afterwards * 1e9)
        if _disturbed(events.faults, begin, end):
            continue
        for key, operations in sorted(by_key.items()):
            tried = _within(operations, begin, end)
            failed = [each for each in tried if not each.ok]
            refused += len(failed)
            if len(failed) >= options.produces and len(failed) == len(tried):
                _, evidence = grant.witnesses()
                findings.append(
                    finding(
                        f"all {len(tried)} produces to {key} failed while {grant.name} "
                        f"(broker {grant.broker}) left",
                        failed,
                        evidence,
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


def _disturbed(faults: Iterable[FaultRecord], begin: int, end: int) -> bool:
    return any(
        (each.injected_ns or 0) <= end and (each.healed_ns is None or each.healed_ns >= begin)
        for each in faults
    )


class ControlledShutdownSafety(RunChecker):
    name = "controlled-shutdown-safety"
    summary = (
        "A broker that was granted its shutdown leads nothing, is in no ISR that can do "
        "without it, is given no leadership again, and was let go when all active brokers "
        "knew"
    )
    requires = frozenset({"broker-life-cycles"}) | evidence_of(BrokerStateChanged, Decided)
    Options = ControlledShutdownOptions
    check_run = RunCheck(
        controlled_shutdown_safety,
        evidence=(Booted, Exited, BrokerStateChanged, HeartbeatAnswered, Decided, Change),
        fs=FS,
        faults=True,
    )
