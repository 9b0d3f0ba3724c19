"""Each decision of a controller is what an independent one decides in the same state (D.24).

A decision rests on the log of its leader below some offset. Where that is a part of the committed
log - its own record is committed, or another one of the same leader behind it - the log is replayed
up to there, and `reference_controller`, written from the KIPs, decides anew.

What was accepted is in the log: clients' answers and what lies on disks are enough. Of a refusal
nothing is left but the answer: in which state it was decided, its controller tells; or clients
prove it by two other changes of the same partition, one before and one after it, that the same
controller accepted in one epoch, and between which no version lies.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

from checkers.folds.decisions.known_decisions import Known, known_of
from checkers.folds.decisions.reference_controller import (
    IsrRequest,
    against_creation,
    against_deletion,
    against_election,
    against_heartbeat,
    against_isr_change,
    against_placement,
)
from checkers.folds.decisions.told_decisions import reported_of
from checkers.folds.history.values import alter_isr, altered_isr, key_of
from checkers.folds.metadata_log.committed_log import CommittedLog
from checkers.folds.metadata_log.disk_logs import DISK_KINDS
from checkers.folds.metadata_log.service import OF_BROKERS
from checkers.folds.replayed.replay import Key, Replay, name_of, states
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import (
    BrokerFenced,
    BrokerRegistered,
    BrokerUnfenced,
    BrokerUnregistered,
    Change,
    PartitionChanged,
    PartitionCreated,
    PartitionState,
    TopicCreated,
    TopicRemoved,
)
from framework.evidence.kinds import Evidence, either_of
from framework.evidence.requests import Decided, IsrDecided
from framework.evidence.run_events import RunEvents, unreported
from framework.evidence.systems import Promised
from framework.history.pairing import Operation
from framework.plugins.checker import CLIENTS, DISKS, EVENTS, Clause, Count, Finding
from framework.plugins.outcomes import ABSENT, PRESENT, STALE

FS: Final = ("alter-isr", "heartbeat", "create", "delete")
UNCLEAN: Final = "unclean.leader.election.enable"

ISR_ACCEPTED: Final = Clause(
    name="isr-accepted",
    says="A change of an ISR that was accepted could be: of the leader, of its broker epoch, "
    "leader epoch and version, with replicas in service alone; it changes the ISR as asked, and "
    "not the leader",
    compares="accepted changes of ISRs decided anew",
    floor=2,
    because="a first change finds nothing that could be stale",
    sources=(CLIENTS, DISKS, EVENTS),
    blind="a member that was shutting down; members of a request that no client made, beyond what "
    "its record has",
)
ISR_REFUSED: Final = Clause(
    name="isr-refused",
    says="A change of an ISR that was refused could not be accepted in the state in which that "
    "was decided",
    compares="refused changes of ISRs whose state is known",
    floor=2,
    because="one may be refused for a reason that nobody sees",
    sources=(CLIENTS, DISKS, EVENTS),
    blind="refusals of requests that no client made; of states that were never committed; without "
    "events, those that lie not between two changes of one controller",
)
TOPICS: Final = Clause(
    name="topics",
    says="A topic is made if its name is free, and deleted if it is there; it is refused as being "
    "there, or as not being there, only where that is so",
    compares="decisions on topics decided anew",
    floor=2,
    because="the first topic meets no other",
    sources=(CLIENTS, DISKS, EVENTS),
    blind="requests of several topics; refusals for another reason",
)
BROKERS: Final = Clause(
    name="brokers",
    says="A heartbeat is accepted under the registered epoch alone, and is not refused as stale "
    "under it; its records are of that broker",
    compares="decisions on heartbeats decided anew",
    floor=2,
    because="one is the registration, which meets nobody",
    sources=(CLIENTS, DISKS, EVENTS),
    blind="when leases end, and whether a broker has caught up: a controller's clock and the "
    "heartbeat's offset are in no evidence",
)
LEADERS: Final = Clause(
    name="leaders",
    says="New partitions are given to registered replicas, all in sync that are in service; a new "
    "leader is in service and was in sync, and nobody leads only if nobody can",
    compares="placements and elections decided anew",
    floor=2,
    because="each topic has a partition, and one may be placed well by chance",
    sources=(DISKS, EVENTS),
    blind="which of the allowed brokers is preferred; a leader or member that is taken out while "
    "it is in service, as it may be shutting down",
)
_ALL: Final = (ISR_ACCEPTED, ISR_REFUSED, TOPICS, BROKERS, LEADERS)

Asked: TypeAlias = Callable[[Replay], Iterable[Finding] | None]
"""What a decision in that state breaks; None: it cannot be told."""


@dataclass(frozen=True, slots=True)
class Question:
    """To be asked of the state below `offset`."""

    clause: Clause
    offset: int
    ask: Asked


def decision_conformance(events: RunEvents) -> Outcome:
    known = known_of(events)
    by_offset: dict[int, list[Question]] = defaultdict(list)
    for question in _questions(known):
        by_offset[question.offset].append(question)
    compared: Counter[str] = Counter()
    findings: list[Finding] = []
    for offset, state in states(known.log, by_offset):
        for question in by_offset[offset]:
            found = question.ask(state)
            if found is not None:
                findings += found
                compared[question.clause.name] += 1
    asked = sum(map(len, by_offset.values()))
    figures = {"records": len(known.log.records), "questions": asked}
    return weighed(_counts(compared, known), findings, figures)


def _counts(compared: Mapping[str, int], known: Known) -> dict[str, Count]:
    """What clients asked for once at most, or were refused, gave no occasion. Of what they were
    answered, controllers have to tell most: they might leave out what is wrong."""
    events = known.events
    changes = [each for each in events.operations if each.f == "alter-isr"]
    topics = [each for each in events.operations if each.f in ("create", "delete")]
    why = unreported(events.plan)
    missing = {
        ISR_ACCEPTED: _few((each.ok for each in changes), "changed ISRs"),
        ISR_REFUSED: why or _few((each.failed for each in changes), "were refused to change ISRs"),
        TOPICS: why or _few((each.ok or bool(each.asserts) for each in topics), "met topics"),
        BROKERS: why,
        LEADERS: _few((each.ok for each in topics), "made or deleted topics"),
    }
    counts = {each.name: each.count(compared[each.name], why) for each, why in missing.items()}
    for clause, fs, accepted in _OF_CLIENTS:
        reported, answers = reported_of(known, fs, accepted)
        least = answers - max(UNREPORTED, answers // 4)
        if counts[clause.name] == compared[clause.name] and reported < least:
            counts[clause.name] = (reported, least)
    return counts


UNREPORTED: Final = 3
"""So many decisions may be lost with a process that is killed, or rest on what was never committed;
where clients had more than a dozen answers, a quarter."""
_OF_CLIENTS: Final[Sequence[tuple[Clause, Sequence[str], Collection[bool]]]] = (
    (ISR_REFUSED, ("alter-isr",), (False,)),
    (TOPICS, ("create", "delete"), (True, False)),
    (BROKERS, ("heartbeat",), (True, False)),
)
"""Clause -> clients' operations that have to be told of, and with which answers."""


