"""Taking unknown tagged fields out of an encoded entity.

Software must ignore optional tagged fields that it does not know (KIP-482; KIP-631, "Record
Formats"). kio's readers refuse them, so an entity that they refuse is walked here and written
again without them.
"""

import typing
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Final

_FIXED_BYTES: Final = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "int64": 8,
    "uuid": 16,
}


def read_unsigned_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at `at` and the position after it. Raises `ValueError` where there is none."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 28:
            raise ValueError("no unsigned varint")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, at
        shift += 7


def write_unsigned_varint(value: int) -> bytes:
    """`value` (not negative), seven bits a byte, the lowest first."""
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def without_unknown_tags(schema: type[Any], data: bytes) -> bytes:
    """A flexible entity's bytes without the tagged fields that `schema` does not know.

    Raises `ValueError` where the bytes are no such entity, or go on after it.
    """
    written, end = _entity(schema, data, 0)
    if end != len(data):
        raise ValueError(f"{len(data) - end} bytes after the entity")
    return written


def _entity(schema: type[Any], data: bytes, at: int) -> tuple[bytes, int]:
    hints = typing.get_type_hints(schema)
    parts = bytearray()
    known_tags: set[int] = set()
    for item in fields(schema):
        if "tag" in item.metadata:
            known_tags.add(item.metadata["tag"])
            continue
        part, at = _field(hints[item.name], item.metadata.get("kafka_type"), data, at)
        parts += part
    kept = []
    for tag, whole, end in _tagged(data, at):
        at = end
        if tag in known_tags:
            kept.append(whole)
    return bytes(parts) + write_unsigned_varint(len(kept)) + b"".join(kept), at


def _tagged(data: bytes, at: int) -> Iterator[tuple[int, bytes, int]]:
    """Each tagged field as (tag, all its bytes, position after it); first the count, tag -1."""
    count, at = read_unsigned_varint(data, at)
    yield -1, b"", at
    for _ in range(count):
        start = at
        tag, at = read_unsigned_varint(data, at)
        size, at = read_unsigned_varint(data, at)
        at = _within(data, at + size)
        yield tag, data[start:at], at


def _field(hint: Any, kafka_type: str | None, data: bytes, at: int) -> tuple[bytes, int]:
    if typing.get_origin(hint) is not tuple:
        end = _primitive_end(kafka_type, data, at)
        return data[at:end], end
    start = at
    length, at = read_unsigned_varint(data, at)
    parts = bytearray(data[start:at])
    for _ in range(length - 1):
        if kafka_type is None:
            part, at = _entity(typing.get_args(hint)[0], data, at)
        else:
            end = _primitive_end(kafka_type, data, at)
            part, at = data[at:end], end
        parts += part
    return bytes(parts), at


def _primitive_end(kafka_type: str | None, data: bytes, at: int) -> int:
    if kafka_type in ("string", "bytes"):
        length, at = read_unsigned_varint(data, at)
        return _within(data, at + max(length - 1, 0))
    if kafka_type not in _FIXED_BYTES:
        raise ValueError(f"field of type {kafka_type}")
    return _within(data, at + _FIXED_BYTES[kafka_type])


def _within(data: bytes, end: int) -> int:
    if end > len(data):
        raise ValueError("the bytes end within a field")
    return end
