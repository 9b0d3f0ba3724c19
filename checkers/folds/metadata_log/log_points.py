"""What the committed metadata log made true, and at which of its points.

A point of a log is how many of its records have been applied. What a record says holds from the
point behind it on, until another record says otherwise.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from checkers.folds.metadata_log.service import OF_BROKERS, OfBroker, Service, Standing
from framework.evidence.changes import (
    NO_LEADER,
    Change,
    PartitionCreated,
    PartitionState,
    TopicCreated,
    TopicDeletionBegun,
    TopicRemoved,
)
from framework.history.event import Recorded

NEVER_AGAIN: Final = 1 << 62
"""The end of what holds to the log's end."""


@dataclass(frozen=True, slots=True)
class Spans:
    """Half-open spans of points, in order, none beside another."""

    begins: Sequence[int]
    ends: Sequence[int]

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, int]]) -> "Spans":
        """Of spans in order; empty ones are none."""
        kept = [(begin, end) for begin, end in pairs if begin < end]
        return cls([begin for begin, _ in kept], [end for _, end in kept])

    @property
    def others(self) -> "Spans":
        """All points that are in none of these."""
        return Spans.of(zip([0, *self.ends], [*self.begins, NEVER_AGAIN], strict=True))

    def first(self, point: int) -> int | None:
        """The first point in a span, from `point` on; None: there is none."""
        at = bisect_right(self.ends, point)
        return max(point, self.begins[at]) if at < len(self.ends) else None


NOWHERE: Final = Spans((), ())


@dataclass(slots=True)
class Life:
    """Of a topic: the points from which on it is there, is about to go, and is gone."""

    topic_id: str
    created: int
    going: int = NEVER_AGAIN
    gone: int = NEVER_AGAIN
    partitions: list[tuple[int, int]] = field(default_factory=list)
    """(point, number): from when on it has each, in the order of the log."""


Brokers: TypeAlias = tuple[int, ...]
"""Ids, sorted."""


@dataclass(frozen=True, slots=True)
class State:
    """Of a partition."""

    leader: int
    leader_epoch: int
    isr: Brokers
    replicas: Brokers

    def shows(self, leader: int, replicas: Brokers | None) -> bool:
        """Whether an answer with its epoch and ISR shows this state. `replicas`: None, it
        tells of none. A cache hides a leader that it cannot reach."""
        return leader in (self.leader, NO_LEADER) and replicas in (None, self.replicas)


Alike: TypeAlias = tuple[str, int, int, Brokers]
"""Of a partition: its topic's id, its number, and of a state the leader epoch and the ISR,
which an answer has to show."""
Held: TypeAlias = tuple[int, int, State]
"""A state, and from which point up to which it held."""


