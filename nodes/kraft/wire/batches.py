"""Raft batches as Kafka record batches, format version 2.

Keys are null and records carry no headers, but for the LeaderChange control record, whose key
is that of Kafka's control records: version 0, type 2 (KIP-595). The batch header carries the
base offset and the leader epoch, and a CRC-32C over all that follows it.
"""

import datetime
import io
import struct
from dataclasses import dataclass
from typing import Final

from crc32c import crc32c
from kio.records.readers import read_batch
from kio.records.schema import NewRecordBatch, Record
from kio.records.writers import write_new_batch
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64

from nodes.kraft.raft.messages import Batch

LEADER_CHANGE_KEY: Final = struct.pack(">hh", 0, 2)
_CONTROL: Final = 0x20
_PREFIX: Final = struct.Struct(">qi")  # base offset, length of the rest
_HEADER: Final = struct.Struct(">qiibIhi")  # ... leader epoch, magic, crc, attributes, last delta
_CRC_END: Final = 21
_MIN_SIZE: Final = 61


class CorruptBatch(ValueError):
    """The bytes are no whole, undamaged record batch."""


@dataclass(frozen=True, slots=True)
class BatchHeader:
    """Where a batch stands: its offsets (end exclusive), leader epoch, and size in bytes."""

    base_offset: int
    end_offset: int
    epoch: int
    size: int


def encode_batch(batch: Batch, timestamp_ms: int) -> bytes:
    """The batch's bytes; `timestamp_ms` is the wall clock's, for people who look at the log."""
    timestamp = TZAwareMicros.parse(
        datetime.datetime.fromtimestamp(timestamp_ms / 1000, datetime.UTC)
    )
    key = LEADER_CHANGE_KEY if batch.control else None
    records = tuple(
        Record(
            attributes=i8(0),
            timestamp=timestamp,
            offset=i64(batch.base_offset + delta),
            key=key,
            value=value,
            headers=(),
        )
        for delta, value in enumerate(batch.records)
    )
    buffer = io.BytesIO()
    new_batch = NewRecordBatch(
        producer_id=i64(-1),
        producer_epoch=i16(-1),
        partition_leader_epoch=i32(batch.epoch),
        base_sequence=i32(-1),
        records=records,
        attributes=i16(_CONTROL if batch.control else 0),
    )
    write_new_batch(buffer, new_batch)
    return buffer.getvalue()


def read_header(data: bytes | memoryview, position: int = 0) -> BatchHeader:
    """The header of the batch at `position`, checked against its CRC without decoding records.

    Raises `CorruptBatch` where the batch is cut short or damaged.
    """
    left = len(data) - position
    if left < _MIN_SIZE:
        raise CorruptBatch(f"{left} bytes at {position} are too few for a record batch")
    base, length, epoch, magic, crc, _, last_delta = _HEADER.unpack_from(data, position)
    size = _PREFIX.size + length
    if size < _MIN_SIZE or size > left:
        raise CorruptBatch(f"record batch at {position} says {size} bytes where {left} are left")
    body = memoryview(data)[position + _CRC_END : position + size]
    if magic != 2 or crc != crc32c(body):
        raise CorruptBatch(f"record batch at {position}: wrong magic or checksum")
    if base < 0 or last_delta < 0 or epoch < 0:
        raise CorruptBatch(f"record batch at {position}: negative offset or epoch")
    return BatchHeader(base, base + last_delta + 1, epoch, size)


def decode_batches(data: bytes) -> list[Batch]:
    """All batches in `data`. Raises `CorruptBatch`, also where the last one is cut short."""
    batches, position = [], 0
    while position < len(data):
        header = read_header(data, position)
        batches.append(_decode(data, position, header))
        position += header.size
    return batches


def _decode(data: bytes, position: int, header: BatchHeader) -> Batch:
    try:
        decoded, _ = read_batch(data, position)
    except Exception as error:
        raise CorruptBatch(f"record batch at {position}: {error}") from error
    control = bool(decoded.attributes & _CONTROL)
    values = tuple(record.value for record in decoded.records if record.value is not None)
    offsets = [record.offset for record in decoded.records]
    if offsets != list(range(header.base_offset, header.end_offset)) or len(values) != len(offsets):
        raise CorruptBatch(f"record batch at {position}: offsets with gaps, or null values")
    key = LEADER_CHANGE_KEY if control else None
    if any(record.key != key for record in decoded.records):
        raise CorruptBatch(f"record batch at {position}: a record key of another kind of record")
    return Batch(header.base_offset, header.epoch, values, control, int(decoded.base_timestamp))
