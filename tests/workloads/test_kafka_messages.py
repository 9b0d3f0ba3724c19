import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.alter_partition.v3 import response as alter
from kio.schema.create_topics.v7 import response as create
from kio.schema.delete_topics.v6 import response as delete
from kio.schema.errors import ErrorCode
from kio.schema.metadata.v12 import response as metadata
from kio.static.primitive import i8, i16, i32, i64

from framework.history.event import Event
from nodes.kraft.controller.answers import NO_THROTTLE
from nodes.kraft.wire.codec import decode_request, encode_request
from nodes.kraft.wire.debug import ReadPartition, ReadTopic, ReadTopicsResponse
from nodes.kraft.wire.heartbeats import BrokerHeartbeatResponse
from workloads.kafka import messages
from workloads.kafka.messages import EXCHANGES, Ok, UnexpectedResponse
from workloads.kafka.results import Failure

TOPIC_ID = uuid.UUID(int=7)
HEARTBEAT = {
    "broker_id": 101,
    "broker_epoch": 12,
    "previous_epoch": -1,
    "target": "SHUTDOWN",
    "incarnation": str(uuid.UUID(int=9)),
    "offset": 99,
    "lease_start_ms": 1234,
    "zombie": None,
}
ALTER = {
    "topic_id": str(TOPIC_ID),
    "partition": 2,
    "broker_id": 101,
    "broker_epoch": 12,
    "leader_epoch": 3,
    "partition_epoch": 4,
    "isr": [101, 103],
    "isr_epochs": [12, 15],
    "zombie": None,
}


def op(f: str, key: str = "t", value: Any = None) -> Event:
    return Event(type="invoke", process=0, f=f, key=key, value=value)


def sent(operation: Event) -> Any:
    """The request as a node reads it."""
    request = EXCHANGES[operation.f].request(operation)
    return decode_request(encode_request(request, correlation_id=1, client_id="test"))[1]


# --- requests


def test_create_by_numbers() -> None:
    request = sent(op("create", value={"partitions": 3, "replication": 2}))
    (topic,) = request.topics
    assert (topic.name, topic.num_partitions, topic.replication_factor) == ("t", 3, 2)
    assert topic.assignments == ()
    assert request.timeout.total_seconds() == 2
    assert not request.validate_only


def test_create_by_assignment() -> None:
    request = sent(op("create", value={"assignment": [[101, 102], [102, 101]]}))
    (topic,) = request.topics
    assert (topic.num_partitions, topic.replication_factor) == (-1, -1)
    assert {each.partition_index: each.broker_ids for each in topic.assignments} == {
        0: (101, 102),
        1: (102, 101),
    }


def test_delete_is_by_name() -> None:
    (topic,) = sent(op("delete")).topics
    assert (topic.name, topic.topic_id) == ("t", None)


def test_describe_asks_for_one_name() -> None:
    assert sent(op("describe")).names == ("t",)


def test_metadata_never_creates() -> None:
    request = sent(op("metadata"))
    assert [each.name for each in request.topics] == ["t"]
    assert not request.allow_auto_topic_creation


def test_heartbeat_is_all_in_its_value() -> None:
    request = sent(op("heartbeat", "broker-101", HEARTBEAT))
    assert (request.target_state, request.broker_id, request.broker_epoch) == (4, 101, 12)
    assert (request.lease_start_time_ms, request.cur_metadata_offset) == (1234, 99)
    assert request.incarnation_id == uuid.UUID(int=9)
    assert request.previous_broker_epoch == -1
    assert [listener.name for listener in request.listeners] == ["CLIENT"]


def test_a_process_that_asks_anew_names_the_epoch_that_it_had() -> None:
    value = {**HEARTBEAT, "broker_epoch": -1, "previous_epoch": 12}
    request = sent(op("heartbeat", "broker-101", value))
    assert (request.broker_epoch, request.previous_broker_epoch) == (-1, 12)


@given(
    st.lists(st.tuples(st.integers(0, 2**31 - 1), st.integers(-1, 2**63 - 1)), max_size=4),
    st.integers(0, 2**31 - 1),
)
def test_alter_isr_carries_every_epoch(members: list[tuple[int, int]], version: int) -> None:
    value = {
        **ALTER,
        "isr": [member for member, _ in members],
        "isr_epochs": [epoch for _, epoch in members],
        "partition_epoch": version,
    }
    request = sent(op("alter-isr", "t/2", value))
    (topic,) = request.topics
    (partition,) = topic.partitions
    assert (request.broker_id, request.broker_epoch, topic.topic_id) == (101, 12, TOPIC_ID)
    assert (partition.partition_index, partition.leader_epoch) == (2, 3)
    assert partition.partition_epoch == version
    got = [(each.broker_id, each.broker_epoch) for each in partition.new_isr_with_epochs]
    assert got == members


# --- results


def created(name: str, code: int, message: str | None = None) -> Any:
    result = create.CreatableTopicResult(
        name=name,  # type: ignore[arg-type]
        topic_id=TOPIC_ID,
        error_code=ErrorCode(code),
        error_message=message,
        configs=None,
    )
    return create.CreateTopicsResponse(throttle_time=NO_THROTTLE, topics=(result,))


def test_created() -> None:
    assert messages.create_result(op("create"), created("t", 0)) == Ok({"topic_id": str(TOPIC_ID)})


def test_not_created() -> None:
    found = messages.create_result(op("create"), created("t", 36, "it is there"))
    assert found == Failure("fail", ("TOPIC_ALREADY_EXISTS", "it is there"), "present")
    assert messages.create_result(op("create"), created("t", 7)) == Failure(
        "info", ("REQUEST_TIMED_OUT", "")
    )


