"""Rows gathered by column, for one Arrow table."""

import json
from typing import Any

import pyarrow as pa

from framework.history.event import Json


class Columns:
    """A table in the making."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._columns: list[list[Any]] = [[] for _ in schema.names]

    def add(self, *row: Any) -> None:
        """A row, in the schema's order."""
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)

    def table(self) -> pa.Table:
        return pa.table(
            [
                pa.array(column, field.type)
                for column, field in zip(self._columns, self._schema, strict=True)
            ],
            schema=self._schema,
        )


def as_json(value: Json) -> str:
    """The one JSON text of a value: compact, names sorted, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def as_text(value: str | None) -> str | None:
    """A string that UTF-8 can hold: JSON allows lone surrogates, Arrow does not."""
    if value is None or value.isascii():
        return value
    return value.encode(errors="backslashreplace").decode()


def whole(value: Json) -> Json:
    """The value with every float that is a whole number as an integer."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [whole(item) for item in value]
    if isinstance(value, dict):
        return {name: whole(item) for name, item in value.items()}
    return value
