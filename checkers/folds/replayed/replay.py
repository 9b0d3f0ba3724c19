"""The metadata that a log makes, replayed from the changes that nodes applied.

Written apart from any system, so that a mistake in its image cannot hide itself. The replay takes
every change as it comes and complains of nothing: what is wrong with one is for
`replay-invariants` to say.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from checkers.folds.metadata_log.committed_log import CommittedLog
from framework.evidence.changes import (
    TOPIC_RESOURCE,
    AccessRule,
    AccessRuleAdded,
    AccessRuleRemoved,
    BrokerFenced,
    BrokerLeaving,
    BrokerRegistered,
    BrokerUnfenced,
    BrokerUnregistered,
    Change,
    ConfigSet,
    EligibleForgotten,
    EndPoint,
    FeatureSet,
    PartitionChanged,
    PartitionCreated,
    ProducerIdsGiven,
    RequestRemembered,
    TopicCreated,
    TopicDeletionBegun,
    TopicRemoved,
)
from framework.evidence.systems import ImageForm

Key: TypeAlias = tuple[str, int]
"""(topic id, partition)."""
Rule: TypeAlias = tuple[int, str | None, int, str, str, int, int]
EntityKey: TypeAlias = tuple[str, *tuple[object, ...]]
"""What kind of entity, and which one: ("broker", id), ("topic", id), ("partition", topic id,
number), ("config", resource type, resource, name), ("access", the rule's fields...), ("feature",
name), ("producer ids",), ("request", id)."""


@dataclass(slots=True)
class Broker:
    """A registration. `activated`: it was unfenced under this epoch, now or earlier; `leaving`: it
    is about to end."""

    epoch: int
    process: str | None
    end_points: Sequence[EndPoint]
    rack: str | None
    fenced: bool
    activated: bool
    leaving: bool


@dataclass(slots=True)
class Topic:
    name: str
    partitions: int = 0
    deleting: bool = False


@dataclass(frozen=True, slots=True)
class Partition:
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    version: int
    removing: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    eligible: tuple[int, ...] | None = None
    last_eligible: tuple[int, ...] = ()


@dataclass(slots=True)
class Replay:
    """State below `end`. `form`: how the nodes' images are made; where that is not known, answers
    of requests are not kept. `requests`: id -> (number, answer in hex), oldest first, of
    `request_bytes` in all. `configs`: (resource type, name) -> values. `touched`: the entities
    that may have changed since somebody cleared it."""

    form: ImageForm | None = None
    end: int = 0
    brokers: dict[int, Broker] = field(default_factory=dict)
    topics: dict[str, Topic] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    partitions: dict[Key, Partition] = field(default_factory=dict)
    configs: dict[tuple[int, str], dict[str, str]] = field(default_factory=dict)
    rules: set[Rule] = field(default_factory=set)
    features: dict[str, int] = field(default_factory=dict)
    next_producer_id: int = 0
    requests: dict[str, tuple[int, str]] = field(default_factory=dict)
    request_bytes: int = 0
    last_request: int = -1
    touched: set[EntityKey] = field(default_factory=set)

    def live(self, broker_id: int) -> bool:
        """Registered, and not fenced."""
        broker = self.brokers.get(broker_id)
        return broker is not None and not broker.fenced

    def feed(self, change: Change) -> None:
        """Take in the next change."""
        self.end = change.offset + 1
        take = _TAKES.get(type(change))
        if take is not None:
            take(self, change)


def _register(state: Replay, change: BrokerRegistered) -> None:
    state.touched.add(("broker", change.broker_id))
    state.brokers[change.broker_id] = Broker(
        epoch=change.broker_epoch,
        process=change.process,
        end_points=change.end_points,
        rack=change.rack,
        fenced=change.fenced,
        activated=not change.fenced,
        leaving=change.leaving,
    )


def _unregister(state: Replay, change: BrokerUnregistered) -> None:
    state.touched.add(("broker", change.broker_id))
    state.brokers.pop(change.broker_id, None)


def _fence(state: Replay, change: BrokerFenced) -> None:
    broker = state.brokers.get(change.broker_id)
    if broker is not None and broker.epoch == change.broker_epoch:
        broker.fenced = True
        state.touched.add(("broker", change.broker_id))


def _unfence(state: Replay, change: BrokerUnfenced) -> None:
    broker = state.brokers.get(change.broker_id)
    if broker is not None and broker.epoch == change.broker_epoch:
        broker.fenced, broker.activated = False, True
        state.touched.add(("broker", change.broker_id))


def _leave(state: Replay, change: BrokerLeaving) -> None:
    broker = state.brokers.get(change.broker_id)
    if broker is not None and broker.epoch == change.broker_epoch:
        broker.leaving = True


def _topic(state: Replay, change: TopicCreated) -> None:
    state.touched.add(("topic", change.topic_id))
    state.topics[change.topic_id] = Topic(change.name)
    state.names[change.name] = change.topic_id


def _begin_deletion(state: Replay, change: TopicDeletionBegun) -> None:
    state.touched.add(("topic", change.topic_id))
    if change.topic_id in state.topics:
        state.topics[change.topic_id].deleting = True


def _remove_topic(state: Replay, change: TopicRemoved) -> None:
    topic_id = change.topic_id
    topic = state.topics.pop(topic_id, None)
    if topic is None:
        return
    state.touched.add(("topic", topic_id))
    for number in range(topic.partitions):
        state.partitions.pop((topic_id, number), None)
        state.touched.add(("partition", topic_id, number))
    if state.names.get(topic.name) == topic_id:
        del state.names[topic.name]
        for name in state.configs.pop((TOPIC_RESOURCE, topic.name), {}):
            state.touched.add(("config", TOPIC_RESOURCE, topic.name, name))


def _partition(state: Replay, change: PartitionCreated) -> None:
    topic = state.topics.get(change.topic_id)
    if topic is None:
        return
    topic.partitions = max(topic.partitions, change.partition + 1)
    state.touched.add(("partition", *change.key))
    state.partitions[change.key] = Partition(
        replicas=change.replicas,
        isr=change.isr,
        leader=change.leader,
        leader_epoch=change.leader_epoch,
        version=change.partition_epoch,
        removing=change.removing,
        adding=change.adding,
        eligible=change.eligible,
        last_eligible=change.last_eligible,
    )


def _isr_change(state: Replay, change: PartitionChanged) -> None:
    before = state.partitions.get(change.key)
    if before is None:
        return
    state.touched.add(("partition", *change.key))
    state.partitions[change.key] = replace(
        before,
        isr=change.isr,
        leader=change.leader,
        leader_epoch=change.leader_epoch,
        version=change.partition_epoch,
        eligible=change.eligible,
        last_eligible=change.last_eligible,
    )


def _forget(state: Replay, change: EligibleForgotten) -> None:
    """A version of its own, of each partition that had any, or had had."""
    for key, partition in state.partitions.items():
        named = change.topic is None or state.names.get(change.topic) == key[0]
        if named and (partition.eligible or partition.last_eligible):
            state.touched.add(("partition", *key))
            state.partitions[key] = replace(
                partition, eligible=(), last_eligible=(), version=partition.version + 1
            )


def _config(state: Replay, change: ConfigSet) -> None:
    key = (change.resource_type, change.resource)
    state.touched.add(("config", *key, change.name))
    values = state.configs.setdefault(key, {})
    if change.value is None:
        values.pop(change.name, None)
    else:
        values[change.name] = change.value
    if not values:
        del state.configs[key]


def rule_of(change: AccessRule) -> Rule:
    """An access rule's fields, in the order of its change."""
    return (
        change.resource_type,
        change.resource,
        change.pattern_type,
        change.principal,
        change.host,
        change.operation,
        change.permission,
    )


