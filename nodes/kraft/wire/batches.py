"""Raft batches as Kafka record batches, format version 2.

Keys are null and records carry no headers, but for the LeaderChange control record, whose key
is that of Kafka's control records: version 0, type 2 (KIP-595). The batch header carries the
base offset and the leader epoch, and a CRC-32C over all that follows it.

Written and read by hand, for a metadata log has a hundred thousand records: kio, which the tests
hold this against, takes ten times as long. What is read that this module would not
have written is left to kio.
"""

import struct
from dataclasses import dataclass
from functools import lru_cache
from operator import eq
from typing import Final

from crc32c import crc32c
from kio.records.readers import read_batch

from nodes.kraft.ids import LeaderEpoch, Offset
from nodes.kraft.raft.messages import Batch
from nodes.kraft.wire.structure import write_unsigned_varint

LEADER_CHANGE_KEY: Final = struct.pack(">hh", 0, 2)
_CONTROL: Final = 0x20
_PREFIX: Final = struct.Struct(">qi")  # base offset, length of the rest
_HEADER: Final = struct.Struct(">qiibIhi")  # ... leader epoch, magic, crc, attributes, last delta
_HEAD: Final = struct.Struct(">qiibI")  # base offset, length, leader epoch, magic, crc
_REST: Final = struct.Struct(">hiqqqhii")  # attributes, last delta, times, producer, how many
_CRC_END: Final = 21
_MIN_SIZE: Final = 61
_NULL: Final = b"\x01"  # the length -1


_CONTROL_KEY: Final = b"\x08" + LEADER_CHANGE_KEY  # its length, 4, before it


class CorruptBatch(ValueError):
    """The bytes are no whole, undamaged record batch."""


@dataclass(frozen=True, slots=True)
class BatchHeader:
    """Where a batch stands: its offsets (end exclusive), leader epoch, and size in bytes."""

    base_offset: Offset
    end_offset: Offset
    epoch: LeaderEpoch
    size: int


def encode_batch(batch: Batch, timestamp_ms: int) -> bytes:
    """The batch's bytes; `timestamp_ms` is the wall clock's, for people who look at the log."""
    key = _CONTROL_KEY if batch.control else _NULL
    records = b"".join([_record(delta, key, value) for delta, value in enumerate(batch.records)])
    rest = _REST.pack(
        _CONTROL if batch.control else 0,
        len(batch.records) - 1,
        timestamp_ms,
        timestamp_ms,
        -1,  # no producer
        -1,
        -1,
        len(batch.records),
    )
    crc = crc32c(records, crc32c(rest))
    length = _MIN_SIZE - _PREFIX.size + len(records)
    head = _HEAD.pack(batch.base_offset, length, batch.epoch, 2, crc)
    return head + rest + records


def _record(delta: int, key: bytes, value: bytes) -> bytes:
    """No attributes, the batch's own time, no headers."""
    body = b"".join((b"\0\0", _varint(delta), key, _varint(len(value)), value, b"\0"))
    return _varint(len(body)) + body


@lru_cache(maxsize=10_000)
def _varint(value: int) -> bytes:
    """Zigzag, for a number that is not negative."""
    return write_unsigned_varint(2 * value)


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
    return _decode_own(data, position, header) or _decode_any(data, position, header)


def _decode_own(data: bytes, position: int, header: BatchHeader) -> Batch | None:
    """The batch, if every byte of its records is as `encode_batch` would have written it."""
    attributes, last, timestamp_ms, latest_ms, *producer, count = _REST.unpack_from(
        data, position + _CRC_END
    )
    control = attributes == _CONTROL
    if (
        (attributes and not control)
        or latest_ms != timestamp_ms
        or timestamp_ms < 0
        or producer != [-1, -1, -1]
        or count != last + 1
    ):
        return None
    key = _CONTROL_KEY if control else _NULL
    at, end = position + _MIN_SIZE, position + header.size
    values = []
    for delta in range(count):
        size, at = _read_varint(data, at, end)
        before = b"\0\0" + _varint(delta) + key
        if size < len(before) or data[at : at + len(before)] != before:
            return None
        after = at + size
        length, at = _read_varint(data, at + len(before), end)
        if length < 0 or at + length + 1 != after or after > end or data[after - 1]:
            return None
        values.append(data[at : at + length])
        at = after
    if at != end:
        return None
    return Batch(header.base_offset, header.epoch, tuple(values), control, timestamp_ms)


def _read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """A number that is not negative, and where it ends; (-1, `at`): there is none."""
    value = shift = 0
    while at < end and shift < 35:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (-1, at) if value & 1 else (value >> 1, at)
        shift += 7
    return -1, at


def _decode_any(data: bytes, position: int, header: BatchHeader) -> Batch:
    try:
        decoded, _ = read_batch(data, position)
    except Exception as error:
        raise CorruptBatch(f"record batch at {position}: {error}") from error
    control = bool(decoded.attributes & _CONTROL)
    values = tuple(record.value for record in decoded.records if record.value is not None)
    offsets = [record.offset for record in decoded.records]
    promised = range(header.base_offset, header.end_offset)  # by a header that may lie
    whole = len(offsets) == len(promised) and all(map(eq, offsets, promised))
    if not whole or len(values) != len(offsets):
        raise CorruptBatch(f"record batch at {position}: offsets with gaps, or null values")
    key = LEADER_CHANGE_KEY if control else None
    if any(record.key != key for record in decoded.records):
        raise CorruptBatch(f"record batch at {position}: a record key of another kind of record")
    return Batch(header.base_offset, header.epoch, values, control, int(decoded.base_timestamp))
