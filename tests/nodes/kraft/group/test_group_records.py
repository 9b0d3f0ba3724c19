"""Groups and offsets as bytes in `__consumer_offsets`: Kafka's schemas, and strangers' bytes."""

import io
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.records.readers import read_batch
from kio.records.schema import NewRecordBatch
from kio.records.writers import write_new_batch

from nodes.kraft.group.config import java_hash, partition_of
from nodes.kraft.group.records import decode_changes, encode_changes
from nodes.kraft.group.state import Offset
from nodes.kraft.group.steps import GroupChange, OffsetChange, SavedGroup, SavedMember

NOW_MS = 1_700_000_000_000
TEXT = st.text(max_size=12)
MEMBERS = st.builds(
    SavedMember,
    member_id=TEXT,
    instance_id=st.none() | TEXT,
    client_id=TEXT,
    client_host=TEXT,
    rebalance_ms=st.integers(0, 2**31 - 1),
    session_ms=st.integers(0, 2**31 - 1),
    subscription=st.binary(max_size=20),
    assignment=st.binary(max_size=20),
)
GROUPS = st.builds(
    SavedGroup,
    protocol_type=TEXT,
    generation=st.integers(0, 2**31 - 1),
    protocol=st.none() | TEXT,
    leader=st.none() | TEXT,
    members=st.lists(MEMBERS, max_size=3).map(tuple),
)
OFFSETS = st.builds(
    Offset,
    offset=st.integers(-1, 2**62),
    leader_epoch=st.integers(-1, 2**31 - 1),
    metadata=TEXT,
    commit_ms=st.just(NOW_MS),
)
CHANGES = st.one_of(
    st.builds(OffsetChange, TEXT, TEXT, st.integers(0, 2**31 - 1), st.none() | OFFSETS),
    st.builds(GroupChange, TEXT.filter(bool), st.none() | GROUPS),
)


@given(st.lists(CHANGES, min_size=1, max_size=5))
def test_changes_survive_their_bytes(changes):
    decoded = decode_changes(encode_changes(changes, NOW_MS))
    assert [change for _, change in decoded.changes] == changes
    assert [offset for offset, _ in decoded.changes] == list(range(len(changes)))
    assert decoded.end_offset == len(changes)
    assert decoded.unreadable == ()


def test_the_mark_changes_nothing():
    decoded = decode_changes(encode_changes((), NOW_MS))
    assert (decoded.changes, decoded.end_offset, decoded.unreadable) == ((), 1, ())


def test_nothing_is_nothing():
    assert decode_changes(b"").end_offset is None


def test_layout_is_that_of_kafkas_schemas():
    """Offset key v1 and value v3, as Kafka's own tools read them."""
    change = OffsetChange("g", "t", 7, Offset(offset=42, leader_epoch=3, metadata="m"))
    batch, _ = read_batch(encode_changes([change], NOW_MS), 0)
    (record,) = batch.records
    assert record.key == struct.pack(">hh1sh1si", 1, 1, b"g", 1, b"t", 7)
    assert record.value == struct.pack(">hqih1sq", 3, 42, 3, 1, b"m", NOW_MS)
    (record,) = read_batch(encode_changes([GroupChange("g", None)], NOW_MS), 0)[0].records
    assert (record.key, record.value) == (struct.pack(">hh1s", 2, 1, b"g"), None)


@pytest.mark.parametrize(
    "key, value",
    [
        (b"", b""),
        (b"\x00\x01\x00\x05g", b""),
        (struct.pack(">hh1sh1si", 1, 1, b"g", 1, b"t", 7), struct.pack(">h", 9)),
        (struct.pack(">hh1s", 2, 1, b"g"), b"\x00\x03\xff"),
    ],
)
def test_strangers_records_are_passed_over(key, value):
    """Whoever may write to the topic cannot stop its coordinator."""
    ours = OffsetChange("g", "t", 7, Offset(offset=42, commit_ms=NOW_MS))
    batch, _ = read_batch(encode_changes([ours, ours], NOW_MS), 0)
    first, second = batch.records
    strange = type(first)(
        attributes=first.attributes,
        timestamp=first.timestamp,
        offset=first.offset,
        key=key,
        value=value,
        headers=(),
    )
    buffer = io.BytesIO()
    write_new_batch(
        buffer,
        NewRecordBatch(
            producer_id=-1,
            producer_epoch=-1,
            base_sequence=-1,
            attributes=0,
            records=(strange, second),
        ),
    )
    decoded = decode_changes(buffer.getvalue())
    assert decoded.changes == ((1, ours),)
    assert decoded.unreadable == (0,)


def test_keys_of_later_versions_are_ignored():
    """As Kafka's loader does."""
    ours, _ = read_batch(encode_changes([GroupChange("g", None)], NOW_MS), 0)
    buffer = io.BytesIO()
    later = struct.pack(">hh1s", 3, 1, b"g")
    (record,) = ours.records
    batch = NewRecordBatch(
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        attributes=0,
        records=(
            type(record)(
                attributes=0,
                timestamp=record.timestamp,
                offset=0,
                key=later,
                value=b"",
                headers=(),
            ),
        ),
    )
    write_new_batch(buffer, batch)
    decoded = decode_changes(buffer.getvalue())
    assert (decoded.changes, decoded.unreadable, decoded.end_offset) == ((), (), 1)


@pytest.mark.parametrize(
    "text, value",
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("polygenelubricants", -(2**31)),
        ("\U0001f600", 1772899),
    ],
)
def test_javas_hash(text, value):
    """Of UTF-16 code units in 32 bits, its one negative number without an absolute too."""
    assert java_hash(text) == value
    assert 0 <= partition_of(text, 50) < 50


def test_the_group_of_the_hash_without_absolute_is_in_partition_0():
    assert partition_of("polygenelubricants", 50) == 0
