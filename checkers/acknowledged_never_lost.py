"""What was acknowledged stays (D.7).

A topic whose creation was answered ok is there until a delete that can have removed it; the id
of a topic whose deletion was answered ok never comes back; a version that an ISR change was
answered is reached by every later read; and no success leaves before its records are committed.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from checkers.folds.committed_log import once_each
from checkers.folds.disk_logs import DISK_KINDS, committed_on_disks
from checkers.folds.values import alter_isr, altered_isr, partitions_shown, topic_answer
from framework.checking.findings import finding, named, weighed
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
from framework.evidence.relations import NONE, PROCESS, relation
from framework.evidence.run_events import (
    RunEvents,
    from_no_disk,
    of_kinds,
    settled,
    unreported,
    unshown,
)
from framework.history.pairing import Operation
from framework.plugins.checker import CLIENTS, DISKS, EVENTS, LEDGER, Clause, Count, Finding

OfTopic: TypeAlias = TopicCreated | TopicDeletionBegun | TopicRemoved | PartitionState
OF_TOPICS = (TopicCreated, TopicDeletionBegun, TopicRemoved, PartitionState)
"""Changes that name a topic by its id."""
WRITES: Final = ("create", "delete", "alter-isr")
FS: Final = (*WRITES, "describe", "metadata")
_FAR = 2**62
REQUEST: Final = (*PROCESS, "request")

CREATED: Final = Clause(
    name="created",
    says="A topic whose creation was acknowledged is there until a delete can have removed it",
    compares="reads after an acknowledged creation, before any delete",
    floor=2,
    because="one read may be answered by the very node that created it",
    sources=(CLIENTS, LEDGER),
    blind="topics that nobody read before a delete began",
)
DELETED: Final = Clause(
    name="deleted",
    says="The id of a topic whose deletion was acknowledged is never read again",
    compares="reads after an acknowledged deletion",
    floor=2,
    because="as for created",
    sources=(CLIENTS, LEDGER),
    blind="caches of a cluster that did not settle",
)
STAYS_AWAY: Final = Clause(
    name="stays-away",
    says="No committed record names a topic above the one that removed it",
    compares="topics of which there are records above the first removal",
    floor=2,
    because="one topic that is made after another has gone is another one by chance; where clients "
    "made no two, there was no occasion",
    sources=(DISKS, EVENTS),
)
VERSIONS: Final = Clause(
    name="versions",
    says="A version that an ISR change was answered is reached by every later read",
    compares="reads after an acknowledged ISR change",
    floor=2,
    because="as for created",
    sources=(CLIENTS, LEDGER),
    blind="partitions that nobody reads",
)
COMMITTED: Final = Clause(
    name="committed-first",
    says="No success leaves before its records are committed",
    compares="successes of topics and ISR changes that a node told with their records",
    floor=2,
    because="half of what was acknowledged to clients is asked for in each run: what a process "
    "tells last is lost with it, and what is answered twice has its records elsewhere",
    sources=(EVENTS,),
    blind="answers that nodes leave out, while they tell of half; a high watermark that is a lie",
)
CLAUSES: Final = (CREATED, DELETED, STAYS_AWAY, VERSIONS, COMMITTED)


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
    seen: Counter[str] = Counter()
    for name in sorted(by_name):
        findings += _topic(name, by_name[name], reads.get(name, []), seen)
    findings += _versions(events.operations, reads, seen)
    findings += _answered_early(events, seen)
    findings += _back_in_the_log(events, seen)
    figures = {"acknowledged_and_read": seen.pop(READ, 0)}
    return weighed(_counts(events, seen), findings, figures)


READ: Final = "acknowledged and read"
"""Counted beside the clauses: writes."""


def _counts(events: RunEvents, seen: Mapping[str, int]) -> Mapping[str, Count]:
    """Of each clause; none was acknowledged of what nobody asked for."""
    done = Counter(each.f for each in events.operations if each.ok and each.f in WRITES)
    counts: dict[str, Count] = {each.name: seen.get(each.name, 0) for each in CLAUSES}
    counts[COMMITTED.name] = seen.get(COMMITTED.name, 0), done.total() // 2
    for clause, f in ((CREATED, "create"), (DELETED, "delete"), (VERSIONS, "alter-isr")):
        if not done[f]:
            counts[clause.name] = f"no {f} was acknowledged"
    absent = "" if done["delete"] else "no delete was acknowledged"
    again = STAYS_AWAY.count(seen.get(STAYS_AWAY.name, 0), _hardly_again(events.operations))
    counts[STAYS_AWAY.name] = absent or unshown(events.plan, *OF_TOPICS) or again
    if why := unreported(events.plan) or ("" if done else "nothing was acknowledged"):
        counts[COMMITTED.name] = why
    return counts


def _hardly_again(operations: Iterable[Operation]) -> str:
    """Why there were no two topics above the first removal, by what was acknowledged."""
    done = [each for each in operations if each.ok]
    gone = min((each.end or 0 for each in done if each.f == "delete"), default=0)
    later = sum(each.f == "create" and each.index > gone for each in done)
    return "" if later >= STAYS_AWAY.floor else "hardly a topic was made after one had gone"


def _is_recent(operation: Operation, final_caches: bool) -> bool:
    """A describe always; a broker's cache once the cluster has settled and writes have ended. But
    not what says that there is such a topic, and not which."""
    if not operation.ok or not _tells_which(operation):
        return False
    if operation.f == "metadata":
        return final_caches and operation.phase == "final"
    return operation.f == "describe"


def _tells_which(operation: Operation) -> bool:
    """Or that there is none."""
    result = operation.result
    return not result or (isinstance(result, dict) and result.get("topic_id") is not None)


def _read(operation: Operation) -> Read:
    if not operation.result:
        return Read(operation, None, {})
    versions: dict[int, int] = {
        each["partition"]: each["partition_epoch"]
        for each in partitions_shown(operation)
        if "partition_epoch" in each
    }
    return Read(operation, str(topic_answer(operation).get("topic_id")), versions)


# --- topics -------------------------------------------------------------------------------


def _topic(
    name: str, writes: list[Operation], reads: list[Read], seen: Counter[str]
) -> Iterator[Finding]:
    """What went wrong with a name."""
    for write in writes:
        topic_id = _shown_id(write) if write.ok else None
        if topic_id is None:
            continue
        later = [read for read in reads if write.precedes(read.operation)]
        seen[READ] += bool(later)
        if write.f == "create":
            yield from _created(name, write, topic_id, writes, later, seen)
        else:
            seen[DELETED.name] += len(later)
            yield from _deleted(name, write, topic_id, later)


def _created(
    name: str,
    create: Operation,
    topic_id: str,
    writes: list[Operation],
    later: list[Read],
    seen: Counter[str],
) -> Iterator[Finding]:
    deleted_from = min(
        (write.index for write in writes if _can_delete(write, topic_id, create)), default=_FAR
    )
    due = [read for read in later if (read.operation.end or _FAR) < deleted_from]
    seen[CREATED.name] += len(due)
    for read in due:
        if read.topic_id != topic_id:
            shown = "no such topic" if read.topic_id is None else f"another id, {read.topic_id}"
            yield finding(
                f"topic {name}, id {topic_id}, created by operation {create.index}, is lost: "
                f"operation {read.operation.index} found {shown}, and no delete can have "
                f"removed it",
                [create, read.operation],
                clause=CREATED.name,
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
                clause=DELETED.name,
            )
            return


def _back_in_the_log(events: RunEvents, seen: Counter[str]) -> Iterator[Finding]:
    """A committed record of a topic above the one that removed it: the same story, told by the
    log, also where nobody read the topic in time. Disks have the last word."""
    left: Iterable[OfTopic] = of_kinds(committed_on_disks(events).records, *OF_TOPICS)
    applied: Sequence[OfTopic] = from_no_disk(events.of(*OF_TOPICS))
    records = relation(once_each(left, applied), "topic_id", "offset")
    removals = relation(of_kinds(records.objects(), TopicRemoved), "topic_id", "offset")
    removals = removals.take(removals.first("topic_id"))
    first = int(removals["offset"].min(initial=_FAR))
    seen[STAYS_AWAY.name] = len(records.where(records["offset"] > first).first("topic_id"))
    before = records.as_of(removals, per=["topic_id"], on="offset")
    others = [not isinstance(each, TopicRemoved) for each in records.objects()]
    back = np.flatnonzero((before != NONE) & np.array(others, np.bool_))
    back = back[records.take(back).first("topic_id")]
    again = zip(records.objects(back), removals.objects(before[back]), strict=True)
    for each, removed in again:
        deletes = [
            operation
            for operation in events.operations
            if operation.f == "delete" and operation.ok and _shown_id(operation) == each.topic_id
        ]
        yield finding(
            f"topic id {each.topic_id}, removed by the record at offset {removed.offset}, is "
            f"back: {each.kind} at offset {each.offset}",
            deletes,
            [removed, each],
            clause=STAYS_AWAY.name,
        )


def _shown_id(operation: Operation) -> str | None:
    topic_id = topic_answer(operation).get("topic_id")
    return None if topic_id is None else str(topic_id)


# --- ISR changes --------------------------------------------------------------------------


def _versions(
    operations: Iterable[Operation], reads: dict[str, list[Read]], seen: Counter[str]
) -> Iterator[Finding]:
    for change in operations:
        if change.f != "alter-isr" or not change.ok:
            continue
        value, version = alter_isr(change), altered_isr(change)["partition_epoch"]
        name = str(change.key).rpartition("/")[0]
        shown = [
            (read, read.versions[value["partition"]])
            for read in reads.get(name, [])
            if read.topic_id == str(value["topic_id"])
            and value["partition"] in read.versions
            and change.precedes(read.operation)
        ]
        seen[VERSIONS.name] += len(shown)
        seen[READ] += bool(shown)
        lost = next((each for each in shown if each[1] < version), None)
        if lost is not None:
            yield finding(
                f"ISR change {change.index} of {change.key} was answered version {version}; "
                f"operation {lost[0].operation.index}, later, found version {lost[1]}",
                [change, lost[0].operation],
                clause=VERSIONS.name,
            )


# --- answers ------------------------------------------------------------------------------


def _answered_early(events: RunEvents, seen: Counter[str]) -> Iterator[Finding]:
    """A success that leaves while the high watermark has not passed its records: each answer beside
    the last decision before it on that request, in its process."""
    decisions = relation(events.of(Decided), *REQUEST, "seq", "accepted", "records")
    records = decisions.where(accepted=True).explode("records", index="nth")
    records = records.take(np.argsort(records["records"], kind="stable"))  # the highest one is last
    answers = relation(
        events.of(Answered), *REQUEST, "seq", "accepted", "f", "high_watermark"
    ).where(accepted=True)
    rests = answers.as_of(records, per=REQUEST, on="seq")
    rested = answers.take(np.flatnonzero(rests != NONE))
    seen[COMMITTED.name] += sum(len(rested.where(f=f)) for f in WRITES)
    last = records["records"][rests[rests != NONE]]
    early = np.flatnonzero(rested["high_watermark"] <= last)
    decided = records.objects(rests[rests != NONE][early])
    for each, decision in zip(rested.objects(early), decided, strict=True):
        served = list(_served(events, decision, each))
        yield finding(
            f"{each.node} answered {each.api} ok with its record at offset "
            f"{max(decision.records)} not committed: the high watermark was "
            f"{each.high_watermark} {named(served)}",
            served,
            [decision, each],
            clause=COMMITTED.name,
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
            asked = alter_isr(operation)
            same = (asked["topic_id"], asked["partition"]) in partitions
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
    clauses = CLAUSES
    check_run = RunCheck(
        acknowledged_never_lost,
        evidence=(Decided, IsrDecided, Answered, *OF_TOPICS),
        disk=DISK_KINDS,
        fs=FS,
        nemesis=True,
    )
