"""No operation takes effect twice, and none that was told that it had failed (D.20).

Judged by the committed log. A request id stands in one batch. A topic that comes into being is
the doing of one create of its name, which was not refused, and no create makes two; likewise a
topic that goes, and deletes. A delete that was answered ok removed a topic that lived at some
time between its invocation and its completion. A registration of a broker that a workload plays
is the doing of a request that was not refused.

What clients were not answered may take effect at any later time, but once. ISR changes are held
to the same by isr-linearizability, produced values by partition-data.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from checkers.kernels.evidence import (
    Evidence,
    NodeEvent,
    Operation,
    concluded,
    finding,
    one_clock,
    record_of,
)
from checkers.kernels.replay import Log, committed_log
from framework.checking.keyed import Outcome
from framework.plugins.checker import Finding

EVENTS: Final = ("apply", "decide")
FS: Final = ("create", "delete", "heartbeat")
FAR_NS: Final = 2**62


@dataclass(frozen=True, slots=True)
class Effect:
    """A committed record that some operation caused, and when it was first applied."""

    topic_id: str
    name: str
    event: NodeEvent
    applied_ns: int


def effects_once(evidence: Evidence) -> Outcome:
    log = committed_log(evidence.of("apply"))
    clocks = one_clock(evidence.plan)
    born, gone = _effects(log, clocks)
    creates = _by_key(evidence.operations, "create")
    deletes = _by_key(evidence.operations, "delete")
    findings: list[Finding] = []
    judged = 0
    for name, operations in sorted(creates.items()):
        effects = [each for each in born.values() if each.name == name]
        judged += len(effects)
        findings += _caused("created", name, operations, effects)
    for name, operations in sorted(deletes.items()):
        effects = [each for each in gone.values() if each.name == name]
        judged += len(effects)
        findings += _caused("removed", name, operations, effects)
        if clocks:
            findings += _in_their_time(operations, born, gone)
    requests, found = _requests(log, list(evidence.of("decide")))
    findings += found
    players, found = _registrations(log, evidence.operations)
    findings += found
    figures = {"topics": judged, "requests": requests, "registrations": players}
    return concluded(judged + requests + players, findings, figures)


def _effects(log: Log, clocks: bool) -> tuple[dict[str, Effect], dict[str, Effect]]:
    """Topic id -> its creation, and its removal."""
    born: dict[str, Effect] = {}
    gone: dict[str, Effect] = {}
    for event, first_ns in zip(log.records, log.first_ns, strict=True):
        record, kind = record_of(event), event.fields.get("kind")
        applied_ns = first_ns if clocks else FAR_NS
        if kind == "TopicRecord" and not record.get("deleting"):
            topic_id = str(record["topic_id"])
            born[topic_id] = Effect(topic_id, record["name"], event, applied_ns)
        elif kind == "RemoveTopicRecord":
            topic_id = str(record["topic_id"])
            if topic_id in born:
                gone[topic_id] = Effect(topic_id, born[topic_id].name, event, applied_ns)
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
    topic_id = operation.result.get("topic_id")
    return None if topic_id is None else str(topic_id)


# --- topics -------------------------------------------------------------------------------


def _caused(
    deed: str, name: str, operations: Sequence[Operation], effects: Sequence[Effect]
) -> Iterator[Finding]:
    """Each effect needs an operation of its own. Those that were answered with its id are its
    own; the rest is put down to operations that were not answered, or without an id, each of
    which began before. Both in the order of time: if any assignment fits, this one does."""
    owners: dict[str, list[Operation]] = defaultdict(list)
    for operation in operations:
        topic_id = _answered_id(operation)
        if topic_id is not None:
            owners[topic_id].append(operation)
    for topic_id, group in sorted(owners.items()):
        if len(group) > 1:
            yield finding(
                f"{len(group)} operations on {name} were answered that they had {deed} topic "
                f"{topic_id}",
                group,
            )
    possible = sorted(
        each.invoked_ns or 0
        for each in operations
        if not each.failed and _answered_id(each) is None
    )
    rest = sorted(
        (each for each in effects if each.topic_id not in owners),
        key=lambda each: (each.applied_ns, each.event.fields["offset"]),
    )
    for number, effect in enumerate(rest):
        begun = sum(invoked <= effect.applied_ns for invoked in possible)
        if begun <= number:
            refused = [
                each
                for each in operations
                if each.failed and (each.invoked_ns or 0) <= effect.applied_ns
            ]
            yield finding(
                f"{name} was {deed} at offset {effect.event.fields['offset']} (topic "
                f"{effect.topic_id}), the doing of no operation: {begun} are without an answer "
                f"by then, and {number} of them account for other records; {len(refused)} were "
                f"refused",
                refused[-3:],
                [effect.event],
            )


def _in_their_time(
    operations: Iterable[Operation], born: dict[str, Effect], gone: dict[str, Effect]
) -> Iterator[Finding]:
    for operation in operations:
        topic_id = _answered_id(operation)
        if topic_id is None or topic_id not in born:
            continue
        begin, end = operation.invoked_ns or 0, operation.completed_ns
        birth, death = born[topic_id], gone.get(topic_id)
        late = end is not None and end < birth.applied_ns
        early = death is not None and begin > death.applied_ns
        if late or early:
            when = "was created after it had ended" if late else "had been removed before it began"
            yield finding(
                f"operation {operation.index} (delete of {operation.key}) was answered with topic "
                f"{topic_id}, which {when}",
                [operation],
                [birth.event if late or death is None else death.event],
            )


# --- requests -----------------------------------------------------------------------------


def _requests(log: Log, decides: Sequence[NodeEvent]) -> tuple[int, list[Finding]]:
    """A forwarded request's id in one record, and one decision on it with committed records."""
    findings: list[Finding] = []
    recorded: dict[str, NodeEvent] = {}
    for event in log.records:
        if event.fields.get("kind") == "RequestRecord":
            request_id = str(record_of(event)["request_id"])
            first = recorded.setdefault(request_id, event)
            if first is not event:
                findings.append(
                    finding(
                        f"request {request_id} took effect twice: at offsets "
                        f"{first.fields['offset']} and {event.fields['offset']}",
                        events=[first, event],
                    )
                )
    decided: dict[str, NodeEvent] = {}
    for event in decides:
        forwarded, offsets = event.fields.get("forwarded"), event.fields["records"]
        if not forwarded or not offsets:
            continue
        held = log.at(min(offsets))
        if held is None or held.fields["epoch"] != event.fields["epoch"]:
            continue
        first = decided.setdefault(str(forwarded), event)
        if first is not event:
            findings.append(
                finding(
                    f"request {forwarded} was carried out twice: {first.node} made offsets "
                    f"{first.fields['records']}, {event.node} {offsets}, all committed",
                    events=[first, event],
                )
            )
    return len(recorded.keys() | decided.keys()), findings


def _registrations(log: Log, operations: Iterable[Operation]) -> tuple[int, list[Finding]]:
    """Of brokers that a workload plays: their processes have incarnation ids of their own."""
    asked: dict[str, list[Operation]] = defaultdict(list)
    for operation in operations:
        value = operation.value
        if operation.f == "heartbeat" and value.get("incarnation") and value["broker_epoch"] < 0:
            asked[str(value["incarnation"])].append(operation)
    judged, findings = 0, []
    for event in log.records:
        if event.fields.get("kind") != "BrokerRecord":
            continue
        group = asked.get(str(record_of(event).get("incarnation_id")))
        if group is None:
            continue
        judged += 1
        if all(each.failed for each in group):
            findings.append(
                finding(
                    f"broker {record_of(event)['broker_id']} was registered at offset "
                    f"{event.fields['offset']}; all its process's requests were refused",
                    group,
                    [event],
                )
            )
    return judged, findings
