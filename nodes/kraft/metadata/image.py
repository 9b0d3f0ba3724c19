"""The state that the metadata log makes, as one immutable value.

`apply(image, record, offset)` is total and strict: a record that does not fit the state raises
`ImageError` and changes nothing. The active controller applies its records before it appends
them, so such a record on the log means a defect, and a node that met one must stop rather than
guess. Maps are persistent (hash array mapped tries): a change costs O(log n) and old images
stay valid, which is what lets the controller be ahead of the committed state.
"""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Final, TypeAlias, cast

from immutables import Map

from nodes.kraft.ids import BrokerEpoch, BrokerId, Offset
from nodes.kraft.metadata import checksums
from nodes.kraft.metadata.entities import (
    EVERY_RESOURCE,
    NO_LEADER,
    TOPIC_RESOURCE,
    AccessRule,
    Broker,
    ConfigKey,
    DuplicateEntity,
    EndPoint,
    ImageError,
    InvalidRecord,
    Partition,
    PartitionKey,
    RuleKey,
    StaleRecord,
    Topic,
    UnknownEntity,
    broker_of,
    metric_name,
    rule_of,
)
from nodes.kraft.metadata.partition_edit import PartitionEdit
from nodes.kraft.wire import records as wire
from nodes.kraft.wire.heartbeats import BrokerState

__all__ = [
    "EMPTY",
    "EVERY_RESOURCE",
    "NO_LEADER",
    "TOPIC_RESOURCE",
    "AccessRule",
    "Broker",
    "ConfigKey",
    "DuplicateEntity",
    "EndPoint",
    "Image",
    "ImageError",
    "InvalidRecord",
    "Partition",
    "PartitionKey",
    "RuleKey",
    "StaleRecord",
    "Topic",
    "UnknownEntity",
    "apply",
    "apply_all",
    "metric_name",
]

Edit: TypeAlias = (
    wire.TopicRecord | wire.PartitionRecord | wire.IsrChangeRecord | wire.ReassignmentRecord
)
"""Records that are applied many at a time: new topics, and all that is about partitions."""

REMEMBERED_REQUESTS: Final = 10_000
REMEMBERED_BYTES: Final = 8 * 2**20
"""Answers of forwarded requests are remembered up to these bounds, the newest one always."""


@dataclass(frozen=True, slots=True)
class Image:
    """All metadata below some offset.

    Indexes of `partitions`: `in_sync` (broker id to the partitions that have it in their ISR),
    `led` (broker id to how many it leads), `leaderless`, `reassigning` (their replicas are being
    changed). Of `access_rules`: `rules_by_key`. Of
    `topic_ids`: `metric_names`, the topics with a '.' or '_' by their names in metrics.
    `requests` holds the answers of the latest forwarded requests (`request_bytes` in all), by
    request id; `request_order` their ids by number, oldest `first_request`. `checksum` is the
    sum of the checksums of all entities (see `checksums.py`).
    """

    brokers: Map[BrokerId, Broker] = field(default_factory=Map)
    topics: Map[uuid.UUID, Topic] = field(default_factory=Map)
    topic_ids: Map[str, uuid.UUID] = field(default_factory=Map)
    partitions: Map[PartitionKey, Partition] = field(default_factory=Map)
    in_sync: Map[BrokerId, Map[PartitionKey, None]] = field(default_factory=Map)
    led: Map[BrokerId, int] = field(default_factory=Map)
    leaderless: Map[PartitionKey, None] = field(default_factory=Map)
    reassigning: Map[PartitionKey, None] = field(default_factory=Map)
    configs: Map[ConfigKey, Map[str, str]] = field(default_factory=Map)
    access_rules: Map[AccessRule, None] = field(default_factory=Map)
    rules_by_key: Map[RuleKey, Map[AccessRule, None]] = field(default_factory=Map)
    metric_names: Map[str, str] = field(default_factory=Map)
    requests: Map[uuid.UUID, bytes] = field(default_factory=Map)
    request_order: Map[int, uuid.UUID] = field(default_factory=Map)
    first_request: int = 0
    request_bytes: int = 0
    next_producer_id: int = 0
    features: Map[str, int] = field(default_factory=Map)
    checksum: int = 0

    def topic(self, name: str) -> Topic | None:
        """The topic of that name."""
        topic_id = self.topic_ids.get(name)
        return None if topic_id is None else self.topics[topic_id]

    def partitions_in_sync(self, broker_id: BrokerId) -> list[PartitionKey]:
        """The partitions that have the broker in their ISR, in no order that means anything."""
        return list(self.in_sync.get(broker_id, ()))

    def leads(self, broker_id: BrokerId) -> int:
        """How many partitions the broker leads."""
        return self.led.get(broker_id, 0)


