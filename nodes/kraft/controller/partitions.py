"""AlterPartition (key 56): a leader changes the in-sync set of a partition (KIP-497, KIP-841).

The request is a compare-and-set on the broker's epoch, the leader's and its epoch, and the
partition's epoch. The checks and their order are those of Kafka's ReplicationControlManager.
"""

from dataclasses import replace
from typing import TypeAlias
from uuid import UUID

from kio.schema.alter_partition.v2 import request as v2
from kio.schema.alter_partition.v3 import request as v3
from kio.schema.errors import ErrorCode
from kio.static.protocol import Entity, ResponsePayload

from nodes.kraft.controller.answers import NO_THROTTLE, Refusal, item_schema, make, schema_of
from nodes.kraft.controller.elections import CanLead, change
from nodes.kraft.controller.reassignment_rules import completed, record
from nodes.kraft.controller.record_batch import RecordBatchBuilder
from nodes.kraft.ids import BrokerId, PartitionIndex
from nodes.kraft.metadata.image import NO_LEADER, Image, Partition, PartitionKey

AlterPartitionRequest: TypeAlias = v2.AlterPartitionRequest | v3.AlterPartitionRequest
PartitionChange: TypeAlias = v2.PartitionData | v3.PartitionData


def alter_partitions(
    builder: RecordBatchBuilder, request: AlterPartitionRequest, can_lead: CanLead
) -> ResponsePayload:
    """Decide an AlterPartition request; adds a record a partition that changes."""
    schema = schema_of(request)
    if stale_broker(builder.image, request.broker_id, request.broker_epoch):
        return make(
            schema,
            throttle_time=NO_THROTTLE,
            error_code=ErrorCode.stale_broker_epoch,
            topics=(),
        )
    topic_schema = item_schema(schema, "topics")
    topics = tuple(
        make(
            topic_schema,
            topic_id=topic.topic_id,
            partitions=tuple(
                _alter(builder, request, topic.topic_id, asked, can_lead)
                for asked in topic.partitions
            ),
        )
        for topic in request.topics
    )
    return make(schema, throttle_time=NO_THROTTLE, error_code=ErrorCode.none, topics=topics)


def stale_broker(image: Image, broker_id: BrokerId, epoch: int) -> bool:
    """Whether `epoch` is not the one that the broker is registered under."""
    broker = image.brokers.get(broker_id)
    return broker is None or broker.epoch != epoch


def _alter(
    builder: RecordBatchBuilder,
    request: AlterPartitionRequest,
    topic_id: UUID | None,
    asked: PartitionChange,
    can_lead: CanLead,
) -> Entity:
    schema = item_schema(item_schema(schema_of(request), "topics"), "partitions")
    index = PartitionIndex(asked.partition_index)
    try:
        before = find(builder.image, topic_id, index)
        check_epochs(before, request.broker_id, asked)
        check_members(builder.image, before, asked, can_lead)
    except Refusal as refusal:
        return make(
            schema,
            partition_index=asked.partition_index,
            error_code=refusal.code,
            leader_id=NO_LEADER,
            leader_epoch=-1,
            partition_epoch=-1,
        )
    assert topic_id is not None, "found"
    after = _changed(builder, (topic_id, index), asked, can_lead)
    # Its own wish may have completed a reassignment, and given the partition to another.
    led = after.leader == before.leader
    return make(
        schema,
        partition_index=asked.partition_index,
        error_code=ErrorCode.none if led else ErrorCode.new_leader_elected,
        leader_id=after.leader,
        leader_epoch=after.leader_epoch,
        isr=after.isr,
        partition_epoch=after.partition_epoch,
    )


def _changed(
    builder: RecordBatchBuilder, key: PartitionKey, asked: PartitionChange, can_lead: CanLead
) -> Partition:
    """One record, even where the set is as before: each success is then one (D.2). With all that
    were added to the replicas in sync, it is the one that completes their reassignment."""
    before = builder.image.partitions[key]
    wished = replace(before, isr=tuple(member for member, _ in _proposed(asked)))
    done = completed(builder.image, wished, can_lead)
    if done is wished:
        return change(builder, key, wished.isr, before.leader)
    return record(builder, key, done)


def find(image: Image, topic_id: UUID | None, number: PartitionIndex) -> Partition:
    """The partition. Raises `Refusal`: 100 for the topic, 3 for the partition."""
    if topic_id is None or topic_id not in image.topics:
        raise Refusal(ErrorCode.unknown_topic_id, f"there is no topic {topic_id}")
    partition = image.partitions.get((topic_id, number))
    if partition is None:
        raise Refusal(
            ErrorCode.unknown_topic_or_partition, f"topic {topic_id} has no partition {number}"
        )
    return partition


def check_epochs(partition: Partition, broker_id: BrokerId, asked: PartitionChange) -> None:
    """Raises `Refusal` where the asker is ahead of us (41), not the leader of that epoch (74,
    42), or knows an older state of the partition (95)."""
    if (
        asked.leader_epoch > partition.leader_epoch
        or asked.partition_epoch > partition.partition_epoch
    ):
        raise Refusal(ErrorCode.not_controller, "the request knows more than this controller")
    if asked.leader_epoch < partition.leader_epoch:
        raise Refusal(
            ErrorCode.fenced_leader_epoch,
            f"leader epoch {asked.leader_epoch} is over; it is {partition.leader_epoch}",
        )
    if broker_id != partition.leader:
        raise Refusal(ErrorCode.invalid_request, f"the leader is {partition.leader}")
    if asked.partition_epoch < partition.partition_epoch:
        raise Refusal(
            ErrorCode.invalid_update_version,
            f"partition epoch {asked.partition_epoch} is over; it is {partition.partition_epoch}",
        )


def check_members(
    image: Image, partition: Partition, asked: PartitionChange, can_lead: CanLead
) -> None:
    """Raises `Refusal` where the proposed set is no ISR of the partition (42), or has a member
    that may not join (107)."""
    members = [member for member, _ in _proposed(asked)]
    if len(set(members)) != len(members) or not set(members) <= set(partition.replicas):
        raise Refusal(ErrorCode.invalid_request, f"{members} of {partition.replicas}")
    if partition.leader not in members:
        raise Refusal(ErrorCode.invalid_request, f"{members} is without the leader")
    if asked.leader_recovery_state != 0 and len(members) > 1:
        raise Refusal(ErrorCode.invalid_request, "the set grows while the leader recovers")
    for member, epoch in _proposed(asked):
        # Epoch -1: the leader does not know it (AlterPartition v2), as in Kafka.
        stale = epoch != -1 and stale_broker(image, member, epoch)
        if stale or not can_lead(image, member):
            raise Refusal(ErrorCode.ineligible_replica, f"broker {member} may not join")


def _proposed(asked: PartitionChange) -> list[tuple[BrokerId, int]]:
    """(broker id, broker epoch) of each proposed member."""
    if isinstance(asked, v2.PartitionData):
        return [(member, -1) for member in asked.new_isr]
    return [(member.broker_id, member.broker_epoch) for member in asked.new_isr_with_epochs]
