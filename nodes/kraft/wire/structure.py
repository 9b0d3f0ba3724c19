"""The shape of encoded entities, checked before they are decoded.

kio's reader believes what it reads: an array that promises 2^31 elements makes it reserve the
memory, which ends the process; a null array where the schema has none becomes None; a tagged
field that it does not know is an error, though software must ignore those (KIP-482; KIP-631,
"Record Formats"). So bytes are walked along their schema first. The walk allocates nothing in
proportion to what lengths promise, only to what is there, and refuses

- fields that reach beyond the end, lengths below -1, varints of more than five bytes;
- null where the schema has none;
- more than `max_elements` elements of arrays, in all: a few bytes on the wire are hundreds in
  memory.

A schema is compiled once to a tree of closures; runs of fields of fixed length are one step.
"""

from __future__ import annotations

import struct
import typing
from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields, is_dataclass
from types import NoneType
from typing import Any, Final, TypeAlias, TypeGuard

from kio.static.constants import EntityType
from kio.static.protocol import Entity

MAX_ELEMENTS: Final = 250_000

_FIXED_BYTES: Final = {
    "bool": 1,
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "error_code": 2,
    "int32": 4,
    "uint32": 4,
    "timedelta_i32": 4,
    "int64": 8,
    "uint64": 8,
    "float64": 8,
    "timedelta_i64": 8,
    "datetime_i64": 8,
    "uuid": 16,
}
_int16 = struct.Struct(">h").unpack_from
_int32 = struct.Struct(">i").unpack_from


@dataclass(slots=True)
class _Walk:
    """One walk over `data`. `edits`: (start, end, bytes instead), in order, not overlapping."""

    data: bytes
    left: int
    edits: list[tuple[int, int, bytes]] = field(default_factory=list)


_Step: TypeAlias = Callable[[_Walk, int], int]
"""Walks over one field or entity: position before -> position after. Raises `ValueError`."""


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


def checked(
    schema: type[Entity], data: bytes, at: int = 0, *, max_elements: int = MAX_ELEMENTS
) -> tuple[bytes, int]:
    """(bytes, end): what kio can safely read from `at` on, and where the entity ends in them.

    The bytes are `data` itself, or, where it has tagged fields that `schema` does not know, a
    copy without them. Raises `ValueError` where `data` has no such entity at `at`.
    """
    walk = _Walk(data, max_elements)
    end = _entity(schema)(walk, at)
    if not walk.edits:
        return data, end
    return _edited(data, 0, len(data), walk.edits), end + _growth(walk.edits)


def without_unknown_tags(schema: type[Entity], data: bytes) -> bytes:
    """A whole entity's bytes without the tagged fields that `schema` does not know.

    Raises `ValueError` where the bytes are no such entity, or go on after it.
    """
    clean, end = checked(schema, data)
    if end != len(clean):
        raise ValueError(f"{len(clean) - end} bytes after the entity")
    return clean


def _edited(data: bytes, start: int, end: int, edits: list[tuple[int, int, bytes]]) -> bytes:
    parts = []
    for first, last, instead in edits:
        parts += [data[start:first], instead]
        start = last
    return b"".join([*parts, data[start:end]])


def _growth(edits: list[tuple[int, int, bytes]]) -> int:
    return sum(len(instead) - (last - first) for first, last, instead in edits)


# --- compiling a schema -------------------------------------------------------------------


_compiled: dict[type[Entity], _Step] = {}


def _entity(schema: type[Entity]) -> _Step:
    """The walk over one entity: its fields, then its tagged fields."""
    found = _compiled.get(schema)
    if found is None:
        found = _compiled[schema] = _compile(schema)
    return found


def _compile(schema: type[Entity]) -> _Step:
    hints = typing.get_type_hints(schema)
    steps: list[_Step] = []
    run = 0
    for item in fields(schema):
        if "tag" in item.metadata:
            continue
        size = _fixed_size(item, hints[item.name])
        if size is not None:
            run += size
            continue
        if run:
            steps.append(_fixed(run))
            run = 0
        steps.append(_field(schema, item, hints[item.name], tagged=False))
    if run:
        steps.append(_fixed(run))
    if schema.__flexible__:
        steps.append(_tags(schema, hints))
    return steps[0] if len(steps) == 1 else _sequence(tuple(steps))


def _sequence(steps: tuple[_Step, ...]) -> _Step:
    def walk_all(walk: _Walk, at: int) -> int:
        for step in steps:
            at = step(walk, at)
        return at

    return walk_all


def _fixed_size(item: Field[Any], hint: Any) -> int | None:
    inner, _ = _without_none(hint)
    if typing.get_origin(inner) is tuple or is_dataclass(inner):
        return None
    return _FIXED_BYTES.get(item.metadata["kafka_type"])


def _fixed(size: int) -> _Step:
    def walk_fixed(walk: _Walk, at: int) -> int:
        at += size
        if at > len(walk.data):
            raise ValueError("the bytes end within a field")
        return at

    return walk_fixed


