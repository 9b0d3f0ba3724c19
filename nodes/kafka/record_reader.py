"""Values of Kafka's metadata log, as names and fields (KIP-631: frame, type, version, body).

Written for bytes that nobody vouches for: whatever is no record raises `ValueError`. Tagged fields
that are not known are passed over (KIP-482), a type that is not known has no fields, and a version
that is newer than those known is refused. Bytes are told in base 64, as Kafka's tools do.
"""

import base64
import struct
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from nodes.kafka.record_schemas import CONTROL, NEWEST, RECORDS, Entity, Field
from nodes.kafka_files.varints import unsigned

FRAME: Final = 1
_NUMBERS: Final = {
    "int8": ">b",
    "int16": ">h",
    "uint16": ">H",
    "int32": ">i",
    "int64": ">q",
    "float64": ">d",
}


def read_record(data: bytes) -> tuple[str, Mapping[str, Any]]:
    """The record's name and fields."""
    try:
        frame, at = unsigned(data, 0)
        number, at = unsigned(data, at)
        version, at = unsigned(data, at)
    except IndexError:
        raise ValueError("no frame, type and version") from None
    if frame != FRAME:
        raise ValueError(f"a frame of version {frame}")
    if number not in RECORDS:
        return f"Record{number}", {}
    name, fields = RECORDS[number]
    if version > NEWEST.get(number, 0):
        raise ValueError(f"{name} of version {version}")
    return name, _whole(data[at:], fields, version)


def read_control(key: bytes, value: bytes) -> tuple[str, Mapping[str, Any]]:
    """A control record's name and fields. Its key is a version, and its type."""
    if len(key) < 4 or len(value) < 2:
        raise ValueError("no type, or no version")
    _, kind = struct.unpack_from(">hh", key)
    (version,) = struct.unpack_from(">h", value)
    if kind not in CONTROL:
        return f"ControlRecord{kind}", {}
    name, fields, newest = CONTROL[kind]
    if not 0 <= version <= newest:
        raise ValueError(f"{name} of version {version}")
    return name, _whole(value, fields, version)


def _whole(data: bytes, fields: tuple[Field, ...], version: int) -> Mapping[str, Any]:
    reader = _Reader(data)
    try:
        found = reader.entity(fields, version)
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise ValueError(f"ends within a field: {error}") from error
    if reader.at != len(data):
        raise ValueError(f"{len(data) - reader.at} bytes behind the last field")
    return found


class _Reader:
    """Bytes, and how far they are read. Raises `IndexError`, `struct.error`, `ValueError`."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def entity(self, fields: tuple[Field, ...], version: int) -> dict[str, Any]:
        here = [each for each in fields if each.since <= version]
        found = {each.name: self.value(each.type, version) for each in here if each.tag is None}
        tagged = {each.tag: each for each in here if each.tag is not None}
        found |= {each.name: each.default for each in tagged.values()}
        for tag, body in self._tags():
            if (known := tagged.get(tag)) is not None:
                found[known.name] = _Reader(body).value(known.type, version)
        return found

    def value(self, kind: str | tuple[Field, ...] | Entity, version: int) -> Any:
        if isinstance(kind, Entity):
            return self.entity(kind.fields, version)
        if isinstance(kind, tuple):
            fields = kind
            return self._array(lambda: self.entity(fields, version))
        kind = kind.removesuffix("?")
        if kind.startswith("[]"):
            element = kind[2:]
            return self._array(lambda: self.value(element, version))
        if kind == "string":
            size = self._size()
            return None if size < 0 else self._take(size).decode()
        if kind == "bytes":
            size = self._size()
            return None if size < 0 else base64.b64encode(self._take(size)).decode()
        if kind == "uuid":
            return str(uuid.UUID(bytes=self._take(16)))
        if kind == "bool":
            return self._take(1) != b"\0"
        layout = _NUMBERS[kind]
        return struct.unpack(layout, self._take(struct.calcsize(layout)))[0]

    def _array(self, read: Callable[[], Any]) -> tuple[Any, ...] | None:
        count = self._size()
        if count > len(self.data) - self.at:
            raise ValueError(f"an array of {count}")
        return None if count < 0 else tuple(read() for _ in range(count))

    def _tags(self) -> Iterator[tuple[int, bytes]]:
        for _ in range(self._unsigned()):
            tag = self._unsigned()
            yield tag, self._take(self._unsigned())

    def _size(self) -> int:
        """Of something compact: -1 is null."""
        return self._unsigned() - 1

    def _unsigned(self) -> int:
        number, self.at = unsigned(self.data, self.at)
        return number

    def _take(self, size: int) -> bytes:
        taken = self.data[self.at : self.at + size]
        if len(taken) < size:
            raise IndexError(f"{size} bytes, of which {len(taken)} are left")
        self.at += size
        return taken
