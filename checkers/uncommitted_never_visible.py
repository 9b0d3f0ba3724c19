"""Nothing is seen that is not committed (D.9; KIP-631: uncommitted state is never visible).

(a) Everything that a client was shown - topic ids, broker epochs, versions and leader epochs of
partitions - stands in the committed log: the one that the disks of all voters carry, else that
which nodes told of. This needs no clock: it is the strongest.
(b) No success leaves a controller before the records that it rests on are durable on a majority.
(c) No node applies, publishes or calls committed what is not.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from checkers.folds.history.values import (
    alter_isr,
    altered_isr,
    heartbeat,
    heartbeat_answer,
    partitions_shown,
    topic_answer,
)
from checkers.folds.metadata_log.commit_times import KINDS, CommitTimes, commit_times
from checkers.folds.metadata_log.committed_log import CommittedLog, known_log
from checkers.folds.metadata_log.disk_logs import DISK_KINDS
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import (
    BrokerRegistered,
    Change,
    PartitionState,
    TopicCreated,
    TopicDeletionBegun,
)
from framework.evidence.clocks import UNKNOWN_NS, Clocks, latest_ns
from framework.evidence.kinds import DISK, Evidence, either_of
from framework.evidence.quorum import Committed, ImageShown
from framework.evidence.relations import NONE, relation
from framework.evidence.requests import Answered, Decided
from framework.evidence.run_events import (
    RunEvents,
    alone,
    from_no_disk,
    uncollected,
    unreported,
    voters,
)
from framework.history.event import Recorded
from framework.history.pairing import Operation
from framework.plugins.checker import CLIENTS, DISKS, EVENTS, Clause, Count, Finding

FS: Final = ("create", "describe", "follow", "metadata", "heartbeat", "alter-isr")
ENOUGH: Final = 5


SHOWN: Final = Clause(
    name="shown-is-committed",
    says="What clients were shown of topics, partitions and brokers stands in the committed log",
    compares="answers held against the committed log",
    floor=4,
    because="two topics that were made and looked at: a workload on topics has more in a second, "
    "one on partitions or brokers hardly more in a run",
    sources=(CLIENTS, DISKS, EVENTS),
    blind="what was shown before it was committed, and was committed after all",
)
ANSWERED: Final = Clause(
    name="answered-after-commit",
    says="No success leaves a controller before the records that it rests on are on a majority",
    compares="successes that rest on records, held against when a majority had those",
    floor=5,
    because="each create, registration and ISR change is one; fewer are no workload",
    sources=(EVENTS,),
    blind="a controller that does not tell of its answers; times are those that nodes tell",
)
APPLIED: Final = Clause(
    name="applied-after-commit",
    says="No node applies, publishes or calls committed what is not on a majority, nor ever was",
    compares="nodes that tell of five records applied, images published or watermarks raised, held "
    "against when a majority had the records",
    floor=2,
    because="each node applies every record, and each of the plan has to tell of it",
    sources=(DISKS, EVENTS),
    blind="a node that does not tell of what it applied; times are those that nodes tell",
)


def uncommitted_never_visible(events: RunEvents) -> Outcome:
    log = known_log(events)
    reported = replace(events, evidence=from_no_disk(events.evidence))
    shown, dirty = _reads(events.operations, _ever_true(events, log))
    counts: dict[str, Count] = {SHOWN.name: shown, ANSWERED.name: 0, APPLIED.name: 0}
    findings = [*dirty, *(replace(each, clause=APPLIED.name) for each in log.conflicts)]
    times = commit_times(reported)
    if why := unreported(events.plan) or _unknown_clocks(events) or _lost(events):
        counts |= {ANSWERED.name: why, APPLIED.name: why}
    elif times is not None:
        answered, early = _answers(reported, times)
        counts[ANSWERED.name] = answered
        applied, also_early = _applied(reported, times)
        counts[APPLIED.name] = alone(events.plan) or applied
        findings += [*early, *also_early]
    return weighed(counts, findings, {"shown": shown})


def _ever_true(events: RunEvents, log: CommittedLog) -> "EverTrue":
    """By the disks, where they carry all of the log; else by all that anybody told or left of it:
    what a node made up is then no finding."""
    left = log.records[: log.on_disk]
    if left and all(each.source == DISK for each in left):
        return EverTrue.of(left, DISKS)
    reported = from_no_disk(events.of(Change))
    return EverTrue.of([*log.records, *reported], EVENTS)


def _unknown_clocks(events: RunEvents) -> str:
    """Why times cannot be compared, by the plan; empty: they can."""
    if "time_zero_ns" not in events.plan:
        return ""
    clocks = Clocks.of(events.plan)
    known = [clocks.within_ns(node) < UNKNOWN_NS for node in voters(events.plan)]
    return "" if any(known) else "nobody measured the clocks of the hosts"


def _lost(events: RunEvents) -> str:
    """The voters that told nobody when they had a record may have been its majority."""
    lost = sorted(uncollected(events.plan))
    return f"what {', '.join(lost)} wrote could not be collected" if lost else ""


# --- (b), (c): too early ------------------------------------------------------------------


REQUEST: Final = ("incarnation", "request")


def _answers(events: RunEvents, times: CommitTimes) -> tuple[int, list[Finding]]:
    """How many were judged, and which came before their commit."""
    # Of a decision that rests on several records there are as many rows, all of one object.
    records = relation(events.of(Decided), *REQUEST, "records").explode("records", index="nth")
    answers = relation(events.of(Answered), *REQUEST, "accepted").where(accepted=True)
    rests = answers.joined(records, *REQUEST)
    rested = np.flatnonzero(rests != NONE)
    findings = []
    decisions = records.objects(rests[rested])
    for answer, decision in zip(answers.objects(rested), decisions, strict=True):
        last = max(decision.records)
        if times.end_at(latest_ns(answer)) <= last:
            what = f"{answer.node} answered {answer.api} with success"
            findings.append(_too_early(ANSWERED, what, last, times, [decision, answer]))
    return len(rested), findings


def _applied(events: RunEvents, times: CommitTimes) -> tuple[Count, list[Finding]]:
    """How many nodes told of enough, of those and the plan's, and what came before its commit."""
    judged: Counter[str] = Counter()
    findings = []
    first: dict[tuple[str, str], tuple[int, Evidence]] = {}
    for each, verb, end in _shows(events):
        judged[each.node] += 1
        if times.end_at(latest_ns(each)) < end:
            first.setdefault((each.incarnation, verb), (end, each))
    for (_, verb), (end, each) in first.items():
        what = f"{each.node} {verb} what is below {end}"
        findings.append(_too_early(APPLIED, what, end - 1, times, [each]))
    heard = {node for node, things in judged.items() if things >= ENOUGH}
    return (len(heard), len(heard.union(events.plan.get("nodes") or ()))), findings


