"""The metadata that a log makes, replayed from `apply` events.

Written apart from the node, on plain JSON values, so that a mistake in its image cannot hide
itself. The replay takes every record as it comes and complains of nothing: what is wrong with a
record is for `log_invariants` to say.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from checkers.kernels.evidence import NodeEvent, finding, record_of
from framework.plugins.checker import Finding

NO_LEADER: Final = -1
TOPIC_RESOURCE: Final = 2
REMEMBERED_REQUESTS: Final = 10_000
REMEMBERED_BYTES: Final = 8 * 2**20
"""Answers of requests are remembered up to these bounds, the newest one always."""
NIL: Final = "00000000-0000-0000-0000-000000000000"

Key: TypeAlias = tuple[str, int]
"""(topic id, partition)."""
EntityKey: TypeAlias = tuple[Any, ...]
"""What kind of entity, and which one: ("broker", id), ("topic", id), ("partition", topic id,
number), ("config", resource type, resource, name), ("access", the rule's fields...), ("feature",
name), ("producer ids",), ("request", id)."""


@dataclass(slots=True)
class Broker:
    """A registration. `activated`: it was unfenced under this epoch, now or earlier."""

    epoch: int
    incarnation: str
    end_points: Sequence[Mapping[str, Any]]
    rack: str | None
    fenced: bool = True
    activated: bool = False


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


@dataclass(slots=True)
class Replay:
    """State below `end`. `requests`: id -> (number, answer in hex), oldest first, of
    `request_bytes` in all. `configs`: (resource type, name) -> values. `touched`: the entities
    that may have changed since somebody cleared it."""

    end: int = 0
    brokers: dict[int, Broker] = field(default_factory=dict)
    topics: dict[str, Topic] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    partitions: dict[Key, Partition] = field(default_factory=dict)
    configs: dict[tuple[int, str], dict[str, str]] = field(default_factory=dict)
    rules: set[tuple[Any, ...]] = field(default_factory=set)
    features: dict[str, int] = field(default_factory=dict)
    next_producer_id: int = 0
    requests: dict[str, tuple[int, str]] = field(default_factory=dict)
    request_bytes: int = 0
    last_request: int = -1
    touched: set[EntityKey] = field(default_factory=set)

    def entities(self) -> int:
        """How many records the smallest snapshot of this state has (A.1.38): one an entity."""
        return (
            len(self.brokers)
            + len(self.topics)
            + len(self.partitions)
            + sum(len(values) for values in self.configs.values())
            + len(self.rules)
            + len(self.features)
            + bool(self.next_producer_id)
            + len(self.requests)
        )

    def live(self, broker_id: int) -> bool:
        """Registered, and not fenced."""
        broker = self.brokers.get(broker_id)
        return broker is not None and not broker.fenced

    def feed(self, event: NodeEvent) -> None:
        """Take in the record of an `apply` event."""
        self.end = int(event.fields["offset"]) + 1
        take = _TAKES.get(str(event.fields.get("kind")))
        if take is not None:
            take(self, record_of(event))


def _register(state: Replay, record: Mapping[str, Any]) -> None:
    state.touched.add(("broker", record["broker_id"]))
    state.brokers[record["broker_id"]] = Broker(
        epoch=record["broker_epoch"],
        incarnation=record.get("incarnation_id") or NIL,
        end_points=record.get("end_points") or (),
        rack=record.get("rack"),
    )


def _fence(state: Replay, record: Mapping[str, Any]) -> None:
    broker = state.brokers.get(record["broker_id"])
    if broker is not None and broker.epoch == record["broker_epoch"]:
        broker.fenced = True
        state.touched.add(("broker", record["broker_id"]))


def _unfence(state: Replay, record: Mapping[str, Any]) -> None:
    broker = state.brokers.get(record["broker_id"])
    if broker is not None and broker.epoch == record["broker_epoch"]:
        broker.fenced, broker.activated = False, True
        state.touched.add(("broker", record["broker_id"]))


def _topic(state: Replay, record: Mapping[str, Any]) -> None:
    topic_id = str(record["topic_id"])
    state.touched.add(("topic", topic_id))
    if record.get("deleting"):
        if topic_id in state.topics:
            state.topics[topic_id].deleting = True
        return
    state.topics[topic_id] = Topic(record["name"])
    state.names[record["name"]] = topic_id


def _remove_topic(state: Replay, record: Mapping[str, Any]) -> None:
    topic_id = str(record["topic_id"])
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


def _partition(state: Replay, record: Mapping[str, Any]) -> None:
    topic_id, number = str(record["topic_id"]), record["partition_id"]
    topic = state.topics.get(topic_id)
    if topic is None:
        return
    topic.partitions = max(topic.partitions, number + 1)
    state.touched.add(("partition", topic_id, number))
    state.partitions[topic_id, number] = Partition(
        replicas=tuple(record.get("replicas") or record["isr"]),
        isr=tuple(record["isr"]),
        leader=record["leader"],
        leader_epoch=record["leader_epoch"],
        version=record["partition_epoch"],
        removing=tuple(record.get("removing_replicas") or ()),
        adding=tuple(record.get("adding_replicas") or ()),
    )


def _isr_change(state: Replay, record: Mapping[str, Any]) -> None:
    key = (str(record["topic_id"]), record["partition_id"])
    before = state.partitions.get(key)
    if before is None:
        return
    state.touched.add(("partition", *key))
    state.partitions[key] = Partition(
        replicas=before.replicas,
        isr=tuple(record["isr"]),
        leader=record["leader"],
        leader_epoch=record["leader_epoch"],
        version=record["partition_epoch"],
        removing=before.removing,
        adding=before.adding,
    )


def _config(state: Replay, record: Mapping[str, Any]) -> None:
    key = (record["resource_type"], record["resource_name"])
    state.touched.add(("config", *key, record["name"]))
    values = state.configs.setdefault(key, {})
    if record.get("value") is None:
        values.pop(record["name"], None)
    else:
        values[record["name"]] = record["value"]
    if not values:
        del state.configs[key]


_RULE: Final = (
    "resource_type",
    "resource_name",
    "pattern_type",
    "principal",
    "host",
    "operation",
    "permission_type",
)


def rule_of(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """An access rule's fields, in the order of its record."""
    return tuple(record[name] for name in _RULE)


