"""Between operations of a history and Kafka's messages: pure, no input or output.

`request_of` gives the request that an invocation stands for. `result_of` reads the response:
the value and ext of an ok, or why there is none. Shapes of keys and values: docs/workloads.md.
"""

import datetime
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kio.schema.alter_partition.v3 import request as alter
from kio.schema.create_topics.v7 import request as create
from kio.schema.delete_topics.v6 import request as delete
from kio.schema.metadata.v12 import request as metadata
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i8, i16, i32, i32Timedelta, i64, u16

from framework.history.event import Event, Json
from nodes.kraft.wire.debug import ReadTopicsRequest
from nodes.kraft.wire.heartbeats import BrokerHeartbeatRequest, BrokerState, Listener
from workloads.kafka.results import Failure, refused

REQUEST_TIMEOUT_MS: Final = 2000
_TIMEOUT: Final = i32Timedelta.parse(datetime.timedelta(milliseconds=REQUEST_TIMEOUT_MS))

LISTENERS: Final = (
    Listener(name="CLIENT", host="127.0.0.1", port=u16(9), security_protocol=i16(0)),
)
"""What the workloads' own brokers publish. Nobody listens there: they hold no data."""

UNKNOWN_TOPIC: Final = 3


@dataclass(frozen=True, slots=True)
class Ok:
    """An operation's result."""

    value: Json
    ext: dict[str, Json] | None = None


Result = Ok | Failure


class UnexpectedResponse(Exception):
    """The response is well-formed, but is about something else than the request."""


# --- requests -----------------------------------------------------------------------------


def create_request(op: Event) -> create.CreateTopicsRequest:
    """Value: {"partitions": n, "replication": m} or {"assignment": [[broker id, ...], ...]}."""
    assignment = op.value.get("assignment", ())
    topic = create.CreatableTopic(
        name=TopicName(op.key),
        num_partitions=i32(op.value.get("partitions", -1)),
        replication_factor=i16(op.value.get("replication", -1)),
        assignments=tuple(
            create.CreatableReplicaAssignment(
                partition_index=i32(number), broker_ids=tuple(map(BrokerId, replicas))
            )
            for number, replicas in enumerate(assignment)
        ),
        configs=(),
    )
    return create.CreateTopicsRequest(topics=(topic,), timeout=_TIMEOUT)


def delete_request(op: Event) -> delete.DeleteTopicsRequest:
    """By name."""
    topic = delete.DeleteTopicState(name=TopicName(op.key), topic_id=None)
    return delete.DeleteTopicsRequest(topics=(topic,), timeout=_TIMEOUT)


def describe_request(op: Event) -> ReadTopicsRequest:
    """One topic by name."""
    return ReadTopicsRequest(names=(op.key,))


def metadata_request(op: Event) -> metadata.MetadataRequest:
    """One topic by name, never created by being asked for."""
    topic = metadata.MetadataRequestTopic(topic_id=None, name=TopicName(op.key))
    return metadata.MetadataRequest(
        topics=(topic,),
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
    )


def heartbeat_request(op: Event) -> BrokerHeartbeatRequest:
    """The whole request is in the value, so that the same value is the same request."""
    value = op.value
    return BrokerHeartbeatRequest(
        target_state=i8(BrokerState[value["target"]]),
        broker_id=i32(value["broker_id"]),
        broker_epoch=i64(value["broker_epoch"]),
        lease_start_time_ms=i64(value["lease_start_ms"]),
        cur_metadata_offset=i64(value["offset"]),
        listeners=LISTENERS,
        incarnation_id=uuid.UUID(value["incarnation"]),
        previous_broker_epoch=i64(value["previous_epoch"]),
    )


def alter_request(op: Event) -> alter.AlterPartitionRequest:
    """One partition; `isr_epochs` are the broker epochs of the members of `isr`, in order."""
    value = op.value
    members = tuple(
        alter.BrokerState(broker_id=BrokerId(member), broker_epoch=i64(epoch))
        for member, epoch in zip(value["isr"], value["isr_epochs"], strict=True)
    )
    partition = alter.PartitionData(
        partition_index=i32(value["partition"]),
        leader_epoch=i32(value["leader_epoch"]),
        new_isr_with_epochs=members,
        partition_epoch=i32(value["partition_epoch"]),
    )
    topic = alter.TopicData(topic_id=uuid.UUID(value["topic_id"]), partitions=(partition,))
    return alter.AlterPartitionRequest(
        broker_id=BrokerId(value["broker_id"]),
        broker_epoch=i64(value["broker_epoch"]),
        topics=(topic,),
    )


# --- results ------------------------------------------------------------------------------


