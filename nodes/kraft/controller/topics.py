"""CreateTopics, CreatePartitions, DeleteTopics: each topic on its own, all that succeed in one
batch.

Requests are judged on the speculative image, so the second create of a name whose first one is
not committed yet is refused (B.6); the answer waits until what it rests on is committed.
"""

from __future__ import annotations

import uuid
from collections import Counter
from typing import TYPE_CHECKING, Final

from kio.schema.errors import ErrorCode
from kio.static.primitive import i8, i16, i32
from kio.static.protocol import Entity, ResponsePayload

from nodes.kraft.controller.answers import (
    Refusal,
    blank,
    item_result,
    item_schema,
    items_response,
    schema_of,
    topics_to_delete,
)
from nodes.kraft.controller.config import ControllerConfig
from nodes.kraft.controller.configs import check_value
from nodes.kraft.controller.draws import Draws
from nodes.kraft.controller.elections import CanLead
from nodes.kraft.controller.naming import check_name
from nodes.kraft.controller.permission import Allows, may_create, require
from nodes.kraft.controller.placement import (
    MAX_PARTITIONS,
    Assignment,
    Replicas,
    assign,
    assign_more,
)
from nodes.kraft.controller.record_batch import RecordBatchBuilder
from nodes.kraft.ids import LeaderEpoch, PartitionEpoch, PartitionIndex
from nodes.kraft.metadata.config_keys import ConfigSource
from nodes.kraft.metadata.image import TOPIC_RESOURCE, Image, Topic
from nodes.kraft.security.authorizer import Operation, ResourceType
from nodes.kraft.wire.records import (
    ConfigRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

if TYPE_CHECKING:
    from nodes.kraft.wire.metadata_requests import (
        CreatableTopic,
        CreatePartitionsRequest,
        CreateTopicsRequest,
        DeleteTopicsRequest,
    )

FIRST_EPOCH: Final = 0


def create_topics(
    builder: RecordBatchBuilder,
    request: CreateTopicsRequest,
    config: ControllerConfig,
    draws: Draws,
    can_lead: CanLead,
    allows: Allows,
) -> ResponsePayload:
    """Decide a CreateTopics request; one that only validates adds no record."""
    judged = (
        RecordBatchBuilder(builder.image, builder.next_offset) if request.validate_only else builder
    )
    times = Counter(topic.name for topic in request.topics)
    results = []
    made = 0
    for topic in {topic.name: topic for topic in request.topics}.values():
        try:
            may_create(allows, topic.name)
            if times[topic.name] > 1:
                raise Refusal(ErrorCode.invalid_request, f"topic {topic.name} stands twice")
            check_name(judged.image, topic.name)
            for each in topic.configs:
                check_value(TOPIC_RESOURCE, each.name, each.value)
            assignment = assign(judged.image, topic, config, draws, can_lead)
            if made + len(assignment) > MAX_PARTITIONS:
                limit = f"one request may create {MAX_PARTITIONS} partitions"
                raise Refusal(ErrorCode.invalid_partitions, limit)
        except Refusal as refusal:
            results.append(item_result(request, name=topic.name, refusal=refusal))
            continue
        made += len(assignment)
        topic_id = draws.topic_id()
        _add_topic(judged, topic, topic_id, assignment, can_lead)
        shown_id = None if request.validate_only else topic_id
        may_read = allows(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, topic.name)
        results.append(_created(request, topic, shown_id, assignment, may_read))
    return items_response(request, results)


def _add_topic(
    builder: RecordBatchBuilder,
    topic: CreatableTopic,
    topic_id: uuid.UUID,
    assignment: Assignment,
    can_lead: CanLead,
) -> None:
    builder.add(TopicRecord(name=topic.name, topic_id=topic_id, deleting=False))
    for each in topic.configs:
        builder.add(
            ConfigRecord(
                resource_type=i8(TOPIC_RESOURCE),
                resource_name=topic.name,
                name=each.name,
                value=each.value,
            )
        )
    _add_partitions(builder, topic_id, 0, assignment, can_lead)


def _add_partitions(
    builder: RecordBatchBuilder,
    topic_id: uuid.UUID,
    first: int,
    assignment: Assignment,
    can_lead: CanLead,
) -> None:
    """The topic's partitions from number `first` on."""
    # Rows repeat: each is judged and checked once.
    rows: dict[Replicas, Replicas] = {}
    records = []
    for number, replicas in enumerate(assignment, first):
        if replicas not in rows:
            rows[replicas] = tuple(each for each in replicas if can_lead(builder.image, each))
        isr = rows[replicas]
        records.append(
            PartitionRecord(
                partition_id=PartitionIndex(number),
                topic_id=topic_id,
                replicas=replicas,
                isr=isr,
                leader=isr[0],
                leader_epoch=LeaderEpoch(FIRST_EPOCH),
                partition_epoch=PartitionEpoch(FIRST_EPOCH),
            )
        )
    builder.add_all(records)


def _created(
    request: CreateTopicsRequest,
    topic: CreatableTopic,
    topic_id: uuid.UUID | None,
    assignment: Assignment,
    may_read: bool,
) -> Entity:
    """`may_read`: whether the client may know the topic's configurations (KIP-525)."""
    if not may_read:
        return item_result(
            request,
            name=topic.name,
            topic_id=topic_id,
            topic_config_error_code=ErrorCode.topic_authorization_failed,
        )
    configs = None
    if request.__version__ >= 5:
        schema = item_schema(item_schema(schema_of(request), "topics"), "configs")
        values = {each.name: each.value for each in topic.configs}
        configs = tuple(
            blank(schema, name=name, value=value, config_source=i8(ConfigSource.TOPIC))
            for name, value in values.items()
        )
    return item_result(
        request,
        name=topic.name,
        topic_id=topic_id,
        num_partitions=i32(len(assignment)),
        replication_factor=i16(len(assignment[0])),
        configs=configs,
    )


def create_partitions(
    builder: RecordBatchBuilder, request: CreatePartitionsRequest, can_lead: CanLead, allows: Allows
) -> ResponsePayload:
    """Decide a CreatePartitions request: topics grow to a count, keeping what they have."""
    judged = (
        RecordBatchBuilder(builder.image, builder.next_offset) if request.validate_only else builder
    )
    times = Counter(topic.name for topic in request.topics)
    results = []
    made = 0
    for asked in {topic.name: topic for topic in request.topics}.values():
        refusal = None
        try:
            require(allows, Operation.ALTER, ResourceType.TOPIC, asked.name)
            if times[asked.name] > 1:
                raise Refusal(ErrorCode.invalid_request, f"topic {asked.name} stands twice")
            topic = _find(judged.image, asked.name, None)
            assignment = assign_more(judged.image, topic, asked, can_lead)
            if made + len(assignment) > MAX_PARTITIONS:
                limit = f"one request may create {MAX_PARTITIONS} partitions"
                raise Refusal(ErrorCode.invalid_partitions, limit)
            made += len(assignment)
            _add_partitions(judged, topic.topic_id, topic.partitions, assignment, can_lead)
        except Refusal as error:
            refusal = error
        results.append(item_result(request, name=asked.name, refusal=refusal))
    return items_response(request, results)


def delete_topics(
    builder: RecordBatchBuilder, request: DeleteTopicsRequest, allows: Allows
) -> ResponsePayload:
    """Decide a DeleteTopics request, by names or ids."""
    results = []
    before, deleted = builder.image, set()
    for name, topic_id in topics_to_delete(request):
        try:
            if name is not None and topic_id is None:
                require(allows, Operation.DELETE, ResourceType.TOPIC, name)
            topic = _find(before, name, topic_id)
            if name is None:
                _may_delete_by_id(allows, topic)
            if topic.topic_id in deleted:
                raise Refusal(ErrorCode.invalid_request, f"topic {topic.name} stands twice")
        except Refusal as refusal:
            results.append(item_result(request, name=name, topic_id=topic_id, refusal=refusal))
            continue
        deleted.add(topic.topic_id)
        _delete(builder, topic)
        results.append(item_result(request, name=topic.name, topic_id=topic.topic_id))
    return items_response(request, results)


def _may_delete_by_id(allows: Allows, topic: Topic) -> None:
    if not allows(Operation.DELETE, ResourceType.TOPIC, topic.name):
        # Without the name, which the client may not be meant to know.
        raise Refusal(ErrorCode.topic_authorization_failed, "not authorized: DELETE on TOPIC")


def _find(image: Image, name: str | None, topic_id: uuid.UUID | None) -> Topic:
    if (name is None) == (topic_id is None):
        raise Refusal(ErrorCode.invalid_request, "name the topic either by name or by id")
    if name is not None:
        topic = image.topic(name)
        if topic is None:
            raise Refusal(ErrorCode.unknown_topic_or_partition, f"there is no topic {name}")
        return topic
    assert topic_id is not None
    topic = image.topics.get(topic_id)
    if topic is None:
        raise Refusal(ErrorCode.unknown_topic_id, f"there is no topic of id {topic_id}")
    return topic


def _delete(builder: RecordBatchBuilder, topic: Topic) -> None:
    # Two records: the draft marks a topic that is being deleted, but has no way to say that it
    # is gone, without which its name could never be used again (A.7.8). One batch: no failover
    # and no reader can find the deletion half done.
    builder.add(TopicRecord(name=topic.name, topic_id=topic.topic_id, deleting=True))
    builder.add(RemoveTopicRecord(topic_id=topic.topic_id))