EMPTY: Final = Image()


def apply(image: Image, record: wire.Record, offset: Offset) -> Image:
    """The image with the record at `offset` applied. Raises `ImageError`."""
    match record:
        case wire.BrokerRecord():
            return _register(image, record, offset)
        case wire.FenceBrokerRecord():
            return _set_fenced(image, record.broker_id, record.broker_epoch, fenced=True)
        case wire.UnfenceBrokerRecord():
            return _set_fenced(image, record.broker_id, record.broker_epoch, fenced=False)
        case wire.UnregisterBrokerRecord():
            return _unregister(image, record)
        case wire.TopicRecord(deleting=False) | wire.PartitionRecord():
            return _edited(image, (record,))
        case wire.IsrChangeRecord() | wire.ReassignmentRecord():
            return _edited(image, (record,))
        case wire.TopicRecord():
            return _mark_deleting(image, record)
        case wire.RemoveTopicRecord():
            return _remove_topic(image, record)
        case wire.ConfigRecord():
            return _set_config(image, record)
        case wire.AccessControlRecord():
            return _add_rule(image, record)
        case wire.FeatureLevelRecord():
            return _finalize_feature(image, record)
        case wire.ProducerIdsRecord():
            return _take_producer_ids(image, record)
        case wire.RemoveAccessControlRecord():
            return _remove_rule(image, record)
        case wire.RequestRecord():
            return _remember_request(image, record)
        case wire.NoOpRecord():
            return image


def apply_all(image: Image, records: Iterable[wire.Record], base_offset: Offset) -> Image:
    """The image with records applied, the first one being at `base_offset`: what `apply` makes
    of them one by one, but faster. Raises `ImageError`."""
    offset = base_offset
    for is_edit, some in groupby(records, _is_edit):
        if is_edit:
            edits = list(some)
            image = _edited(image, cast(list[Edit], edits))
            offset = Offset(offset + len(edits))
            continue
        for record in some:
            image = apply(image, record, offset)
            offset = Offset(offset + 1)
    return image


def _is_edit(record: wire.Record) -> bool:
    if isinstance(record, wire.TopicRecord):
        return not record.deleting
    return isinstance(record, wire.PartitionRecord | wire.IsrChangeRecord | wire.ReassignmentRecord)


# --- brokers ------------------------------------------------------------------------------


def _register(image: Image, record: wire.BrokerRecord, offset: Offset) -> Image:
    previous = image.brokers.get(record.broker_id)
    if record.broker_epoch > offset:
        raise StaleRecord(f"broker epoch {record.broker_epoch} in a record at offset {offset}")
    if previous is not None and record.broker_epoch <= previous.epoch:
        raise StaleRecord(
            f"broker {record.broker_id}: epoch {record.broker_epoch} after {previous.epoch}"
        )
    if previous is not None and not previous.fenced:
        raise InvalidRecord(f"broker {record.broker_id} registers again while active")
    if BrokerState(record.state) != BrokerState.INITIAL:
        raise InvalidRecord(f"broker {record.broker_id} registers in state {record.state}")
    return _put_broker(image, broker_of(record))


def _set_fenced(image: Image, broker_id: BrokerId, epoch: BrokerEpoch, *, fenced: bool) -> Image:
    broker = _known_broker(image, broker_id, epoch)
    if broker.fenced == fenced:
        raise InvalidRecord(f"broker {broker_id} is {'fenced' if fenced else 'active'} already")
    activated = broker.activated or not fenced
    return _put_broker(image, replace(broker, fenced=fenced, activated=activated))