def _add_rule(state: Replay, record: Mapping[str, Any]) -> None:
    state.rules.add(rule_of(record))
    state.touched.add(("access", *rule_of(record)))


def _remove_rule(state: Replay, record: Mapping[str, Any]) -> None:
    state.rules.discard(rule_of(record))
    state.touched.add(("access", *rule_of(record)))


def _feature(state: Replay, record: Mapping[str, Any]) -> None:
    state.touched.add(("feature", record["name"]))
    if record["feature_level"]:
        state.features[record["name"]] = record["feature_level"]
    else:
        state.features.pop(record["name"], None)


def _producer_ids(state: Replay, record: Mapping[str, Any]) -> None:
    state.next_producer_id = record["next_producer_id"]
    state.touched.add(("producer ids",))


def _request(state: Replay, record: Mapping[str, Any]) -> None:
    request_id, answer = str(record["request_id"]), record["answer"]
    state.last_request += 1
    state.requests[request_id] = (state.last_request, answer)
    state.request_bytes += len(answer) // 2
    state.touched.add(("request", request_id))
    while len(state.requests) > 1 and (
        len(state.requests) > REMEMBERED_REQUESTS or state.request_bytes > REMEMBERED_BYTES
    ):
        oldest = next(iter(state.requests))
        state.request_bytes -= len(state.requests.pop(oldest)[1]) // 2
        state.touched.add(("request", oldest))


_TAKES: Final = {
    "BrokerRecord": _register,
    "FenceBrokerRecord": _fence,
    "UnfenceBrokerRecord": _unfence,
    "TopicRecord": _topic,
    "RemoveTopicRecord": _remove_topic,
    "PartitionRecord": _partition,
    "IsrChangeRecord": _isr_change,
    "ConfigRecord": _config,
    "AccessControlRecord": _add_rule,
    "RemoveAccessControlRecord": _remove_rule,
    "FeatureLevelRecord": _feature,
    "ProducerIdsRecord": _producer_ids,
    "RequestRecord": _request,
}


@dataclass(frozen=True, slots=True)
class Log:
    """What nodes applied, put together. `records` have the offsets 0.. without a gap; `gap` is
    the first offset of which nobody tells although later ones are told (None: there is none).
    `first_ns`: when somebody first applied each of `records`."""

    records: Sequence[NodeEvent]
    first_ns: Sequence[int]
    gap: int | None
    conflicts: Sequence[Finding]

    def at(self, offset: int) -> NodeEvent | None:
        return self.records[offset] if 0 <= offset < len(self.records) else None

    def states(self, offsets: Iterable[int]) -> Iterator[tuple[int, Replay]]:
        """The state at each of these end offsets that the log reaches, in order. It is one
        object that goes on changing: look at it before asking for the next."""
        state = Replay()
        for offset in sorted(set(offsets)):
            if offset > len(self.records):
                return
            while state.end < offset:
                state.feed(self.records[state.end])
            yield offset, state


def committed_log(applies: Iterable[NodeEvent]) -> Log:
    """The log that `apply` events tell. Where nodes disagree on an offset, the first one's word
    counts, in the order of the evidence, and the disagreement is a finding."""
    by_offset: dict[int, NodeEvent] = {}
    times: dict[int, int] = {}
    conflicts: dict[int, Finding] = {}
    for event in applies:
        offset = event.fields["offset"]
        times[offset] = min(event.time_ns, times.get(offset, event.time_ns))
        known = by_offset.setdefault(offset, event)
        if known is not event and offset not in conflicts and _differ(known, event):
            conflicts[offset] = finding(
                f"{known.node} and {event.node} applied different records at offset {offset}: "
                f"{_named(known)} and {_named(event)}",
                events=[known, event],
            )
    end = 0
    while end in by_offset:
        end += 1
    beyond = any(offset > end for offset in by_offset)
    return Log(
        [by_offset[offset] for offset in range(end)],
        [times[offset] for offset in range(end)],
        end if beyond else None,
        [conflicts[offset] for offset in sorted(conflicts)],
    )


def _differ(one: NodeEvent, other: NodeEvent) -> bool:
    return one.fields != other.fields


def _named(event: NodeEvent) -> str:
    return f"{event.fields.get('kind')} of epoch {event.fields.get('epoch')}"
