"""Snapshots as bytes: record batches between a header's and a footer's control batch (KIP-630).

Offsets count from 0 within a snapshot, and every batch carries the epoch of the snapshot's id.
All timestamps are that of the header, so that one state under one id is one sequence of bytes.
"""

import datetime
import io
import struct
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from kio.records.readers import read_batch
from kio.records.schema import NewRecordBatch, Record
from kio.records.writers import write_new_batch
from kio.schema.snapshot_footer_record.v0.data import SnapshotFooterRecord
from kio.schema.snapshot_header_record.v0.data import SnapshotHeaderRecord
from kio.serial import entity_reader
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64
from kio.static.protocol import Entity

from nodes.kraft.ids import LOG_START, LeaderEpoch, Offset
from nodes.kraft.raft.messages import Batch
from nodes.kraft.wire.batches import (
    BatchHeader,
    CorruptBatch,
    decode_batches,
    encode_batch,
    read_header,
)
from nodes.kraft.wire.codec import encode_entity

HEADER_KEY: Final = struct.pack(">hh", 0, 3)
FOOTER_KEY: Final = struct.pack(">hh", 0, 4)
BATCH_RECORDS: Final = 2000
"""Records a batch: few enough that a reader holds little at a time."""
_CONTROL: Final = 0x20


class CorruptSnapshot(ValueError):
    """The bytes are no whole, undamaged snapshot."""


def encode_snapshot(
    epoch: LeaderEpoch, records: Iterable[bytes], *, timestamp_ms: int
) -> Iterator[tuple[int, bytes]]:
    """The snapshot in pieces: how many of `records` each piece holds, and its bytes.

    `timestamp_ms`: of the last record of the log that the snapshot contains.
    """
    header = SnapshotHeaderRecord(version=i16(0), last_contained_log_timestamp=i64(timestamp_ms))
    yield 0, _control_batch(LOG_START, epoch, HEADER_KEY, header, timestamp_ms)
    offset, left = Offset(1), iter(records)
    while values := tuple(islice(left, BATCH_RECORDS)):
        yield len(values), encode_batch(Batch(offset, epoch, values), timestamp_ms)
        offset = Offset(offset + len(values))
    footer = SnapshotFooterRecord(version=i16(0))
    yield 0, _control_batch(offset, epoch, FOOTER_KEY, footer, timestamp_ms)


def decode_snapshot(data: bytes, epoch: LeaderEpoch) -> Iterator[bytes]:
    """The records' values. Raises `CorruptSnapshot`: before the first value where a checksum is
    wrong or header or footer are not there, later where the inside of a batch is no batch."""
    for position, header in check_snapshot(data, epoch):
        try:
            batches = decode_batches(data[position : position + header.size])
        except CorruptBatch as error:
            raise CorruptSnapshot(str(error)) from error
        for batch in batches:
            if batch.control:
                raise CorruptSnapshot(f"a control batch at {position}")
            yield from batch.records


def check_snapshot(data: bytes, epoch: LeaderEpoch) -> list[tuple[int, BatchHeader]]:
    """The position and header of each batch between header and footer. Raises
    `CorruptSnapshot`: a checksum, an offset or an epoch is wrong, or one of the two is not
    there. The records are not decoded, so this is quick."""
    try:
        places = list(_places(data))
    except CorruptBatch as error:
        raise CorruptSnapshot(str(error)) from error
    if len(places) < 2:
        raise CorruptSnapshot(f"{len(data)} bytes without header and footer")
    if any(header.epoch != epoch for _, header in places):
        raise CorruptSnapshot(f"a batch of another epoch than {epoch}")
    _check_control(data, places[0], HEADER_KEY, SnapshotHeaderRecord)
    _check_control(data, places[-1], FOOTER_KEY, SnapshotFooterRecord)
    return places[1:-1]


def _control_batch(
    offset: Offset, epoch: LeaderEpoch, key: bytes, entity: Entity, timestamp_ms: int
) -> bytes:
    when = datetime.datetime.fromtimestamp(timestamp_ms / 1000, datetime.UTC)
    record = Record(
        attributes=i8(0),
        timestamp=TZAwareMicros.parse(when),
        offset=i64(offset),
        key=key,
        value=encode_entity(entity),
        headers=(),
    )
    buffer = io.BytesIO()
    write_new_batch(
        buffer,
        NewRecordBatch(
            producer_id=i64(-1),
            producer_epoch=i16(-1),
            partition_leader_epoch=i32(epoch),
            base_sequence=i32(-1),
            records=(record,),
            attributes=i16(_CONTROL),
        ),
    )
    return buffer.getvalue()


def _places(data: bytes) -> Iterator[tuple[int, BatchHeader]]:
    """Each batch's position and header, their checksums and offsets checked."""
    position, offset = 0, 0
    while position < len(data):
        header = read_header(data, position)
        if header.base_offset != offset:
            raise CorruptSnapshot(f"offset {header.base_offset} follows {offset}")
        yield position, header
        position, offset = position + header.size, header.end_offset


def _check_control(
    data: bytes,
    place: tuple[int, BatchHeader],
    key: bytes,
    schema: type[SnapshotHeaderRecord] | type[SnapshotFooterRecord],
) -> None:
    position, _ = place
    try:
        batch, _ = read_batch(data, position)
        (record,) = batch.records
        sound = batch.attributes & _CONTROL and record.key == key
        version = entity_reader(schema)(record.value or b"", 0)[0].version
    except Exception as error:
        raise CorruptSnapshot(f"no {schema.__name__} at {position}: {error}") from error
    if not sound or version != 0:
        raise CorruptSnapshot(f"no {schema.__name__} of version 0 at {position}")
