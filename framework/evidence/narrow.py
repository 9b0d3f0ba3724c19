"""Tables of evidence in as little memory as their values allow.

A node's name is the same text in a hundred thousand rows, and an epoch that is 3 needs no eight
bytes: texts that repeat are numbered, whole numbers as wide as the largest of their column. The
rows are the same.
"""

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

WORTH: Final = 8_192
"""Rows; fewer are left as they are."""
_WIDTHS: Final = ((8, pa.int8()), (16, pa.int16()), (32, pa.int32()))
_ROWS_A_TEXT: Final = 4


def narrow(table: pa.Table) -> pa.Table:
    """The same rows, each column in one piece."""
    if len(table) < WORTH:
        return table
    columns = [_narrow(column.combine_chunks()) for column in table.columns]
    return pa.table(dict(zip(table.column_names, columns, strict=True)))


def _narrow(column: pa.Array) -> pa.Array:
    if pa.types.is_string(column.type):
        coded = column.dictionary_encode()
        repeats = len(coded.dictionary) * _ROWS_A_TEXT < len(column)
        return coded if repeats and not column.null_count else column
    if pa.types.is_integer(column.type):
        return column.cast(_width(column))
    if pa.types.is_list(column.type) and pa.types.is_integer(column.type.value_type):
        return column.cast(pa.list_(_width(pc.list_flatten(column))))
    return column


def _width(numbers: pa.Array) -> pa.DataType:
    """The least that has room for all of them."""
    ends = pc.min_max(numbers)
    least, most = ends["min"].as_py() or 0, ends["max"].as_py() or 0
    for bits, width in _WIDTHS:
        if -(1 << bits - 1) <= least and most < 1 << bits - 1:
            return width
    return numbers.type
