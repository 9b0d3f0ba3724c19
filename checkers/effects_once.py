"""No operation takes effect twice, and none that was told that it had failed (D.20).

Judged by the committed log. A request id stands in one batch. A topic that comes into being is
the doing of one create of its name, which was not refused, and no create makes two; likewise a
topic that goes, and deletes. A delete that was answered ok removed a topic that lived at some
time between its invocation and its completion: the log says so, and nodes that applied it, or those
who were shown so much of it, say when. A registration of a broker that a workload plays is the
doing of a request that was not refused.

What clients were not answered may take effect at any later time, but once. ISR changes are held
to the same by isr-linearizability, produced values by partition-data; here those that take a
member away, which controllers may do as well: of a broker that is out of service or leaves it.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from checkers.folds.history.sent_again import carried_out_once
from checkers.folds.history.values import alter_isr, heartbeat, isr_of, topic_answer
from checkers.folds.isr.isr import by_version
from checkers.folds.metadata_log.commit_dates import dated_log
from checkers.folds.metadata_log.committed_log import CommittedLog
from checkers.folds.metadata_log.disk_logs import DISK_KINDS
from checkers.folds.metadata_log.shown_ends import SHOWS
from checkers.folds.replayed.replay import Key, Replay
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import (
    BrokerFenced,
    BrokerRegistered,
    Change,
    PartitionChanged,
    RequestRemembered,
    TopicCreated,
    TopicRemoved,
)
from framework.evidence.kinds import either_of
from framework.evidence.requests import Decided
from framework.evidence.run_events import RunEvents, settled
from framework.history.pairing import Operation
from framework.plugins.capabilities import SHRINKING_RAISES
from framework.plugins.checker import CLIENTS, DISKS, EVENTS, LEDGER, Clause, Count, Finding

FS: Final = ("create", "delete", "heartbeat", "alter-isr", *SHOWS)
T = TypeVar("T")
Due: TypeAlias = Callable[[Operation], bool]
"""Whether what an acknowledged operation did has to be in the known log."""

TOPICS: Final = Clause(
    name="topics",
    says="Every topic that came or went is the doing of one operation that was not refused, in its "
    "time; every acknowledged create and delete is in the log",
    compares="topics that came or went, and acknowledged deletes",
    floor=2,
    because="one topic is nobody's but its creator's",
    sources=(CLIENTS, LEDGER, DISKS, EVENTS),
    blind="operations of which nobody knows whether they took effect account for one record each; "
    "where forwarded requests have no ids, each accounts for any number, and so does one that was "
    "answered, while it was under way; a record that nobody tells of, or is shown, may be of any "
    "time",
)
REQUESTS: Final = Clause(
    name="requests",
    says="A forwarded request is in one batch of the committed log, by one decision",
    compares="requests by their ids",
    floor=2,
    because="the first id cannot come again",
    sources=(DISKS, EVENTS),
    blind="requests whose ids no record keeps and no decision names",
)
REGISTRATIONS: Final = Clause(
    name="registrations",
    says="A process of a broker is registered if it asked and was not refused",
    compares="registrations of brokers that clients play",
    floor=2,
    because="the first process of a broker has no other",
    sources=(CLIENTS, DISKS, EVENTS),
    blind="real brokers, of whose requests only they know",
)
SHRINKS: Final = Clause(
    name="isr-shrinks",
    says="No member in service is taken out of an ISR that nobody asked to be made so, nor twice "
    "for one request",
    compares="records that take members away from partitions whose leader clients play",
    floor=2,
    because="one change applied once shows nothing of a second",
    sources=(CLIENTS, LEDGER, DISKS, EVENTS),
    blind="partitions that real brokers lead; a record that nobody tells of, or is shown, may be "
    "of any time",
)


@dataclass(frozen=True, slots=True)
class Effect:
    """A committed record that some operation caused. On the harness's clock: it was not committed
    before `not_before_ns`, and was by `by_ns`."""

    topic_id: str
    name: str
    change: Change
    not_before_ns: int
    by_ns: int


def effects_once(events: RunEvents) -> Outcome:
    log = dated_log(events)
    born, gone = _effects(log)
    once = carried_out_once(events)
    creates = _by_key(events.operations, "create")
    deletes = _by_key(events.operations, "delete")
    findings: list[Finding] = []
    judged = 0
    for name, operations in creates.items():
        effects = [each for each in born.values() if each.name == name]
        judged += len(effects)
        findings += _caused("created", name, operations, effects, once=once)
    for name, operations in deletes.items():
        effects = [each for each in gone.values() if each.name == name]
        judged += len(effects)
        findings += _caused("removed", name, operations, effects, once=once)
        findings += _in_their_time(operations, born, gone)
    is_due = _due(events, log, born, gone)
    deletes_done, found = _carried_out(events.operations, is_due, born, gone)
    findings += found
    for f, asked, done in (("create", creates, born), ("delete", deletes, gone)):
        findings += _unnamed(f, asked, is_due, born, done)
    requests, found = _requests(log, list(events.of(Decided)))
    findings += found
    players, found = _registrations(log, events.operations)
    findings += found
    raises = SHRINKING_RAISES in (events.plan.get("capabilities") or ())
    shrinks, found = _taken_away(log, events.operations, raises=raises)
    findings += found
    figures = {
        "topics": judged,
        "requests": requests,
        "registrations": players,
        "members_taken_away": shrinks,
    }
    counts = {
        TOPICS.name: judged + deletes_done,
        REQUESTS.name: requests,
        REGISTRATIONS.name: players,
        SHRINKS.name: shrinks,
    }
    weighable = _occasions(counts, events.operations)
    if not requests and not once:
        weighable[REQUESTS.name] = "the system tells no request from its repetition"
    return weighed(weighable, findings, figures)


def _occasions(counts: Mapping[str, int], operations: Iterable[Operation]) -> dict[str, Count]:
    """Where too little was compared, perhaps because clients were acknowledged too little."""
    done = Counter(each.f for each in operations if each.ok)
    topics = done["create"] + done["delete"]
    synthetic = sum(each.ok for group in _asked_to_register(operations).values() for each in group)
    acknowledged = {
        TOPICS: (topics, "no two changes of topics"),
        REQUESTS: (topics, "no two changes of topics"),
        REGISTRATIONS: (synthetic, "no two registrations"),
        SHRINKS: (_shrinks(operations), "no two ISRs made smaller"),
    }
    return {
        each.name: each.count(
            counts[each.name], "" if times >= each.floor else f"clients were acknowledged {few}"
        )
        for each, (times, few) in acknowledged.items()
    }


def _shrinks(operations: Iterable[Operation]) -> int:
    """How many acknowledged changes have fewer members than one before of the same partition."""
    last: dict[Key, int] = {}
    count = 0
    for each in operations:
        if each.f == "alter-isr" and each.ok:
            asked = alter_isr(each)
            key = (str(asked["topic_id"]), asked["partition"])
            size = len(asked["isr"])
            count += size < last.get(key, 0)
            last[key] = size
    return count


def _effects(log: CommittedLog) -> tuple[dict[str, Effect], dict[str, Effect]]:
    """Topic id -> its creation, and its removal."""
    born: dict[str, Effect] = {}
    gone: dict[str, Effect] = {}
    for change, *times in zip(log.records, log.not_before_ns, log.by_ns, strict=True):
        if isinstance(change, TopicCreated):
            born[change.topic_id] = Effect(change.topic_id, change.name, change, *times)
        elif isinstance(change, TopicRemoved) and change.topic_id in born:
            name = born[change.topic_id].name
            gone[change.topic_id] = Effect(change.topic_id, name, change, *times)
    return born, gone


def _by_key(operations: Iterable[Operation], f: str) -> dict[str, list[Operation]]:
    found: dict[str, list[Operation]] = defaultdict(list)
    for operation in operations:
        if operation.f == f:
            found[str(operation.key)].append(operation)
    return found


def _answered_id(operation: Operation) -> str | None:
    if not operation.ok or not isinstance(operation.result, dict):
        return None
    topic_id = topic_answer(operation).get("topic_id")
    return None if topic_id is None else str(topic_id)


# --- topics -------------------------------------------------------------------------------


def _caused(
    verb: str, name: str, operations: Sequence[Operation], effects: Sequence[Effect], *, once: bool
) -> Iterator[Finding]:
    """Each effect needs an operation of its own. Those that were answered with its id are its
    own; the rest is put down to operations that were not answered, or without an id, each of
    which began before. Both in the order of time: if any assignment fits, this one does. Not
    `once`: whoever forwards a request may send it again, and it is carried out again; also that of
    an operation that was answered with another id, before that answer."""
    owners: dict[str, list[Operation]] = defaultdict(list)
    for operation in operations:
        topic_id = _answered_id(operation)
        if topic_id is not None:
            owners[topic_id].append(operation)
    for topic_id, group in owners.items():
        if len(group) > 1:
            yield finding(
                f"{len(group)} operations on {name} were answered that they had {verb} topic "
                f"{topic_id}",
                group,
                clause=TOPICS.name,
            )
    free = [each for each in operations if not each.failed and not (once and _answered_id(each))]
    rest = sorted(
        (each for each in effects if each.topic_id not in owners),
        key=lambda each: (each.by_ns, each.change.offset),
    )
    for effect in rest:
        able = [each for each in free if _may_have_done(each, effect)]
        if able and once:
            free.remove(able[0])
        if able:
            continue
        refused = [each for each in operations if each.failed and each.began_ns <= effect.by_ns]
        yield finding(
            f"{name} was {verb} at offset {effect.change.offset} (topic {effect.topic_id}), the "
            f"doing of no operation: each that may have done it by then accounts for another "
            f"record, and {len(refused)} were refused",
            refused[-3:],
            [effect.change],
            clause=TOPICS.name,
        )


def _may_have_done(operation: Operation, effect: Effect) -> bool:
    return operation.began_ns <= effect.by_ns and effect.not_before_ns <= _last_ns(operation)


def _last_ns(operation: Operation) -> float:
    """By when it had taken whatever effect it was not answered with: what was sent before it was
    sent again is carried out before that is, or refused by who leads no more."""
    done_ns = operation.completed_ns if _answered_id(operation) else None
    return math.inf if done_ns is None else done_ns


def _in_their_time(
    operations: Iterable[Operation], born: dict[str, Effect], gone: dict[str, Effect]
) -> Iterator[Finding]:
    for operation in operations:
        topic_id = _answered_id(operation)
        if topic_id not in born:
            continue
        birth, death = born[topic_id], gone.get(topic_id)
        ended_ns = operation.completed_ns
        if ended_ns is not None and ended_ns < birth.not_before_ns:
            when, change = "was created after it had ended", birth.change
        elif death is not None and operation.began_ns > death.by_ns:
            when, change = "had been removed before it began", death.change
        else:
            continue
        yield finding(
            f"operation {operation.index} (delete of {operation.key}) was answered with topic "
            f"{topic_id}, which {when}",
            [operation],
            [change],
            clause=TOPICS.name,
        )


def _carried_out(
    operations: Iterable[Operation], is_due: Due, born: dict[str, Effect], gone: dict[str, Effect]
) -> tuple[int, list[Finding]]:
    """An acknowledged delete is in the log: below the record of any operation that began later,
    and in any case where the cluster was seen to agree on all of it. Also how many were judged."""
    judged, findings = 0, []
    for operation in operations:
        topic_id = _answered_id(operation)
        if operation.f != "delete" or topic_id not in born:
            continue
        judged += 1
        if topic_id not in gone and is_due(operation):
            birth = born[topic_id].change
            findings.append(
                finding(
                    f"operation {operation.index} (delete of {operation.key}) was answered ok, and "
                    f"no committed record removes topic {topic_id}, created at offset "
                    f"{birth.offset}",
                    [operation],
                    [birth],
                    clause=TOPICS.name,
                )
            )
    return judged, findings


def _unnamed(
    f: str,
    by_name: Mapping[str, Iterable[Operation]],
    is_due: Due,
    born: dict[str, Effect],
    effects: dict[str, Effect],
) -> Iterator[Finding]:
    """Acknowledged without an id, or with one that no topic of that name has: each is some record
    all the same, of a topic of that name that no other answer has for itself."""
    for name, operations in by_name.items():
        own = {topic_id for topic_id, birth in born.items() if birth.name == name}
        due = [each for each in operations if each.ok and is_due(each)]
        unnamed = [each for each in due if _answered_id(each) not in own]
        free = (own & effects.keys()) - {_answered_id(each) for each in operations}
        if len(unnamed) > len(free):
            yield finding(
                f"{len(unnamed)} operations ({f} of {name}) were answered ok, by the id of no such "
                f"topic; of the committed records {len(free)} may be what they did",
                unnamed[:3],
                clause=TOPICS.name,
            )


def _due(
    events: RunEvents, log: CommittedLog, born: dict[str, Effect], gone: dict[str, Effect]
) -> Due:
    """It has to be if the log has the record of one that began later, or if the cluster was seen
    to agree on all of it."""
    agreed = settled(events.nemesis) is True and log.gap is None
    effects = {"create": born, "delete": gone}
    done = [each for each in events.operations if _answered_id(each) in effects.get(each.f, ())]
    last = max(done, key=lambda each: each.index, default=None)

    def is_due(operation: Operation) -> bool:
        below = last is not None and operation.precedes(last)
        return below or (agreed and operation.phase == "main")

    return is_due


# --- requests -----------------------------------------------------------------------------


def _requests(log: CommittedLog, decided: Sequence[Decided]) -> tuple[int, list[Finding]]:
    """A forwarded request's id in one record, and one decision on it with committed records."""
    recorded = [
        (each.request_id, each) for each in log.records if isinstance(each, RequestRemembered)
    ]
    carried_out = [
        (each.forwarded, each)
        for each in decided
        if each.forwarded and each.records
        if log.of_epoch(min(each.records), each.epoch) is not None
    ]
    twice = [
        finding(
            f"request {request} took effect twice: at offsets {first.offset} and {again.offset}",
            evidence=[first, again],
            clause=REQUESTS.name,
        )
        for request, first, again in _repeated(recorded)
    ]
    twice += [
        finding(
            f"request {request} was carried out twice: {first.node} made offsets "
            f"{list(first.records)}, {again.node} {list(again.records)}, all committed",
            evidence=[first, again],
            clause=REQUESTS.name,
        )
        for request, first, again in _repeated(carried_out)
    ]
    return len({request for request, _ in (*recorded, *carried_out)}), twice


