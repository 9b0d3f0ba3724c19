"""Records to the values of the metadata log and back (KIP-631, "Record Formats").

A value is the record's type and version, both unsigned varints, and its body in Kafka's RPC
encoding. A reader that meets a type or version that it does not know refuses the record: a
guess would make two nodes disagree on the state (A.1.32-35).
"""

from dataclasses import fields
from typing import Final

from kio.serial import entity_reader

from nodes.kraft.metadata.partition_records import encode_partition
from nodes.kraft.wire.codec import encode_entity
from nodes.kraft.wire.records import (
    NEXT_VERSIONS,
    RECORD_TYPES,
    IsrChangeRecord,
    PartitionRecord,
    Record,
)
from nodes.kraft.wire.structure import (
    read_unsigned_varint,
    without_unknown_tags,
    write_unsigned_varint,
)

_NUMBERS: Final = {schema: write_unsigned_varint(number) for number, schema in RECORD_TYPES.items()}
_HEADS: Final = {schema: number + write_unsigned_varint(0) for schema, number in _NUMBERS.items()}
_NEWER_HEADS: Final = {
    schema: _NUMBERS[schema] + write_unsigned_varint(1) for schema in NEXT_VERSIONS
}


class RecordError(Exception):
    """A value of the metadata log that this software cannot read."""


class UnknownRecordType(RecordError):
    """A record type that this software does not know."""


class UnsupportedRecordVersion(RecordError):
    """A known record in a version that this software does not know."""


class MalformedRecord(RecordError):
    """Bytes that are no record of the type and version that they name."""


def encode_record(record: Record, level: int = 1) -> bytes:
    """A record as a value of the log, as `level` of `metadata.format` has it: at level 1 every
    record is of version 0, from level 2 on those that have one are of version 1."""
    newer = NEXT_VERSIONS.get(type(record)) if level >= 2 else None
    head = (_HEADS if newer is None else _NEWER_HEADS)[type(record)]
    if isinstance(record, PartitionRecord | IsrChangeRecord):
        return head + encode_partition(record, tagged=newer is None)
    return head + encode_entity(record if newer is None else _as(newer, record))


def _as(schema: type[Record], record: Record) -> Record:
    """The record in another version of its schema."""
    return schema(**{item.name: getattr(record, item.name) for item in fields(schema)})


def decode_record(data: bytes) -> Record:
    """The inverse of `encode_record`; tagged fields that are not known are ignored.

    Raises `UnknownRecordType`, `UnsupportedRecordVersion`, `MalformedRecord`.
    """
    try:
        number, at = read_unsigned_varint(data, 0)
        version, at = read_unsigned_varint(data, at)
    except ValueError:
        raise MalformedRecord(f"no record type and version in {data[:10]!r}") from None
    schema = RECORD_TYPES.get(number)
    if schema is None:
        raise UnknownRecordType(f"record type {number}; known: {sorted(RECORD_TYPES)}")
    if version == 0:
        return _decode_body(schema, data[at:])
    newer = NEXT_VERSIONS.get(schema)
    if version != 1 or newer is None:
        known = "version 0" if newer is None else "versions 0 and 1"
        raise UnsupportedRecordVersion(
            f"{schema.__name__} version {version}; this software knows {known}"
        )
    return _as(schema, _decode_body(newer, data[at:]))


def _decode_body(schema: type[Record], body: bytes) -> Record:
    try:
        try:
            record, size = entity_reader(schema)(body, 0)
        except KeyError:
            # kio's way to say that it met a tagged field that the schema lacks.
            body = without_unknown_tags(schema, body)
            record, size = entity_reader(schema)(body, 0)
    except Exception as error:
        raise MalformedRecord(f"{schema.__name__}: {error}") from error
    if size != len(body):
        raise MalformedRecord(f"{schema.__name__}: {len(body) - size} bytes after the record")
    return record
