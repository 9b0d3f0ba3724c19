"""The records in record batches, as columns."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import pyarrow as pa

from nodes.kafka_files.batches import HEADER_BYTES, Batches
from nodes.kafka_files.compression import NotCompressed, decompressed
from nodes.kafka_files.reading import Stop
from nodes.kafka_files.varints import signed

_BYTES: Final = pa.large_binary()
RECORDS: Final = pa.schema(
    [
        ("position", pa.int64()),
        ("offset", pa.int64()),
        ("timestamp_ms", pa.int64()),
        ("control", pa.bool_()),
        ("key", _BYTES),
        ("value", _BYTES),
        ("headers", pa.large_list(pa.struct([("key", _BYTES), ("value", _BYTES)]))),
    ]
)
"""A record a row. `position`: of its batch in the file. Keys and values may be null."""
_MAX_INT64: Final = 2**63 - 1


class Record(NamedTuple):
    """A row, but for what it has of its batch."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...]


@dataclass(frozen=True, slots=True)
class Records:
    """`unreadable`: batches with a right CRC whose inside is none; nothing of them is here."""

    table: pa.Table
    unreadable: tuple[Stop, ...]


class _Unreadable(ValueError):
    """The inside of a batch is no records."""


def records(batches: Batches) -> Records:
    """All records of the sound batches."""
    columns: dict[str, list[Any]] = {name: [] for name in RECORDS.names}
    unreadable: list[Stop] = []
    for batch in batches.sound.to_pylist():
        position = batch["position"]
        start, end = position + HEADER_BYTES, position + batch["size"]
        try:
            payload = decompressed(batches.data[start:end], batch["compression"])
            found = list(_records(payload, batch))
        except (_Unreadable, NotCompressed, IndexError) as error:
            unreadable.append(Stop(position, "unreadable", str(error)))
            continue
        columns["position"] += [position] * len(found)
        columns["control"] += [batch["control"]] * len(found)
        for name, values in zip(Record._fields, zip(*found, strict=True), strict=False):
            columns[name] += values
    return Records(_table(columns), tuple(unreadable))


def _table(columns: dict[str, list[Any]]) -> pa.Table:
    pairs = [[{"key": key, "value": value} for key, value in row] for row in columns["headers"]]
    return pa.table({**columns, "headers": pairs}, schema=RECORDS)


def _records(payload: bytes, batch: dict[str, Any]) -> Iterator[Record]:
    at, before = 0, batch["base_offset"] - 1
    for _ in range(batch["records"]):
        size, at = signed(payload, at)
        end = at + size
        if not at < end <= len(payload):
            raise _Unreadable(f"a record of {size} bytes, {len(payload) - at} are left")
        record = _record(payload, at, end, batch)
        if not before < record.offset < batch["end_offset"]:
            raise _Unreadable(f"a record at offset {record.offset} after one at {before}")
        yield record
        at, before = end, record.offset
    if at != len(payload):
        raise _Unreadable(f"{len(payload) - at} bytes after the last record")


def _record(payload: bytes, at: int, end: int, batch: dict[str, Any]) -> Record:
    """The one in [`at`, `end`); its first byte is of attributes, which have no meaning yet."""
    time_delta, at = signed(payload, at + 1)
    delta, at = signed(payload, at)
    key, at = _bytes(payload, at, end)
    value, at = _bytes(payload, at, end)
    headers, at = _headers(payload, at, end)
    if at != end:
        raise _Unreadable(f"a record of another length than it says, by {end - at}")
    reported = batch["base_timestamp_ms"] + time_delta
    timestamp_ms = batch["max_timestamp_ms"] if batch["append_time"] else reported
    if not -_MAX_INT64 <= timestamp_ms <= _MAX_INT64:
        raise _Unreadable(f"a record with the timestamp {timestamp_ms}")
    return Record(batch["base_offset"] + delta, timestamp_ms, key, value, headers)


def _headers(
    payload: bytes, at: int, end: int
) -> tuple[tuple[tuple[bytes, bytes | None], ...], int]:
    count, at = signed(payload, at)
    if not 0 <= count <= end - at:
        raise _Unreadable(f"a record with {count} headers")
    found = []
    for _ in range(count):
        key, at = _bytes(payload, at, end)
        value, at = _bytes(payload, at, end)
        if key is None:
            raise _Unreadable("a header without a key")
        found.append((key, value))
    return tuple(found), at


def _bytes(payload: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    size, at = signed(payload, at)
    if size == -1:
        return None, at
    if not 0 <= size <= end - at:
        raise _Unreadable(f"{size} bytes of which {end - at} are left")
    return payload[at : at + size], at + size
