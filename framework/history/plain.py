"""Arrow columns as plain Python values: of a value that many rows have, one object.

Nobody may change what he is given of these: others have it too.
"""

import json
from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_ROWS_A_WORD: Final = 4
"""With fewer it is not worth it to look for the same."""


def plain_values(column: pa.ChunkedArray) -> list[Any]:
    """Of each row; by numpy where it can, which is ten times as fast. Lists of numbers are
    tuples."""
    values: list[Any]
    if pa.types.is_integer(column.type) and not column.null_count:
        values = column.to_numpy().tolist()
    elif pa.types.is_dictionary(column.type) and not column.null_count:
        coded = column.combine_chunks()
        values = _each_has(coded.dictionary.to_pylist(), coded.indices)
    elif pa.types.is_string(column.type) and (words := _repeated(column)) is not None:
        values = _each_has(words.to_pylist(), pc.index_in(column, words))
    elif _is_of_numbers(column.type) and not column.null_count:
        flat = pc.list_flatten(column).to_numpy().tolist()
        ends = np.cumsum(np.asarray(pc.list_value_length(column))).tolist()
        values = [tuple(flat[first:end]) for first, end in zip([0, *ends], ends, strict=False)]
    else:
        values = column.to_pylist()
    return values


def json_values(column: pa.ChunkedArray) -> list[Any]:
    """What the JSON texts of a column say; null is None."""
    if (words := _repeated(column)) is not None:
        return _each_has(_parsed(words.to_pylist()), pc.index_in(column, words))
    return _parsed(column.to_pylist())


def _parsed(texts: Iterable[str | None]) -> list[Any]:
    """In one go, which is quicker, and of a field's name makes one object."""
    joined = ",".join("null" if text is None else text for text in texts)
    values: list[Any] = json.loads(f"[{joined}]")
    return values


def _each_has(values: list[Any], which: pa.Array | pa.ChunkedArray) -> list[Any]:
    """`which`: of the values each row has."""
    known = np.empty(len(values), object)
    known[:] = values
    rows: list[Any] = known[np.asarray(which)].tolist()
    return rows


def _is_of_numbers(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) and pa.types.is_integer(kind.value_type))


def _repeated(column: pa.ChunkedArray) -> pa.Array | None:
    """The different values of a column; None: it has too many of them, or too few rows, to look
    for the same."""
    if len(column) <= _ROWS_A_WORD:
        return None
    words = pc.unique(column)
    return words if len(words) * _ROWS_A_WORD < len(column) else None
