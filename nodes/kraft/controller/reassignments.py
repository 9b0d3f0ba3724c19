"""AlterPartitionReassignments and ListPartitionReassignments (keys 45 and 46, KIP-455).

Administrators give a partition other replicas, or take that back as long as it is under way. The
checks are those of Kafka's ReplicationControlManager. What a reassignment is, and when it is
complete, is in `reassignment_rules`; AlterPartition carries it on.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, TypeAlias

from kio.schema.errors import ErrorCode
from kio.static.protocol import ResponsePayload

from nodes.kraft.controller.answers import (
    NO_THROTTLE,
    Refusal,
    code_of,
    item_schema,
    make,
    message_of,
    schema_of,
)
from nodes.kraft.controller.elections import CanLead
from nodes.kraft.controller.permission import Allows, require
from nodes.kraft.controller.placement import MAX_PARTITIONS
from nodes.kraft.controller.reassignment_rules import (
    Replicas,
    begun,
    cancelled,
    completed,
    record,
)
from nodes.kraft.controller.record_batch import RecordBatchBuilder
from nodes.kraft.ids import PartitionIndex
from nodes.kraft.metadata.image import Image, Partition, PartitionKey
from nodes.kraft.security.authorizer import Operation, ResourceType

if TYPE_CHECKING:
    from nodes.kraft.wire.metadata_requests import (
        AlterPartitionReassignmentsRequest,
        ListPartitionReassignmentsRequest,
    )

MOST: Final = MAX_PARTITIONS
"""Partitions that one request may change: Kafka's limit of records an operation (B.10)."""

Answered: TypeAlias = tuple[str, list[tuple[int, Refusal | None]]]
"""A topic, and of each of its partitions that were asked for why it is refused."""


def alter_reassignments(
    builder: RecordBatchBuilder,
    request: AlterPartitionReassignmentsRequest,
    can_lead: CanLead,
    allows: Allows,
) -> ResponsePayload:
    """Decide the request; adds a record a partition that changes."""
    try:
        require(allows, Operation.ALTER, ResourceType.CLUSTER)
    except Refusal as refusal:
        return _altered(request, (), refusal)
    same_count = not getattr(request, "allow_replication_factor_change", True)
    answered: list[Answered] = [
        (
            topic.name,
            [
                (
                    each.partition_index,
                    _alter(
                        builder,
                        topic.name,
                        each.partition_index,
                        each.replicas,
                        can_lead,
                        same_count=same_count,
                    ),
                )
                for each in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return _altered(request, answered, None)


def _alter(
    builder: RecordBatchBuilder,
    topic: str,
    number: int,
    wanted: Replicas | None,
    can_lead: CanLead,
    *,
    same_count: bool,
) -> Refusal | None:
    """Begin or cancel one; why not, where that is not done. `wanted` None: cancel it;
    `same_count`: the number of replicas is to stay."""
    image = builder.image
    try:
        key, before = _find(image, topic, number)
        if wanted is None:
            after = cancelled(image, before, can_lead)
        else:
            _check(image, before, wanted, same_count=same_count)
            after = completed(image, begun(image, before, tuple(wanted), can_lead), can_lead)
        if after == before:
            return None
        if len(builder.records) >= MOST:
            raise Refusal(ErrorCode.policy_violation, f"{MOST} at a time: ask again")
    except Refusal as refusal:
        return refusal
    record(builder, key, after)
    return None


def _find(image: Image, topic: str, number: int) -> tuple[PartitionKey, Partition]:
    topic_id = image.topic_ids.get(topic)
    key = (topic_id or uuid.UUID(int=0), PartitionIndex(number))
    partition = image.partitions.get(key)
    if partition is None:
        raise Refusal(ErrorCode.unknown_topic_or_partition, f"there is no {topic}-{number}")
    return key, partition


def _check(image: Image, before: Partition, wanted: Replicas, *, same_count: bool) -> None:
    if not wanted:
        raise _invalid("a partition needs a replica")
    if len(set(wanted)) != len(wanted):
        raise _invalid(f"a replica stands twice: {list(wanted)}")
    unknown = [each for each in wanted if each not in image.brokers]
    if unknown:
        raise _invalid(f"brokers {unknown} are not registered")
    count = len(before.replicas) - len(before.removing_replicas)
    if same_count and len(wanted) != count:
        raise Refusal(
            ErrorCode.invalid_replication_factor, f"{len(wanted)} replicas instead of {count}"
        )


def _invalid(message: str) -> Refusal:
    return Refusal(ErrorCode.invalid_replica_assignment, message)


def _altered(
    request: AlterPartitionReassignmentsRequest,
    answered: Iterable[Answered],
    refusal: Refusal | None,
) -> ResponsePayload:
    schema = schema_of(request)
    topic_schema = item_schema(schema, "responses")
    partition_schema = item_schema(topic_schema, "partitions")
    return make(
        schema,
        throttle_time=NO_THROTTLE,
        allow_replication_factor_change=getattr(request, "allow_replication_factor_change", True),
        error_code=code_of(refusal),
        error_message=message_of(refusal),
        responses=tuple(
            make(
                topic_schema,
                name=topic,
                partitions=tuple(
                    make(
                        partition_schema,
                        partition_index=number,
                        error_code=code_of(why_not),
                        error_message=message_of(why_not),
                    )
                    for number, why_not in own
                ),
            )
            for topic, own in answered
        ),
    )


# --- those under way ----------------------------------------------------------------------


def list_reassignments(
    image: Image, request: ListPartitionReassignmentsRequest, allows: Allows
) -> ResponsePayload:
    """What is under way, of the partitions that the request names; of all, where it names none."""
    schema = schema_of(request)
    refusal: Refusal | None = None
    found: dict[str, list[PartitionIndex]] = {}
    try:
        require(allows, Operation.DESCRIBE, ResourceType.CLUSTER)
        for topic, number in sorted(_moving(image, request)):
            found.setdefault(topic, []).append(number)
    except Refusal as error:
        refusal = error
    topic_schema = item_schema(schema, "topics")
    partition_schema = item_schema(topic_schema, "partitions")

    def shown(topic: str, number: PartitionIndex) -> object:
        partition = image.partitions[image.topic_ids[topic], number]
        return make(
            partition_schema,
            partition_index=number,
            replicas=partition.replicas,
            adding_replicas=partition.adding_replicas,
            removing_replicas=partition.removing_replicas,
        )

    return make(
        schema,
        throttle_time=NO_THROTTLE,
        error_code=code_of(refusal),
        error_message=message_of(refusal),
        topics=tuple(
            make(topic_schema, name=topic, partitions=tuple(shown(topic, each) for each in own))
            for topic, own in found.items()
        ),
    )


def _moving(
    image: Image, request: ListPartitionReassignmentsRequest
) -> Iterator[tuple[str, PartitionIndex]]:
    if request.topics is None:
        for topic_id, number in image.reassigning:
            yield image.topics[topic_id].name, number
        return
    asked = {(topic.name, each) for topic in request.topics for each in topic.partition_indexes}
    for name, index in asked:
        own_id, number = image.topic_ids.get(name), PartitionIndex(index)
        if own_id is not None and (own_id, number) in image.reassigning:
            yield name, number
