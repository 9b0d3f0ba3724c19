"""Record batches of one value each, and the values of the batches that a fetch returned."""

import datetime
import io
import struct
from typing import Final

from kio.records.readers import read_batch
from kio.records.schema import NewRecordBatch, Record
from kio.records.writers import write_new_batch
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64

NO_PRODUCER: Final = (-1, -1)
_PREFIX: Final = struct.Struct(">qi")  # base offset, length of what follows
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20


def one_value(
    value: int,
    producer: tuple[int, int] = NO_PRODUCER,
    sequence: int = -1,
    *,
    transactional: bool = False,
) -> bytes:
    """A batch with one record, the value in decimal digits. `producer`: (id, epoch) of an
    idempotent producer, `sequence` its number for this partition. `transactional`: it is part of
    a transaction."""
    now = datetime.datetime.now(datetime.UTC)
    record = Record(
        attributes=i8(0),
        timestamp=TZAwareMicros.parse(now),
        offset=i64(0),
        key=None,
        value=str(value).encode(),
        headers=(),
    )
    batch = NewRecordBatch(
        producer_id=i64(producer[0]),
        producer_epoch=i16(producer[1]),
        base_sequence=i32(sequence),
        records=(record,),
        attributes=i16(_TRANSACTIONAL if transactional else 0),
    )
    buffer = io.BytesIO()
    write_new_batch(buffer, batch)
    return buffer.getvalue()


def values_in(data: bytes, from_offset: int) -> list[tuple[int, int]]:
    """(offset, value) of the records at `from_offset` and above; a batch that is cut short at
    the end, as a broker may send, is left out. Raises `ValueError` where the bytes are no
    batches of ours."""
    found: list[tuple[int, int]] = []
    position = 0
    while len(data) - position >= _PREFIX.size:
        _, length = _PREFIX.unpack_from(data, position)
        if length <= 0 or position + _PREFIX.size + length > len(data):
            break
        try:
            batch, _ = read_batch(data, position)
        except Exception as error:  # whatever a decoder makes of damaged bytes
            raise ValueError(f"record batch at byte {position}: {error}") from error
        position += _PREFIX.size + length
        if batch.attributes & _CONTROL:
            continue
        found += [
            (int(record.offset), int(record.value or b""))
            for record in batch.records
            if record.offset >= from_offset
        ]
    return found
