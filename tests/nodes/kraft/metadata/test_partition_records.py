"""Partition records are written by hand as kio writes them, and as JSON like all others."""

import json
import struct
import uuid
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.kraft.metadata.describe import as_json, describe
from nodes.kraft.metadata.partition_records import encode_partition
from nodes.kraft.metadata.records import decode_record, encode_record
from nodes.kraft.wire.codec import encode_entity
from nodes.kraft.wire.records import NEXT_VERSIONS, IsrChangeRecord, PartitionRecord

NUMBERS = st.integers(-(2**31), 2**31 - 1)
MEMBERS = st.lists(NUMBERS, max_size=130).map(tuple)


@st.composite
def records(draw: Any) -> PartitionRecord | IsrChangeRecord:
    common = {
        "partition_id": draw(NUMBERS),
        "topic_id": draw(st.none() | st.uuids()),
        "isr": draw(MEMBERS),
        "leader": draw(NUMBERS),
        "leader_epoch": draw(NUMBERS),
        "partition_epoch": draw(st.just(0) | NUMBERS),
    }
    if draw(st.booleans()):
        return IsrChangeRecord(**common)
    others = {name: draw(MEMBERS) for name in ("replicas", "removing_replicas", "adding_replicas")}
    return PartitionRecord(**common, **others)


@given(records())
def test_at_level_1_as_kio_writes_version_0(record: PartitionRecord | IsrChangeRecord) -> None:
    number = 2 if isinstance(record, PartitionRecord) else 4
    assert encode_record(record) == bytes((number, 0)) + encode_entity(record)


@given(records())
def test_at_level_2_as_kio_writes_version_1(record: PartitionRecord | IsrChangeRecord) -> None:
    number = 2 if isinstance(record, PartitionRecord) else 4
    schema = NEXT_VERSIONS[type(record)]
    newer = schema(**{item.name: getattr(record, item.name) for item in fields(schema)})
    assert encode_record(record, 2) == bytes((number, 1)) + encode_entity(newer)
    read = decode_record(encode_record(record, 2))
    assert type(read) is type(record)


@given(records())
def test_their_json_is_their_description(record: PartitionRecord | IsrChangeRecord) -> None:
    described = json.loads(json.dumps(describe(record)))
    assert {"kind": described["kind"], **json.loads(as_json(record))} == described


@pytest.mark.parametrize("field", ["partition_id", "leader", "partition_epoch"])
def test_a_number_that_does_not_fit_is_refused(field: str) -> None:
    values: dict[str, Any] = {"partition_id": 1, "leader": 1, "leader_epoch": 0, field: 2**31}
    record = IsrChangeRecord(topic_id=uuid.uuid4(), isr=(), **values)
    with pytest.raises((OverflowError, struct.error)):
        encode_partition(record, tagged=True)
