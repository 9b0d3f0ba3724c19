"""A broker that was let go is missed by nobody (D.15; KIP-631's controlled shutdown, KIP-380).

A grant lets a broker go that asked for it by a heartbeat, be it synthetic or not; of one that a
client drained, that client tells, and disks show in what state it was fenced. In the committed
state below the grant's own records the broker leads nothing, and is in no ISR that has another live
member; every active broker had applied the records that moved its leaderships; after it, until the
broker is unfenced again, it is given no leadership. Where no fault was about, clients go on: no
partition of the broker's that another replica could take over refuses most of what is produced to
it, for long, from the request to some time after the exit; and nobody is shown the broker as a
leader once it has gone.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

from checkers.folds.cluster.departures import (
    LIFE_CYCLES,
    READS,
    Grant,
    departures,
    refused_beside,
    shown_after,
    shown_by_drains,
)
from checkers.folds.history.brokers import synthetic
from checkers.folds.history.values import drained, heartbeat, heartbeat_answer
from checkers.folds.metadata_log.committed_log import CommittedLog, known_log
from checkers.folds.metadata_log.disk_logs import DISK_KINDS
from checkers.folds.replayed.replay import Key, Replay, states
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.brokers import BrokerStateChanged, HeartbeatAnswered
from framework.evidence.changes import (
    BrokerFenced,
    BrokerUnfenced,
    Change,
    PartitionChanged,
    PartitionState,
)
from framework.evidence.clocks import UNKNOWN_NS, Moment, moment_of, surely_before
from framework.evidence.kinds import Evidence
from framework.evidence.machine import Machines
from framework.evidence.processes import Booted
from framework.evidence.requests import Decided
from framework.evidence.run_events import RunEvents, incarnations, unreported
from framework.history.pairing import Operation
from framework.plugins.checker import CLIENTS, DISKS, EVENTS, LEDGER, Clause, Count, Finding
from framework.plugins.options import need_positive

FS: Final = ("heartbeat", "produce", *LIFE_CYCLES, *READS)
REPORTED_NS: Final = 1_000_000_000
"""What is committed when an answer leaves is told as applied within this time."""

HANDS_OVER: Final = Clause(
    name="hands-over",
    says="A broker that is let go is fenced by a record by then, leads nothing, and is in no ISR "
    "that has another live member",
    compares="brokers that were let go",
    floor=2,
    because="one may have had no replica to hand over; where clients know of no two, there was no "
    "occasion",
    sources=(CLIENTS, DISKS, EVENTS),
    blind="a broker that leaves though it was not let go; where disks alone tell, one that is "
    "fenced only after it has gone",
)
NO_MORE: Final = Clause(
    name="leads-no-more",
    says="A broker that was let go is given no leadership until it is unfenced again",
    compares="brokers that were let go while the log went on",
    floor=2,
    because="one without a replica leads nothing anyhow; as for hands-over",
    sources=(CLIENTS, DISKS, EVENTS),
)
HAD_READ: Final = Clause(
    name="all-had-read",
    says="A broker is let go when every active broker has applied what moved its leaderships",
    compares="active brokers held against the moves of one that was let go",
    floor=2,
    because="one of them may have been asked last",
    sources=(EVENTS,),
    blind="a broker that tells nothing of what it applied",
)
GO_ON: Final = Clause(
    name="clients-go-on",
    says="While a broker leaves and no fault is about, no partition that another replica in sync "
    "could take over refuses most of what is produced to it for long",
    compares="produces, while a broker left in peace, to what it shared",
    floor=2,
    because="one may have met a bad moment",
    sources=(CLIENTS, LEDGER),
    blind="brokers that leave while a fault holds, or soon after; partitions of which no answer "
    "showed replicas before",
)
SHOWN: Final = Clause(
    name="shown-no-more",
    says="Once a broker that left in peace has gone, nobody is shown it as a leader until it is "
    "back",
    compares="answers on partitions of brokers that had gone in peace",
    floor=2,
    because="one may be of a partition that it did not lead",
    sources=(CLIENTS, LEDGER),
    blind="brokers that leave while a fault holds, or soon after; what nobody asks before others "
    "find out that it is gone",
)
CLAUSES: Final = (HANDS_OVER, NO_MORE, HAD_READ, GO_ON, SHOWN)


@dataclass(frozen=True, slots=True)
class ControlledShutdownOptions:
    """`outage`: for how long, in s, a partition may refuse what is produced to it while a broker
    leaves: it was handed over before, and clients find its leader by one answer more; `share`: how
    much of all that, at most. `afterwards`: for how long after a grant, in s."""

    outage: float = 3.0
    share: float = 0.5
    afterwards: float = 5.0

    def __post_init__(self) -> None:
        need_positive(outage=self.outage, share=self.share, afterwards=self.afterwards)


def controlled_shutdown_safety(
    events: RunEvents, options: ControlledShutdownOptions = ControlledShutdownOptions()
) -> Outcome:
    log, machines = known_log(events), events.machines
    fences = _fences(log)
    asked = _asked(events.of(Decided))
    grants = [*_to_nodes(events), *_to_synthetic_brokers(events.operations)]
    grants += _to_drained(events.operations, log, {(each.broker, each.epoch) for each in grants})
    left = [*grants, *shown_by_drains(events.operations, grants)]
    grants += _by_disks(grants, events.operations, log)
    findings: list[Finding] = []
    at: dict[int, list[tuple[Grant, BrokerFenced]]] = defaultdict(list)
    for grant in grants:
        fence = _fence_of(grant, fences)
        if fence is None:
            findings += _unlogged(grant, log)
        elif (late := _late(grant, fence, log, machines)) is not None:
            findings.append(late)
        else:
            at[_offset(log, fence, grant, asked)].append((grant, fence))
            findings += _leads_again(grant, fence, log)
    readers = _readers(events)
    handed = watched = read = 0
    for offset, state in states(log, at):
        for grant, fence in at[offset]:
            handed += 1
            watched += fence.offset + 1 < len(log.records)
            findings += _left_behind(grant, fence, state)
            active, unread = _unread(grant, fence, state, asked, readers)
            read += active
            findings += unread
    tried, refused, found = refused_beside(left, events, options, GO_ON.name)
    findings += found
    figures: dict[str, float] = {"grants": len(grants), "produces_refused": refused}
    lasted = [(each.granted.at_ns - each.begin.at_ns) / 1e6 for each in grants]
    if lasted:
        figures["max_grant_ms"] = round(max(lasted), 1)
    shown, broken = shown_after(events, SHOWN.name)
    findings += broken
    reported = sum(_was_let_go(each) for each in events.operations)
    nobody = _nobody_let_go(events.operations)
    peace = "nobody produced to what a broker shared while it left in peace" if left else ""
    why = unreported(events.plan)
    counts: dict[str, Count] = {
        HANDS_OVER.name: _of_grants(handed, reported, events.operations),
        # After the others the log did not go on.
        NO_MORE.name: _of_grants(watched, max(0, reported - (handed - watched)), events.operations),
        HAD_READ.name: read
        or why
        or _nobody_had_to_read(at, log, synthetic(events.operations))
        or nobody
        or 0,
        GO_ON.name: GO_ON.count(tried, peace or nobody or why),
        SHOWN.name: SHOWN.count(shown, nobody or "nobody asked after a broker had left in peace"),
    }
    if why and not handed:
        counts |= dict.fromkeys((HANDS_OVER.name, NO_MORE.name), why)
    return weighed(counts, findings, figures)


# --- what clients did ---------------------------------------------------------------------


def _was_let_go(operation: Operation) -> bool:
    """Whether a client was told that the broker's process that it drained was."""
    return (
        operation.f == "drain"
        and operation.ok
        and isinstance(operation.result, dict)
        and bool(drained(operation).get("granted"))
    )


