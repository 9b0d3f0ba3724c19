"""Entities from bytes that nobody vouches for: kio's readers of fields, put together with care.

kio's own reader of entities believes what it reads. An array that promises 2^31 elements makes it
reserve the memory, which ends the process, and with it the run; a tagged field that its schema
does not know is an error to it, though software must ignore those (KIP-482).
"""

from collections.abc import Callable
from dataclasses import Field, fields, is_dataclass
from functools import cache
from types import NoneType
from typing import TypeAlias, TypeVar, get_args, get_origin, get_type_hints

from kio.serial._implicit_defaults import get_tagged_field_default
from kio.serial._parse import get_reader
from kio.serial.readers import read_int8, read_legacy_array_length, read_unsigned_varint
from kio.static.protocol import Entity

E = TypeVar("E", bound=Entity)
Reader: TypeAlias = Callable[[bytes, int], tuple[object, int]]
"""(bytes, position) -> (value, how many bytes it took). Raises where there is none."""


@cache
def reader_of(schema: type[E]) -> Callable[[bytes, int], tuple[E, int]]:
    """Reads an entity of this type."""
    hints = get_type_hints(schema)
    plain: list[tuple[str, Reader]] = []
    tagged: dict[int, tuple[str, Reader]] = {}
    defaults: dict[str, object] = {}
    for field in fields(schema):
        if "tag" in field.metadata:
            reader = _field(schema, field, hints[field.name], tagged=True)
            tagged[field.metadata["tag"]] = (field.name, reader)
            defaults[field.name] = get_tagged_field_default(field)
        else:
            plain.append((field.name, _field(schema, field, hints[field.name], tagged=False)))

    def read(data: bytes, start: int) -> tuple[E, int]:
        values, at = dict(defaults), start
        for name, reader in plain:
            values[name], size = reader(data, at)
            at += size
        if schema.__flexible__:
            at = _read_tagged(tagged, values, data, at)
        return schema(**values), at - start

    return read


def _read_tagged(
    tagged: dict[int, tuple[str, Reader]], values: dict[str, object], data: bytes, at: int
) -> int:
    """The position after the tagged fields; those that are known are added to `values`."""
    count, step = read_unsigned_varint(data, at)
    at += step
    for _ in range(count):
        tag, step = read_unsigned_varint(data, at)
        at += step
        size, step = read_unsigned_varint(data, at)
        at += step
        if size > len(data) - at:
            raise ValueError(f"tagged field {tag} has {size} bytes")
        if tag in tagged:
            name, reader = tagged[tag]
            values[name], read = reader(data, at)
            if read != size:
                raise ValueError(f"tagged field {tag} has {size} bytes, of which {read} were read")
        at += size
    return at


def _field(schema: type[Entity], field: Field[object], hint: object, *, tagged: bool) -> Reader:
    kind, nullable = _without_none(hint)
    if get_origin(kind) is tuple:
        element, _ = _without_none(get_args(kind)[0])
        return _array(_one(schema, field, element, False), schema.__flexible__, nullable)
    if is_dataclass(kind) and nullable and not tagged:
        return _nullable(_one(schema, field, kind, False))
    return _one(schema, field, kind, nullable)


def _one(schema: type[Entity], field: Field[object], kind: object, nullable: bool) -> Reader:
    if isinstance(kind, type) and is_dataclass(kind):
        return reader_of(kind)
    reader: Reader = get_reader(field.metadata["kafka_type"], schema.__flexible__, nullable)
    return reader


def _without_none(hint: object) -> tuple[object, bool]:
    """A type without `| None`, and whether it had that."""
    parts = get_args(hint)
    if NoneType not in parts:
        return hint, False
    return next(each for each in parts if each is not NoneType), True


def _array(element: Reader, flexible: bool, nullable: bool) -> Reader:
    def read(data: bytes, start: int) -> tuple[object, int]:
        length, size = (read_unsigned_varint if flexible else read_legacy_array_length)(data, start)
        count, at = length - flexible, start + size
        if count == -1 and nullable:
            return None, size
        if not 0 <= count <= len(data) - at:  # no element is shorter than a byte
            raise ValueError(f"an array of {count} elements in {len(data) - at} bytes")
        items = []
        for _ in range(count):
            item, size = element(data, at)
            items.append(item)
            at += size
        return tuple(items), at - start

    return read


def _nullable(entity: Reader) -> Reader:
    """A byte before it says whether it is there: -1 for null."""

    def read(data: bytes, at: int) -> tuple[object, int]:
        marker, size = read_int8(data, at)
        if marker == -1:
            return None, size
        value, taken = entity(data, at + size)
        return value, size + taken

    return read