@dataclass(frozen=True, slots=True)
class LogPoints:
    """Of topics by their ids, of partitions by what an answer has to show of them, and of brokers
    by their ids: when each is in service. `_known`: of what was asked already. A long log has few
    states of a partition, each many times."""

    lives: Mapping[str, Life]
    states: Mapping[Alike, Sequence[Held]]
    service: Mapping[int, Spans]
    _names: Mapping[str, Sequence[Life]] = field(repr=False)
    _known: dict[tuple[Alike, int, Brokers | None], Spans] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, records: Iterable[Change]) -> "LogPoints":
        """Of all records of a log, in order."""
        lives: dict[str, Life] = {}
        states: dict[tuple[str, int], list[tuple[int, State]]] = defaultdict(list)
        names: dict[str, list[Life]] = defaultdict(list)
        of_brokers: list[OfBroker] = []
        for point, record in enumerate(records, 1):
            match record:
                case TopicCreated():
                    lives[record.topic_id] = Life(record.topic_id, point)
                    names[record.name].append(lives[record.topic_id])
                case TopicDeletionBegun() if record.topic_id in lives:
                    lives[record.topic_id].going = point
                case TopicRemoved() if record.topic_id in lives:
                    life = lives[record.topic_id]
                    life.going, life.gone = min(life.going, point), point
                case PartitionState():
                    if isinstance(record, PartitionCreated) and record.topic_id in lives:
                        lives[record.topic_id].partitions.append((point, record.partition))
                    before = states[record.key][-1:]
                    states[record.key].append((point, _state(record, before)))
                case _ if isinstance(record, OF_BROKERS):
                    of_brokers.append(record)
        standings = Service.of(of_brokers).standings
        service = {broker: _service(own) for broker, own in standings.items()}
        return cls(lives, _held(states, lives), service, names)

    def topic(self, name: str, topic_id: str) -> Spans:
        """When the name is that topic's."""
        lives = self._names.get(name, ())
        return Spans.of((each.created, each.gone) for each in lives if each.topic_id == topic_id)

    def there(self, name: str) -> Spans:
        """When there is a topic of that name."""
        return Spans.of((each.created, each.gone) for each in self._names.get(name, ()))

    def partitions(self, topic_id: str, numbers: Set[int]) -> Spans:
        """When the topic has these partitions and no others."""
        life = self.lives.get(topic_id)
        if life is None:
            return NOWHERE
        begins = [life.created, *(point for point, _ in life.partitions)]
        spans = zip(begins, [*begins[1:], life.gone], strict=True)
        made = [number for _, number in life.partitions]
        return Spans.of(span for count, span in enumerate(spans) if numbers == set(made[:count]))

    def state(self, topic_id: str, shown: Mapping[str, Recorded]) -> Spans:
        """When a partition is as it is shown."""
        leader, told = shown["leader"], shown.get("replicas")
        replicas = None if told is None else tuple(sorted(told))
        isr = tuple(sorted(shown["isr"]))
        alike = (topic_id, shown["partition"], shown["leader_epoch"], isr)
        asked = (alike, leader, replicas)
        if (known := self._known.get(asked)) is None:
            held = self.states.get(alike, ())
            known = Spans.of((begin, end) for begin, end, it in held if it.shows(leader, replicas))
            self._known[asked] = known
        return known

    def absent(self, name: str) -> Spans:
        """When there need be no topic of that name: one that is about to go need not be shown."""
        lives = self._names.get(name, ())
        return Spans.of((life.created, life.going) for life in lives).others

    def in_service(self, broker: int) -> Spans:
        """When the broker is registered, and not fenced."""
        return self.service.get(broker, NOWHERE)


def _held(
    states: Mapping[tuple[str, int], Sequence[tuple[int, State]]], lives: Mapping[str, Life]
) -> dict[Alike, list[Held]]:
    """Of each partition (point, state from there on), in order."""
    found: dict[Alike, list[Held]] = defaultdict(list)
    for (topic_id, number), own in states.items():
        gone = lives[topic_id].gone if topic_id in lives else NEVER_AGAIN
        ends = [*(point for point, _ in own[1:]), gone]
        for (begin, state), end in zip(own, ends, strict=True):
            alike = (topic_id, number, state.leader_epoch, state.isr)
            found[alike].append((begin, end, state))
    return found


def _state(record: PartitionState, before: Sequence[tuple[int, State]]) -> State:
    """A change of a leader or an ISR leaves the replicas as they were."""
    replicas: Brokers = before[0][1].replicas if before else ()
    if isinstance(record, PartitionCreated):
        replicas = tuple(sorted(record.replicas))
    return State(record.leader, record.leader_epoch, tuple(sorted(record.isr)), replicas)


def _service(standings: Sequence[Standing]) -> Spans:
    """Of a broker: a record holds from the point behind it on."""
    begins = [each.by.offset + 1 for each in standings]
    ends = [*begins[1:], NEVER_AGAIN]
    return Spans.of(
        (begin, end)
        for begin, end, each in zip(begins, ends, standings, strict=True)
        if each.serves
    )