def _shows(events: RunEvents) -> Iterator[tuple[Evidence, str, int]]:
    """What rests on the log being committed below an offset, and how."""
    for each in events.evidence:
        match each:
            case Change():
                yield each, "applied", each.offset + 1
            case ImageShown():
                yield each, "published", each.offset
            case Committed():
                yield each, "called committed", each.offset


def _too_early(
    clause: Clause, what: str, offset: int, times: CommitTimes, witnesses: list[Evidence]
) -> Finding:
    at, shown_ns = times.of(offset), latest_ns(witnesses[-1])
    when = "never was" if at is None else f"was {(at - shown_ns) / 1e6:.3f} ms later"
    return finding(
        f"{what} before offset {offset} was durable on a majority, which it {when}",
        evidence=witnesses,
        clause=clause.name,
    )


# --- (a): dirty reads ---------------------------------------------------------------------


@dataclass(slots=True)
class EverTrue:
    """All that the committed log ever made true. `by`: the contract that says so."""

    by: str
    topic_ids: dict[str, str] = field(default_factory=dict)
    broker_epochs: set[tuple[int, int]] = field(default_factory=set)
    versions: dict[tuple[str, int, int], dict[str, Recorded]] = field(default_factory=dict)
    """By topic id, partition and partition epoch."""
    leaders: set[tuple[str, int, int, int | None]] = field(default_factory=set)
    """(topic id, partition, leader epoch, its leader; also with None for whoever led)."""

    @classmethod
    def of(cls, records: Iterable[Change], by: str) -> "EverTrue":
        made = cls(by)
        for each in records:
            match each:
                case TopicCreated() | TopicDeletionBegun():
                    made.topic_ids[each.topic_id] = each.name
                case BrokerRegistered():
                    made.broker_epochs.add((each.broker_id, each.broker_epoch))
                case PartitionState():
                    made.versions[*each.key, each.partition_epoch] = {
                        "leader": each.leader,
                        "leader_epoch": each.leader_epoch,
                        "isr": sorted(each.isr),
                    }
                    for leader in (each.leader, None):
                        made.leaders.add((*each.key, each.leader_epoch, leader))
        return made

    def ever(self, topic_id: str, shown: Mapping[str, Recorded]) -> bool:
        """Whether the partition was ever in the state that is shown, by the fields that are."""
        key = (topic_id, shown["partition"])
        if "partition_epoch" not in shown:
            return (*key, shown["leader_epoch"], shown.get("leader")) in self.leaders
        was = self.versions.get((*key, shown["partition_epoch"]))
        if was is None:
            return False
        reported = dict(shown, isr=sorted(shown["isr"])) if "isr" in shown else shown
        return all(reported[name] == was[name] for name in was if name in reported)