def _add_rule(state: Replay, change: AccessRuleAdded) -> None:
    state.rules.add(rule_of(change))
    state.touched.add(("access", *rule_of(change)))


def _remove_rule(state: Replay, change: AccessRuleRemoved) -> None:
    state.rules.discard(rule_of(change))
    state.touched.add(("access", *rule_of(change)))


def _feature(state: Replay, change: FeatureSet) -> None:
    state.touched.add(("feature", change.name))
    if change.level:
        state.features[change.name] = change.level
    else:
        state.features.pop(change.name, None)


def _producer_ids(state: Replay, change: ProducerIdsGiven) -> None:
    state.next_producer_id = change.next_producer_id
    state.touched.add(("producer ids",))


def _request(state: Replay, change: RequestRemembered) -> None:
    if state.form is None:
        return
    state.last_request += 1
    state.requests[change.request_id] = (state.last_request, change.answer)
    state.request_bytes += len(change.answer) // 2
    state.touched.add(("request", change.request_id))
    while len(state.requests) > 1 and (
        len(state.requests) > state.form.remembered
        or state.request_bytes > state.form.remembered_bytes
    ):
        oldest = next(iter(state.requests))
        state.request_bytes -= len(state.requests.pop(oldest)[1]) // 2
        state.touched.add(("request", oldest))


_TAKES: Final[Mapping[type[Change], Callable[[Replay, Any], None]]] = {
    BrokerRegistered: _register,
    BrokerUnregistered: _unregister,
    BrokerFenced: _fence,
    BrokerUnfenced: _unfence,
    BrokerLeaving: _leave,
    TopicCreated: _topic,
    TopicDeletionBegun: _begin_deletion,
    TopicRemoved: _remove_topic,
    PartitionCreated: _partition,
    PartitionChanged: _isr_change,
    EligibleForgotten: _forget,
    ConfigSet: _config,
    AccessRuleAdded: _add_rule,
    AccessRuleRemoved: _remove_rule,
    FeatureSet: _feature,
    ProducerIdsGiven: _producer_ids,
    RequestRemembered: _request,
}


def name_of(key: Key) -> str:
    """A partition's, in findings."""
    return f"{key[0]}/{key[1]}"


def states(
    log: CommittedLog, offsets: Iterable[int], form: ImageForm | None = None
) -> Iterator[tuple[int, Replay]]:
    """The state at each of these end offsets that the log reaches, in order. It is one object
    that goes on changing: look at it before asking for the next."""
    state = Replay(form=form)
    for offset in sorted(set(offsets)):
        if offset > len(log.records):
            return
        while state.end < offset:
            state.feed(log.records[state.end])
        yield offset, state
