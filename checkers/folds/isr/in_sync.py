"""What an ISR is for: an acknowledgement of all its members, and a high watermark that each holds.

The settings' names are those of Kafka's topics, as clients give them.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final, TypeVar

from checkers.folds.history.brokers import ids_of
from checkers.folds.history.log_values import log_answer, produce_of
from checkers.folds.history.power_losses import PowerLoss, forgotten, left_of, power_losses
from checkers.folds.history.values import changed_configs
from checkers.folds.isr.isr import Key
from checkers.folds.isr.shown_states import Between, ShownStates
from checkers.folds.partitions.claims import never_acknowledged
from checkers.folds.requests.configured import OF_TOPICS, configs_asked
from framework.checking.findings import finding
from framework.evidence.changes import ConfigSet, PartitionCreated, PartitionState, TopicCreated
from framework.evidence.clocks import earliest_ns, latest_ns
from framework.evidence.ids import Offset
from framework.evidence.kinds import DISK
from framework.evidence.partitions import (
    PartitionCommitted,
    PartitionLogOnDisk,
    PartitionOffsetSaved,
)
from framework.evidence.processes import Booted
from framework.evidence.run_events import RunEvents, unreported, unshown
from framework.history.pairing import Operation
from framework.plugins.checker import Count, Finding

IN_SYNC_FS: Final = ("create", "produce", OF_TOPICS)
UNCLEAN: Final = "unclean.leader.election.enable"
LEAST: Final = "min.insync.replicas"
TOPIC: Final = 2
"""Kafka's number of the kind of resource that a topic is."""


