"""What creates of topics asked for, and how a topic that was shown is not as it was asked for."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Self, TypeAlias

from checkers.folds.history.values import TopicAnswer, create_topic, topic_answer
from checkers.folds.requests.config_changes import MayBe, either
from checkers.folds.requests.configured import Configs, Writes, configs_asked, may_be
from framework.evidence.changes import Change
from framework.history.pairing import Operation

Replicas: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ask:
    """What a create asked for. None: what the system likes."""

    operation: Operation
    partitions: int | None
    replication: int | None
    assignment: Sequence[Replicas] | None
    configs: Configs

    @classmethod
    def of(cls, create: Operation) -> Self:
        value = create_topic(create) if isinstance(create.value, dict) else {}
        assignment = value.get("assignment")
        placed = None if assignment is None else [tuple(each) for each in assignment]
        return cls(
            operation=create,
            partitions=_asked(value.get("partitions")) if placed is None else len(placed),
            replication=_asked(value.get("replication")),
            assignment=placed,
            configs=configs_asked(create),
        )


def _asked(number: object) -> int | None:
    """Kafka's -1 leaves it to the system."""
    return number if isinstance(number, int) and number > 0 else None


@dataclass(frozen=True, slots=True)
class Shown:
    """What an operation or some records showed of a topic. `partitions`: number -> replicas, where
    they are told; `whole`: these are all. None: nothing of that kind. `changes`: of its
    configuration, whenever they were asked for."""

    name: str
    topic_id: str
    operation: Operation | None = None
    records: Sequence[Change] = ()
    partitions: Mapping[int, Replicas | None] | None = None
    whole: bool = False
    configs: Configs | None = None
    changes: Writes = field(default_factory=dict)


_FAR: Final = 2**62


class Asks:
    """Creates that were not refused, by the ids that they were answered with, and by name. Not
    `once`: whoever forwards a request may send it again, and it is carried out again, so that one
    that was answered with an id may have made another topic before."""

    def __init__(self, creates: Iterable[Operation], *, once: bool) -> None:
        self._by_id: dict[tuple[str, str], Ask] = {}
        self._others: dict[str, list[Ask]] = defaultdict(list)
        self._again: dict[str, list[Ask]] = defaultdict(list)
        for create in creates:
            name, ask = str(create.key), Ask.of(create)
            topic_id = id_of(create) if create.ok else None
            if topic_id is None:
                self._others[name].append(ask)
            else:
                self._by_id.setdefault((name, topic_id), ask)
                if not once:
                    self._again[name].append(ask)

    def answered(self) -> Iterator[tuple[Ask, str]]:
        """Those that were answered with an id, and it."""
        return ((ask, topic_id) for (_, topic_id), ask in self._by_id.items())

    def of(self, shown: Shown, by_ns: int = _FAR) -> Sequence[Ask]:
        """The create that was answered with the id; else those that may have made it by then."""
        own = self._by_id.get((shown.name, shown.topic_id))
        if own is not None:
            return [own]
        end = _FAR if shown.operation is None else shown.operation.end or _FAR
        return [
            ask
            for ask in [*self.unanswered(shown.name), *self._again.get(shown.name, ())]
            if ask.operation.index < end and (ask.operation.invoked_ns or 0) <= by_ns
        ]

    def unanswered(self, name: str) -> Sequence[Ask]:
        """Creates of the name that told no id."""
        return self._others.get(name, ())


def id_of(operation: Operation) -> str | None:
    answered = isinstance(operation.result, dict)
    topic_id = topic_answer(operation).get("topic_id") if answered else None
    return None if topic_id is None else str(topic_id)


def tells(answer: TopicAnswer) -> bool:
    """Whether a create's answer says what was made."""
    reported = (
        answer.get("num_partitions"),
        answer.get("replication_factor"),
        answer.get("configs"),
    )
    return any(each is not None for each in reported)


def answered_otherwise(ask: Ask) -> str | None:
    """How the create's own answer is not what was asked for, as far as it tells."""
    answer = topic_answer(ask.operation)
    width = len(ask.assignment[0]) if ask.assignment else ask.replication
    for what, reported, asked in (
        ("num_partitions", answer.get("num_partitions"), ask.partitions),
        ("replication_factor", answer.get("replication_factor"), width),
    ):
        if None not in (reported, asked) and reported != asked:
            return f"has {what} {reported}, not {asked}"
    configs = answer.get("configs")
    return None if configs is None else _configured_otherwise(ask, dict(configs))


def _configured_otherwise(ask: Ask, configs: Configs, changed: MayBe | None = None) -> str | None:
    """`changed`: what settings may be that were changed."""
    wanted: MayBe = {**{name: [value] for name, value in ask.configs.items()}, **(changed or {})}
    names = {*configs, *wanted}
    if all(configs.get(name) in wanted.get(name, [None]) for name in names):
        return None
    asked = {name: either(each) for name, each in wanted.items() if set(each) != {None}}
    return f"is configured to {dict(configs)}, not to {asked}"


def _settings(ask: Ask, shown: Shown) -> MayBe:
    """What settings may be that were changed, of a topic that was made so."""
    if shown.operation is None:
        return {}
    return {
        name: may_be(ask.configs.get(name), ask.operation, writes, shown.operation)
        for name, writes in shown.changes.items()
    }


def difference(ask: Ask, shown: Shown) -> str | None:
    """How a topic is not what was asked for, in words."""
    partitions = shown.partitions or {}
    if shown.partitions is not None and ask.partitions is not None:
        numbers, right = set(partitions), set(range(ask.partitions))
        if numbers != right if shown.whole else not numbers <= right:
            return f"has the partitions {sorted(numbers)}, not 0 to {ask.partitions - 1}"
    for number, replicas in partitions.items():
        if replicas is None:
            continue
        if ask.assignment is not None:
            if number < len(ask.assignment) and replicas != ask.assignment[number]:
                wanted = list(ask.assignment[number])
                return f"has partition {number} on {list(replicas)}, not on {wanted}"
        elif ask.replication is not None and not (
            len(replicas) == len(set(replicas)) == ask.replication
        ):
            return f"has partition {number} on {list(replicas)}, not on {ask.replication} brokers"
    if shown.configs is None:
        return None
    return _configured_otherwise(ask, shown.configs, _settings(ask, shown))
