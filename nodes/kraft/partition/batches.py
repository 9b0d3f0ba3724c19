"""Record batches by their headers alone: records are never decoded here.

A batch of message format 2 begins with 61 bytes of fixed layout (KIP-98): base offset, length of
the rest, partition leader epoch, magic, CRC-32C of all that follows it, attributes, last offset
delta, base and maximal timestamp (ms), producer id, producer epoch, base sequence, number of
records. Base offset and leader epoch lie before the CRC, so a leader sets them in place.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from crc32c import crc32c
from kio.schema.errors import ErrorCode

from nodes.kraft.ids import LOG_START, LeaderEpoch, Offset

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
HEADER_BYTES: Final = HEADER.size
_PREFIX: Final = struct.Struct(">qii")  # base offset, length of the rest, leader epoch
_LENGTH_END: Final = 12
_MAGIC_AT: Final = 16
_CRC_END: Final = 21
_COMPRESSION: Final = 0x07
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_VARINT_BITS: Final = 70
"""Of the longest number of 64 bits, in groups of seven."""
NO_PRODUCER: Final = -1
NO_SEQUENCE: Final = -1


class InvalidBatch(ValueError):
    """The bytes are no record batch that may be appended. `code`: what the producer is told."""

    def __init__(self, code: ErrorCode, why: str) -> None:
        super().__init__(why)
        self.code = code


@dataclass(frozen=True, slots=True)
class Batch:
    """A record batch; `end_offset` is exclusive, timestamps are ms of the producer's clock,
    `data` all its bytes. `producer_id` and `base_sequence` are -1 without idempotence."""

    base_offset: Offset
    end_offset: Offset
    epoch: LeaderEpoch
    crc: int
    attributes: int
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    data: bytes

    @property
    def count(self) -> int:
        """How many offsets it takes."""
        return self.end_offset - self.base_offset

    @property
    def compressed(self) -> bool:
        return bool(self.attributes & _COMPRESSION)


def batch_size(data: bytes | memoryview, position: int = 0) -> int:
    """The size in bytes that the batch at `position` claims; 0 where not even that is there."""
    if len(data) - position < _LENGTH_END:
        return 0
    size: int = struct.unpack_from(">i", data, position + 8)[0] + _LENGTH_END
    return size


def read_batch(data: bytes | memoryview, position: int = 0, *, check: bool = True) -> Batch:
    """The whole batch at `position`; `check`: also its CRC. Raises `InvalidBatch`."""
    left = len(data) - position
    if left > _MAGIC_AT and data[position + _MAGIC_AT] in (0, 1):
        raise InvalidBatch(
            ErrorCode.unsupported_for_message_format, "message formats 0 and 1 are not stored"
        )
    if left < HEADER_BYTES:
        raise InvalidBatch(ErrorCode.corrupt_message, f"{left} bytes are no record batch")
    (
        base,
        length,
        epoch,
        magic,
        crc,
        attributes,
        last_delta,
        base_timestamp_ms,
        max_timestamp_ms,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    ) = HEADER.unpack_from(data, position)
    size = length + _LENGTH_END
    if magic != 2 or not HEADER_BYTES <= size <= left:
        raise InvalidBatch(ErrorCode.corrupt_message, f"{size} bytes claimed, {left} are there")
    body = bytes(data[position : position + size])
    if check and crc != crc32c(memoryview(body)[_CRC_END:]):
        raise InvalidBatch(ErrorCode.corrupt_message, "the checksum is wrong")
    if last_delta < 0 or count != last_delta + 1:
        raise InvalidBatch(ErrorCode.invalid_record, f"{count} records, last one {last_delta}")
    return Batch(
        base,
        base + last_delta + 1,
        epoch,
        crc,
        attributes,
        base_timestamp_ms,
        max_timestamp_ms,
        producer_id,
        producer_epoch,
        base_sequence,
        body,
    )


def produced(data: bytes | None, max_bytes: int) -> Batch:
    """The one batch that a producer sent for a partition, checked. Raises `InvalidBatch`."""
    if not data:
        raise InvalidBatch(ErrorCode.invalid_record, "no records")
    batch = read_batch(data)
    if len(batch.data) != len(data):
        raise InvalidBatch(ErrorCode.invalid_record, "more than one batch for a partition")
    if len(data) > max_bytes:
        raise InvalidBatch(ErrorCode.message_too_large, f"{len(data)} bytes, at most {max_bytes}")
    if batch.attributes & (_CONTROL | _TRANSACTIONAL):
        raise InvalidBatch(ErrorCode.invalid_record, "a control or transactional batch")
    if batch.producer_id >= 0 and (batch.base_sequence < 0 or batch.producer_epoch < 0):
        raise InvalidBatch(ErrorCode.invalid_record, "a producer id without epoch or sequence")
    return batch


def replicated(data: bytes) -> Iterator[Batch]:
    """The whole batches in a leader's answer. A last one that is cut short is left out; a
    damaged one raises `InvalidBatch`."""
    position = 0
    while len(data) - position >= HEADER_BYTES:
        size = batch_size(data, position)
        if size > len(data) - position:
            return
        yield read_batch(data, position)
        position += size


def placed(batch: Batch, base_offset: Offset, epoch: LeaderEpoch) -> Batch:
    """The batch as the leader of `epoch` stores it at `base_offset`."""
    data = bytearray(batch.data)
    _PREFIX.pack_into(data, 0, base_offset, len(data) - _LENGTH_END, epoch)
    return replace(
        batch,
        base_offset=base_offset,
        end_offset=Offset(base_offset + batch.count),
        epoch=epoch,
        data=bytes(data),
    )


def offset_at(
    batch: Batch, timestamp_ms: int, from_offset: Offset = LOG_START
) -> tuple[Offset, int] | None:
    """(offset, timestamp) of a batch's first record at or after `timestamp_ms` and `from_offset`;
    None: it has none. Of a compressed batch, whose records are not looked at, the first one from
    `from_offset` on; so, too, where its records do not say what its header does."""
    if batch.max_timestamp_ms < timestamp_ms or batch.end_offset <= from_offset:
        return None
    if not batch.compressed:
        for offset, at_ms in _timestamps(batch):
            if at_ms >= timestamp_ms and from_offset <= offset < batch.end_offset:
                return Offset(offset), at_ms
        if from_offset > batch.base_offset:
            return None
    return max(batch.base_offset, from_offset), batch.base_timestamp_ms


def _timestamps(batch: Batch) -> Iterator[tuple[int, int]]:
    """Offset and timestamp of each record of a batch that is not compressed, as far as they
    make sense: nobody has looked at what the producer wrote there."""
    data, position = batch.data, HEADER_BYTES
    while position < len(data):
        length, body = _varint(data, position)
        if length <= 0:
            return
        time_delta, after = _varint(data, body + 1)  # behind the record's attributes
        offset_delta, _ = _varint(data, after)
        yield batch.base_offset + offset_delta, batch.base_timestamp_ms + time_delta
        position = body + length


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """A zigzag varint and where it ends."""
    value = shift = 0
    while position < len(data) and shift < _VARINT_BITS:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    return (value >> 1) ^ -(value & 1), position