@dataclass(slots=True)
class Settings:
    """What a run's topics and nodes are set to, at any time of it. `topics`: id -> name; `values`:
    (topic's name, None: of all) and setting -> the values that it ever had. `own`: settings that a
    topic was made with and kept: what holds for all does not hold for it."""

    topics: dict[str, str] = field(default_factory=dict)
    values: dict[tuple[str | None, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    own: set[tuple[str | None, str]] = field(default_factory=set)

    @classmethod
    def of(cls, events: RunEvents) -> "Settings":
        found = cls({each.topic_id: each.name for each in events.of(TopicCreated)})
        made, removed = _made(events, found.topics), set[tuple[str | None, str]]()
        for each in events.of(ConfigSet):
            whose = each.resource if each.resource_type == TOPIC else None
            if each.value is None:
                removed.add((whose, each.name))
                continue
            found.values[whose, each.name].add(each.value)
            if whose in made and each.offset < made[whose]:
                found.own.add((whose, each.name))
        found.own -= removed
        for of_node in (events.plan.get("settings") or {}).values():
            for name in (UNCLEAN, LEAST):
                if name in of_node:
                    found.values[None, name].add(str(of_node[name]))
        return found

    def unclean(self, topic_id: str) -> bool:
        """Whether unclean elections may have been allowed."""
        return any(each.lower() == "true" for each in self._of(topic_id, UNCLEAN))

    def least(self, topic_id: str) -> int:
        """How many in-sync replicas an acknowledgement of all needed at any time."""
        return min((int(each) for each in self._of(topic_id, LEAST) if each.isdecimal()), default=1)

    def _of(self, topic_id: str, name: str) -> set[str]:
        whose = self.topics.get(topic_id), name
        of_all = set() if whose in self.own else self.values.get((None, name), set())
        return self.values.get(whose, set()) | of_all


def _made(events: RunEvents, topics: Mapping[str, str]) -> dict[str, Offset]:
    """Names of topics that were made but once -> the record of their first partition, before which
    is what they were made with."""
    once = {name for name, count in Counter(topics.values()).items() if count == 1}
    found: dict[str, Offset] = {}
    for each in events.of(PartitionCreated):
        name = topics.get(each.topic_id)
        if name in once:
            found[name] = min(each.offset, found.get(name, each.offset))
    return found


# --- acknowledgements ---------------------------------------------------------------------


def answered_short(
    events: RunEvents, records: Mapping[Key, Sequence[PartitionState]], settings: Settings
) -> tuple[Count, list[Finding]]:
    """Acknowledged produces to partitions whose leader knew all the while that its ISR is too
    small: by what it showed of it before and after; or as it had itself applied that before the
    produce began, and nobody anything after that till its end, for a leader may hear of a change by
    its answer. And of how many it is known what it went by. `records`: by partition, in the order
    of the log."""
    asked = {key: settings.least(key[0]) for key in records if settings.least(key[0]) > 1}
    by_name = {f"{settings.topics.get(key[0])}/{key[1]}": key for key in asked}
    produced = [
        (each, by_name[str(each.key)])
        for each in _acknowledged(events.operations)
        if str(each.key) in by_name
    ]
    if not produced and _unrecorded(events.operations, records, settings):
        return 0, []
    if not asked:
        return "no topic asks for more than one in-sync replica", []
    if not produced:
        own = (each for each in _produces(events.operations) if str(each.key) in by_name)
        if never_acknowledged(own):
            return 0, []
        return "no produce to a topic that asks for more than one was acknowledged by all", []
    states: dict[Key, list[PartitionState]] = {key: [] for _, key in produced}
    for each in events.of(PartitionState):
        if each.source != DISK and each.key in states:
            states[each.key].append(each)
    applied = {key: Applied.of(own) for key, own in states.items()}
    shown = ShownStates.of(events, {key: records[key] for key in states})
    compared, findings = 0, list[Finding]()
    for operation, key in produced:
        between, state = shown.around(operation, key), applied[key].all_along(operation)
        compared += between is not None or state is not None
        if between is not None and all(len(each.isr) < asked[key] for each in between.states):
            findings.append(_short(operation, asked[key], between.states[0], between))
        elif state is not None and len(state.isr) < asked[key]:
            findings.append(_short(operation, asked[key], state))
    if not shown.answers and (why := unreported(events.plan)):
        return f"{why}, and nobody asked them of partitions", findings
    return compared, findings


def _unrecorded(
    operations: Sequence[Operation], records: Container[Key], settings: Settings
) -> bool:
    """Whether all acknowledged a produce to a partition of which no record is left, of a topic that
    asks for more than one in-sync replica: by its creates, or by what is known of it."""
    asked = _asked_for(operations)
    for each in _acknowledged(operations):
        name, _, number = str(each.key).rpartition("/")
        topic_id = log_answer(each).get("topic_id", "")
        least = asked.get(name, settings.least(topic_id))
        if least > 1 and number.isdecimal() and (topic_id, int(number)) not in records:
            return True
    return False


def _asked_for(operations: Iterable[Operation]) -> Mapping[str, int]:
    """Names of topics whose creates, or changes, ask for some in-sync replicas -> for how many, at
    least."""
    found: dict[str, int] = {}
    for each in operations:
        least = None if each.failed else _least_asked(each)
        if least is not None and least.isdecimal():
            name = str(each.key)
            found[name] = min(int(least), found.get(name, int(least)))
    return found


def _least_asked(operation: Operation) -> str | None:
    """Where a change takes that away, one may do."""
    if operation.f == "create":
        return configs_asked(operation).get(LEAST)
    changed = dict(changed_configs(operation)) if operation.f == OF_TOPICS else {}
    return (changed[LEAST] or "1") if LEAST in changed else None


def _short(
    operation: Operation, asked: int, state: PartitionState, shown: Between | None = None
) -> Finding:
    witnesses, how = [operation], ""
    if shown is not None:
        witnesses += shown.answers
        how = ", as it showed by " + " and ".join(
            f"operation {each.index}" for each in shown.answers
        )
    return finding(
        f"operation {operation.index} produced to {operation.key} with acks of all and was "
        f"answered ok by {operation.node}, which knew that the ISR was {sorted(state.isr)}{how}; "
        f"{asked} in-sync replicas are asked for",
        witnesses,
        [state],
    )


@dataclass(frozen=True, slots=True)
class Applied:
    """What nodes applied of a partition. `times`: by node, when they surely had, and `latest`: of
    the states up to then the last in the log. `begun` and `highest`: of all nodes, by when they may
    have begun to, the highest offset."""

    times: Mapping[str, Sequence[int]]
    latest: Mapping[str, Sequence[PartitionState]]
    begun: Sequence[int]
    highest: Sequence[int]

    @classmethod
    def of(cls, states: Sequence[PartitionState]) -> "Applied":
        nodes: dict[str, list[PartitionState]] = defaultdict(list)
        for each in states:
            nodes[each.node].append(each)
        times, latest = dict[str, list[int]](), dict[str, list[PartitionState]]()
        for node, own in nodes.items():
            timed = sorted(enumerate(own), key=lambda each: latest_ns(each[1]))
            times[node] = [latest_ns(each) for _, each in timed]
            latest[node] = [each for _, each in accumulate(timed, _later)]
        every = sorted(states, key=earliest_ns)
        highest = accumulate((each.offset for each in every), max)
        return cls(times, latest, [*map(earliest_ns, every)], [*highest])

    def all_along(self, operation: Operation) -> PartitionState | None:
        """What the node that answered had applied before an operation began, if nobody had applied
        anything later when it ended."""
        begin, end, node = operation.invoked_ns, operation.completed_ns, operation.node or ""
        if begin is None or end is None or node not in self.times:
            return None
        before = bisect_left(self.times[node], begin)
        if not before:
            return None
        state = self.latest[node][before - 1]
        by_then = bisect_right(self.begun, end)
        return None if by_then and self.highest[by_then - 1] > state.offset else state


def _later(
    one: tuple[int, PartitionState], other: tuple[int, PartitionState]
) -> tuple[int, PartitionState]:
    """In the log; of the same record, what was told first."""
    return max(one, other, key=lambda each: (each[1].offset, -each[0]))


def _produces(operations: Iterable[Operation]) -> Iterator[Operation]:
    return (each for each in operations if each.f == "produce" and isinstance(each.value, dict))


def _acknowledged(operations: Iterable[Operation]) -> Iterator[Operation]:
    for each in operations:
        asked = produce_of(each).get("acks") if isinstance(each.value, dict) else None
        if each.f == "produce" and each.ok and str(asked) in ("all", "-1"):
            yield each


# --- high watermarks ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mark:
    """What is below `offset` each replica in the ISR has: because of who says so, to whom."""

    offset: int
    node: str
    operation: Operation | None = None
    reported: PartitionCommitted | PartitionOffsetSaved | None = None


def watermarks(
    events: RunEvents, records: Mapping[Key, Sequence[PartitionState]]
) -> tuple[Count, list[Finding]]:
    """The highest mark of each node, and of clients, against the logs of the others in the last
    ISR."""
    if (events.plan.get("options") or {}).get("keep"):
        return "the nodes went on while their disks were read", []
    marks = _marks(events)
    if why := unshown(events.plan, PartitionLogOnDisk):
        return why, []
    if not any(True for _ in _acknowledged(events.operations)):
        if never_acknowledged(_produces(events.operations)):
            return 0, []
        return "no produce was acknowledged by all", []
    logs = _last(events.of(PartitionLogOnDisk))
    nodes = _nodes(events)
    compared, findings = 0, list[Finding]()
    for key, own in sorted(records.items()):
        held = [logs.get((nodes.get(member, ""), *key)) for member in _last_isr(own)]
        for mark in marks.get(key, {}).values():
            for log in held:
                if log is None or log.node == mark.node:
                    continue
                compared += 1
                if mark.offset > log.end_offset:
                    findings.append(_above(mark, log))
    return compared, findings


def _nodes(events: RunEvents) -> dict[int, str]:
    """Id -> the node whose it is: by the plan, and of brokers that it does not have by what they
    said as they began, where but one of them had it."""
    found = {id: node for node, ids in ids_of(events.plan).items() for id in ids}
    extra: dict[int, set[str]] = defaultdict(set)
    for each in events.of(Booted):
        if each.broker_id is not None and each.broker_id not in found:
            extra[each.broker_id].add(each.node)
    return found | {id: node for id, (node, *others) in extra.items() if not others}


def _last_isr(records: Sequence[PartitionState]) -> Sequence[int]:
    """Of a partition; where its last member left it in the end (KIP-966), who that was: nothing
    was committed since."""
    return next((each.isr for each in reversed(records) if each.isr), ())


def _marks(events: RunEvents) -> dict[Key, dict[str, Mark]]:
    """By partition, and node ("": clients)."""
    found: dict[Key, dict[str, Mark]] = defaultdict(dict)

    def add(key: Key, mark: Mark) -> None:
        best = found[key].setdefault(mark.node, mark)
        if mark.offset > best.offset:
            found[key][mark.node] = mark

    losses = power_losses(each.entries for each in events.faults)
    named = {each.topic_id: each.name for each in events.of(TopicCreated)} if losses else {}

    def told(each: PartitionCommitted | PartitionOffsetSaved, before: list[PowerLoss]) -> None:
        names = (each.topic_id, named.get(each.topic_id))
        left = left_of(before, [f"{name}/{each.partition}" for name in names], each.offset)
        add((each.topic_id, each.partition), Mark(left, each.node, reported=each))

    for each in events.of(PartitionCommitted):
        told(each, [loss for loss in losses if earliest_ns(each) <= loss.at_ns])
    saved = [each for each in events.of(PartitionOffsetSaved) if each.what == "high-watermark"]
    last = {each.node: each.incarnation for each in sorted(saved, key=lambda each: each.seq)}
    for mark in saved:  # when a former process wrote it, nobody knows
        told(mark, losses if mark.incarnation != last[mark.node] else [])
    for operation in _acknowledged(forgotten(losses, events.operations)):
        answer = log_answer(operation) if isinstance(operation.result, dict) else {}
        topic_id, offset = answer.get("topic_id"), answer.get("offset")
        number = str(operation.key).rpartition("/")[2]
        if topic_id is not None and isinstance(offset, int) and offset >= 0 and number.isdecimal():
            add((topic_id, int(number)), Mark(offset + 1, "", operation))
    return found


OnDisk = TypeVar("OnDisk", PartitionLogOnDisk, PartitionOffsetSaved)


def _last(reported: Iterable[OnDisk]) -> dict[tuple[str, str, int], OnDisk]:
    """(node, topic id, partition) -> what its last process left."""
    ordered = sorted(reported, key=lambda each: each.seq)
    return {(each.node, each.topic_id, each.partition): each for each in ordered}


def _above(mark: Mark, log: PartitionLogOnDisk) -> Finding:
    where = f"{log.topic_id}/{log.partition}"
    if mark.operation is not None:
        what = f"operation {mark.operation.index} was acknowledged by all below offset"
        what += f" {mark.offset} of {where}"
    else:
        what = f"{mark.node} had the high watermark {mark.offset} of {where}"
    return finding(
        f"{what}; the log of {log.node}, which is in its ISR, ends at {log.end_offset}",
        [mark.operation] if mark.operation is not None else [],
        [each for each in (mark.reported, log) if each is not None],
    )