@pytest.mark.parametrize("response", [created("other", 0)])
def test_an_answer_about_something_else_is_no_result(response: Any) -> None:
    with pytest.raises(UnexpectedResponse):
        messages.create_result(op("create"), response)


@pytest.mark.parametrize(
    "code, topic_id, expected",
    [
        (0, TOPIC_ID, Ok({"topic_id": str(TOPIC_ID)})),
        (0, None, Ok(None)),
        (3, None, Failure("fail", ("UNKNOWN_TOPIC_OR_PARTITION", ""), "absent")),
    ],
)
def test_deleted(code: int, topic_id: uuid.UUID | None, expected: object) -> None:
    result = delete.DeletableTopicResult(
        name="t",  # type: ignore[arg-type]
        topic_id=topic_id,
        error_code=ErrorCode(code),
    )
    response = delete.DeleteTopicsResponse(throttle_time=NO_THROTTLE, responses=(result,))
    assert messages.delete_result(op("delete"), response) == expected


def read(code: int, *topics: ReadTopic) -> ReadTopicsResponse:
    return ReadTopicsResponse(error_code=i16(code), epoch=i32(5), offset=i64(80), topics=topics)


def test_described() -> None:
    partition = ReadPartition(
        partition_id=i32(0),
        leader=i32(101),
        leader_epoch=i32(1),
        partition_epoch=i32(6),
        replicas=(i32(101), i32(102)),
        isr=(i32(101),),
    )
    topic = ReadTopic(error_code=i16(0), name="t", topic_id=TOPIC_ID, partitions=(partition,))
    assert messages.describe_result(op("describe"), read(0, topic)) == Ok(
        {
            "topic_id": str(TOPIC_ID),
            "partitions": [
                {
                    "partition": 0,
                    "leader": 101,
                    "leader_epoch": 1,
                    "partition_epoch": 6,
                    "replicas": [101, 102],
                    "isr": [101],
                }
            ],
        },
        {"epoch": 5, "offset": 80},
    )


def test_described_as_absent() -> None:
    topic = ReadTopic(error_code=i16(3), name="t", topic_id=None, partitions=())
    assert messages.describe_result(op("describe"), read(0, topic)) == Ok(
        None, {"epoch": 5, "offset": 80}
    )


def test_not_described() -> None:
    assert messages.describe_result(op("describe"), read(41)) == Failure(
        "fail", ("NOT_CONTROLLER", "")
    )


@pytest.mark.parametrize("code, absent", [(0, False), (3, True)])
def test_cached(code: int, absent: bool) -> None:
    partition = metadata.MetadataResponsePartition(
        error_code=ErrorCode.none,
        partition_index=i32(0),
        leader_id=i32(4),  # type: ignore[arg-type]
        leader_epoch=i32(2),
        replica_nodes=(i32(4), i32(5)),  # type: ignore[arg-type]
        isr_nodes=(i32(4),),  # type: ignore[arg-type]
    )
    topic = metadata.MetadataResponseTopic(
        error_code=ErrorCode(code),
        name="t",  # type: ignore[arg-type]
        topic_id=TOPIC_ID,
        partitions=() if absent else (partition,),
    )
    response = metadata.MetadataResponse(throttle_time=NO_THROTTLE, brokers=(), topics=(topic,))
    shown = {"partition": 0, "leader": 4, "leader_epoch": 2, "replicas": [4, 5], "isr": [4]}
    expected = None if absent else {"topic_id": str(TOPIC_ID), "partitions": [shown]}
    assert messages.metadata_result(op("metadata"), response) == Ok(expected)


def test_heartbeat_granted() -> None:
    response = BrokerHeartbeatResponse(
        error_code=i16(0), next_state=i8(3), broker_epoch=i64(12), lease_end_time_ms=i64(6234)
    )
    assert messages.heartbeat_result(op("heartbeat", value=HEARTBEAT), response) == Ok(
        {"broker_epoch": 12, "next_state": "ACTIVE", "lease_end_ms": 6234}
    )


def test_heartbeat_refused() -> None:
    response = BrokerHeartbeatResponse(
        error_code=i16(77), next_state=i8(2), lease_end_time_ms=i64(0)
    )
    assert messages.heartbeat_result(op("heartbeat", value=HEARTBEAT), response) == Failure(
        "fail", ("STALE_BROKER_EPOCH", "")
    )


def altered(top: int, code: int) -> Any:
    partition = alter.PartitionData(
        partition_index=i32(2),
        error_code=ErrorCode(code),
        leader_id=i32(101),  # type: ignore[arg-type]
        leader_epoch=i32(3),
        isr=(i32(101), i32(103)),  # type: ignore[arg-type]
        partition_epoch=i32(5),
    )
    topics = () if top else (alter.TopicData(topic_id=TOPIC_ID, partitions=(partition,)),)
    return alter.AlterPartitionResponse(
        throttle_time=NO_THROTTLE, error_code=ErrorCode(top), topics=topics
    )


def test_isr_altered() -> None:
    assert messages.alter_result(op("alter-isr", "t/2", ALTER), altered(0, 0)) == Ok(
        {"leader": 101, "leader_epoch": 3, "partition_epoch": 5, "isr": [101, 103]}
    )


@pytest.mark.parametrize(
    "top, code, name",
    [
        (77, 0, "STALE_BROKER_EPOCH"),
        (0, 95, "INVALID_UPDATE_VERSION"),
        (0, 107, "INELIGIBLE_REPLICA"),
    ],
)
def test_isr_not_altered(top: int, code: int, name: str) -> None:
    assert messages.alter_result(op("alter-isr", "t/2", ALTER), altered(top, code)) == Failure(
        "fail", (name, "")
    )
