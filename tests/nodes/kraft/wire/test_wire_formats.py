"""The draft's messages and records, byte by byte as KIP-631 has them.

The expected bytes are put together here by hand, field after field, from the KIP's tables: what
kio makes of our declarations is compared with that.
"""

import struct
import uuid

import pytest
from kio.static.primitive import i8, i16, i32, i64, u16

from nodes.kraft.metadata.records import encode_record
from nodes.kraft.wire import records
from nodes.kraft.wire.codec import (
    decode_entity,
    decode_request,
    decode_response,
    encode_entity,
    encode_request,
    encode_response,
)
from nodes.kraft.wire.heartbeats import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerState,
    ControllerHeartbeatRequest,
    ControllerHeartbeatResponse,
    Listener,
)

TOPIC = uuid.UUID("0f0e0d0c-0b0a-0908-0706-050403020100")
NO_TAGS = b"\x00"


def text(value: str) -> bytes:
    """A compact string: its length + 1 as a varint (short ones: one byte), then UTF-8."""
    return bytes([len(value) + 1]) + value.encode()


def array(*items: bytes) -> bytes:
    """A compact array."""
    return bytes([len(items) + 1]) + b"".join(items)


def ints(*values: int) -> bytes:
    return array(*(struct.pack(">i", value) for value in values))


def endpoint(name: str, host: str, port: int, protocol: int) -> bytes:
    return text(name) + text(host) + struct.pack(">Hh", port, protocol) + NO_TAGS


def test_broker_heartbeat_request() -> None:
    """A.1.77; the port is unsigned (A.7.9)."""
    request = BrokerHeartbeatRequest(
        target_state=i8(BrokerState.ACTIVE),
        broker_id=i32(7),
        broker_epoch=i64(2**40),
        lease_start_time_ms=i64(123456789),
        cur_metadata_offset=i64(99),
        listeners=(Listener(name="EXT", host="h", port=u16(60123), security_protocol=i16(3)),),
    )
    assert encode_entity(request) == (
        struct.pack(">biqqq", 3, 7, 2**40, 123456789, 99)
        + array(endpoint("EXT", "h", 60123, 3))
        + NO_TAGS
    )


def test_a_broker_without_an_epoch_says_minus_one() -> None:
    request = BrokerHeartbeatRequest(
        target_state=i8(1),
        broker_id=i32(7),
        lease_start_time_ms=i64(0),
        cur_metadata_offset=i64(-1),
        listeners=(),
    )
    assert encode_entity(request)[5:13] == b"\xff" * 8


def test_broker_heartbeat_response() -> None:
    """A.1.78."""
    response = BrokerHeartbeatResponse(
        error_code=i16(77),
        active_controller_id=i32(2),
        next_state=i8(BrokerState.FENCED),
        broker_epoch=i64(5),
        lease_end_time_ms=i64(6),
    )
    assert encode_entity(response) == struct.pack(">hibqq", 77, 2, 2, 5, 6) + NO_TAGS


def test_controller_heartbeat() -> None:
    """A.1.83."""
    request = ControllerHeartbeatRequest(controller_id=i32(3), last_snapshot_offset=i64(1000))
    assert encode_entity(request) == struct.pack(">iq", 3, 1000) + NO_TAGS
    response = ControllerHeartbeatResponse(error_code=i16(41), start_snapshot=True)
    assert encode_entity(response) == struct.pack(">h?", 41, True) + NO_TAGS


@pytest.mark.parametrize(
    ("request_", "response"),
    [
        (
            BrokerHeartbeatRequest(
                target_state=i8(3),
                broker_id=i32(1),
                lease_start_time_ms=i64(1),
                cur_metadata_offset=i64(0),
                listeners=(),
            ),
            BrokerHeartbeatResponse(error_code=i16(0), next_state=i8(3), lease_end_time_ms=i64(1)),
        ),
        (
            ControllerHeartbeatRequest(controller_id=i32(1), last_snapshot_offset=i64(-1)),
            ControllerHeartbeatResponse(error_code=i16(0), start_snapshot=False),
        ),
    ],
)
def test_heartbeats_are_flexible_version_0_of_keys_50_and_51(
    request_: BrokerHeartbeatRequest, response: BrokerHeartbeatResponse
) -> None:
    data = encode_request(request_, correlation_id=9, client_id="c")
    key = int(request_.__api_key__)
    assert key in (50, 51)
    assert data.startswith(struct.pack(">hhih", key, 0, 9, 1) + b"c" + NO_TAGS)
    assert decode_request(data)[1] == request_
    answered = encode_response(response, correlation_id=9)
    assert answered.startswith(struct.pack(">i", 9) + NO_TAGS)
    assert decode_response(key, 0, answered) == (9, response)


