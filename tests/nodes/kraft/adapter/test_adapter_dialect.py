"""What the node says otherwise than Kafka, or alone, as clients send and read it."""

import uuid
from typing import Any

import pytest
from kio.static.primitive import i8, i16, i32, i64

from framework.history.event import Invocation
from framework.plugins.dialect import UnexpectedResponse
from framework.plugins.outcomes import Ok, Refused
from nodes.kraft.adapter import dialect
from nodes.kraft.adapter.dialect import DIALECT
from nodes.kraft.wire.codec import decode_request, encode_response
from nodes.kraft.wire.debug import ReadPartition, ReadTopic, ReadTopicsResponse
from nodes.kraft.wire.heartbeats import BrokerHeartbeatResponse
from workloads.kafka.codec import Codec

TOPIC_ID = uuid.UUID(int=7)
HEARTBEAT = {
    "broker_id": 101,
    "broker_epoch": 12,
    "previous_epoch": -1,
    "target": "leaving",
    "incarnation": str(uuid.UUID(int=9)),
    "offset": 99,
    "lease_start_ms": 1234,
    "zombie": None,
}


def op(f: str, key: str = "t", value: Any = None) -> Invocation:
    return Invocation(process=0, f=f, key=key, value=value)


def sent(operation: Invocation) -> Any:
    """The request as a node reads it."""
    request = DIALECT.exchanges[operation.f].request(operation)
    data = Codec(DIALECT.messages).encode_request(request, correlation_id=1, client_id="test")
    return decode_request(data[4:])[1]


def test_describe_asks_for_one_name() -> None:
    assert sent(op("describe")).names == ("t",)


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


def read_topics(code: int, *topics: ReadTopic) -> ReadTopicsResponse:
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
    assert dialect.describe_answer(op("describe"), read_topics(0, topic)) == Ok(
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
    assert dialect.describe_answer(op("describe"), read_topics(0, topic)) == Ok(
        None, {"epoch": 5, "offset": 80}
    )


def test_not_described() -> None:
    assert dialect.describe_answer(op("describe"), read_topics(41)) == Refused("NOT_CONTROLLER")


def test_heartbeat_granted() -> None:
    response = BrokerHeartbeatResponse(
        error_code=i16(0), next_state=i8(3), broker_epoch=i64(12), lease_end_time_ms=i64(6234)
    )
    assert dialect.heartbeat_answer(op("heartbeat", value=HEARTBEAT), response) == Ok(
        {"broker_epoch": 12, "next_state": "active", "lease_end_ms": 6234}
    )


def test_heartbeat_refused() -> None:
    response = BrokerHeartbeatResponse(
        error_code=i16(77), next_state=i8(2), lease_end_time_ms=i64(0)
    )
    assert dialect.heartbeat_answer(op("heartbeat", value=HEARTBEAT), response) == Refused(
        "STALE_BROKER_EPOCH"
    )


def test_a_description_of_another_topic_is_no_answer() -> None:
    topic = ReadTopic(error_code=i16(0), name="other", topic_id=TOPIC_ID, partitions=())
    with pytest.raises(UnexpectedResponse):
        dialect.describe_answer(op("describe"), read_topics(0, topic))


@pytest.mark.parametrize("f", ["describe", "heartbeat"])
def test_clients_read_what_the_node_writes(f: str) -> None:
    responses = {
        "describe": read_topics(
            0, ReadTopic(error_code=i16(3), name="t", topic_id=None, partitions=())
        ),
        "heartbeat": BrokerHeartbeatResponse(
            error_code=i16(0), next_state=i8(3), broker_epoch=i64(12), lease_end_time_ms=i64(6)
        ),
    }
    request = DIALECT.exchanges[f].request(op(f, value=HEARTBEAT))
    data = encode_response(responses[f], correlation_id=9)
    read = Codec(DIALECT.messages).decode_response(request, data, correlation_id=9)
    assert read == responses[f]