def _unregister(image: Image, record: wire.UnregisterBrokerRecord) -> Image:
    broker = _known_broker(image, record.broker_id, record.broker_epoch)
    if image.leads(broker.broker_id):
        raise InvalidRecord(f"broker {broker.broker_id} is unregistered, but leads partitions")
    return replace(
        image,
        brokers=image.brokers.delete(broker.broker_id),
        checksum=checksums.changed(image.checksum, checksums.of_broker(broker), 0),
    )


def _known_broker(image: Image, broker_id: BrokerId, epoch: BrokerEpoch) -> Broker:
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise UnknownEntity(f"broker {broker_id}")
    if broker.epoch != epoch:
        raise StaleRecord(f"broker {broker_id}: epoch {epoch}, registered {broker.epoch}")
    return broker


def _put_broker(image: Image, broker: Broker) -> Image:
    before = image.brokers.get(broker.broker_id)
    return replace(
        image,
        brokers=image.brokers.set(broker.broker_id, broker),
        checksum=checksums.changed(
            image.checksum, checksums.of_broker(before), checksums.of_broker(broker)
        ),
    )


# --- topics and partitions ----------------------------------------------------------------


def _known_topic(image: Image, topic_id: uuid.UUID | None) -> Topic:
    topic = None if topic_id is None else image.topics.get(topic_id)
    if topic is None:
        raise UnknownEntity(f"topic id {topic_id}")
    return topic


def _mark_deleting(image: Image, record: wire.TopicRecord) -> Image:
    topic = _known_topic(image, record.topic_id)
    if topic.name != record.name:
        raise InvalidRecord(f"topic id {topic.topic_id} is {topic.name}, not {record.name}")
    if topic.deleting:
        raise InvalidRecord(f"topic {topic.name} is being deleted already")
    after = replace(topic, deleting=True)
    checksum = checksums.changed(
        image.checksum, checksums.of_topic(topic), checksums.of_topic(after)
    )
    return replace(image, topics=image.topics.set(topic.topic_id, after), checksum=checksum)


def _remove_topic(image: Image, record: wire.RemoveTopicRecord) -> Image:
    topic = _known_topic(image, record.topic_id)
    if not topic.deleting:
        raise InvalidRecord(f"topic {topic.name} is removed, but was not being deleted")
    edit = _edit(image)
    edit.remove_all(topic)
    image = replace(image, **edit.fields())
    resource = (TOPIC_RESOURCE, topic.name)
    configs, checksum = image.configs, image.checksum
    if resource in configs:
        gone = sum(checksums.of_config(resource, *item) for item in configs[resource].items())
        configs, checksum = configs.delete(resource), checksums.changed(checksum, gone, 0)
    return replace(
        image,
        checksum=checksums.changed(checksum, checksums.of_topic(topic), 0),
        topics=image.topics.delete(topic.topic_id),
        topic_ids=image.topic_ids.delete(topic.name),
        metric_names=_without_metric_name(image.metric_names, topic.name),
        configs=configs,
    )


def _without_metric_name(names: Map[str, str], topic: str) -> Map[str, str]:
    same = metric_name(topic)
    return names.delete(same) if names.get(same) == topic else names


def _edit(image: Image) -> PartitionEdit:
    return PartitionEdit(
        topics=image.topics,
        topic_ids=image.topic_ids,
        metric_names=image.metric_names,
        partitions=image.partitions,
        in_sync=image.in_sync,
        led=image.led,
        leaderless=image.leaderless,
        reassigning=image.reassigning,
        checksum=image.checksum,
    )


def _edited(image: Image, records: Iterable[Edit]) -> Image:
    edit = _edit(image)
    for record in records:
        if isinstance(record, wire.PartitionRecord):
            edit.add(record)
        elif isinstance(record, wire.IsrChangeRecord):
            edit.change(record)
        elif isinstance(record, wire.ReassignmentRecord):
            edit.reassign(record)
        else:
            edit.add_topic(record)
    return replace(image, **edit.fields())


# --- configurations, access rules, requests -----------------------------------------------


