"""What was acknowledged stays (D.7).

A topic whose creation was answered ok is there until a delete that can have removed it; the id
of a topic whose deletion was answered ok never comes back; a version that an ISR change was
answered is reached by every later read; and no success leaves before its records are committed.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from checkers.kernels.decisions import isr_decisions, succeeded
from checkers.kernels.evidence import (
    Evidence,
    NodeEvent,
    Operation,
    concluded,
    finding,
    incarnations,
    record_of,
    settled,
)
from framework.checking.keyed import Outcome
from framework.plugins.checker import Finding

EVENTS = ("decide", "answer", "apply")
FS = ("create", "delete", "describe", "metadata", "alter-isr")
_FAR = 2**62


@dataclass(frozen=True, slots=True)
class Read:
    """A read of a topic that promises to show what ended before it began."""

    operation: Operation
    topic_id: str | None
    versions: dict[int, int]
    """Partition -> partition epoch, where the read shows it."""


def acknowledged_never_lost(evidence: Evidence) -> Outcome:
    final_caches = settled(evidence.marks) is True
    by_name: dict[str, list[Operation]] = defaultdict(list)
    reads: dict[str, list[Read]] = defaultdict(list)
    for operation in evidence.operations:
        if operation.f in ("create", "delete"):
            by_name[operation.key].append(operation)
        elif _is_recent(operation, final_caches):
            reads[operation.key].append(_read(operation))
    findings: list[Finding] = []
    seen = 0
    for name in sorted(by_name):
        judged, found = _topic(name, by_name[name], reads.get(name, []))
        seen += judged
        findings += found
    judged, found = _versions(evidence.operations, reads)
    early = [*_answered_early(evidence), *_back_in_the_log(evidence)]
    answers = sum(1 for _ in evidence.of("answer"))
    return concluded(
        seen + judged + answers,
        findings + found + early,
        {"acknowledged_and_read": seen + judged, "answers": answers},
    )


def _is_recent(operation: Operation, final_caches: bool) -> bool:
    """A describe always; a broker's cache once the cluster has settled and writes have ended."""
    if not operation.ok:
        return False
    if operation.f == "metadata":
        return final_caches and operation.phase == "final"
    return operation.f == "describe"


def _read(operation: Operation) -> Read:
    result = operation.result
    if not isinstance(result, dict):
        return Read(operation, None, {})
    versions = {
        each["partition"]: each["partition_epoch"]
        for each in result.get("partitions") or ()
        if "partition_epoch" in each
    }
    return Read(operation, str(result.get("topic_id")), versions)


# --- topics -------------------------------------------------------------------------------


def _topic(name: str, writes: list[Operation], reads: list[Read]) -> tuple[int, list[Finding]]:
    """How many acknowledged writes of a name were read later, and what went wrong."""
    seen = 0
    findings: list[Finding] = []
    for write in writes:
        topic_id = _shown_id(write) if write.ok else None
        if topic_id is None:
            continue
        later = [read for read in reads if write.precedes(read.operation)]
        seen += bool(later)
        if write.f == "create":
            findings += _created(name, write, topic_id, writes, later)
        else:
            findings += _deleted(name, write, topic_id, later)
    return seen, findings


def _created(
    name: str, create: Operation, topic_id: str, writes: list[Operation], later: list[Read]
) -> Iterator[Finding]:
    deleted_from = min(
        (write.index for write in writes if _can_delete(write, topic_id, create)), default=_FAR
    )
    for read in later:
        end = read.operation.end
        if read.topic_id != topic_id and end is not None and end < deleted_from:
            shown = "no such topic" if read.topic_id is None else f"another id, {read.topic_id}"
            yield finding(
                f"topic {name}, id {topic_id}, created by operation {create.index}, is lost: "
                f"operation {read.operation.index} found {shown}, and no delete can have "
                f"removed it",
                [create, read.operation],
            )
            return


def _can_delete(write: Operation, topic_id: str, create: Operation) -> bool:
    """A delete that was answered ok names its id, or was still under way when the topic came; an
    indeterminate one may take effect at any time after its invocation."""
    if write.f != "delete" or write.failed:
        return False
    if not write.ok:
        return True
    removed = _shown_id(write)
    return removed == topic_id if removed is not None else not write.precedes(create)


def _deleted(name: str, delete: Operation, topic_id: str, later: list[Read]) -> Iterator[Finding]:
    for read in later:
        if read.topic_id == topic_id:
            yield finding(
                f"topic {name}, id {topic_id}, deleted by operation {delete.index}, is back: "
                f"operation {read.operation.index} found it",
                [delete, read.operation],
            )
            return