def _few(times: Iterable[bool], what: str) -> str:
    """Why there was no occasion, where there were fewer than two."""
    return f"clients {what} fewer than two times" if sum(times) < 2 else ""


def _questions(known: Known) -> Iterator[Question]:
    yield from _accepted_changes(known)
    yield from _refused_changes(known)
    yield from _decided_changes(known)
    yield from _decided(known)
    yield from _leaders(known)


# --- changes of ISRs ----------------------------------------------------------------------


def _request(operation: Operation) -> IsrRequest:
    value = alter_isr(operation)
    return IsrRequest(
        key=key_of(value),
        broker_id=value["broker_id"],
        broker_epoch=value["broker_epoch"],
        leader_epoch=value["leader_epoch"],
        partition_epoch=value["partition_epoch"],
        isr=tuple(value["isr"]),
        isr_epochs=tuple(value.get("isr_epochs") or ()),
    )


def _accepted_changes(known: Known) -> Iterator[Question]:
    """By clients' answers: each names the version that its record made."""
    for each in _changes(known):
        asked = _request(each)
        if each.ok and (made := _version(known, asked.key, altered_isr(each)["partition_epoch"])):
            ask = _acceptance(asked, made, partial(list, (each,)))
            yield Question(ISR_ACCEPTED, made.offset, ask)


