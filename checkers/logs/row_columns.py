"""Columns of rows: from numbers and texts to Arrow, and back."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from framework.history.json_columns import Texts
from framework.history.json_walk import NONE, Ints

NAME: Final = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True, slots=True)
class Known:
    """Integers, `NONE` where there is none."""

    numbers: Ints


def or_null(numbers: Ints) -> Known:
    """Null where there is none."""
    return Known(numbers)


def offsets(numbers: Ints) -> Known:
    """Offsets; brokers say -1 for one that they do not know."""
    return Known(np.where(numbers < 0, NONE, numbers))


def arrow(column: Any, field: pa.Field, count: int) -> pa.Array | pa.ChunkedArray:
    """A column of `count` rows of the field's type, from whatever it is; None: all null."""
    if column is None:
        return pa.nulls(count, field.type)
    if field.name == "previous_ns":
        column = Known(column)
    if isinstance(column, Known):
        missing = column.numbers == NONE
        return pa.array(np.where(missing, 0, column.numbers), field.type, mask=missing)
    if isinstance(column, np.ndarray):
        return pa.array(column.astype(field.type.to_pandas_dtype()), field.type)
    return column.cast(field.type)


def dictionary(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """The column as one array of names."""
    return column.dictionary_encode().unify_dictionaries().combine_chunks().cast(NAME)


def codes(column: pa.ChunkedArray) -> Ints:
    """Equal numbers for equal names; -1 for null."""
    indices = dictionary(column).indices.fill_null(-1)
    made: Ints = indices.to_numpy().astype(np.int64)
    return made


def prefixed(prefix: str, names: pa.DictionaryArray) -> pa.DictionaryArray:
    """The names behind a prefix."""
    made = pc.binary_join_element_wise(prefix, names.dictionary, "")
    return pa.DictionaryArray.from_arrays(names.indices, made)


def integers_of(table: pa.Table, name: str) -> Ints:
    """A column of whole numbers, `NONE` for null."""
    column = table.column(name).cast(pa.int64())
    made: Ints = column.fill_null(NONE).to_numpy()
    return made


def places(row: Ints) -> Ints:
    """The position of each item among those of its row; rows do not fall."""
    made: Ints = np.arange(len(row)) - np.searchsorted(row, row)
    return made


def absent(values: Texts) -> NDArray[np.bool_]:
    """Which texts there are not."""
    return values.end <= values.begin
