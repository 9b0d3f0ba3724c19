"""Record batches, format version 2 (KIP-98): the headers of a file, as columns.

A header of 61 bytes, big-endian, then records, perhaps compressed. The CRC-32C is over all that
follows it: neither the base offset, nor the length, nor the leader epoch.
"""

import struct
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from crc32c import crc32c
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from nodes.kafka_files.reading import Stop

BATCHES: Final = pa.schema(
    [
        ("position", pa.int64()),
        ("size", pa.int64()),
        ("base_offset", pa.int64()),
        ("end_offset", pa.int64()),
        ("leader_epoch", pa.int64()),
        ("attributes", pa.int64()),
        ("control", pa.bool_()),
        ("transactional", pa.bool_()),
        ("append_time", pa.bool_()),
        ("compression", pa.string()),
        ("base_timestamp_ms", pa.int64()),
        ("max_timestamp_ms", pa.int64()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int64()),
        ("base_sequence", pa.int64()),
        ("records", pa.int64()),
        ("crc", pa.int64()),
        ("crc_computed", pa.int64()),
    ]
)
"""A batch a row. `position`, `size`: bytes of the file; `end_offset` is exclusive; `append_time`:
timestamps are the leader's, not the producer's; ids and epochs of producers are -1 where there is
none; `records`: how many it says; `crc`: what it says."""
COMPRESSIONS: Final = ("none", "gzip", "snappy", "lz4", "zstd", "unknown", "unknown", "unknown")
HEADER_BYTES: Final = 61

_HEADER: Final = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_delta", ">i4"),
        ("base_timestamp_ms", ">i8"),
        ("max_timestamp_ms", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("records", ">i4"),
    ]
)
_LENGTH_END: Final = 12  # what `length` counts follows it
_CRC_END: Final = 21
_SIZE_AND_CRC: Final = struct.Struct(">iibI")  # length, leader epoch, magic, crc
_COMPRESSION: Final = 0x07
_APPEND_TIME: Final = 0x08
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20

Column = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Batches:
    """The batches of a file up to where they end, or make no sense any more. Where that is a batch
    of full length with a wrong CRC, it is the last row."""

    data: bytes
    table: pa.Table
    stop: Stop | None

    @property
    def sound(self) -> pa.Table:
        """Those whose CRC is right."""
        columns = self.table
        if len(columns) and columns["crc"][-1] != columns["crc_computed"][-1]:
            return columns.slice(0, len(columns) - 1)
        return columns


def scan(data: bytes, base_offset: int = 0) -> Batches:
    """The headers in `data`, the bytes of a file whose first offset is not below `base_offset`."""
    places, crcs, stop = _walk(data)
    heads = _heads(data, places)
    kept = _in_order(heads, base_offset)
    if kept < len(heads):
        stop = _out_of_order(heads, kept, places[kept], base_offset)
    return Batches(data, _table(places[:kept], heads[:kept], crcs[:kept]), stop)


def _walk(data: bytes) -> tuple[list[int], list[int], Stop | None]:
    """Where batches begin, and the CRC of each; up to the first of another CRC than it says."""
    view, size = memoryview(data), len(data)
    places: list[int] = []
    crcs: list[int] = []
    at = 0
    while at < size:
        if size - at < HEADER_BYTES:
            return places, crcs, Stop(at, "torn", f"{size - at} bytes, a header has {HEADER_BYTES}")
        length, _, magic, reported = _SIZE_AND_CRC.unpack_from(data, at + 8)
        end = at + _LENGTH_END + length
        if magic != 2:
            return places, crcs, Stop(at, "damaged", f"magic {magic}, expected 2")
        if end < at + HEADER_BYTES:
            return places, crcs, Stop(at, "damaged", f"says that it has {end - at} bytes")
        if end > size:
            torn = f"says that it has {end - at} bytes, {size - at} are left"
            return places, crcs, Stop(at, "torn", torn)
        crc = crc32c(view[at + _CRC_END : end])
        places.append(at)
        crcs.append(crc)
        if crc != reported:
            wrong = f"CRC-32C is {crc:#010x}, it says {reported:#010x}"
            return places, crcs, Stop(at, "damaged", wrong)
        at = end
    return places, crcs, None


def _heads(data: bytes, places: list[int]) -> Column:
    if not places:
        return np.zeros(0, _HEADER)
    windows = sliding_window_view(np.frombuffer(data, np.uint8), HEADER_BYTES)
    return np.ascontiguousarray(windows[np.array(places)]).view(_HEADER).ravel()


def _in_order(heads: Column, base_offset: int) -> int:
    """How many batches there are before the first that says what none can after those before."""
    if not len(heads):
        return 0
    base, delta, epoch = (
        heads[name].astype(np.int64) for name in ("base_offset", "last_delta", "leader_epoch")
    )
    room = np.iinfo(np.int64).max - base.clip(0) - 1
    sane = (base >= base_offset) & (delta >= 0) & (delta <= room) & (heads["records"] >= 0)
    sane[1:] &= (base[1:] > base[:-1] + delta[:-1].clip(0)) & (epoch[1:] >= epoch[:-1])
    return len(heads) if sane.all() else int(sane.argmin())


def _out_of_order(heads: Column, at: int, position: int, base_offset: int) -> Stop:
    def reported(number: int) -> tuple[int, int, int]:
        base, epoch = int(heads["base_offset"][number]), int(heads["leader_epoch"][number])
        return base, base + int(heads["last_delta"][number]), epoch

    first, last, epoch = reported(at)
    detail = f"offsets {first} to {last} of epoch {epoch}, {heads['records'][at]} records"
    if at:
        detail += " after {} to {} of epoch {}".format(*reported(at - 1))
    else:
        detail += f" where the file begins at {base_offset}"
    return Stop(position, "out of order", detail)


def _table(places: list[int], heads: Column, crcs: list[int]) -> pa.Table:
    columns = {name: heads[name].astype(np.int64) for name in heads.dtype.names or ()}
    flags = columns["attributes"]
    made = {
        **columns,
        "position": np.array(places, np.int64),
        "size": columns["length"] + _LENGTH_END,
        "end_offset": columns["base_offset"] + columns["last_delta"] + 1,
        "control": flags & _CONTROL != 0,
        "transactional": flags & _TRANSACTIONAL != 0,
        "append_time": flags & _APPEND_TIME != 0,
        "compression": pa.array(COMPRESSIONS).take(pa.array(flags & _COMPRESSION)),
        "crc_computed": np.array(crcs, np.int64),
    }
    return pa.table({name: made[name] for name in BATCHES.names}, schema=BATCHES)