def _changes(known: Known) -> Iterator[Operation]:
    return (each for each in known.events.operations if each.f == "alter-isr")


def _version(known: Known, key: Key, version: int) -> PartitionState | None:
    return known.versions.get(key, {}).get(version)


def _acceptance(
    asked: IsrRequest,
    made: PartitionState,
    asking: Callable[[], Sequence[Operation]],
    *also: Evidence,
) -> Asked:
    """`asking`: the operations that show it."""

    def ask(state: Replay) -> Iterable[Finding]:
        what = f"broker {asked.broker_id}'s change of {name_of(asked.key)} was accepted"
        members = "" if asked.isr is None else f" to ISR {sorted(asked.isr)}"
        if why := against_isr_change(state, asked):
            message = (
                f"{what}{members} under broker epoch {asked.broker_epoch}, leader epoch "
                f"{asked.leader_epoch} and version {asked.partition_epoch}; below its record at "
                f"offset {made.offset} {why}"
            )
        elif isinstance(made, PartitionCreated):  # it completed a reassignment
            return []
        elif made.leader != asked.broker_id or set(asked.isr or made.isr) != set(made.isr):
            message = (
                f"{what}{members}; its record at offset {made.offset} has leader {made.leader}, "
                f"ISR {sorted(made.isr)}"
            )
        else:
            return []
        return [finding(message, asking(), [*also, made], clause=ISR_ACCEPTED.name)]

    return ask


def _refused_changes(known: Known) -> Iterator[Question]:
    """By clients' answers: one controller made the version that was named in the epoch in which it
    made the next one, on behalf of changes before and after the one that it refused."""
    makers: dict[tuple[Key, int], Operation] = {}
    for each in _changes(known):
        if each.ok:
            makers.setdefault((_request(each).key, altered_isr(each)["partition_epoch"]), each)
    for refused in _changes(known):
        if not refused.failed or refused.node is None:
            continue
        asked = _request(refused)
        version = asked.partition_epoch
        one, other = makers.get((asked.key, version)), makers.get((asked.key, version + 1))
        begun, over = (_version(known, asked.key, each) for each in (version, version + 1))
        if one is None or other is None or begun is None or over is None:
            continue
        around = one.precedes(refused) and refused.precedes(other) and begun.epoch == over.epoch
        if around and {one.node, other.node} == {refused.node}:
            between = known.log.records[begun.offset : over.offset]
            ask = _refusal(known, asked, [one, refused, other], [begun, over], between)
            yield Question(ISR_REFUSED, over.offset, ask)


def _refusal(
    known: Known,
    asked: IsrRequest,
    operations: Sequence[Operation],
    evidence: Sequence[Evidence],
    between: Iterable[Change] = (),
) -> Asked:
    """`between`: records of which nobody knows whether they were below the decision."""

    def ask(state: Replay) -> Iterable[Finding] | None:
        if against_isr_change(state, asked):
            return None if between else []
        members = {asked.broker_id, *(asked.isr or ())}
        if members & known.may_leave(state) or any(_moves(each, members) for each in between):
            return None
        return [
            finding(
                f"broker {asked.broker_id}'s change of {name_of(asked.key)} to ISR "
                f"{sorted(asked.isr or ())} was refused, though it is the leader, all of "
                f"{sorted(members)} are in service, and broker epoch {asked.broker_epoch}, leader "
                f"epoch {asked.leader_epoch} and version {asked.partition_epoch} are those below "
                f"offset {state.end}",
                operations,
                evidence,
                clause=ISR_REFUSED.name,
            )
        ]

    return ask


def _moves(change: Change, members: set[int]) -> bool:
    """Whether one of them comes, goes, or is another than before."""
    return isinstance(change, OF_BROKERS) and getattr(change, "broker_id", None) in members


