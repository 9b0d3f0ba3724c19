"""Counters that only rise (D.8): what is saved of the quorum over restarts, high watermarks,
applied offsets, broker epochs, leader and partition epochs, and what clients saw of them."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Final, TypeAlias, TypeVar

import numpy as np

from checkers.folds.history.observations import VIEWS, with_observations
from checkers.folds.history.roles import CONTROLLER, nodes_by_id
from checkers.folds.history.sweeps import falls
from checkers.folds.history.values import (
    heartbeat,
    heartbeat_answer,
    partitions_shown,
    quorum_view,
    topic_answer,
)
from checkers.folds.metadata_log.committed_log import once_each
from checkers.folds.metadata_log.disk_logs import DISK_KINDS, committed_on_disks
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import Kept, RunCheck, RunChecker, SoFar
from framework.evidence.changes import BrokerRegistered, Change, PartitionState
from framework.evidence.clocks import Moment, moment_of, surely_before, surely_not_after
from framework.evidence.columns import Numbers
from framework.evidence.kinds import DISK, Evidence, either_of
from framework.evidence.processes import Booted
from framework.evidence.quorum import (
    Appended,
    Committed,
    EpochSaved,
    ImageDigest,
    ImageShown,
    LogBegan,
    Truncated,
)
from framework.evidence.relations import NONE, Mask, Relation, relation
from framework.evidence.run_events import (
    RunEvents,
    from_disks,
    from_no_disk,
    incarnations,
    numbers,
    of_kinds,
    unreported,
    unshown,
    voters,
)
from framework.history.pairing import Operation
from framework.plugins.checker import CLIENTS, DISKS, EVENTS, LEDGER, Clause, Count, Finding

FS: Final = ("metadata", "heartbeat", "alter-isr")

SAVED: Final = Clause(
    name="saved-state",
    says="The epoch, the vote and the leader that a node saved are never taken back, over all its "
    "processes, nor is its log of a later epoch",
    compares="states of the quorum beside the one that the node had saved before, the last "
    "epoch of which others were told that it leads, or the last record of its log",
    floor=2,
    because="one state goes back behind nothing, and one more may be an election of which the "
    "others tell nothing",
    sources=(DISKS, LEDGER, EVENTS),
    blind="what was saved and overwritten between two copies of a disk, if no event tells of it",
)
WATERMARKS: Final = Clause(
    name="watermarks",
    says="High watermarks, applied and published offsets rise within a process, and from leader to "
    "leader",
    compares="offsets beside the one before",
    floor=10,
    because="a process tells several a second: fewer are one that hardly ran",
    sources=(EVENTS,),
    blind="a node's own word alone; what it told others, observed-cluster judges",
)
RECORDS: Final = Clause(
    name="records",
    says="Broker epochs, leader epochs and partition epochs rise in the committed log",
    compares="records beside the one before of the same broker or partition",
    floor=2,
    because="one change of one partition shows one step of one counter",
    sources=(DISKS, EVENTS),
    blind="records below a snapshot that no copy of a disk has kept",
)
ANSWERS: Final = Clause(
    name="answers",
    says="Nobody is shown a lower broker epoch, or by one process of a broker a lower leader "
    "epoch, than one was before",
    compares="answers that show an epoch",
    floor=2,
    because="one answer goes back behind nothing",
    sources=(CLIENTS, EVENTS),
    blind="leader epochs of a broker whose restarts nothing dates",
)

ENOUGH_ASKED: Final = 10
"""Questions that were asked again, of which some are answered by one process of a broker twice:
those before and after its restarts are not compared."""


AnyChange = TypeVar("AnyChange", bound=Change)
Rising: TypeAlias = Committed | ImageDigest | ImageShown | Change


@dataclass(slots=True)
class Tally:
    """Findings, and how many values were compared for each clause."""

    findings: list[Finding] = field(default_factory=list)
    compared: Counter[str] = field(default_factory=Counter)
    answers: list[int] = field(default_factory=list)
    """Those that were compared with one before, for each value that they showed."""

    def add(self, clause: Clause, found: Iterable[Finding]) -> None:
        self.compared[clause.name] += 1
        self.findings += found


def monotonic_counters(events: RunEvents) -> Outcome:
    tally = Tally()
    reported = from_no_disk(events.evidence)
    nodes = incarnations(reported)
    for lives in nodes.values():
        _quorum_state(
            tally, (each for life in lives for each in of_kinds(life, Booted, EpochSaved))
        )
        for life in lives:
            _within_incarnation(tally, life)
    for left in _left_by_node(events).values():
        _quorum_state(tally, left)
    _leaders_saved(tally, events)
    _logs_saved(tally, events)
    _leaders_watermarks(tally, events.of(Committed))
    _records(tally, once_each(committed_on_disks(events).records, of_kinds(reported, Change)))
    asked = with_observations(events)
    _answered_broker_epochs(tally, asked.operations)
    _metadata(tally, asked.operations, _boots(nodes))
    return weighed(_counts(tally, asked), tally.findings, {"nodes": len(nodes)})


def _counts(tally: Tally, events: RunEvents) -> dict[str, Count]:
    tally.compared[ANSWERS.name] = ANSWERS.sightings(tally.answers)
    done = {each.f for each in events.operations if each.ok}
    counts: dict[str, Count] = {
        each.name: tally.compared[each.name] for each in (SAVED, WATERMARKS, RECORDS, ANSWERS)
    }
    if why := unreported(events.plan):
        counts[WATERMARKS.name] = why
        left = _left_by_node(events)
        if set(voters(events.plan)) <= set(left) and all(len(each) == 1 for each in left.values()):
            counts[SAVED.name] = f"{why}, and the harness started none of them again"
    if not counts[RECORDS.name] and "alter-isr" not in done:
        counts[RECORDS.name] = "no client was acknowledged a change of an ISR"
    if not done & {"metadata", "heartbeat"}:
        counts[ANSWERS.name] = "no client was shown an epoch of a broker or a leader"
    elif not tally.compared[ANSWERS.name] and unshown(events.plan, Booted):
        counts[ANSWERS.name] = "nobody tells which answers are of one process of a broker"
    elif tally.compared[ANSWERS.name] < ANSWERS.floor and _asked_again(events) < ENOUGH_ASKED:
        counts[ANSWERS.name] = "clients hardly asked any broker twice"
    return counts


def _asked_again(events: RunEvents) -> int:
    """Questions beside an earlier one of the same to the same broker."""
    asked = Counter((each.f, each.node, str(each.key)) for each in events.operations)
    return sum(times - 1 for (f, *_), times in asked.items() if f in ("metadata", "heartbeat"))


def _left_by_node(events: RunEvents) -> dict[str, list[EpochSaved]]:
    """What was saved of the quorum, as each process of a node left it."""
    found: dict[str, list[EpochSaved]] = defaultdict(list)
    on_disk = (each for each in events.of(EpochSaved) if each.source == DISK)
    for each in sorted(on_disk, key=lambda each: each.seq):
        found[each.node].append(each)
    return found


def _leaders_saved(tally: Tally, events: RunEvents) -> None:
    """A leader that was told of had saved that it leads before it could be (KIP-595; Kafka's
    QuorumState.durableTransitionTo): what its last process left is of that epoch or a later one."""
    names = nodes_by_id(events.plan, CONTROLLER)
    views = (each for each in events.observations if each.ok and each.f in VIEWS)
    told: dict[str, Operation] = {}
    for each in sorted(views, key=lambda each: quorum_view(each)["leader_epoch"]):
        told[names.get(quorum_view(each)["leader"], "")] = each
    for node, own in from_disks(events.evidence).items():
        left = of_kinds(own, EpochSaved)
        # Of a last process whose file cannot be read nothing is known.
        if node in told and left and left[-1].incarnation == own[-1].incarnation:
            tally.add(SAVED, _unsaved(told[node], left[-1]))


def _unsaved(by: Operation, left: EpochSaved) -> Iterator[Finding]:
    epoch = quorum_view(by)["leader_epoch"]
    if left.epoch < epoch:
        yield finding(
            f"{left.node} led epoch {epoch}, as {by.node} told in operation {by.index}, and left "
            f"epoch {left.epoch} on its disk",
            [by],
            [left],
            clause=SAVED.name,
        )


def _logs_saved(tally: Tally, events: RunEvents) -> None:
    """Whoever fetches from a leader, or is one, has saved that epoch before: so no process left a
    record of a later one than the epoch beside it (KIP-595; Kafka's QuorumState)."""
    for own in from_disks(events.of(Appended, Truncated, LogBegan, EpochSaved)).values():
        firsts: list[Appended] = []  # of each epoch in the log
        for each in own:
            match each:
                case Appended(epoch=epoch) if not firsts or firsts[-1].epoch != epoch:
                    firsts.append(each)
                case Truncated(end_offset=end):
                    firsts = [batch for batch in firsts if batch.base_offset < end]
                case LogBegan(dropped=True):
                    firsts = []
                case EpochSaved() if firsts:
                    tally.add(SAVED, _later_record(firsts[-1], each))


def _later_record(first: Appended, left: EpochSaved) -> Iterator[Finding]:
    """`first`: of the last epoch in its log."""
    if left.epoch < first.epoch:
        yield finding(
            f"{left.node} has a record of epoch {first.epoch} at offset {first.base_offset} of its "
            f"log, and left epoch {left.epoch} on its disk",
            evidence=[first, left],
            clause=SAVED.name,
        )


# --- nodes --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Saved:
    """What was saved of the quorum; None: no leader, no vote."""

    epoch: int
    leader: int | None
    vote: int | None
    by: Evidence


def _quorum_state(tally: Tally, saves: Iterable[Evidence]) -> None:
    """What a node saved never goes back, over all its incarnations. A boot may know more than
    what was told before it: the line of a process that was killed."""
    before: Saved | None = None
    for each in saves:
        assert isinstance(each, Booted | EpochSaved)
        saved = _saved(each)
        if before is not None:
            tally.add(SAVED, _went_back(before, saved, each))
            if saved is not None and _stands_again(before, saved):
                saved = replace(saved, leader=before.leader)
        before = saved or before


def _saved(each: Booted | EpochSaved) -> Saved | None:
    if isinstance(each, EpochSaved):
        return Saved(each.epoch, each.leader, each.vote, each)
    if each.saved_epoch is None:
        return None
    return Saved(each.saved_epoch, each.saved_leader, each.saved_vote, each)


def _went_back(was: Saved, now: Saved | None, by: Evidence) -> Iterator[Finding]:
    again = "came back with" if isinstance(by, Booted) else "saved"
    if now is None:
        yield finding(
            f"{by.node} came back without its quorum state; it had saved epoch {was.epoch}",
            evidence=[was.by, by],
            clause=SAVED.name,
        )
    elif now.epoch < was.epoch:
        yield finding(
            f"{by.node} {again} epoch {now.epoch} after epoch {was.epoch}",
            evidence=[was.by, by],
            clause=SAVED.name,
        )
    elif now.epoch == was.epoch:
        for words, had, has in (
            ("leader", was.leader, now.leader),
            ("vote", was.vote, now.vote),
        ):
            if had is None or has == had or (words == "leader" and _stands_again(was, now)):
                continue
            lost = "forgot" if has is None else "changed"
            yield finding(
                f"{by.node} {lost} its {words} of epoch {was.epoch}: it {again} "
                f"{'none' if has is None else has} after {had}",
                evidence=[was.by, by],
                clause=SAVED.name,
            )


def _stands_again(was: Saved, now: Saved) -> bool:
    """A voter of Apache Kafka's that had voted for itself is a candidate of that epoch again once
    it is restarted (QuorumState.initialize), whoever was elected: it saves that it knows of no
    leader. Its vote, which it keeps, lets it give no other."""
    again = now.leader is None and now.vote is not None
    return again and (now.epoch, now.vote) == (was.epoch, was.vote)


_RISING: Final[Mapping[str, type[Rising]]] = {
    "high watermark": Committed,
    "applied offset": ImageDigest,
    "published offset": ImageShown,
    "applied record": Change,
}
"""What of a process never falls; a record is applied once."""


def _within_incarnation(tally: Tally, life: Iterable[Evidence]) -> None:
    """Each beside the one before it, as numbers: only those that fell become objects."""
    for counter, kind in _RISING.items():
        own = of_kinds(life, kind)
        steps = np.diff(numbers(own, "offset"))
        tally.compared[WATERMARKS.name] += len(steps)
        for at in np.flatnonzero(steps <= 0 if kind is Change else steps < 0).tolist():
            was, now = own[at], own[at + 1]
            message = f"{now.node}'s {counter} went from {was.offset} to {now.offset}"
            tally.findings.append(finding(message, evidence=[was, now], clause=WATERMARKS.name))


def _leaders_watermarks(tally: Tally, watermarks: Iterable[Committed]) -> None:
    """A leader commits nothing before a record of its own epoch, which stands above all that
    earlier leaders committed: so its first high watermark is not below the last of theirs. (That
    they rise within its process is judged there.)"""
    leaders = relation(watermarks, "epoch", "offset", "leading").where(leading=True)
    first, last = (leaders.take(rows) for rows in (leaders.first("epoch"), leaders.last("epoch")))
    former = first.as_of(last, per=(), on="epoch")
    rows = np.flatnonzero(former != NONE)
    tally.compared[WATERMARKS.name] += len(rows)
    wrong = rows[first["offset"][rows] < last["offset"][former[rows]]]
    for now, was in zip(first.objects(wrong), last.objects(former[wrong]), strict=True):
        message = (
            f"the quorum's high watermark went back: {now.node} reported {now.offset} as leader of "
            f"epoch {now.epoch}, {was.node} had reported {was.offset} as leader of epoch "
            f"{was.epoch}"
        )
        tally.findings.append(finding(message, evidence=[was, now], clause=WATERMARKS.name))


# --- the log ------------------------------------------------------------------------------


def _records(tally: Tally, changes: Iterable[Change]) -> None:
    """Committed records in log order, each offset once: each beside the one before it of the same
    broker or partition."""
    brokers = relation(of_kinds(changes, BrokerRegistered), "broker_id", "offset", "broker_epoch")
    before, epoch = brokers.lag("broker_id", on="offset"), brokers["broker_epoch"]
    _stepped(tally, brokers, before, epoch <= epoch[before], _broker_epoch)
    states = relation(
        of_kinds(changes, PartitionState),
        *("topic_id", "partition", "offset", "partition_epoch", "leader_epoch", "leader"),
    )
    before, epoch = states.lag("topic_id", "partition", on="offset"), states["leader_epoch"]
    steps = states["partition_epoch"] - states["partition_epoch"][before]
    moved = states["leader"] != states["leader"][before]
    wrong = (steps != 1) | (epoch < epoch[before]) | (moved & (epoch == epoch[before]))
    _stepped(tally, states, before, wrong, _partition_epochs)


def _stepped(
    tally: Tally,
    records: Relation[AnyChange],
    before: Numbers,
    perhaps: Mask,
    wrong: Callable[[AnyChange, AnyChange], Iterator[Finding]],
) -> None:
    """`before`: of each record the one that it is held against; `perhaps`: which may be `wrong`."""
    there = before != NONE
    tally.compared[RECORDS.name] += int(there.sum())
    rows = np.flatnonzero(there & perhaps)
    for was, now in zip(records.objects(before[rows]), records.objects(rows), strict=True):
        tally.findings += wrong(was, now)


def _broker_epoch(was: BrokerRegistered, now: BrokerRegistered) -> Iterator[Finding]:
    """A process that registers again may keep its epoch (Kafka's ClusterControlManager)."""
    again = now.process == was.process and bool(set(now.process or "") - set("0-"))
    if now.broker_epoch < was.broker_epoch or (now.broker_epoch == was.broker_epoch and not again):
        yield finding(
            f"broker {now.broker_id} was registered with epoch {now.broker_epoch} at offset "
            f"{now.offset}, after epoch {was.broker_epoch} at offset {was.offset}",
            evidence=[was, now],
            clause=RECORDS.name,
        )


def _partition_epochs(was: PartitionState, now: PartitionState) -> Iterator[Finding]:
    where = f"partition {now.topic_id}/{now.partition} at offset {now.offset}"
    if now.partition_epoch != was.partition_epoch + 1:
        yield finding(
            f"{where}: partition epoch {now.partition_epoch} after {was.partition_epoch}",
            evidence=[was, now],
            clause=RECORDS.name,
        )
    if now.leader_epoch < was.leader_epoch:
        yield finding(
            f"{where}: leader epoch {now.leader_epoch} after {was.leader_epoch}",
            evidence=[was, now],
            clause=RECORDS.name,
        )
    elif now.leader != was.leader and now.leader_epoch == was.leader_epoch:
        yield finding(
            f"{where}: the leader changed from {was.leader} to {now.leader} within leader "
            f"epoch {now.leader_epoch}",
            evidence=[was, now],
            clause=RECORDS.name,
        )


# --- clients ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sight:
    """A value that an operation showed of some counter."""

    operation: Operation
    value: int


def _never_back(tally: Tally, sights: list[Sight], describe: Callable[[Sight, Sight], str]) -> None:
    """An operation shows no less than those that had ended before it began."""
    wrong = [
        finding(describe(best, sight), [best.operation, sight.operation], clause=ANSWERS.name)
        for best, sight in falls(sights)
    ]
    tally.answers += (sight.operation.index for sight in sights[1:])
    tally.findings += wrong


def _answered_broker_epochs(tally: Tally, operations: Iterable[Operation]) -> None:
    for broker, seen in sorted(_broker_epochs(operations).items()):

        def describe(best: Sight, sight: Sight, broker: int = broker) -> str:
            return (
                f"broker {broker} was answered epoch {sight.value} by operation "
                f"{sight.operation.index}, after epoch {best.value} by operation "
                f"{best.operation.index}"
            )

        _never_back(tally, seen, describe)


def _broker_epochs(operations: Iterable[Operation]) -> Mapping[int, list[Sight]]:
    """That each broker was answered, by its id."""
    found: dict[int, list[Sight]] = defaultdict(list)
    for operation in operations:
        epoch = heartbeat_answer(operation).get("broker_epoch") if operation.ok else None
        if isinstance(epoch, int) and epoch >= 0:
            found[heartbeat(operation)["broker_id"]].append(Sight(operation, epoch))
    return found


Boots = Mapping[str, list[Moment]]
"""Node -> when its incarnations began."""


def _boots(nodes: Mapping[str, Sequence[Sequence[Evidence]]]) -> Boots:
    return {node: [moment_of(life[0]) for life in lives] for node, lives in nodes.items()}


def _metadata(tally: Tally, operations: Iterable[Operation], boots: Boots) -> None:
    """What one incarnation of a broker tells of a partition never goes back. Reads of which it
    is not known which incarnation answered are left out."""
    sights: dict[tuple[str, int, str, int], list[Sight]] = defaultdict(list)
    for operation in operations:
        life = _life(operation, boots)
        if life is None:
            continue
        for shown in partitions_shown(operation):
            key = (str(operation.node), life, _topic(operation), shown["partition"])
            if shown.get("leader_epoch", -1) >= 0:
                sights[key].append(Sight(operation, shown["leader_epoch"]))
    for (node, _, topic, partition), seen in sorted(sights.items()):

        def describe(
            best: Sight,
            sight: Sight,
            node: str = node,
            where: str = f"{topic}/{partition}",
        ) -> str:
            return (
                f"{node} showed leader epoch {sight.value} of {where} to operation "
                f"{sight.operation.index}, after {best.value} to operation {best.operation.index}"
            )

        _never_back(tally, seen, describe)


def _topic(operation: Operation) -> str:
    return str(topic_answer(operation).get("topic_id"))


def _life(operation: Operation, boots: Boots) -> int | None:
    """Which incarnation of its node answered; None: it cannot be told."""
    begin, end = operation.invoked_ns, operation.completed_ns
    starts = boots.get(operation.node or "", [])
    if not operation.ok or begin is None or end is None:
        return None
    first = sum(surely_not_after(start, Moment(begin)) for start in starts)
    last = sum(not surely_before(Moment(end), start) for start in starts)
    return first if first == last and first else None


# --- while a run goes on ------------------------------------------------------------------


def answers_so_far(events: RunEvents) -> Outcome:
    """Nobody tells yet which process of a broker showed a leader epoch."""
    tally = Tally()
    _answered_broker_epochs(tally, events.operations)
    return weighed({ANSWERS.name: ANSWERS.sightings(tally.answers)}, tally.findings)


def kept_so_far(over: RunEvents) -> Kept:
    """Of each broker one that was answered its highest epoch: all that is over precedes what comes
    later."""
    best = (max(own, key=attrgetter("value")) for own in _broker_epochs(over.operations).values())
    return Kept([each.operation for each in best])


class MonotonicCounters(RunChecker):
    name = "monotonic-counters"
    summary = (
        "Saved epochs and votes, high watermarks, applied offsets, broker, leader and "
        "partition epochs only rise, on nodes, in the log and in what clients are shown"
    )
    requires = either_of(Change)
    clauses = (SAVED, WATERMARKS, RECORDS, ANSWERS)
    live = (ANSWERS,)
    check_run = RunCheck(
        monotonic_counters,
        evidence=(Booted, EpochSaved, Committed, Change, ImageDigest, ImageShown),
        disk=(EpochSaved, *DISK_KINDS),
        fs=FS,
        observations=True,
    )
    so_far = SoFar(RunCheck(answers_so_far, fs=("heartbeat",)), kept_so_far)
