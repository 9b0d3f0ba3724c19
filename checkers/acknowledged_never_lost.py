"""What was acknowledged stays (D.7).

A topic whose creation was answered ok is there until a delete that can have removed it; the id
of a topic whose deletion was answered ok never comes back; a version that an ISR change was
answered is reached by every later read; and no success leaves before its records are committed.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np

from checkers.folds.history.values import alter_isr, altered_isr, partitions_shown, topic_answer
from checkers.folds.metadata_log.committed_log import once_each
from checkers.folds.metadata_log.disk_logs import DISK_KINDS, committed_on_disks
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
from framework.evidence.relations import NONE, PROCESS, Relation, relation, relation_of
from framework.evidence.requests import Answered, Decided, IsrDecided
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


def acknowledged_never_lost(events: RunEvents) -> Outcome:
    final_caches = settled(events.nemesis) is True
    recent = [each for each in events.operations if _is_recent(each, final_caches)]
    findings: list[Finding] = []
    seen: Counter[str] = Counter()
    findings += _topics(_writes(events.operations), _reads(recent), seen)
    findings += _versions(_changes(events.operations), _shown(recent), seen)
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


# --- topics -------------------------------------------------------------------------------


def _writes(operations: Iterable[Operation]) -> Relation[Operation]:
    """Acknowledged creates and deletes that show an id, by name. `until`: of a create, when the
    first delete began that can have removed its topic."""
    by_name: dict[str, list[Operation]] = defaultdict(list)
    for each in operations:
        if each.f in ("create", "delete"):
            by_name[each.key].append(each)
    done = [
        each
        for name in sorted(by_name)
        for each in by_name[name]
        if each.ok and _shown_id(each) is not None
    ]
    return relation_of(
        done,
        name=(each.key for each in done),
        topic_id=map(_shown_id, done),
        index=(each.index for each in done),
        end=(each.end for each in done),
        f=(each.f for each in done),
        until=(_until(each, by_name[each.key]) for each in done),
    )


def _reads(recent: Sequence[Operation]) -> Relation[Operation]:
    """Reads of topics that promise to show what ended before they began; NULL: no such topic."""
    return relation_of(
        recent,
        name=(each.key for each in recent),
        topic_id=map(_shown_id, recent),
        index=(each.index for each in recent),
        end=(each.end for each in recent),
    )


def _topics(
    writes: Relation[Operation], reads: Relation[Operation], seen: Counter[str]
) -> Iterator[Finding]:
    """Each write beside the reads of its name that began when it had ended: of a created topic, and
    before a delete can have removed it, all show its id, of a deleted one none does."""
    for write, read in writes.followed(reads, "name", end="end", begin="index"):
        same = writes.same(reads, "topic_id", rows=write, others=read)
        created = writes.equal("f", "create")[write]
        due = created & (reads["end"][read] < writes["until"][write])
        seen[READ] += len(np.unique(write))
        seen[CREATED.name] += int(due.sum())
        seen[DELETED.name] += int((~created).sum())
        wrong = np.flatnonzero(np.where(created, due & ~same, same))
        of, first = np.unique(write[wrong], return_index=True)
        found = reads.objects(read[wrong[first]])
        for each, later in zip(writes.objects(of), found, strict=True):
            yield _lost(each, later) if each.f == "create" else _back(each, later)


def _lost(create: Operation, read: Operation) -> Finding:
    shown = f"another id, {_shown_id(read)}" if read.result else "no such topic"
    return finding(
        f"topic {create.key}, id {_shown_id(create)}, created by operation {create.index}, is "
        f"lost: operation {read.index} found {shown}, and no delete can have removed it",
        [create, read],
        clause=CREATED.name,
    )


def _back(delete: Operation, read: Operation) -> Finding:
    return finding(
        f"topic {delete.key}, id {_shown_id(delete)}, deleted by operation {delete.index}, is "
        f"back: operation {read.index} found it",
        [delete, read],
        clause=DELETED.name,
    )


def _until(create: Operation, writes: Iterable[Operation]) -> int:
    topic_id = _shown_id(create)
    deletes = (each.index for each in writes if _can_delete(each, topic_id, create))
    return min(deletes, default=_FAR)


def _can_delete(write: Operation, topic_id: str | None, create: Operation) -> bool:
    """A delete that was answered ok names its id, or was still under way when the topic came; an
    indeterminate one may take effect at any time after its invocation."""
    if write.f != "delete" or write.failed:
        return False
    if not write.ok:
        return True
    removed = _shown_id(write)
    return removed == topic_id if removed is not None else not write.precedes(create)


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


PARTITION: Final = ("name", "topic_id", "partition")


def _changes(operations: Iterable[Operation]) -> Relation[Operation]:
    """Acknowledged ISR changes, and the version that each was answered."""
    done = [each for each in operations if each.f == "alter-isr" and each.ok]
    return relation_of(
        done,
        name=(str(each.key).rpartition("/")[0] for each in done),
        topic_id=(str(alter_isr(each)["topic_id"]) for each in done),
        partition=(alter_isr(each)["partition"] for each in done),
        index=(each.index for each in done),
        end=(each.end for each in done),
        version=(altered_isr(each)["partition_epoch"] for each in done),
    )


def _shown(recent: Sequence[Operation]) -> Relation[Operation]:
    """The versions that reads show, a row a partition."""
    shown = [
        (each, partition, version)
        for each in recent
        for partition, version in _versions_of(each).items()
    ]
    return relation_of(
        [read for read, _, _ in shown],
        name=(read.key for read, _, _ in shown),
        topic_id=(_shown_id(read) for read, _, _ in shown),
        partition=(partition for _, partition, _ in shown),
        index=(read.index for read, _, _ in shown),
        version=(version for _, _, version in shown),
    )


def _versions_of(read: Operation) -> dict[int, int]:
    """Partition -> partition epoch, where the read shows it."""
    return {
        each["partition"]: each["partition_epoch"]
        for each in partitions_shown(read)
        if "partition_epoch" in each
    }


def _versions(
    changes: Relation[Operation], shown: Relation[Operation], seen: Counter[str]
) -> Iterator[Finding]:
    """Each change beside what was read of its partition afterwards: no version is below its own."""
    for change, read in changes.followed(shown, *PARTITION, end="end", begin="index"):
        seen[VERSIONS.name] += len(change)
        seen[READ] += len(np.unique(change))
        lower = np.flatnonzero(shown["version"][read] < changes["version"][change])
        of, first = np.unique(change[lower], return_index=True)
        found = shown.objects(read[lower[first]])
        versions = shown["version"][read[lower[first]]].tolist()
        for each, later, version in zip(changes.objects(of), found, versions, strict=True):
            yield finding(
                f"ISR change {each.index} of {each.key} was answered version "
                f"{altered_isr(each)['partition_epoch']}; operation {later.index}, later, found "
                f"version {version}",
                [each, later],
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