def _repeated(named: Iterable[tuple[str, T]]) -> Iterator[tuple[str, T, T]]:
    """Each name that comes again, with what had it first."""
    first: dict[str, T] = {}
    for name, each in named:
        if first.setdefault(name, each) is not each:
            yield name, first[name], each


def _registrations(log: CommittedLog, operations: Iterable[Operation]) -> tuple[int, list[Finding]]:
    """Of brokers that a workload plays: their processes have incarnation ids of their own."""
    asked = _asked_to_register(operations)
    judged, findings = 0, []
    for change in log.records:
        if not isinstance(change, BrokerRegistered):
            continue
        group = asked.get(str(change.process))
        if group is None:
            continue
        judged += 1
        if all(each.failed for each in group):
            findings.append(
                finding(
                    f"broker {change.broker_id} was registered at offset "
                    f"{change.offset}; all its process's requests were refused",
                    group,
                    [change],
                    clause=REGISTRATIONS.name,
                )
            )
    return judged, findings


def _asked_to_register(operations: Iterable[Operation]) -> dict[str, list[Operation]]:
    """By the incarnation of a broker's process."""
    asked: dict[str, list[Operation]] = defaultdict(list)
    for operation in operations:
        if operation.f != "heartbeat":
            continue
        beat = heartbeat(operation)
        if beat.get("incarnation") and beat["broker_epoch"] < 0:
            asked[str(beat["incarnation"])].append(operation)
    return asked


