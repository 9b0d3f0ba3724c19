"""Between reassignments of a history and Kafka's messages: pure, as `messages` is."""

import datetime
from typing import Final

from kio.schema.alter_partition_reassignments.v0 import request as alter
from kio.schema.alter_partition_reassignments.v0 import response as altered
from kio.schema.list_partition_reassignments.v0 import request as listing
from kio.schema.list_partition_reassignments.v0 import response as listed
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i32, i32Timedelta

from framework.history.event import Invocation
from framework.plugins.dialect import Exchange, Exchanges
from framework.plugins.outcomes import Answer, Ok
from workloads.kafka.messages import REQUEST_TIMEOUT_MS, refused, the_one
from workloads.kafka.operations.partitions import partition_key, partition_of
from workloads.kafka.operations.reassignments import Reassign, UnderWay
from workloads.kafka.roles import BROKER

_TIMEOUT: Final = i32Timedelta.parse(datetime.timedelta(milliseconds=REQUEST_TIMEOUT_MS))


def reassign_request(invocation: Invocation) -> alter.AlterPartitionReassignmentsRequest:
    """Of one partition."""
    topic, number = partition_of(invocation.key)
    wanted = Reassign.from_json(invocation.value).replicas
    partition = alter.ReassignablePartition(
        partition_index=i32(number),
        replicas=None if wanted is None else tuple(map(BrokerId, wanted)),
    )
    return alter.AlterPartitionReassignmentsRequest(
        topics=(alter.ReassignableTopic(name=TopicName(topic), partitions=(partition,)),),
        timeout=_TIMEOUT,
    )


def reassign_answer(
    invocation: Invocation, response: altered.AlterPartitionReassignmentsResponse
) -> Answer:
    """Ok: null. It has begun, or is cancelled; when it is complete nobody says."""
    if response.error_code != 0:
        return refused(response.error_code, response.error_message)
    topic, number = partition_of(invocation.key)
    own = the_one(response.responses, lambda each: each.name == topic)
    partition = the_one(own.partitions, lambda each: each.partition_index == number)
    if partition.error_code != 0:
        return refused(partition.error_code, partition.error_message)
    return Ok(None)


def list_request(invocation: Invocation) -> listing.ListPartitionReassignmentsRequest:
    """All that are under way."""
    return listing.ListPartitionReassignmentsRequest(topics=None, timeout=_TIMEOUT)


def list_answer(
    invocation: Invocation, response: listed.ListPartitionReassignmentsResponse
) -> Answer:
    """Ok: each as `UnderWay`."""
    if response.error_code != 0:
        return refused(response.error_code, response.error_message)
    return Ok(
        [
            UnderWay(
                key=partition_key(topic.name, int(each.partition_index)),
                replicas=tuple(map(int, each.replicas)),
                adding=tuple(map(int, each.adding_replicas)),
                removing=tuple(map(int, each.removing_replicas)),
            ).to_json()
            for topic in response.topics
            for each in topic.partitions
        ]
    )


EXCHANGES: Final[Exchanges] = {
    "reassign": Exchange(
        at=BROKER, request=reassign_request, answer=reassign_answer, forwarded=True
    ),
    "reassignments": Exchange(at=BROKER, request=list_request, answer=list_answer),
}
