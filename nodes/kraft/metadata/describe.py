"""Records as JSON for the event log: `{"kind": ..., fields as in wire/records.py}`."""

import uuid
from dataclasses import fields, is_dataclass
from typing import Any

from nodes.kraft.wire.records import Record


def describe(record: Record) -> dict[str, Any]:
    """A record as a JSON object; uuids are strings, bytes are hexadecimal."""
    return {"kind": type(record).__name__, **_object(record)}


def _object(entity: Any) -> dict[str, Any]:
    return {item.name: _value(getattr(entity, item.name)) for item in fields(entity)}


def _value(value: Any) -> Any:
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, tuple):
        return [_value(item) for item in value]
    return _object(value) if is_dataclass(value) else value