def _nobody_let_go(operations: Iterable[Operation]) -> str:
    """Why no broker was let go, where clients say so: of those that they asked to leave each tells
    another reason, or was not gone in time."""
    drains = [each for each in operations if each.f == "drain"]
    if not drains:
        return "no client asked a broker to leave"
    if any(map(_may_have_been_let_go, drains)):
        return ""
    return f"none of {len(drains)} brokers that clients asked to leave was let go"


def _may_have_been_let_go(drain: Operation) -> bool:
    told = drain.ok and isinstance(drain.result, dict | None)
    return told and drained(drain).get("granted") is not False


def _of_grants(compared: int, reported: int, operations: Sequence[Operation]) -> Count:
    """Of a clause of which each broker that was let go is one sighting. Clients who know of no two
    gave no occasion to see more, if what they know of was seen."""
    known = sum(_may_have_been_let_go(each) for each in operations if each.f == "drain")
    if known <= compared < HANDS_OVER.floor:
        return _nobody_let_go(operations) or "clients know of one broker that was let go"
    return compared, reported


def _to_drained(
    operations: Iterable[Operation], log: CommittedLog, known: Container[tuple[int, int]]
) -> Iterator[Grant]:
    """Those of which no heartbeat tells, by the record that fenced the broker last before its
    process was gone."""
    for operation in operations:
        if not _was_let_go(operation) or operation.completed_ns is None:
            continue
        broker = drained(operation).get("broker_id")
        if broker is None:
            continue
        epoch = _fenced_last(broker, log, operation.completed_ns)
        if epoch is not None and (broker, epoch) not in known:
            yield Grant(
                broker,
                epoch,
                Moment(operation.began_ns),
                Moment(operation.completed_ns),
                str(operation.key),
                operation=operation,
            )


