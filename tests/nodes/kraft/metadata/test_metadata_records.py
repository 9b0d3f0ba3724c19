"""Records of the metadata log as bytes (A.1.31-35)."""

import contextlib
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.kraft.metadata.describe import as_json, describe
from nodes.kraft.metadata.records import (
    MalformedRecord,
    UnknownRecordType,
    UnsupportedRecordVersion,
    decode_record,
    encode_record,
)
from nodes.kraft.wire.records import (
    AccessControlRecord,
    BrokerRecord,
    ConfigRecord,
    EndPoint,
    FenceBrokerRecord,
    IsrChangeRecord,
    NoOpRecord,
    PartitionRecord,
    RemoveTopicRecord,
    RequestRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from nodes.kraft.wire.structure import without_unknown_tags, write_unsigned_varint

TOPIC_ID = uuid.UUID("3f2504e0-4f89-41d3-9a0c-0305e82c3301")
POINT = EndPoint(name="C", host="host", port=54321, security_protocol=0)
RECORDS = [
    BrokerRecord(
        broker_id=4, broker_epoch=9, end_points=(POINT,), rack="r", incarnation_id=uuid.uuid4()
    ),
    TopicRecord(name="t", topic_id=TOPIC_ID, deleting=False),
    PartitionRecord(
        partition_id=0,
        topic_id=TOPIC_ID,
        replicas=(4, 5),
        isr=(4,),
        leader=4,
        leader_epoch=3,
        partition_epoch=7,
    ),
    ConfigRecord(resource_type=2, resource_name="t", name="retention.ms", value="1"),
    IsrChangeRecord(
        partition_id=0, topic_id=TOPIC_ID, isr=(4,), leader=-1, leader_epoch=4, partition_epoch=8
    ),
    AccessControlRecord(
        resource_type=2,
        resource_name=None,
        pattern_type=3,
        principal="User:a",
        host="*",
        operation=2,
        permission_type=3,
    ),
    FenceBrokerRecord(broker_id=4, broker_epoch=9),
    UnfenceBrokerRecord(broker_id=4, broker_epoch=9),
    RemoveTopicRecord(topic_id=TOPIC_ID),
    NoOpRecord(),
    RequestRecord(request_id=uuid.uuid4(), answer=b"\x00\x01"),
    UnregisterBrokerRecord(broker_id=4, broker_epoch=9),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_every_record_survives_its_bytes(record):
    assert decode_record(encode_record(record)) == record


def test_topic_record_begins_with_type_and_version():
    """A.1.33: TopicRecord v0 begins 0x01 0x00."""
    assert encode_record(RECORDS[1])[:2] == b"\x01\x00"


def test_draft_layout_of_a_topic_record():
    """A.1.32, A.1.87: type, version, compact name, id, deleting, no tagged fields."""
    assert encode_record(RECORDS[1]) == b"\x01\x00" + b"\x02t" + TOPIC_ID.bytes + b"\x00" + b"\x00"


def test_unsigned_ports():
    """A.7.9: ports above 32767 fit."""
    assert decode_record(encode_record(RECORDS[0])).end_points[0].port == 54321


def test_unknown_type_is_refused():
    """A.1.35: no guessing."""
    with pytest.raises(UnknownRecordType, match="record type 42"):
        decode_record(b"\x2a\x00")


def test_unknown_type_of_two_bytes_is_refused():
    """A.1.32: types are unsigned varints."""
    with pytest.raises(UnknownRecordType, match="record type 300"):
        decode_record(write_unsigned_varint(300) + b"\x00")


def test_unknown_version_is_refused():
    """A.1.35: a version bump is not read as version 0."""
    with pytest.raises(UnsupportedRecordVersion, match="TopicRecord version 1"):
        decode_record(b"\x01\x01" + encode_record(RECORDS[1])[2:])


@pytest.mark.parametrize("data", [b"", b"\x01", b"\xff" * 6, b"\x01\x00\x05ab"])
def test_broken_bytes_are_refused(data):
    with pytest.raises(MalformedRecord):
        decode_record(data)


def test_bytes_after_the_record_are_refused():
    with pytest.raises(MalformedRecord, match="1 bytes after"):
        decode_record(encode_record(RECORDS[1]) + b"\x00")


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
@given(tag=st.integers(20, 2**20), value=st.binary(max_size=20))
def test_unknown_tagged_fields_are_ignored(record, tag, value):
    """A.1.34, A.7.12: also beside tagged fields that are known."""
    encoded = encode_record(record)
    empty = encode_record(type(record)(**_without_tags(record)))
    known = len(encoded) - len(empty)
    head, section = encoded[: len(empty) - 1], encoded[len(empty) - 1 :]
    assert section[0] == (1 if known else 0)
    unknown = write_unsigned_varint(tag) + write_unsigned_varint(len(value)) + value
    changed = head + bytes([section[0] + 1]) + section[1:] + unknown
    assert decode_record(changed) == record


def _without_tags(record):
    from dataclasses import fields

    return {
        item.name: getattr(record, item.name)
        for item in fields(record)
        if "tag" not in item.metadata
    }


def test_unknown_tagged_fields_inside_arrays_are_ignored():
    """A.1.34: an end point may have grown a field."""
    encoded = encode_record(RECORDS[0])
    at = encoded.index(b"\x05host") + len(b"\x05host") + 4
    assert encoded[at] == 0  # the end point's tagged fields
    changed = encoded[:at] + b"\x01\x1e\x02hi" + encoded[at + 1 :]
    assert decode_record(changed) == RECORDS[0]


@given(st.binary(max_size=60))
def test_walking_arbitrary_bytes_ends_in_a_clear_error_or_bytes(data):
    with contextlib.suppress(ValueError):
        without_unknown_tags(BrokerRecord, data)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_description_is_json(record):
    """docs/operating.md: field names as in the wire's records, uuids as strings."""
    import json

    described = json.loads(json.dumps(describe(record)))
    assert described["kind"] == type(record).__name__
    assert {"kind": described["kind"], **json.loads(as_json(record))} == described
    if hasattr(record, "topic_id"):
        assert described["topic_id"] == str(record.topic_id)
