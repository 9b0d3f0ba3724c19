"""What controllers answer clients of topics, held against the committed log: dry runs of creates,
by which the active one says whether there is a topic of that name, and configurations, of which
each one has a cache. Findings are without a clause.

Each answer is true at one point of the log, and an answer of a process at none before that of one
which it had given before, from the same place. An active controller knows what it has committed
itself, as it led: what it acknowledged, its later answers show. Whether it still leads it need not
know, so that an answer may lack what others had acknowledged; in peace it does not, once recovery
is over. Where a system promises reads that are linearizable, a dry run is one. And nobody knows
what is asked for only later.

Brokers pass dry runs on, and nobody tells to whom: such an answer is by itself.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final, TypeAlias

from checkers.folds.history.lives import Lives
from checkers.folds.history.values import topic_answer
from checkers.folds.metadata_log.committed_log import CommittedLog, surest
from checkers.folds.metadata_log.log_points import NEVER_AGAIN, LogPoints, Spans
from checkers.folds.requests.elected import STRICT
from checkers.folds.requests.owed import Acknowledged, Earliest, Latest, Peace, acknowledged
from framework.checking.findings import finding
from framework.evidence.changes import (
    TOPIC_RESOURCE,
    Change,
    ConfigSet,
    LeaderAnnounced,
    TopicCreated,
    TopicRemoved,
)
from framework.evidence.run_events import RunEvents, node_ids
from framework.history.pairing import Operation
from framework.plugins.checker import Finding

BY_BROKER: Final = "dry-create"
AT_ACTIVE: Final = "controller-dry-create"
CONFIGS: Final = "controller-configs"
DRY_RUNS: Final = (BY_BROKER, AT_ACTIVE)
READS: Final = (*DRY_RUNS, CONFIGS)
CHANGES: Final = ("create", "delete")
ANYWHERE: Final = Spans.of([(0, NEVER_AGAIN)])

Configs: TypeAlias = Mapping[str, str | None]


def controller_reads(events: RunEvents, log: CommittedLog) -> tuple[int, list[Finding]]:
    """How many answers of names that the log has were held against it, and what is wrong."""
    records, by = surest(log)
    answered = [each for each in events.operations if each.f in READS and each.ok]
    if not records or not answered:
        return 0, []
    points, configured = LogPoints.of(records), Configured.of(records)
    in_order = sorted(answered, key=lambda each: each.index)
    answers = [Answer.of(each, points, configured) for each in in_order]
    owed = Owed.of(events, records, points)
    chains = list(_chains(answers, Lives(events.faults)))
    found = [found for chain in chains for found in _in_turn(chain, owed, by)]
    return sum(bool(points.there(each.name).begins) for each in answers), found


# --- answers ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answer:
    """`says` is true at one point, and what follows of its configuration there or later: a cache
    looks that up by itself."""

    operation: Operation
    says: str
    true: Spans
    configured: Spans = ANYWHERE

    @classmethod
    def of(cls, operation: Operation, points: LogPoints, configured: "Configured") -> "Answer":
        name, answer = str(operation.key), topic_answer(operation)
        configs = None if operation.f in DRY_RUNS else answer.get("configs")
        if configs is not None:
            own = dict(configs)
            says = f"topic {name} is there, with the configuration {own}"
            return cls(operation, says, points.there(name), configured.as_shown(name, own))
        if answer.get("exists"):
            return cls(operation, f"topic {name} is there", points.there(name))
        return cls(operation, f"there is no topic {name}", points.absent(name))

    @property
    def name(self) -> str:
        return str(self.operation.key)

    def first(self, low: int) -> int | None:
        """The first point from `low` on by which all of it is explained; None: there is none."""
        point = self.true.first(low)
        return None if point is None else self.configured.first(point)

    def __str__(self) -> str:
        who = self.operation
        return f"operation {who.index}, {who.f} by {who.node}, was told that {self.says}"


@dataclass(frozen=True, slots=True)
class Configured:
    """Of topics by name, how each is configured from which point on; before, not at all."""

    steps: Mapping[str, Sequence[tuple[int, Configs]]]

    @classmethod
    def of(cls, records: Iterable[Change]) -> "Configured":
        names: dict[str, str] = {}
        steps: dict[str, list[tuple[int, Configs]]] = defaultdict(lambda: [(0, {})])
        for point, record in enumerate(records, 1):
            match record:
                case ConfigSet(resource_type=kind) if kind == TOPIC_RESOURCE:
                    own = dict(steps[record.resource][-1][1])
                    own[record.name] = record.value
                    kept = {name: value for name, value in own.items() if value is not None}
                    steps[record.resource].append((point, kept))
                case TopicRemoved() if record.topic_id in names:
                    steps[names[record.topic_id]].append((point, {}))
                case TopicCreated():
                    names[record.topic_id] = record.name
        return cls(steps)

    def as_shown(self, name: str, configs: Configs) -> Spans:
        own = self.steps.get(name, [(0, {})])
        ends = [*(point for point, _ in own[1:]), NEVER_AGAIN]
        return Spans.of(
            (begin, end) for (begin, held), end in zip(own, ends, strict=True) if held == configs
        )


# --- what they have to show ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Low:
    """No answer may be of an earlier point, and why."""

    point: int = 0
    why: str = ""
    operation: Operation | None = None


@dataclass(frozen=True, slots=True)
class Owed:
    """What had been acknowledged: `strict`, all of it is owed at once; else in peace (`by_time`),
    and what a node had acknowledged as it led (`own`)."""

    strict: bool
    peace: Peace
    by_time: Latest
    by_event: Latest
    later: Earliest
    own: Mapping[str, Latest] = field(default_factory=dict)

    @classmethod
    def of(cls, events: RunEvents, records: Sequence[Change], points: LogPoints) -> "Owed":
        changed = [each for each in events.operations if each.f in CHANGES and each.ok]
        given = acknowledged(changed, points)
        named = {replica: node for node, replica in node_ids(events).items()}
        leads = {
            each.epoch: named.get(each.leader)
            for each in records
            if isinstance(each, LeaderAnnounced)
        }
        own: dict[str, list[Acknowledged]] = defaultdict(list)
        for each in given:
            node = leads.get(records[each.point - 1].epoch)
            if node is not None:
                own[node].append(each)
        return cls(
            STRICT in (events.plan.get("capabilities") or ()),
            Peace.of(events),
            Latest(given, lambda each: each.at_ns),
            Latest(given, _end),
            Earliest(given),
            {node: Latest(each, _end) for node, each in own.items()},
        )

    def low(self, read: Operation) -> Low:
        owed_ns, own = self.peace.owed_ns(read), self.own.get(str(read.node))
        lows = []
        if owed_ns is not None:
            lows.append(_low(self.by_time.before(owed_ns), "long before"))
        if self.strict and read.f in DRY_RUNS:
            lows.append(_low(self.by_event.before(read.index), "before"))
        if own is not None and read.f == AT_ACTIVE:
            lows.append(_low(own.before(read.index), "by that controller itself"))
        return max(lows, key=lambda low: low.point, default=Low())


def _end(change: Acknowledged) -> int:
    return change.operation.end or 0


def _low(due: Acknowledged | None, how: str) -> Low:
    if due is None:
        return Low()
    change = due.operation
    why = f"{change.f} of {change.key} (operation {change.index}) had been acknowledged {how}"
    return Low(due.point, why, change)


# --- points -------------------------------------------------------------------------------


def _chains(answers: Iterable[Answer], lives: Lives) -> Iterator[Sequence[Answer]]:
    """Those of one process, from one place, in the order in which they were asked for."""
    chains: dict[tuple[str, tuple[str, int]], list[Answer]] = defaultdict(list)
    for each in answers:
        life = None if each.operation.f == BY_BROKER else lives.of(each.operation)
        if life is None:
            yield [each]
        else:
            chains[each.operation.f, life].append(each)
    yield from chains.values()


def _in_turn(chain: Sequence[Answer], owed: Owed, by: str) -> Iterator[Finding]:
    """Each is given the first point that is left to it: no other leaves more to those behind."""
    ended: list[tuple[int, int, Answer]] = []
    shown = Low()
    for each in chain:
        while ended and ended[0][0] < each.operation.index:
            _, point, earlier = heappop(ended)
            if point > shown.point:
                why = f"the same process had reached that in operation {earlier.operation.index}"
                shown = Low(point, why, earlier.operation)
        low = max(shown, owed.low(each.operation), key=lambda low: low.point)
        first, later = each.first(low.point), owed.later.after(each.operation.end or 0)
        if first is None:
            yield _wrong(each, low, by)
        elif later is not None and first >= later.point:
            yield _too_early(each, first, later, by)
        else:
            heappush(ended, (each.operation.end or 0, first, each))


def _too_early(answer: Answer, point: int, later: Acknowledged, by: str) -> Finding:
    change = later.operation
    message = (
        f"{answer}, which is so from point {point} of the committed log on, behind what {change.f} "
        f"of {change.key} (operation {change.index}) was acknowledged, and asked for only later"
    )
    return finding(message, [answer.operation, change], by=[by])


def _wrong(answer: Answer, low: Low, by: str) -> Finding:
    if low.operation is None or answer.first(0) is None:
        message = f"{answer}, which the committed log says at none of its points"
        return finding(message, [answer.operation], by=[by])
    message = f"{answer}, which was over at point {low.point} of the committed log, and {low.why}"
    return finding(message, [low.operation, answer.operation], by=[by])
