"""Columns of evidence as rules compare them: Arrow arrays of few types, and numbers for keys.

A column is one array: whole numbers of 64 bits, truth values, texts that are numbered (an Arrow
dictionary), or lists of whole numbers; or nothing but NULLs, of a field that none of the rows has.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from framework.history.texts import as_text

Column: TypeAlias = pa.Array
Numbers: TypeAlias = npt.NDArray[np.int64]

_TEXTS: Final = pa.dictionary(pa.int32(), pa.string())
_LISTS: Final = pa.list_(pa.int64())


def column_of(values: Iterable[Any]) -> Column:
    """Of Python's values, None for NULL: numbers, texts, truth values or tuples of numbers."""
    plain = [as_text(each) if isinstance(each, str) else each for each in values]
    return as_column(pa.array(plain))


def as_column(array: pa.Array | pa.ChunkedArray) -> Column:
    """Any array of these values, however narrow, as a column."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_string(array.type):
        return array.dictionary_encode()
    if pa.types.is_integer(array.type):
        return array.cast(pa.int64())
    if pa.types.is_list(array.type):
        return array.cast(_LISTS)
    return array


def stacked(columns: Sequence[Column]) -> Column:
    """One below the other. Raises `TypeError` for texts below numbers and the like."""
    own = {column.type for column in columns if not pa.types.is_null(column.type)}
    if len(own) > 1:
        raise TypeError(f"columns of {', '.join(sorted(map(str, own)))} have no values in common")
    if len(columns) == 1 or not own:
        return pa.concat_arrays(columns) if len(columns) > 1 else columns[0]
    (kind,) = own
    alike = [pa.nulls(len(each), kind) if each.type != kind else each for each in columns]
    if kind != _TEXTS:
        return pa.concat_arrays(alike)
    return pa.chunked_array(alike).unify_dictionaries().combine_chunks()


def numbers_of(column: Column, name: str) -> npt.NDArray[Any]:
    """Whole numbers, or truth values. Raises `TypeError` where there is anything else, or NULL."""
    if not len(column):
        return np.empty(0, np.bool_ if pa.types.is_boolean(column.type) else np.int64)
    if column.null_count or not (
        pa.types.is_int64(column.type) or pa.types.is_boolean(column.type)
    ):
        raise TypeError(f"{name}: not a number in each row ({column.type})")
    return np.asarray(column.to_numpy(zero_copy_only=False))


# --- keys -----------------------------------------------------------------------------------


def keys(columns: Sequence[Column], rows: int) -> tuple[Numbers, int]:
    """A number for each row, the same for those that have the same in all of the columns (NULL is
    like NULL), and above all of them: about as many as there are rows, or fewer."""
    codes, count = np.zeros(rows, np.int64), 1
    for column in columns:
        own, values = _numbered(column)
        codes, count = codes * values + own, count * values
        if count > _room(rows):
            codes, count = _hashed(pa.array(codes))
    return codes, count


def first_of(codes: Numbers, count: int) -> Numbers:
    """Number -> the first row that has it; of one that no row has, any."""
    first = np.zeros(count, np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)  # of equals the last one stays
    return first


def last_of(codes: Numbers, count: int) -> Numbers:
    """Number -> the last row that has it; of one that no row has, any."""
    last = np.zeros(count, np.int64)
    last[codes] = np.arange(len(codes))
    return last


def _numbered(column: Column) -> tuple[Numbers, int]:
    if not len(column) or pa.types.is_null(column.type):
        return np.zeros(len(column), np.int64), 1
    if pa.types.is_dictionary(column.type):
        none = len(column.dictionary)
        return np.asarray(pc.fill_null(column.indices, none)).astype(np.int64), none + 1
    if pa.types.is_int64(column.type) and not column.null_count:
        values = np.asarray(column)
        low, high = int(values.min()), int(values.max())
        if high - low < _room(len(values)):
            return values - low, high - low + 1
    return _hashed(column)


def _hashed(column: Column) -> tuple[Numbers, int]:
    coded = column.dictionary_encode(null_encoding="encode")
    return np.asarray(coded.indices).astype(np.int64), max(1, len(coded.dictionary))


def _room(rows: int) -> int:
    """So many numbers may be told apart by a table: some for each row."""
    return 4 * rows + 64
