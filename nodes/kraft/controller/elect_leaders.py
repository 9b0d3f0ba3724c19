"""ElectLeaders (key 43, KIP-460): administrators move leadership to the preferred replica, or give
partitions that nobody leads to a replica that was not in sync.

The rules are those of Kafka's ReplicationControlManager. The second kind may lose what was
acknowledged: nothing but a client's explicit request does that here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from kio.schema.errors import ErrorCode
from kio.static.protocol import Entity, ResponsePayload

from nodes.kraft.controller.answers import (
    NO_THROTTLE,
    Refusal,
    code_of,
    item_schema,
    make,
    message_of,
    schema_of,
)
from nodes.kraft.controller.elections import CanLead, change
from nodes.kraft.controller.permission import Allows, require
from nodes.kraft.controller.placement import MAX_PARTITIONS
from nodes.kraft.controller.record_batch import RecordBatchBuilder
from nodes.kraft.ids import BrokerId, PartitionIndex
from nodes.kraft.metadata.image import NO_LEADER, Image, Partition
from nodes.kraft.security.authorizer import Operation, ResourceType

if TYPE_CHECKING:
    from nodes.kraft.wire.metadata_requests import ElectLeadersRequest

MOST: Final = MAX_PARTITIONS
"""Leaders that one request may elect: Kafka's limit of records an operation (B.10)."""


class Election(IntEnum):
    """Kafka's types of elections."""

    PREFERRED = 0
    UNCLEAN = 1


def elect_leaders(
    builder: RecordBatchBuilder, request: ElectLeadersRequest, can_lead: CanLead, allows: Allows
) -> ResponsePayload:
    """Decide an ElectLeaders request; adds a record a partition whose leader changes. Where it
    names no partitions, all are meant, and those that need none are not told of."""
    try:
        require(allows, Operation.ALTER, ResourceType.CLUSTER)
        election = _kind(request)
    except Refusal as error:
        return _response(request, (), error.code)
    everything = request.topic_partitions is None
    results: list[tuple[str, list[tuple[int, Refusal | None]]]] = []
    for topic, numbers in _asked(builder.image, request):
        answered: list[tuple[int, Refusal | None]] = []
        for number in numbers:
            refusal = _elect(builder, topic, PartitionIndex(number), election, can_lead)
            needless = refusal is not None and refusal.code == ErrorCode.election_not_needed
            if not (everything and needless):
                answered.append((number, refusal))
        if answered:
            results.append((topic, answered))
    return _response(request, results, ErrorCode.none)


def _kind(request: ElectLeadersRequest) -> Election:
    try:
        return Election(request.election_type)
    except ValueError:
        raise Refusal(ErrorCode.invalid_request, "there is no such type of election") from None


def _asked(image: Image, request: ElectLeadersRequest) -> Iterator[tuple[str, Iterable[int]]]:
    """Topics and numbers of partitions."""
    if request.topic_partitions is not None:
        yield from ((each.topic, each.partitions) for each in request.topic_partitions)
        return
    for name in sorted(image.topic_ids):
        yield name, image.topics[image.topic_ids[name]].indexes()


def _elect(
    builder: RecordBatchBuilder,
    topic: str,
    number: PartitionIndex,
    election: Election,
    can_lead: CanLead,
) -> Refusal | None:
    """Elect the partition's leader; why not, where that is not done."""
    image = builder.image
    topic_id = image.topic_ids.get(topic)
    partition = None if topic_id is None else image.partitions.get((topic_id, number))
    if topic_id is None or partition is None:
        return Refusal(ErrorCode.unknown_topic_or_partition, f"there is no {topic}-{number}")
    able = [each for each in partition.replicas if can_lead(image, each)]
    try:
        leader, isr = (_preferred if election == Election.PREFERRED else _unclean)(partition, able)
        if len(builder.records) >= MOST:
            raise Refusal(ErrorCode.policy_violation, f"{MOST} at a time: ask again")
    except Refusal as refusal:
        return refusal
    change(builder, (topic_id, number), isr, leader)
    return None


def _preferred(partition: Partition, able: list[BrokerId]) -> tuple[BrokerId, tuple[BrokerId, ...]]:
    """(leader, ISR): the first replica, where it is in sync."""
    first = partition.replicas[0]
    if partition.leader == first:
        raise Refusal(ErrorCode.election_not_needed, "the preferred replica leads")
    if first not in partition.isr or first not in able:
        raise Refusal(
            ErrorCode.preferred_leader_not_available, f"broker {first} is not in sync, or not there"
        )
    return first, partition.isr


def _unclean(partition: Partition, able: list[BrokerId]) -> tuple[BrokerId, tuple[BrokerId, ...]]:
    """(leader, ISR): where nobody leads, a replica that can, one that is in sync before others."""
    if partition.leader != NO_LEADER:
        raise Refusal(ErrorCode.election_not_needed, f"broker {partition.leader} leads")
    in_sync = [each for each in able if each in partition.isr]
    if in_sync:
        return in_sync[0], partition.isr
    if not able:
        raise Refusal(ErrorCode.eligible_leaders_not_available, "no replica is there")
    return able[0], (able[0],)


def _response(
    request: ElectLeadersRequest,
    results: Iterable[tuple[str, list[tuple[int, Refusal | None]]]],
    code: ErrorCode,
) -> ResponsePayload:
    schema = schema_of(request)
    topic_schema = item_schema(schema, "replica_election_results")
    partition_schema = item_schema(topic_schema, "partition_result")
    return make(
        schema,
        throttle_time=NO_THROTTLE,
        error_code=code,
        replica_election_results=tuple(
            make(
                topic_schema,
                topic=topic,
                partition_result=tuple(
                    _result(partition_schema, number, refusal) for number, refusal in answered
                ),
            )
            for topic, answered in results
        ),
    )


def _result(schema: type[Entity], number: int, refusal: Refusal | None) -> Entity:
    return make(
        schema,
        partition_id=number,
        error_code=code_of(refusal),
        error_message=message_of(refusal),
    )
