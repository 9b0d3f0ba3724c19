"""What was acknowledged stays (D.7).

A topic whose creation was answered ok is there until a delete that can have removed it; the id
of a topic whose deletion was answered ok never comes back; a version that an ISR change was
answered is reached by every later read; and no success leaves before its records are committed.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from framework.checking.findings import concluded, finding, named
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import (
    PartitionState,
    TopicCreated,
    TopicDeletionBegun,
    TopicRemoved,
)
from framework.evidence.clocks import Moment, moment_of, surely_not_after
from framework.evidence.kinds import Answered, Decided, IsrDecided
from framework.evidence.run_events import RunEvents, incarnations, settled
from framework.history.pairing import Operation
from framework.plugins.checker import Finding

OF_TOPICS = (TopicCreated, TopicDeletionBegun, TopicRemoved, PartitionState)
"""Changes that name a topic by its id."""
FS = ("create", "delete", "describe", "metadata", "alter-isr")
_FAR = 2**62


@dataclass(frozen=True, slots=True)
class Read:
    """A read of a topic that promises to show what ended before it began."""

    operation: Operation
    topic_id: str | None
    versions: dict[int, int]
    """Partition -> partition epoch, where the read shows it."""


def acknowledged_never_lost(events: RunEvents) -> Outcome:
    final_caches = settled(events.nemesis) is True
    by_name: dict[str, list[Operation]] = defaultdict(list)
    reads: dict[str, list[Read]] = defaultdict(list)
    for operation in events.operations:
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
    judged, found = _versions(events.operations, reads)
    early = [*_answered_early(events), *_back_in_the_log(events)]
    answers = sum(1 for _ in events.of(Answered))
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


def _back_in_the_log(events: RunEvents) -> Iterator[Finding]:
    """A committed record of a topic above the one that removed it: the same story, told by the
    log, also where nobody read the topic in time."""
    by_offset: dict[int, TopicCreated | TopicDeletionBegun | TopicRemoved | PartitionState] = {}
    for each in events.evidence:
        if isinstance(each, OF_TOPICS):
            by_offset.setdefault(each.offset, each)
    removed: dict[str, TopicRemoved] = {}
    told: set[str] = set()
    for offset, each in sorted(by_offset.items()):
        topic_id = each.topic_id
        if isinstance(each, TopicRemoved):
            removed.setdefault(topic_id, each)
        elif topic_id in removed and topic_id not in told:
            told.add(topic_id)
            deletes = [
                operation
                for operation in events.operations
                if operation.f == "delete" and operation.ok and _shown_id(operation) == topic_id
            ]
            yield finding(
                f"topic id {topic_id}, removed by the record at offset "
                f"{removed[topic_id].offset}, is back: {each.kind} at offset {offset}",
                deletes,
                [removed[topic_id], each],
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


def _answered_early(events: RunEvents) -> Iterator[Finding]:
    """A success that leaves while the high watermark has not passed its records."""
    for lives in incarnations([*events.of(Decided), *events.of(Answered)]).values():
        for life in lives:
            decided: dict[str, Decided] = {}
            for each in life:
                if isinstance(each, Decided):
                    if each.accepted and each.records:
                        decided[each.request] = each
                    continue
                assert isinstance(each, Answered)
                decision = decided.get(each.request)
                if decision is None or not each.accepted:
                    continue
                last, high = max(decision.records), each.high_watermark
                if high <= last:
                    served = list(_served(events, decision, each))
                    yield finding(
                        f"{each.node} answered {each.api} ok with its record at "
                        f"offset {last} not committed: the high watermark was {high} "
                        f"{named(served)}",
                        served,
                        [decision, each],
                    )


def _served(events: RunEvents, decision: Decided, answer: Answered) -> Iterator[Operation]:
    """The client operations that may have had this answer: same object, ok, under way then."""
    decided, answered = moment_of(decision), moment_of(answer)
    partitions = {
        each.key
        for each in events.of(IsrDecided)
        if (each.incarnation, each.request) == (decision.incarnation, decision.request)
    }
    for operation in events.operations:
        begin, end = operation.invoked_ns, operation.completed_ns
        if not operation.ok or operation.f != answer.f or begin is None or end is None:
            continue
        if not surely_not_after(Moment(begin), decided):
            continue
        if not surely_not_after(answered, Moment(end)):
            continue
        if operation.f == "alter-isr":
            same = (operation.value["topic_id"], operation.value["partition"]) in partitions
        else:
            same = not decision.topics or operation.key in decision.topics
        if same:
            yield operation


class AcknowledgedNeverLost(RunChecker):
    name = "acknowledged-never-lost"
    summary = (
        "Topics whose creation was acknowledged are there until they are deleted, deleted "
        "ones never come back, acknowledged ISR versions are reached, and no success leaves "
        "before its commit"
    )
    requires = frozenset({"topic-operations", "linearizable-topic-read"})
    check_run = RunCheck(
        acknowledged_never_lost,
        evidence=(Decided, IsrDecided, Answered, *OF_TOPICS),
        fs=FS,
        nemesis=True,
    )