@pytest.mark.parametrize(
    ("value", "state"), [(0, "UNKNOWN"), (1, "INITIAL"), (2, "FENCED"), (3, "ACTIVE"),
                         (4, "SHUTDOWN"), (5, "UNKNOWN"), (-1, "UNKNOWN"), (99, "UNKNOWN")]
)  # fmt: skip
def test_broker_states(value: int, state: str) -> None:
    """A.1.80."""
    assert BrokerState(value).name == state


def test_broker_record() -> None:
    """A.1.86."""
    point = records.EndPoint(name="A", host="b", port=u16(9092), security_protocol=i16(0))
    record = records.BrokerRecord(
        broker_id=i32(1), broker_epoch=i64(12), end_points=(point,), rack=None
    )
    assert encode_record(record) == (
        b"\x00\x00"
        + struct.pack(">iq", 1, 12)
        + array(endpoint("A", "b", 9092, 0))
        + b"\x00"
        + NO_TAGS
    )


def test_topic_record() -> None:
    """A.1.33, A.1.87."""
    record = records.TopicRecord(name="foo", topic_id=TOPIC, deleting=True)
    assert encode_record(record) == (b"\x01\x00" + text("foo") + TOPIC.bytes + b"\x01" + NO_TAGS)


def test_partition_record() -> None:
    """A.1.88."""
    record = records.PartitionRecord(
        partition_id=i32(4),
        topic_id=TOPIC,
        replicas=(i32(3), i32(1)),
        isr=(i32(3),),
        removing_replicas=(i32(1),),
        adding_replicas=(),
        leader=i32(3),
        leader_epoch=i32(8),
    )
    assert encode_record(record) == (
        b"\x02\x00"
        + struct.pack(">i", 4)
        + TOPIC.bytes
        + ints(3, 1)
        + ints(3)
        + ints(1)
        + ints()
        + struct.pack(">ii", 3, 8)
        + NO_TAGS
    )
    defaults = records.PartitionRecord(topic_id=TOPIC, replicas=(), isr=())
    assert (defaults.partition_id, defaults.leader, defaults.leader_epoch) == (-1, -1, -1)


def test_config_record() -> None:
    """A.1.90."""
    record = records.ConfigRecord(resource_type=i8(2), resource_name="t", name="k", value="v")
    assert encode_record(record) == b"\x03\x00\x02" + text("t") + text("k") + text("v") + NO_TAGS


def test_isr_change_record() -> None:
    """A.1.91."""
    record = records.IsrChangeRecord(
        partition_id=i32(1),
        topic_id=TOPIC,
        isr=(i32(2), i32(5)),
        leader=i32(2),
        leader_epoch=i32(3),
    )
    assert encode_record(record) == (
        b"\x04\x00"
        + struct.pack(">i", 1)
        + TOPIC.bytes
        + ints(2, 5)
        + struct.pack(">ii", 2, 3)
        + NO_TAGS
    )


def test_access_control_record() -> None:
    """A.1.92: a null resource name is the default resource."""
    record = records.AccessControlRecord(
        resource_type=i8(2),
        resource_name=None,
        pattern_type=i8(3),
        principal="User:a",
        host="*",
        operation=i8(4),
        permission_type=i8(3),
    )
    assert encode_record(record) == (
        b"\x05\x00\x02\x00\x03" + text("User:a") + text("*") + b"\x04\x03" + NO_TAGS
    )


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (records.FenceBrokerRecord(broker_id=i32(1), broker_epoch=i64(2)), 7),
        (records.UnfenceBrokerRecord(broker_id=i32(1), broker_epoch=i64(2)), 8),
        (records.RemoveTopicRecord(topic_id=TOPIC), 9),
        (records.NoOpRecord(), 20),
        (records.RequestRecord(request_id=TOPIC, answer=b"x"), 100),
        (records.UnregisterBrokerRecord(broker_id=i32(1), broker_epoch=i64(2)), 101),
        (
            records.ReassignmentRecord(
                partition_id=i32(1),
                topic_id=TOPIC,
                replicas=(i32(4), i32(5)),
                isr=(i32(5),),
                removing_replicas=(i32(5),),
                adding_replicas=(i32(4),),
                leader=i32(5),
                leader_epoch=i32(3),
                partition_epoch=i32(6),
            ),
            102,
        ),
    ],
)
def test_further_records_have_their_own_numbers(record: records.Record, kind: int) -> None:
    """A.7.8."""
    data = encode_record(record)
    assert data[:2] == bytes([kind, 0])
    assert decode_entity(type(record), data, 2) == record


def test_what_the_draft_lacks_is_in_tagged_fields() -> None:
    """A.7.10, A.1.34: older software would pass over it."""
    base = {"partition_id": i32(0), "topic_id": TOPIC, "isr": (i32(1),)}
    without = encode_record(records.IsrChangeRecord(**base))  # type: ignore[arg-type]
    tagged = encode_record(
        records.IsrChangeRecord(**base, partition_epoch=i32(6))  # type: ignore[arg-type]
    )
    assert without.endswith(NO_TAGS)
    assert tagged == without[:-1] + b"\x01\x00\x04" + struct.pack(">i", 6)