def _field(schema: type[Entity], item: Field[Any], hint: Any, *, tagged: bool) -> _Step:
    flexible = schema.__flexible__
    inner, nullable = _without_none(hint)
    if typing.get_origin(inner) is tuple:
        element, _ = _without_none(typing.get_args(inner)[0])
        return _array(_element(item, element, flexible), flexible, nullable, item.name)
    if _is_entity(inner):
        return _nullable_entity(_entity(inner)) if nullable and not tagged else _entity(inner)
    kafka_type = item.metadata["kafka_type"]
    if kafka_type in _FIXED_BYTES:
        return _fixed(_FIXED_BYTES[kafka_type])
    if item.name == "client_id" and schema.__type__ is EntityType.header:
        flexible = False  # in every version, so that brokers can read any client's header
    return _bytes(kafka_type, flexible, nullable, item.name)


def _element(item: Field[Any], element: Any, flexible: bool) -> _Step | int:
    """The walk over one element of an array, or its length where all are of one."""
    if _is_entity(element):
        return _entity(element)
    kafka_type = item.metadata["kafka_type"]
    if kafka_type in _FIXED_BYTES:
        return _FIXED_BYTES[kafka_type]
    return _bytes(kafka_type, flexible, False, item.name)


def _is_entity(hint: object) -> TypeGuard[type[Entity]]:
    return is_dataclass(hint)


# Annotations are values of many types.
def _without_none(hint: Any) -> tuple[Any, bool]:
    """A type without `| None`, and whether it had that."""
    parts = typing.get_args(hint)
    if NoneType not in parts:
        return hint, False
    return next(each for each in parts if each is not NoneType), True


# --- fields -------------------------------------------------------------------------------


def _length(walk: _Walk, at: int, flexible: bool, narrow: bool) -> tuple[int, int]:
    """A length (-1: null) and the position after it. `narrow`: int16, as of legacy strings."""
    if flexible:
        length, at = read_unsigned_varint(walk.data, at)
        return length - 1, at
    try:
        (length,) = (_int16 if narrow else _int32)(walk.data, at)
    except struct.error:
        raise ValueError("the bytes end within a length") from None
    return length, at + (2 if narrow else 4)


def _bytes(kafka_type: str, flexible: bool, nullable: bool, name: str) -> _Step:
    if kafka_type not in ("string", "bytes", "records"):
        raise TypeError(f"{name}: no field of type {kafka_type} is known")
    narrow = kafka_type == "string"

    def walk_bytes(walk: _Walk, at: int) -> int:
        length, at = _length(walk, at, flexible, narrow)
        if length < 0:
            _check_null(length, nullable, name)
            return at
        at += length
        if at > len(walk.data):
            raise ValueError(f"{name}: the bytes end within it")
        return at

    return walk_bytes


def _array(element: _Step | int, flexible: bool, nullable: bool, name: str) -> _Step:
    def walk_array(walk: _Walk, at: int) -> int:
        count, at = _length(walk, at, flexible, False)
        if count < 0:
            _check_null(count, nullable, name)
            return at
        walk.left -= count
        if count > len(walk.data) - at or walk.left < 0:  # no element is shorter than a byte
            raise ValueError(f"{name}: too many elements ({count})")
        if isinstance(element, int):
            at += count * element
            if at > len(walk.data):
                raise ValueError(f"{name}: the bytes end within it")
            return at
        for _ in range(count):
            at = element(walk, at)
        return at

    return walk_array


def _check_null(length: int, nullable: bool, name: str) -> None:
    if length < -1:
        raise ValueError(f"{name}: length {length}")
    if not nullable:
        raise ValueError(f"{name}: null, which it may not be")


def _nullable_entity(entity: _Step) -> _Step:
    """A byte before it says whether it is there: 1, or -1 for null."""

    def walk_entity(walk: _Walk, at: int) -> int:
        if at >= len(walk.data):
            raise ValueError("the bytes end within a field")
        return at + 1 if walk.data[at] == 0xFF else entity(walk, at + 1)

    return walk_entity


# --- tagged fields ------------------------------------------------------------------------


def _tags(schema: type[Entity], hints: dict[str, Any]) -> _Step:
    known: dict[int, _Step] = {
        item.metadata["tag"]: _field(schema, item, hints[item.name], tagged=True)
        for item in fields(schema)
        if "tag" in item.metadata
    }

    def walk_tags(walk: _Walk, at: int) -> int:
        data = walk.data
        if at < len(data) and data[at] == 0:
            return at + 1
        start = at
        count, at = read_unsigned_varint(data, at)
        kept: list[bytes] = []
        changed = False
        last = -1
        for _ in range(count):
            first = at
            tag, at = read_unsigned_varint(data, at)
            size, at = read_unsigned_varint(data, at)
            end = at + size
            if tag <= last or end > len(data):
                raise ValueError(f"tagged field {tag} after {last}, {size} bytes")
            last = tag
            if tag not in known:
                changed = True
            else:
                value, edited = _tagged(known[tag], walk, at, end)
                changed = changed or edited
                kept.append(_tag(tag, value) if edited else data[first:end])
            at = end
        if changed:
            walk.edits.append((start, at, write_unsigned_varint(len(kept)) + b"".join(kept)))
        return at

    return walk_tags


def _tagged(step: _Step, walk: _Walk, at: int, end: int) -> tuple[bytes, bool]:
    """A known tagged field's value, without what is not known within it; whether that changed."""
    outer, walk.edits = walk.edits, []
    if step(walk, at) != end:
        raise ValueError("a tagged field whose value has another length")
    inner, walk.edits = walk.edits, outer
    return _edited(walk.data, at, end, inner), bool(inner)


def _tag(tag: int, value: bytes) -> bytes:
    return write_unsigned_varint(tag) + write_unsigned_varint(len(value)) + value
