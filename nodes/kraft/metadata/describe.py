"""Records as JSON for the event log: `{"kind": ..., fields as in wire/records.py}`."""

import typing
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any, Final, TypeAlias

from nodes.kraft.wire.records import Record

Conversion: TypeAlias = Callable[[Any], Any] | None
"""How a field's value becomes JSON; None: it is JSON."""


def describe(record: Record) -> dict[str, Any]:
    """A record as a JSON object; uuids are strings, bytes are hexadecimal."""
    return {"kind": type(record).__name__, **_object(record)}


def _object(entity: Any) -> dict[str, Any]:
    described = {}
    schema: Any = type(entity)  # mypy takes type[Any] for unhashable
    for name, conversion in _conversions(schema):
        value = getattr(entity, name)
        described[name] = value if conversion is None or value is None else conversion(value)
    return described


@cache
def _conversions(schema: Any) -> tuple[tuple[str, Conversion], ...]:
    """Each field's name and conversion. Every committed record is described: what a schema says
    is asked once."""
    hints = typing.get_type_hints(schema)
    return tuple(
        (item.name, _conversion(hints[item.name], item.metadata.get("kafka_type")))
        for item in fields(schema)
    )


def _conversion(hint: Any, kafka_type: str | None) -> Conversion:
    if typing.get_origin(hint) is tuple:
        return _objects if kafka_type is None else list
    return _PRIMITIVES.get(kafka_type)


def _objects(entities: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [_object(entity) for entity in entities]


_PRIMITIVES: Final[dict[str | None, Conversion]] = {"uuid": str, "bytes": bytes.hex}
