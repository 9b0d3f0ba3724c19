"""The image as the fewest records that make it, and back: one record an entity (A.1.38).

A snapshot's records are those of the log, but each tells all of its entity: a TopicRecord that
says `deleting` is a topic in that state, and two tagged fields carry what in the log other
records tell - a broker's state in BrokerRecord, a request's number in RequestRecord. The
answers of remembered requests are part of the state, and so of the snapshot.
"""

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from immutables import Map
from kio.static.primitive import i8, i16, i64

from nodes.kraft.ids import NO_EPOCH, BrokerId, PartitionIndex
from nodes.kraft.metadata.entities import (
    AccessRule,
    Broker,
    DuplicateEntity,
    InvalidRecord,
    Partition,
    PartitionKey,
    Topic,
    UnknownEntity,
    broker_of,
    partition_of,
    rule_of,
)
from nodes.kraft.metadata.features import format_level
from nodes.kraft.metadata.image import NO_LEADER, Image
from nodes.kraft.metadata.indexes import indexed
from nodes.kraft.metadata.records import decode_record, encode_record
from nodes.kraft.wire import records as wire
from nodes.kraft.wire.heartbeats import BrokerState

Key = TypeVar("Key")
Value = TypeVar("Value")


def records_of(image: Image) -> Iterator[bytes]:
    """The records' values in a fixed order and in the image's own `metadata.format`: equal
    images give equal bytes."""
    level = format_level(image)
    return (encode_record(record, level) for record in entities(image))


def entities(image: Image) -> Iterator[wire.Record]:
    """The records themselves: features, brokers, topics with their partitions, the rest."""
    for name, level in sorted(image.features.items()):
        yield wire.FeatureLevelRecord(name=name, feature_level=i16(level))
    for broker_id in sorted(image.brokers):
        yield _broker(image.brokers[broker_id])
    for topic_id in sorted(image.topics, key=lambda each: each.int):
        topic = image.topics[topic_id]
        yield wire.TopicRecord(name=topic.name, topic_id=topic_id, deleting=topic.deleting)
        for number in topic.indexes():
            yield _partition(topic_id, number, image.partitions[topic_id, number])
    for (resource_type, resource_name), values in sorted(image.configs.items()):
        for name, value in sorted(values.items()):
            yield wire.ConfigRecord(
                resource_type=i8(resource_type),
                resource_name=resource_name,
                name=name,
                value=value,
            )
    for rule in sorted(image.access_rules, key=_rule_key):
        yield _rule(rule)
    if image.next_producer_id:
        yield wire.ProducerIdsRecord(
            broker_id=NO_LEADER,
            broker_epoch=NO_EPOCH,
            next_producer_id=i64(image.next_producer_id),
        )
    yield from _requests(image)


def _broker(broker: Broker) -> wire.BrokerRecord:
    return wire.BrokerRecord(
        broker_id=broker.broker_id,
        broker_epoch=broker.epoch,
        end_points=tuple(
            wire.EndPoint(
                name=point.name,
                host=point.host,
                port=point.port,
                security_protocol=point.security_protocol,
            )
            for point in broker.end_points
        ),
        rack=broker.rack,
        incarnation_id=broker.incarnation_id,
        state=i8(broker.state),
    )


def _partition(
    topic_id: uuid.UUID, number: PartitionIndex, partition: Partition
) -> wire.PartitionRecord:
    return wire.PartitionRecord(
        partition_id=number,
        topic_id=topic_id,
        replicas=partition.replicas,
        isr=partition.isr,
        removing_replicas=partition.removing_replicas,
        adding_replicas=partition.adding_replicas,
        leader=partition.leader,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
    )


def _rule_key(rule: AccessRule) -> tuple[object, ...]:
    return (
        rule.resource_type,
        rule.resource_name is not None,
        rule.resource_name or "",
        rule.pattern_type,
        rule.principal,
        rule.host,
        rule.operation,
        rule.permission_type,
    )


def _rule(rule: AccessRule) -> wire.AccessControlRecord:
    return wire.AccessControlRecord(
        resource_type=i8(rule.resource_type),
        resource_name=rule.resource_name,
        pattern_type=i8(rule.pattern_type),
        principal=rule.principal,
        host=rule.host,
        operation=i8(rule.operation),
        permission_type=i8(rule.permission_type),
    )


def _requests(image: Image) -> Iterator[wire.RequestRecord]:
    first = image.first_request
    for number in range(first, first + len(image.request_order)):
        request_id = image.request_order[number]
        yield wire.RequestRecord(
            request_id=request_id,
            answer=image.requests[request_id],
            number=i64(number if number == first else -1),
        )


