"""Record batches for tests of readers: by kio, and with their records compressed."""

import datetime
import io
import struct
from typing import Final, NamedTuple

import pyarrow as pa
from crc32c import crc32c
from kio.records.schema import NewRecordBatch, Record, RecordHeader
from kio.records.writers import write_new_batch
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64

HEADER_BYTES: Final = 61
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")


class Given(NamedTuple):
    """A record to write."""

    offset: int
    timestamp_ms: int = 1_700_000_000_000
    key: bytes | None = None
    value: bytes | None = b"v"
    headers: tuple[tuple[bytes, bytes | None], ...] = ()


def by_kio(
    *given: Given, epoch: int = 0, producer: tuple[int, int, int] = (-1, -1, -1), flags: int = 0
) -> bytes:
    """A batch. `producer`: id, epoch, base sequence; `flags`: attributes."""
    producer_id, producer_epoch, sequence = producer
    buffer = io.BytesIO()
    batch = NewRecordBatch(
        producer_id=i64(producer_id),
        producer_epoch=i16(producer_epoch),
        partition_leader_epoch=i32(epoch),
        base_sequence=i32(sequence),
        records=tuple(map(_record, given)),
        attributes=i16(flags),
    )
    write_new_batch(buffer, batch)
    return buffer.getvalue()


def _record(given: Given) -> Record:
    when = datetime.datetime.fromtimestamp(given.timestamp_ms / 1000, datetime.UTC)
    return Record(
        attributes=i8(0),
        timestamp=TZAwareMicros.parse(when),
        offset=i64(given.offset),
        key=given.key,
        value=given.value,
        headers=tuple(RecordHeader(key=key, value=value) for key, value in given.headers),
    )


def with_payload(batch: bytes, payload: bytes, flags: int | None = None) -> bytes:
    """The batch with other bytes behind its header, and a right CRC. `flags`: its attributes."""
    data = bytearray(batch[:HEADER_BYTES]) + payload
    if flags is not None:
        struct.pack_into(">h", data, 21, flags)
    return resealed(bytes(data))


def resealed(batch: bytes) -> bytes:
    """With the right length and CRC."""
    data = bytearray(batch)
    struct.pack_into(">i", data, 8, len(data) - 12)
    struct.pack_into(">I", data, 17, crc32c(bytes(data[21:])))
    return bytes(data)


def compressed(batch: bytes, codec: str) -> bytes:
    """Likewise with its records compressed."""
    (flags,) = struct.unpack_from(">h", batch, 21)
    payload = squeezed(batch[HEADER_BYTES:], codec)
    return with_payload(batch, payload, flags | CODECS.index(codec))


def squeezed(payload: bytes, codec: str) -> bytes:
    if codec == "none":
        return payload
    if codec == "snappy":
        blocks = [payload[at : at + 100] for at in range(0, len(payload), 100)]
        return b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1) + b"".join(map(_block, blocks))
    made: bytes = pa.Codec(codec).compress(payload, asbytes=True)
    return made


def _block(data: bytes) -> bytes:
    made: bytes = pa.Codec("snappy").compress(data, asbytes=True)
    return struct.pack(">i", len(made)) + made
