"""Record batches to produce, and where those that were fetched end."""

from __future__ import annotations

import datetime
import io
import struct
from typing import Final

from kio.records.schema import NewRecordBatch, Record
from kio.records.writers import write_new_batch
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64

RECORD_BYTES: Final = 1000
_HEAD: Final = struct.Struct(">qi")
"""Base offset, and the bytes that follow."""
_LAST: Final = struct.Struct(">i")
_LAST_AT: Final = 23
"""Where a batch has how far its last offset is from its first one."""


def batch(records: int) -> bytes:
    """So many records of 1,000 bytes."""
    now = TZAwareMicros.parse(datetime.datetime.now(datetime.UTC))
    made = NewRecordBatch(
        producer_id=i64(-1),
        producer_epoch=i16(-1),
        base_sequence=i32(-1),
        attributes=i16(0),
        records=tuple(
            Record(
                attributes=i8(0),
                timestamp=now,
                offset=i64(number),
                key=None,
                value=number.to_bytes(4) * (RECORD_BYTES // 4),
                headers=(),
            )
            for number in range(records)
        ),
    )
    buffer = io.BytesIO()
    write_new_batch(buffer, made)
    return buffer.getvalue()


def after(data: bytes, offset: int) -> tuple[int, int]:
    """The offset after the last whole batch, and how many bytes these are; `offset` where there
    is none."""
    at = 0
    while at + _HEAD.size <= len(data):
        base, size = _HEAD.unpack_from(data, at)
        if size <= 0 or at + _HEAD.size + size > len(data):
            break
        offset = base + _LAST.unpack_from(data, at + _LAST_AT)[0] + 1
        at += _HEAD.size + size
    return offset, at
