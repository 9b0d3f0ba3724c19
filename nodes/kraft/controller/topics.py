"""CreateTopics and DeleteTopics: each topic on its own, all that succeed in one batch.

Requests are judged on the speculative image, so the second create of a name whose first one is
not committed yet is refused (B.6); the answer waits until what it rests on is committed.
"""

import uuid
from collections import Counter
from typing import Any

from kio.schema.errors import ErrorCode
from kio.static.primitive import i8, i16, i32

from nodes.kraft.controller.answers import (
    Refusal,
    item_schema,
    make,
    schema_of,
    topic_result,
    topics_response,
    topics_to_delete,
)
from nodes.kraft.controller.config import ControllerConfig
from nodes.kraft.controller.draft import Draft
from nodes.kraft.controller.draws import Draws
from nodes.kraft.controller.elections import CanLead
from nodes.kraft.controller.naming import check_name
from nodes.kraft.controller.placement import MAX_PARTITIONS, Assignment, assign
from nodes.kraft.metadata.image import TOPIC_RESOURCE, Image, Topic
from nodes.kraft.wire.records import (
    ConfigRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

TOPIC_CONFIG: int = 1
"""Kafka's ConfigSource of a value set on the topic."""


def create_topics(
    draft: Draft, request: Any, config: ControllerConfig, draws: Draws, can_lead: CanLead
) -> Any:
    """Decide a CreateTopics request; one that only validates adds no record."""
    judged = Draft(draft.image, draft.next_offset) if request.validate_only else draft
    times = Counter(topic.name for topic in request.topics)
    results = []
    made = 0
    for topic in {topic.name: topic for topic in request.topics}.values():
        try:
            if times[topic.name] > 1:
                raise Refusal(ErrorCode.invalid_request, f"topic {topic.name} stands twice")
            check_name(judged.image, topic.name)
            _check_configs(topic)
            assignment = assign(judged.image, topic, config, draws, can_lead)
            if made + len(assignment) > MAX_PARTITIONS:
                limit = f"one request may create {MAX_PARTITIONS} partitions"
                raise Refusal(ErrorCode.invalid_partitions, limit)
        except Refusal as refusal:
            results.append(topic_result(request, name=topic.name, refusal=refusal))
            continue
        made += len(assignment)
        topic_id = draws.topic_id()
        _add_topic(judged, topic, topic_id, assignment, can_lead)
        told_id = None if request.validate_only else topic_id
        results.append(_created(request, topic, told_id, assignment))
    return topics_response(request, results)


def _check_configs(topic: Any) -> None:
    for each in topic.configs:
        if not each.name or each.value is None:
            raise Refusal(ErrorCode.invalid_config, f"config {each.name!r} has no name or value")


def _add_topic(
    draft: Draft, topic: Any, topic_id: uuid.UUID, assignment: Assignment, can_lead: CanLead
) -> None:
    draft.add(TopicRecord(name=topic.name, topic_id=topic_id, deleting=False))
    for each in topic.configs:
        draft.add(
            ConfigRecord(
                resource_type=i8(TOPIC_RESOURCE),
                resource_name=topic.name,
                name=each.name,
                value=each.value,
            )
        )
    for number, replicas in enumerate(assignment):
        isr = tuple(replica for replica in replicas if can_lead(draft.image, replica))
        draft.add(
            PartitionRecord(
                partition_id=i32(number),
                topic_id=topic_id,
                replicas=tuple(i32(replica) for replica in replicas),
                isr=tuple(i32(replica) for replica in isr),
                leader=i32(isr[0]),
                leader_epoch=i32(0),
                partition_epoch=i32(0),
            )
        )


def _created(request: Any, topic: Any, topic_id: uuid.UUID | None, assignment: Assignment) -> Any:
    configs = None
    if request.__version__ >= 5:
        schema = item_schema(item_schema(schema_of(request), "topics"), "configs")
        configs = tuple(
            make(
                schema,
                name=each.name,
                value=each.value,
                read_only=False,
                config_source=i8(TOPIC_CONFIG),
                is_sensitive=False,
            )
            for each in topic.configs
        )
    return topic_result(
        request,
        name=topic.name,
        topic_id=topic_id,
        num_partitions=i32(len(assignment)),
        replication_factor=i16(len(assignment[0])),
        configs=configs,
    )


def delete_topics(draft: Draft, request: Any) -> Any:
    """Decide a DeleteTopics request, by names or ids."""
    results = []
    before, deleted = draft.image, set()
    for name, topic_id in topics_to_delete(request):
        try:
            topic = _find(before, name, topic_id)
            if topic.topic_id in deleted:
                raise Refusal(ErrorCode.invalid_request, f"topic {topic.name} stands twice")
        except Refusal as refusal:
            results.append(topic_result(request, name=name, topic_id=topic_id, refusal=refusal))
            continue
        deleted.add(topic.topic_id)
        _delete(draft, topic)
        results.append(topic_result(request, name=topic.name, topic_id=topic.topic_id))
    return topics_response(request, results)


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


def _delete(draft: Draft, topic: Topic) -> None:
    # Two records: the draft marks a topic that is being deleted, but has no way to say that it
    # is gone, without which its name could never be used again (A.7.8). One batch: no failover
    # and no reader can find the deletion half done.
    draft.add(TopicRecord(name=topic.name, topic_id=topic.topic_id, deleting=True))
    draft.add(RemoveTopicRecord(topic_id=topic.topic_id))