def _reads(operations: Iterable[Operation], made: EverTrue) -> tuple[int, list[Finding]]:
    """How many answers showed something, and what the log never made true; none where nothing is
    known of the log."""
    shown, findings = 0, list[Finding]()
    if not (made.topic_ids or made.broker_epochs):
        return shown, findings
    for operation in operations:
        if operation.ok and isinstance(operation.result, dict):
            shown += _shows_something(operation)
            findings += _read(operation, made)
    return shown, findings


def _shows_something(operation: Operation) -> bool:
    """Whether its answer has what only the log can make true."""
    if operation.f == "heartbeat":
        return _answered_epoch(operation) is not None
    return operation.f == "alter-isr" or topic_answer(operation).get("topic_id") is not None


def _read(operation: Operation, made: EverTrue) -> list[Finding]:
    judge = {
        "create": _topic,
        "describe": _topic,
        "follow": _topic,
        "metadata": _topic,
        "heartbeat": _broker_epoch,
        "alter-isr": _version,
    }[operation.f]
    return [
        finding(
            f"operation {operation.index} ({operation.f} of {operation.key}) was shown {what}, "
            f"which no committed record made",
            [operation],
            by=[made.by],
            clause=SHOWN.name,
        )
        for what in judge(operation, made)
    ]


def _topic(operation: Operation, made: EverTrue) -> Iterator[str]:
    topic_id = topic_answer(operation).get("topic_id")
    if topic_id is None:
        return
    if made.topic_ids.get(topic_id) != operation.key:
        yield f"topic id {topic_id}"
        return
    for shown in partitions_shown(operation):
        # A cache may hide a leader that is fenced (KAFKA-15220).
        visible: dict[str, Recorded] = dict(shown)
        if operation.f == "metadata" and shown.get("leader", 0) < 0:
            del visible["leader"]
        if shown.get("leader_epoch", 0) < 0:
            continue
        if not made.ever(topic_id, visible):
            state = ", ".join(f"{name} {value}" for name, value in sorted(visible.items()))
            yield f"a state of {topic_id} ({state})"


def _broker_epoch(operation: Operation, made: EverTrue) -> Iterator[str]:
    epoch, broker = _answered_epoch(operation), heartbeat(operation)["broker_id"]
    if epoch is not None and (broker, epoch) not in made.broker_epochs:
        yield f"epoch {epoch} of broker {broker}"


def _answered_epoch(operation: Operation) -> int | None:
    epoch = heartbeat_answer(operation).get("broker_epoch")
    return epoch if isinstance(epoch, int) and epoch >= 0 else None


def _version(operation: Operation, made: EverTrue) -> Iterator[str]:
    asked, state = alter_isr(operation), altered_isr(operation)
    shown: dict[str, Recorded] = {"partition": asked["partition"]}
    if "partition_epoch" in state:
        shown["partition_epoch"] = state["partition_epoch"]
    if "leader_epoch" in state:
        shown["leader_epoch"] = state["leader_epoch"]
    if not made.ever(asked["topic_id"], shown):
        yield f"version {state.get('partition_epoch')} of {asked['topic_id']}/{asked['partition']}"


class UncommittedNeverVisible(RunChecker):
    name = "uncommitted-never-visible"
    summary = (
        "No success leaves, no node applies and no client is shown anything before it is "
        "durable on a majority, or that never was committed"
    )
    requires = either_of(Change)
    clauses = (SHOWN, ANSWERED, APPLIED)
    check_run = RunCheck(
        uncommitted_never_visible,
        evidence=(*KINDS, Change, Decided, Answered, ImageShown, Committed),
        disk=DISK_KINDS,
        fs=FS,
    )