# --- ISRs ---------------------------------------------------------------------------------


def _taken_away(
    log: CommittedLog, operations: Sequence[Operation], *, raises: bool
) -> tuple[int, list[Finding]]:
    """Records that take members away, in partitions whose leader is one that clients play, so that
    all its requests are known. `raises`: that may begin a leader epoch."""
    asked: dict[Key, list[Operation]] = defaultdict(list)
    for operation in operations:
        if operation.f == "alter-isr":
            wish = alter_isr(operation)
            asked[str(wish["topic_id"]), wish["partition"]].append(operation)
    conditional = {key: by_version(requests) for key, requests in asked.items()}
    leaving_ns = _leaving_ns(operations)
    state = Replay()
    judged, findings = 0, []
    for change, by_ns, going in zip(log.records, log.by_ns, _going(log.records), strict=True):
        if isinstance(change, PartitionChanged) and change.key in state.partitions:
            before = state.partitions[change.key]
            requests = asked.get(change.key, [])
            led = change.leader == before.leader
            led = led and 0 <= change.leader_epoch - before.leader_epoch <= raises
            synthetic = any(alter_isr(each)["broker_id"] == change.leader for each in requests)
            taken = set(before.isr) - set(change.isr)
            if led and synthetic and set(change.isr) < set(before.isr):
                judged += 1
                out = {each for each in taken if not state.live(each)}
                out |= going | {broker for broker, ns in leaving_ns.items() if ns <= by_ns}
                on_it = conditional.get(change.key, {}).get(before.version, [])
                if not taken <= out and not _asked(on_it, change, by_ns):
                    findings.append(_not_asked(requests, sorted(taken - out), change))
        state.feed(change)
    return judged, findings