def _back_in_the_log(evidence: Evidence) -> Iterator[Finding]:
    """A committed record of a topic above the one that removed it: the same story, told by the
    log, also where nobody read the topic in time."""
    by_offset: dict[int, NodeEvent] = {}
    for event in evidence.of("apply"):
        if record_of(event).get("topic_id") is not None:
            by_offset.setdefault(event.fields["offset"], event)
    removed: dict[str, NodeEvent] = {}
    told: set[str] = set()
    for offset, event in sorted(by_offset.items()):
        topic_id = str(record_of(event)["topic_id"])
        if event.fields.get("kind") == "RemoveTopicRecord":
            removed.setdefault(topic_id, event)
        elif topic_id in removed and topic_id not in told:
            told.add(topic_id)
            deletes = [
                each
                for each in evidence.operations
                if each.f == "delete" and each.ok and _shown_id(each) == topic_id
            ]
            yield finding(
                f"topic id {topic_id}, removed by the record at offset "
                f"{removed[topic_id].fields['offset']}, is back: {event.fields['kind']} at offset "
                f"{offset}",
                deletes,
                [removed[topic_id], event],
            )


def _shown_id(operation: Operation) -> str | None:
    topic_id = (operation.result or {}).get("topic_id")
    return None if topic_id is None else str(topic_id)


# --- ISR changes --------------------------------------------------------------------------


def _versions(
    operations: Iterable[Operation], reads: dict[str, list[Read]]
) -> tuple[int, list[Finding]]:
    seen, findings = 0, []
    for change in operations:
        if change.f != "alter-isr" or not change.ok:
            continue
        value, version = change.value, change.result["partition_epoch"]
        name = str(change.key).rpartition("/")[0]
        shown = [
            (read, read.versions[value["partition"]])
            for read in reads.get(name, [])
            if read.topic_id == str(value["topic_id"])
            and value["partition"] in read.versions
            and change.precedes(read.operation)
        ]
        seen += bool(shown)
        lost = next((each for each in shown if each[1] < version), None)
        if lost is not None:
            findings.append(
                finding(
                    f"ISR change {change.index} of {change.key} was answered version {version}; "
                    f"operation {lost[0].operation.index}, later, found version {lost[1]}",
                    [change, lost[0].operation],
                )
            )
    return seen, findings


# --- answers ------------------------------------------------------------------------------


def _answered_early(evidence: Evidence) -> Iterator[Finding]:
    """A success that leaves while the high watermark has not passed its records."""
    for lives in incarnations(evidence.of("decide", "answer")).values():
        for life in lives:
            decided: dict[str, NodeEvent] = {}
            for event in life:
                request = event.fields["request_id"]
                if event.type == "decide":
                    if event.fields["verdict"] == 0 and event.fields["records"]:
                        decided[request] = event
                    continue
                decide = decided.get(request)
                if decide is None or not succeeded(event):
                    continue
                last, high = max(decide.fields["records"]), event.fields["high_watermark"]
                if high <= last:
                    served = list(_served(evidence.operations, decide, event))
                    named = ", ".join(str(each.index) for each in served) or "none recorded"
                    yield finding(
                        f"{event.node} answered {event.fields['api']} ok with its record at "
                        f"offset {last} not committed: the high watermark was {high} "
                        f"(operations: {named})",
                        served,
                        [decide, event],
                    )


_APIS = {"CreateTopics": "create", "DeleteTopics": "delete", "AlterPartition": "alter-isr"}


def _served(
    operations: Iterable[Operation], decide: NodeEvent, answer: NodeEvent
) -> Iterator[Operation]:
    """The client operations that may have had this answer: same object, ok, under way then."""
    for operation in operations:
        begin, end = operation.invoked_ns, operation.completed_ns
        if not operation.ok or begin is None or end is None:
            continue
        if not begin <= decide.time_ns <= answer.time_ns <= end:
            continue
        if operation.f != _APIS.get(answer.fields["api"]):
            continue
        if _is_about(decide, operation):
            yield operation


def _is_about(decide: NodeEvent, operation: Operation) -> bool:
    """Whether the request asks for what the operation does, perhaps among others."""
    if operation.f == "alter-isr":
        where = (operation.value["topic_id"], operation.value["partition"])
        return where in [(each.topic_id, each.partition) for each in isr_decisions(decide)]
    first = (decide.fields.get("source") or {}).get("topic")
    topics = [each.get("topic") for each in decide.fields.get("items") or ()] or [first]
    return None in topics or operation.key in topics