def _decided_changes(known: Known) -> Iterator[Question]:
    """By what controllers tell: what they were asked beside the members, and in which state."""
    for each in known.events.of(IsrDecided):
        asked = IsrRequest(
            key=each.key,
            broker_id=each.broker_id,
            broker_epoch=each.broker_epoch,
            leader_epoch=each.leader_epoch,
            partition_epoch=each.partition_epoch,
        )
        if each.accepted:
            for made in known.made(each):
                if isinstance(made, PartitionState) and made.key == each.key:
                    ask = _acceptance(asked, made, partial(known.asked, each, each.key), each)
                    yield Question(ISR_ACCEPTED, made.offset, ask)
        elif each.accepted is False and known.is_sure(each):
            yield Question(ISR_REFUSED, each.as_of, _reported_refusal(known, each, asked))


def _reported_refusal(known: Known, decision: IsrDecided, reported: IsrRequest) -> Asked:
    """What members it was about its client knows. Where several may have been that, none of them
    could have been refused."""

    def ask(state: Replay) -> Iterable[Finding] | None:
        if against_isr_change(state, reported):
            return []
        asking = known.asked(decision, decision.key)
        if not asking or not all(each.failed for each in asking):
            return None
        found = [_refusal(known, _request(each), [each], [decision])(state) for each in asking]
        if any(each is None for each in found):
            return None
        return [each for own in found for each in own or ()] if all(found) else []

    return ask


# --- brokers and topics -------------------------------------------------------------------


def _decided(known: Known) -> Iterator[Question]:
    exclusive = any(each.promise == "exclusive-broker-ids" for each in known.events.of(Promised))
    waited_for = {each.broker_id for each in known.events.of(Decided) if _may_wait(each)}
    for each in known.events.of(Decided):
        if not known.is_sure(each):
            continue
        if each.f == "heartbeat" and each.broker_id is not None:
            claimed = exclusive or each.broker_id in waited_for
            yield Question(BROKERS, each.as_of, _heartbeat(known, each, claimed))
        elif each.f in ("create", "delete") and len(each.topics) == 1:
            yield Question(TOPICS, each.as_of, _topic(known, each, each.topics[0]))


def _may_wait(decision: Decided) -> bool:
    """Whether a process without an epoch was answered, and not registered: it may wait until the
    one that has its id is gone."""
    newcomer = decision.broker_epoch is None and decision.f == "heartbeat"
    return newcomer and decision.accepted and not decision.records


def _heartbeat(known: Known, decision: Decided, claimed: bool) -> Asked:
    """`claimed`: the broker may be refused while another process waits for its id."""
    broker, epoch = decision.broker_id or 0, decision.broker_epoch

    def ask(state: Replay) -> Iterable[Finding] | None:
        why = "" if epoch is None else against_heartbeat(state, broker, epoch)
        if decision.accepted:
            return [_said(known, decision, broker, BROKERS, each) for each in _accepted(state, why)]
        if epoch is None or why or claimed:
            return [] if why else None
        if not known.was_reported(decision, broker, STALE):
            return None
        message = f"refused as stale, which is its epoch below offset {state.end}"
        return [_said(known, decision, broker, BROKERS, message)]

    def _accepted(state: Replay, why: str) -> Iterator[str]:
        if why:
            yield f"accepted, though below offset {state.end} {why}"
        if epoch is None and broker not in state.brokers and not decision.records:
            yield "accepted, and nothing registers the broker"
        for each in known.made(decision):
            if wrong := _not_of(state, each, decision):
                yield f"accepted, and its record {wrong}"

    return ask


def _said(
    known: Known, decision: Decided, on: int | str, clause: Clause, what: str, *also: Evidence
) -> Finding:
    of = f"of broker {on} under epoch {decision.broker_epoch}" if clause is BROKERS else f"of {on}"
    return finding(
        f"{decision.node}'s decision on {decision.api} {of}: {what}",
        known.asked(decision, on),
        [decision, *also],
        clause=clause.name,
    )


