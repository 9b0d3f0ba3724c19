"""Record batches for tests, as a producer sends them."""

from __future__ import annotations

import itertools
import struct

from crc32c import crc32c

from nodes.kraft.partition.batches import HEADER, Batch, read_batch

_numbers = itertools.count()


def zigzag(value: int) -> bytes:
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def record(time_delta: int, offset_delta: int, value: bytes) -> bytes:
    body = b"\0" + zigzag(time_delta) + zigzag(offset_delta) + zigzag(-1)
    body += zigzag(len(value)) + value + zigzag(0)
    return zigzag(len(body)) + body


def encoded(
    count: int = 1,
    *,
    base_offset: int = 0,
    epoch: int = -1,
    producer: tuple[int, int, int] = (-1, -1, -1),
    times: tuple[int, ...] | None = None,
    attributes: int = 0,
    magic: int = 2,
    value: bytes | None = None,
) -> bytes:
    """A batch of `count` records. `producer`: id, epoch, base sequence. `times`: ms of each."""
    times = times or (1000,) * count
    value = value if value is not None else b"value-%09d" % next(_numbers)
    records = b"".join(record(at - times[0], delta, value) for delta, at in enumerate(times))
    data = bytearray(HEADER.size) + records
    HEADER.pack_into(
        data,
        0,
        base_offset,
        len(data) - 12,
        epoch,
        magic,
        0,
        attributes,
        count - 1,
        times[0],
        max(times),
        *producer,
        count,
    )
    struct.pack_into(">I", data, 17, crc32c(bytes(data[21:])))
    return bytes(data)


def batch(count: int = 1, **values: object) -> Batch:
    return read_batch(encoded(count, **values))  # type: ignore[arg-type]