def _by_disks(
    grants: Iterable[Grant], operations: Iterable[Operation], log: CommittedLog
) -> Iterator[Grant]:
    """Of a broker that a client drained, and of whose grant nobody tells, each life that ended with
    a fence: by the log alone one of them is that of which the client knows."""
    granted = {each.broker for each in grants}
    drained = {each.broker: each.drain for each in departures(operations)}
    for broker, epoch in _ended_by_a_fence(log):
        drain = drained.get(broker)
        if drain is not None and broker not in granted:
            begin, end = Moment(drain.began_ns), Moment(drain.completed_ns or 0)
            yield Grant(broker, epoch, begin, end, str(drain.key), operation=drain)


def _ended_by_a_fence(log: CommittedLog) -> Iterator[tuple[int, int]]:
    """(broker id, epoch) of those that were fenced, nobody tells when, and not put into service
    again."""
    ended: dict[tuple[int, int], bool] = {}
    for change, by_ns in zip(log.records, log.by_ns, strict=True):
        if isinstance(change, BrokerFenced | BrokerUnfenced):
            undated = by_ns == UNKNOWN_NS
            epoch = change.broker_id, change.broker_epoch
            ended[epoch] = undated and isinstance(change, BrokerFenced)
    return (epoch for epoch, fenced in ended.items() if fenced)


def _fenced_last(broker: int | None, log: CommittedLog, by_ns: int) -> int | None:
    """The epoch of a broker that the log has fenced by then; None: it has not, or nobody tells
    when."""
    epoch: int | None = None
    for change, at_ns in zip(log.records, log.by_ns, strict=True):
        if at_ns > by_ns + REPORTED_NS:
            break
        if isinstance(change, BrokerFenced) and change.broker_id == broker:
            epoch = change.broker_epoch
        elif isinstance(change, BrokerUnfenced) and change.broker_id == broker:
            epoch = None
    return epoch


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
        if operation.f != "heartbeat" or not operation.ok:
            continue
        if not isinstance(operation.result, dict):
            continue
        value, result = heartbeat(operation), heartbeat_answer(operation)
        if value.get("target") == result.get("next_state") == "leaving":
            yield Grant(
                value["broker_id"],
                value["broker_epoch"],
                Moment(operation.began_ns),
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
            clause=HANDS_OVER.name,
            by=[EVENTS],
        )