def _not_of(state: Replay, change: Change, decision: Decided) -> str:
    """What is wrong with a record for a heartbeat."""
    broker = decision.broker_id
    match change:
        case BrokerUnfenced() if decision.target in ("fenced", "leaving"):
            return f"at offset {change.offset} unfences it, which it did not ask for"
        case BrokerRegistered() | BrokerFenced() | BrokerUnfenced():
            if change.broker_id != broker:
                return f"at offset {change.offset} is of broker {change.broker_id}"
        case PartitionChanged():
            before = state.partitions.get(change.key)
            touched = {change.leader, *(() if before is None else (before.leader, *before.isr))}
            if broker not in touched:
                return (
                    f"at offset {change.offset} changes {name_of(change.key)}, which it is not of"
                )
    return ""


def _topic(known: Known, decision: Decided, name: str) -> Asked:
    creates = decision.f == "create"
    against, saw = (against_creation, PRESENT) if creates else (against_deletion, ABSENT)

    def ask(state: Replay) -> Iterable[Finding] | None:
        why = against(state, name)
        if decision.accepted:
            made = known.made(decision)
            return _accepted(state, made, why) if made else None
        if why:
            return []
        if not known.was_reported(decision, name, saw):
            return None
        message = f"refused as {saw}, which it is not below offset {state.end}"
        return [_said(known, decision, name, TOPICS, message)]

    def _accepted(state: Replay, made: Sequence[Change], why: str) -> list[Finding]:
        if why:
            message = f"accepted, though below offset {state.end} {why}"
            return [_said(known, decision, name, TOPICS, message)]
        if creates:
            done = [each.name for each in made if isinstance(each, TopicCreated)] == [name]
        else:
            gone = [each.topic_id for each in made if isinstance(each, TopicRemoved)]
            done = gone == [state.names[name]]
        message = "accepted, and its records do not do that, or more than that"
        return [] if done else [_said(known, decision, name, TOPICS, message, *made)]

    return ask


# --- partitions ---------------------------------------------------------------------------


def _leaders(known: Known) -> Iterator[Question]:
    """By the log. Who may be shutting down controllers alone tell."""
    reported = any(True for _ in known.events.of(Decided))
    if UNCLEAN in str(known.events.plan.get("settings")):
        return
    for each in known.log.records:
        if isinstance(each, PartitionState):
            yield Question(LEADERS, each.offset, _placed(known, each, reported))


def _placed(known: Known, change: PartitionState, reported: bool) -> Asked:
    def ask(state: Replay) -> Iterable[Finding] | None:
        before = state.partitions.get(change.key)
        leaving = known.may_leave(state) if reported else set(state.brokers)
        if isinstance(change, PartitionCreated):
            if before is not None:
                return None
            why = against_placement(state, change, leaving)
        elif before is None or before.leader == change.leader or _unclean(state):
            return None
        else:
            why = against_election(state, before, change, leaving)
            gone = _taken_off(known.log, change.offset) if why else None
            why = against_election(state, before, change, {*leaving, gone}) if gone else why
        message = f"the {change.kind} of {name_of(change.key)} at offset {change.offset} {why}"
        return [finding(message, evidence=[change], clause=LEADERS.name)] if why else []

    return ask


def _taken_off(log: CommittedLog, offset: int) -> int | None:
    """The broker that the records from there on unregister: what it led goes elsewhere first, and
    the last member of an ISR stays in it."""
    after = log.at(offset)
    while isinstance(after, PartitionState):
        after = log.at(after.offset + 1)
    return after.broker_id if isinstance(after, BrokerUnregistered) else None


def _unclean(state: Replay) -> bool:
    """Whether somebody allows unclean elections anywhere."""
    return any(values.get(UNCLEAN) == "true" for values in state.configs.values())


class DecisionConformance(RunChecker):
    name = "decision-conformance"
    summary = (
        "What controllers accepted and refused, and whom they let lead, is what an independent "
        "controller decides in the state that the log below makes"
    )
    requires = frozenset({"strict-metadata-log"}) | either_of(Change)
    clauses = _ALL
    check_run = RunCheck(
        decision_conformance,
        evidence=(Change, Decided, IsrDecided, Promised),
        disk=DISK_KINDS,
        fs=FS,
    )
