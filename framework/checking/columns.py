"""Rows gathered by column, for one Arrow table."""

from typing import Any

import pyarrow as pa


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