def _late(
    grant: Grant, fence: BrokerFenced, log: CommittedLog, machines: Machines
) -> Finding | None:
    """A grant rests on a record that fences the broker. Where the first one came only later, the
    broker went with all that it led, and another reason fenced it: its lease, or its heir."""
    machine = machines.of_node(fence.node)
    late_ns = machine.gave_ns(grant.granted.latest_ns, log.not_before_ns[fence.offset])
    if late_ns <= REPORTED_NS:
        return None
    operations, evidence = grant.witnesses()
    return finding(
        f"{grant.name} (broker {grant.broker}) was let go under epoch {grant.epoch} "
        f"{late_ns / 1e9:.1f} s before any record fenced it",
        operations,
        [*evidence, fence],
        clause=HANDS_OVER.name,
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
            yield finding(
                f"{what}, and leads {where}",
                operations,
                [*evidence, fence],
                clause=HANDS_OVER.name,
            )
            return
        others = [each for each in partition.isr if each != grant.broker and state.live(each)]
        if grant.broker in partition.isr and others:
            yield finding(
                f"{what}, and is in the ISR of {where} beside broker {others[0]}",
                operations,
                [*evidence, fence],
                clause=HANDS_OVER.name,
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
                clause=NO_MORE.name,
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
) -> tuple[int, list[Finding]]:
    """How many were judged of the brokers that had to have read the moves, and the first that had
    not: brokers, active in the committed state, that had not applied what moved the leaver's
    leaderships. One that was registered later has read it on its way."""
    if _own_decision(grant, fence, asked) is None:
        return 0, []
    moves = [
        max(decision.records)
        for decision in asked.get((grant.broker, grant.epoch), ())
        if decision.records
        and decision.epoch == fence.epoch
        and max(decision.records) < fence.offset
    ]
    if not moves:
        return 0, []
    last, judged = max(moves), 0
    for broker_id, broker in sorted(state.brokers.items()):
        reader = readers.get((broker_id, broker.epoch))
        if broker.fenced or broker_id == grant.broker or broker.epoch > last or reader is None:
            continue
        judged += 1
        if reader.had_not_read(last, grant.granted):
            operations, evidence = grant.witnesses()
            found = finding(
                f"{grant.name} (broker {grant.broker}) was let go before {reader.active.node}, "
                f"which is active as broker {broker_id}, had read offset {last}, which moved its "
                f"leaderships",
                operations,
                [*evidence, fence, reader.active],
                clause=HAD_READ.name,
            )
            return judged, [found]
    return judged, []


def _nobody_had_to_read(
    at: Mapping[int, Sequence[tuple[Grant, BrokerFenced]]], log: CommittedLog, synthetic: Set[int]
) -> str:
    """Why nothing had to be read, where the log says so."""
    if not at or any(_had_to_read(*pair, log, synthetic) for each in at.values() for pair in each):
        return ""
    return "nothing was moved from a broker that was let go while others stayed that had to know"


def _had_to_read(grant: Grant, fence: BrokerFenced, log: CommittedLog, synthetic: Set[int]) -> bool:
    """Whether, in the leader epoch that let it go, a leadership was taken from the broker, and a
    process was in service then and until the end that had not been registered since."""
    leaders: dict[Key, int] = {}
    active: dict[int, int] = {}
    moved = -1
    for change in log.records[: fence.offset]:
        match change:
            case BrokerUnfenced(broker_id=broker, broker_epoch=epoch):
                active[broker] = epoch
                moved = -1 if broker == grant.broker else moved
            case BrokerFenced(broker_id=broker):
                active.pop(broker, None)
            case PartitionState():
                taken = leaders.get(change.key) == grant.broker != change.leader
                moved = change.offset if taken and change.epoch == fence.epoch else moved
                leaders[change.key] = change.leader
    stayed = {broker for broker, epoch in active.items() if epoch <= moved}
    return bool(stayed - synthetic - {grant.broker})


class ControlledShutdownSafety(RunChecker):
    name = "controlled-shutdown-safety"
    summary = (
        "A broker that was granted its shutdown leads nothing, is in no ISR that can do "
        "without it, is given no leadership again, and was let go when all active brokers "
        "knew"
    )
    requires = frozenset({"broker-life-cycles"})
    Options = ControlledShutdownOptions
    clauses = CLAUSES
    check_run = RunCheck(
        controlled_shutdown_safety,
        evidence=(Booted, BrokerStateChanged, HeartbeatAnswered, Decided, Change),
        disk=DISK_KINDS,
        fs=FS,
        observations=True,
        nemesis=True,
        faults=True,
    )
