"""Nothing is seen that is not committed (D.9; KIP-631: uncommitted state is never visible).

(a) No success leaves a controller before the records that it rests on are durable on a majority.
(b) No node applies, publishes or calls committed what is not.
(c) Everything that a client was shown - topic ids, broker epochs, versions and leader epochs of
partitions - stands in the committed log. This one needs no clock: it is the strongest.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from checkers.folds.commit_times import KINDS, CommitTimes, commit_times
from framework.checking.findings import concluded, finding
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import (
    BrokerRegistered,
    Change,
    PartitionState,
    TopicCreated,
    TopicDeletionBegun,
)
from framework.evidence.clocks import UNKNOWN_NS, latest_ns
from framework.evidence.kinds import (
    Answered,
    Committed,
    Decided,
    Evidence,
    ImageShown,
    evidence_of,
)
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation
from framework.plugins.checker import EVENTS, Finding

FS: Final = ("create", "describe", "metadata", "heartbeat", "alter-isr")


def uncommitted_never_visible(events: RunEvents) -> Outcome:
    records = list(events.of(Change))
    shown, dirty = _reads(events.operations, EverTrue.of(records)) if records else (0, [])
    timed, early = 0, list[Finding]()
    told = any(each.within_ns < UNKNOWN_NS for each in events.evidence)
    times = commit_times(events) if told else None
    if times is not None:
        timed, early = _early(events, times)
    figures = {"shown": shown, "timed": timed}
    return concluded(shown + timed, [*dirty, *early], figures)


# --- (a), (b): too early ------------------------------------------------------------------


def _early(events: RunEvents, times: CommitTimes) -> tuple[int, list[Finding]]:
    """How much was judged, and what came before its commit."""
    judged, findings = 0, []
    rests: dict[tuple[str, str], Decided] = {}
    for decision in events.of(Decided):
        if decision.accepted and decision.records:
            rests[decision.incarnation, decision.request] = decision
    for answer in events.of(Answered):
        rested = rests.get((answer.incarnation, answer.request))
        if rested is None or not answer.accepted:
            continue
        judged += 1
        last = max(rested.records)
        if times.end_at(latest_ns(answer)) <= last:
            what = f"{answer.node} answered {answer.api} with success"
            findings.append(_too_early(what, last, times, [rested, answer]))
    first: dict[tuple[str, str], tuple[int, Evidence]] = {}
    for each, deed, end in _shows(events):
        judged += 1
        if times.end_at(latest_ns(each)) < end:
            first.setdefault((each.incarnation, deed), (end, each))
    for (_, deed), (end, each) in first.items():
        what = f"{each.node} {deed} what is below {end}"
        findings.append(_too_early(what, end - 1, times, [each]))
    return judged, findings


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


def _too_early(what: str, offset: int, times: CommitTimes, witnesses: list[Evidence]) -> Finding:
    at, shown_ns = times.of(offset), latest_ns(witnesses[-1])
    when = "never was" if at is None else f"was {(at - shown_ns) / 1e6:.3f} ms later"
    return finding(
        f"{what} before offset {offset} was durable on a majority, which it {when}",
        evidence=witnesses,
    )


# --- (c): dirty reads ---------------------------------------------------------------------


@dataclass(slots=True)
class EverTrue:
    """All that the committed log ever made true."""

    topic_ids: dict[str, str] = field(default_factory=dict)
    broker_epochs: set[tuple[int, int]] = field(default_factory=set)
    versions: dict[tuple[str, int, int], dict[str, Any]] = field(default_factory=dict)
    """By topic id, partition and partition epoch."""
    leaders: set[tuple[str, int, int, int | None]] = field(default_factory=set)
    """(topic id, partition, leader epoch, its leader; also with None for whoever led)."""

    @classmethod
    def of(cls, records: Iterable[Change]) -> "EverTrue":
        made = cls()
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

    def ever(self, topic_id: str, shown: dict[str, Any]) -> bool:
        """Whether the partition was ever in the state that is shown, by the fields that are."""
        key = (topic_id, shown["partition"])
        if "partition_epoch" not in shown:
            return (*key, shown["leader_epoch"], shown.get("leader")) in self.leaders
        was = self.versions.get((*key, shown["partition_epoch"]))
        if was is None:
            return False
        told = dict(shown, isr=sorted(shown["isr"])) if "isr" in shown else shown
        return all(told[name] == was[name] for name in was if name in told)


def _reads(operations: Iterable[Operation], made: EverTrue) -> tuple[int, list[Finding]]:
    shown, findings = 0, []
    for operation in operations:
        if not operation.ok or not isinstance(operation.result, dict):
            continue
        judged, found = _read(operation, made)
        shown += judged
        findings += found
    return shown, findings


def _read(operation: Operation, made: EverTrue) -> tuple[int, list[Finding]]:
    judge = {
        "create": _topic,
        "describe": _topic,
        "metadata": _topic,
        "heartbeat": _broker_epoch,
        "alter-isr": _version,
    }.get(operation.f)
    if judge is None:
        return 0, []
    dirty = list(judge(operation, made))
    return 1, [
        finding(
            f"operation {operation.index} ({operation.f} of {operation.key}) was shown {what}, "
            f"which no committed record made",
            [operation],
            by=[EVENTS],
        )
        for what in dirty
    ]


def _topic(operation: Operation, made: EverTrue) -> Iterator[str]:
    result: Any = operation.result
    topic_id = result.get("topic_id")
    if topic_id is None:
        return
    if made.topic_ids.get(topic_id) != operation.key:
        yield f"topic id {topic_id}"
        return
    for shown in result.get("partitions") or ():
        # A cache may hide a leader, or members of an ISR, that are fenced (KAFKA-15220).
        visible = dict(shown)
        if operation.f == "metadata":
            visible.pop("isr", None)
            if visible.get("leader", -1) < 0:
                visible.pop("leader", None)
        if visible.get("leader_epoch", 0) < 0:
            continue
        if not made.ever(topic_id, visible):
            state = ", ".join(f"{name} {value}" for name, value in sorted(visible.items()))
            yield f"a state of {topic_id} ({state})"


def _broker_epoch(operation: Operation, made: EverTrue) -> Iterator[str]:
    result: Any = operation.result
    epoch, broker = result.get("broker_epoch"), operation.value["broker_id"]
    if isinstance(epoch, int) and epoch >= 0 and (broker, epoch) not in made.broker_epochs:
        yield f"epoch {epoch} of broker {broker}"


def _version(operation: Operation, made: EverTrue) -> Iterator[str]:
    result: Any = operation.result
    value = operation.value
    shown = {
        "partition": value["partition"],
        **{name: result[name] for name in ("partition_epoch", "leader_epoch") if name in result},
    }
    if not made.ever(value["topic_id"], shown):
        yield f"version {result.get('partition_epoch')} of {value['topic_id']}/{value['partition']}"


class UncommittedNeverVisible(RunChecker):
    name = "uncommitted-never-visible"
    summary = (
        "No success leaves, no node applies and no client is shown anything before it is "
        "durable on a majority, or that never was committed"
    )
    requires = evidence_of(Committed, Change)
    check_run = RunCheck(
        uncommitted_never_visible,
        evidence=(*KINDS, Change, Decided, Answered, ImageShown, Committed),
        fs=FS,
    )