def create_result(op: Event, response: Any) -> Result:
    """Ok: {"topic_id": ...}."""
    topic = _about(response.topics, lambda each: each.name == op.key)
    if topic.error_code != 0:
        return refused(op.f, topic.error_code, topic.error_message)
    return Ok({"topic_id": str(topic.topic_id)})


def delete_result(op: Event, response: Any) -> Result:
    """Ok: {"topic_id": ...}, or null where the answer does not tell it."""
    topic = _about(response.responses, lambda each: each.name == op.key)
    if topic.error_code != 0:
        return refused(op.f, topic.error_code, topic.error_message)
    return Ok(None if topic.topic_id is None else {"topic_id": str(topic.topic_id)})


def describe_result(op: Event, response: Any) -> Result:
    """Ok: null (absent) or the topic; ext: where in the log it was read."""
    if response.error_code != 0:
        return refused(op.f, response.error_code)
    topic = _about(response.topics, lambda each: each.name == op.key)
    ext = {"epoch": int(response.epoch), "offset": int(response.offset)}
    if topic.error_code == UNKNOWN_TOPIC:
        return Ok(None, ext)
    if topic.error_code != 0:
        return refused(op.f, topic.error_code)
    partitions = [
        {
            "partition": int(each.partition_id),
            "leader": int(each.leader),
            "leader_epoch": int(each.leader_epoch),
            "partition_epoch": int(each.partition_epoch),
            "replicas": [int(replica) for replica in each.replicas],
            "isr": [int(member) for member in each.isr],
        }
        for each in sorted(topic.partitions, key=lambda each: each.partition_id)
    ]
    return Ok({"topic_id": str(topic.topic_id), "partitions": partitions}, ext)


def metadata_result(op: Event, response: Any) -> Result:
    """Ok: null (absent) or the topic, as the broker's cache has it."""
    topic = _about(response.topics, lambda each: each.name == op.key)
    if topic.error_code == UNKNOWN_TOPIC:
        return Ok(None)
    if topic.error_code != 0:
        return refused(op.f, topic.error_code)
    partitions = [
        {
            "partition": int(each.partition_index),
            "leader": int(each.leader_id),
            "leader_epoch": int(each.leader_epoch),
            "replicas": [int(replica) for replica in each.replica_nodes],
            "isr": [int(member) for member in each.isr_nodes],
        }
        for each in sorted(topic.partitions, key=lambda each: each.partition_index)
    ]
    return Ok({"topic_id": str(topic.topic_id), "partitions": partitions})


def heartbeat_result(op: Event, response: Any) -> Result:
    """Ok: {"broker_epoch", "next_state", "lease_end_ms"}; the end is on the broker's clock."""
    if response.error_code != 0:
        return refused(op.f, response.error_code)
    return Ok(
        {
            "broker_epoch": int(response.broker_epoch),
            "next_state": BrokerState(response.next_state).name,
            "lease_end_ms": int(response.lease_end_time_ms),
        }
    )


def alter_result(op: Event, response: Any) -> Result:
    """Ok: {"leader", "leader_epoch", "partition_epoch", "isr"} after the change."""
    if response.error_code != 0:
        return refused(op.f, response.error_code)
    topic = _about(response.topics, lambda each: str(each.topic_id) == op.value["topic_id"])
    partition = _about(topic.partitions, lambda each: each.partition_index == op.value["partition"])
    if partition.error_code != 0:
        return refused(op.f, partition.error_code)
    return Ok(
        {
            "leader": int(partition.leader_id),
            "leader_epoch": int(partition.leader_epoch),
            "partition_epoch": int(partition.partition_epoch),
            "isr": [int(member) for member in partition.isr],
        }
    )


def _about(items: Any, matches: Callable[[Any], bool]) -> Any:
    """The one item that the request asked for."""
    if len(items) != 1 or not matches(items[0]):
        raise UnexpectedResponse(f"{items!r:.300}")
    return items[0]


@dataclass(frozen=True, slots=True)
class Exchange:
    """One kind of operation. `at` says who is asked: a broker, or the active controller."""

    at: str
    request: Callable[[Event], Any]
    result: Callable[[Event, Any], Result]


EXCHANGES: Final = {
    "create": Exchange("broker", create_request, create_result),
    "delete": Exchange("broker", delete_request, delete_result),
    "metadata": Exchange("broker", metadata_request, metadata_result),
    "describe": Exchange("controller", describe_request, describe_result),
    "heartbeat": Exchange("controller", heartbeat_request, heartbeat_result),
    "alter-isr": Exchange("controller", alter_request, alter_result),
}
