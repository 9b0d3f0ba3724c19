"""Record batches: written and read by hand as kio writes and reads them."""

import datetime
import io
import struct
from typing import Any

import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.records.readers import read_batch
from kio.records.schema import NewRecordBatch, Record
from kio.records.writers import write_new_batch
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64

from nodes.kraft.raft.messages import Batch
from nodes.kraft.wire.batches import (
    LEADER_CHANGE_KEY,
    CorruptBatch,
    decode_batches,
    encode_batch,
)

TIMES = st.integers(0, 4_000_000_000_000).filter(lambda ms: int(ms / 1000 * 1000) == ms)
"""kio goes by a float of seconds, which loses a millisecond of some."""
VALUES = st.one_of(st.binary(max_size=20), st.sampled_from([63, 64, 8191, 8192]).map(bytes))


@st.composite
def batches(draw: Any) -> Batch:
    values = tuple(draw(st.lists(VALUES, min_size=1, max_size=70)))
    base = draw(st.integers(0, 2**50))
    return Batch(base, draw(st.integers(0, 2**31 - 2)), values, draw(st.booleans()))


def by_kio(batch: Batch, timestamp_ms: int, headers: tuple[Any, ...] = ()) -> bytes:
    timestamp = TZAwareMicros.parse(
        datetime.datetime.fromtimestamp(timestamp_ms / 1000, datetime.UTC)
    )
    records = tuple(
        Record(
            attributes=i8(0),
            timestamp=timestamp,
            offset=i64(batch.base_offset + delta),
            key=LEADER_CHANGE_KEY if batch.control else None,
            value=value,
            headers=headers,
        )
        for delta, value in enumerate(batch.records)
    )
    buffer = io.BytesIO()
    new = NewRecordBatch(
        producer_id=i64(-1),
        producer_epoch=i16(-1),
        partition_leader_epoch=i32(batch.epoch),
        base_sequence=i32(-1),
        records=records,
        attributes=i16(0x20 if batch.control else 0),
    )
    write_new_batch(buffer, new)
    return buffer.getvalue()


@settings(deadline=None)
@given(batches(), TIMES)
def test_a_batch_is_written_as_kio_writes_it(batch: Batch, timestamp_ms: int) -> None:
    data = encode_batch(batch, timestamp_ms)
    assert data == by_kio(batch, timestamp_ms)
    (read,) = decode_batches(b"".join((data,)))
    assert (read, read.timestamp_ms) == (batch, timestamp_ms)


@settings(deadline=None)
@given(batches(), st.data())
def test_a_changed_batch_is_read_as_kio_reads_it_or_not_at_all(batch: Batch, data: Any) -> None:
    """Its checksum fits the change: whoever wrote it meant it."""
    changed = bytearray(encode_batch(batch, 1000))
    place = data.draw(st.integers(21, min(len(changed) - 1, 80)))
    changed[place] ^= data.draw(st.integers(1, 255))
    struct.pack_into(">I", changed, 17, crc32c(memoryview(changed)[21:]))
    try:
        (read,) = decode_batches(bytes(changed))
    except CorruptBatch:
        return
    reported, _ = read_batch(bytes(changed), 0)
    assert read.records == tuple(record.value for record in reported.records)
    assert [record.offset for record in reported.records] == list(
        range(read.base_offset, read.end_offset)
    )
    assert read.control == bool(reported.attributes & 0x20)


@pytest.mark.parametrize("last", [1, 3, 2**31 - 1, -1])
def test_a_header_that_promises_other_offsets_costs_no_memory(last: int) -> None:
    changed = bytearray(encode_batch(Batch(7, 3, (b"a", b"bc", b"d")), 1000))
    struct.pack_into(">i", changed, 23, last)
    struct.pack_into(">I", changed, 17, crc32c(memoryview(changed)[21:]))
    with pytest.raises(CorruptBatch):
        decode_batches(bytes(changed))


def test_what_others_write_is_read_too() -> None:
    """Record headers, say, which this module does not write."""
    from kio.records.schema import RecordHeader

    batch = Batch(7, 3, (b"a", b"bc"))
    headers = (RecordHeader(key=b"k", value=b"v"),)
    assert decode_batches(by_kio(batch, 5000, headers)) == [batch]


def test_a_batch_of_no_records_is_corrupt() -> None:
    data = encode_batch(Batch(7, 3, ()), 1000)
    with pytest.raises(CorruptBatch):
        decode_batches(data)