def _asks_to_leave(operation: Operation) -> bool:
    return (
        operation.f == "heartbeat"
        and not operation.failed
        and heartbeat(operation).get("target", "active") != "active"
    )


def _going(records: Sequence[Change]) -> list[frozenset[int]]:
    """For each, the broker that the record after it, and after more of partitions, puts out of
    service: a controller may first say what follows of that."""
    found: list[frozenset[int]] = []
    going: frozenset[int] = frozenset()
    for each in reversed(records):
        found.append(going)
        if isinstance(each, BrokerFenced | BrokerRegistered):
            going = frozenset({each.broker_id})
        elif not isinstance(each, PartitionChanged):
            going = frozenset()
    return found[::-1]


def _leaving_ns(operations: Iterable[Operation]) -> dict[int, int]:
    """Broker -> when it may first have asked to be let go."""
    found: dict[int, int] = {}
    for each in filter(_asks_to_leave, operations):
        broker = heartbeat(each)["broker_id"]
        found[broker] = min(each.began_ns, found.get(broker, each.began_ns))
    return found


def _asked(requests: Iterable[Operation], change: PartitionChanged, by_ns: int) -> bool:
    return any(
        not each.failed and isr_of(each) == set(change.isr) and each.began_ns <= by_ns
        for each in requests
    )


def _not_asked(
    requests: Iterable[Operation], taken: list[int], change: PartitionChanged
) -> Finding:
    earlier = [
        each
        for each in requests
        if not each.failed
        and alter_isr(each)["partition_epoch"] < change.partition_epoch - 1
        and isr_of(each) == set(change.isr)
    ][-3:]
    who = ", ".join(str(each.index) for each in earlier)
    twice = f": was a change applied twice (operations {who})?" if earlier else ""
    return finding(
        f"the record at offset {change.offset} takes {taken}, in service, out of the ISR of "
        f"{change.topic_id}/{change.partition}, and nobody asked for that{twice}",
        earlier,
        [change],
        clause=SHRINKS.name,
    )


class EffectsOnce(RunChecker):
    name = "effects-once"
    summary = (
        "Every topic that came or went is the doing of one operation that was not refused, every "
        "acknowledged delete is in the log, and every request id is in one batch"
    )
    requires = either_of(Change)
    clauses = (TOPICS, REQUESTS, REGISTRATIONS, SHRINKS)
    check_run = RunCheck(
        effects_once,
        evidence=(Change, Decided),
        disk=DISK_KINDS,
        fs=FS,
        observations=True,
        nemesis=True,
    )