# --- and back -----------------------------------------------------------------------------


def image_of(records: Iterable[bytes]) -> Image:
    """The image that a snapshot's records make.

    Raises `ImageError` where they describe no state (two records of one entity, an entity of
    an unknown topic), `RecordError` where a value is no record that this software knows.
    """
    builder = _Builder()
    for value in records:
        builder.add(decode_record(value))
    return builder.image()


class _Builder:
    """Gathers a snapshot's entities in plain dictionaries: `apply`, which leaves the image
    before it valid, would cost far more for a hundred thousand of them."""

    def __init__(self) -> None:
        self._brokers: dict[BrokerId, Broker] = {}
        self._topics: dict[uuid.UUID, tuple[str, bool]] = {}
        self._sizes: dict[uuid.UUID, int] = {}
        self._partitions: dict[PartitionKey, Partition] = {}
        self._configs: dict[tuple[int, str], dict[str, str]] = {}
        self._rules: dict[AccessRule, None] = {}
        self._features: dict[str, int] = {}
        self._requests: dict[uuid.UUID, bytes] = {}
        self._first_request = 0
        self._next_producer_id = 0

    def add(self, record: wire.Record) -> None:
        match record:
            case wire.PartitionRecord():
                self._add_partition(record)
            case wire.TopicRecord():
                if record.topic_id is None:
                    raise InvalidRecord(f"topic {record.name} has no id")
                _put(self._topics, record.topic_id, (record.name, record.deleting))
                self._sizes[record.topic_id] = 0
            case wire.BrokerRecord():
                _put(self._brokers, record.broker_id, _broker_in_its_state(record))
            case wire.ConfigRecord(value=str(value)):
                key = (int(record.resource_type), record.resource_name)
                _put(self._configs.setdefault(key, {}), record.name, value)
            case wire.AccessControlRecord():
                _put(self._rules, rule_of(record), None)
            case wire.FeatureLevelRecord():
                _put(self._features, record.name, int(record.feature_level))
            case wire.ProducerIdsRecord() if not self._next_producer_id:
                self._next_producer_id = int(record.next_producer_id)
            case wire.RequestRecord():
                self._add_request(record)
            case _:
                raise InvalidRecord(f"{type(record).__name__} in a snapshot: {record}")

    def _add_partition(self, record: wire.PartitionRecord) -> None:
        topic_id = record.topic_id
        number = record.partition_id
        if topic_id is None or topic_id not in self._topics:
            raise UnknownEntity(f"topic id {topic_id}")
        if number != self._sizes[topic_id]:
            raise InvalidRecord(f"partition {number} of {topic_id} out of order or twice")
        self._sizes[topic_id] = number + 1
        self._partitions[topic_id, number] = partition_of(record, str(topic_id))

    def _add_request(self, record: wire.RequestRecord) -> None:
        if record.request_id is None:
            raise InvalidRecord("a request record without a request id")
        if not self._requests:
            self._first_request = max(int(record.number), 0)
        elif record.number != -1:
            raise InvalidRecord("a request with a number that is not the first one")
        _put(self._requests, record.request_id, record.answer)

    def image(self) -> Image:
        topics = {
            topic_id: Topic(name, topic_id, self._sizes[topic_id], deleting)
            for topic_id, (name, deleting) in self._topics.items()
        }
        names: dict[str, uuid.UUID] = {}
        for topic in topics.values():
            _put(names, topic.name, topic.topic_id)
        bare = Image(
            brokers=Map(self._brokers),
            topics=Map(topics),
            topic_ids=Map(names),
            partitions=Map(self._partitions),
            configs=Map({key: Map(values) for key, values in self._configs.items()}),
            access_rules=Map(self._rules),
            requests=Map(self._requests),
            request_order=Map(enumerate(self._requests, self._first_request)),
            first_request=self._first_request,
            next_producer_id=self._next_producer_id,
            features=Map(self._features),
        )
        return indexed(bare)


def _broker_in_its_state(record: wire.BrokerRecord) -> Broker:
    state = BrokerState(record.state)
    if state not in (BrokerState.INITIAL, BrokerState.FENCED, BrokerState.ACTIVE):
        raise InvalidRecord(f"broker {record.broker_id} in state {record.state}")
    fenced, activated = state != BrokerState.ACTIVE, state != BrokerState.INITIAL
    return replace(broker_of(record), fenced=fenced, activated=activated)


def _put(entities: dict[Key, Value], key: Key, value: Value) -> None:
    if key in entities:
        raise DuplicateEntity(f"two records of {key}")
    entities[key] = value