def _set_config(image: Image, record: wire.ConfigRecord) -> Image:
    if record.resource_type == TOPIC_RESOURCE and record.resource_name not in image.topic_ids:
        raise UnknownEntity(f"topic {record.resource_name}")
    key = (int(record.resource_type), record.resource_name)
    values = image.configs.get(key, Map())
    checksum = checksums.changed(
        image.checksum,
        checksums.of_config(key, record.name, values.get(record.name)),
        checksums.of_config(key, record.name, record.value),
    )
    if record.value is not None:
        values = values.set(record.name, record.value)
    elif record.name in values:
        values = values.delete(record.name)
    else:
        raise UnknownEntity(f"config {record.name} of {key}")
    configs = image.configs.set(key, values) if values else image.configs.delete(key)
    return replace(image, configs=configs, checksum=checksum)


def _add_rule(image: Image, record: wire.AccessControlRecord) -> Image:
    rule = rule_of(record)
    if rule in image.access_rules:
        raise DuplicateEntity(f"access rule {rule}")
    same_key = image.rules_by_key.get(rule.key, Map()).set(rule, None)
    return replace(
        image,
        checksum=checksums.changed(image.checksum, 0, checksums.of_rule(rule)),
        access_rules=image.access_rules.set(rule, None),
        rules_by_key=image.rules_by_key.set(rule.key, same_key),
    )


def _remove_rule(image: Image, record: wire.RemoveAccessControlRecord) -> Image:
    rule = rule_of(record)
    if rule not in image.access_rules:
        raise UnknownEntity(f"access rule {rule}")
    rest = image.rules_by_key[rule.key].delete(rule)
    by_key = image.rules_by_key
    return replace(
        image,
        checksum=checksums.changed(image.checksum, checksums.of_rule(rule), 0),
        access_rules=image.access_rules.delete(rule),
        rules_by_key=by_key.set(rule.key, rest) if rest else by_key.delete(rule.key),
    )


def _take_producer_ids(image: Image, record: wire.ProducerIdsRecord) -> Image:
    if record.next_producer_id <= image.next_producer_id:
        raise StaleRecord(
            f"next producer id {record.next_producer_id} after {image.next_producer_id}"
        )
    checksum = checksums.changed(
        image.checksum,
        checksums.of_producer_ids(image.next_producer_id),
        checksums.of_producer_ids(record.next_producer_id),
    )
    return replace(image, next_producer_id=int(record.next_producer_id), checksum=checksum)


def _finalize_feature(image: Image, record: wire.FeatureLevelRecord) -> Image:
    level = image.features.get(record.name, 0)
    if record.feature_level <= level:
        raise StaleRecord(f"feature {record.name}: level {record.feature_level} after {level}")
    checksum = checksums.changed(
        image.checksum,
        checksums.of_feature(record.name, level),
        checksums.of_feature(record.name, record.feature_level),
    )
    features = image.features.set(record.name, int(record.feature_level))
    return replace(image, features=features, checksum=checksum)


def _remember_request(image: Image, record: wire.RequestRecord) -> Image:
    if record.request_id is None:
        raise InvalidRecord("a request record without a request id")
    if record.request_id in image.requests:
        raise DuplicateEntity(f"request id {record.request_id}")
    number = image.first_request + len(image.request_order)
    if record.number not in (-1, number):
        raise InvalidRecord(f"request {record.number}: the next one is {number}")
    requests = image.requests.set(record.request_id, record.answer)
    order = image.request_order.set(number, record.request_id)
    first = image.first_request
    new, old = checksums.of_request(number, record.request_id, record.answer), 0
    size = image.request_bytes + len(record.answer)
    while len(order) > 1 and (len(order) > REMEMBERED_REQUESTS or size > REMEMBERED_BYTES):
        size -= len(requests[order[first]])
        old += checksums.of_request(first, order[first], requests[order[first]])
        requests = requests.delete(order[first])
        order = order.delete(first)
        first += 1
    return replace(
        image,
        requests=requests,
        request_order=order,
        first_request=first,
        request_bytes=size,
        checksum=checksums.changed(image.checksum, old, new),
    )
