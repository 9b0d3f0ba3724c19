"""Columns of JSON texts, read in bulk: equal values, pairs, topic ids, places in a log.

Texts are canonical as `framework.history.texts.as_json` makes them: no spaces, names sorted, ASCII.
Only odd ones (floats, escapes) are parsed, and each distinct one once.
"""

import json
from collections.abc import Sequence
from typing import Any, Final, TypeAlias, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from checkers.linearizability.encoded import NOWHERE, Codes, Ints
from framework.history import json_columns
from framework.history.json_walk import CANONICAL
from framework.history.texts import as_json

Strings: TypeAlias = Any
"""A `pyarrow.StringArray`."""
Mask: TypeAlias = NDArray[np.bool_]

NULL: Final = "null"
ANY: Final = "any"
"""What stands for an id that nobody showed. It is no JSON text, hence no id."""


class Texts(Sequence[str]):
    """Some of the texts of a pool, looked up when asked for."""

    __slots__ = ("_first", "_pool", "_rows")

    def __init__(self, pool: Strings, first: str, rows: Ints) -> None:
        """`first` is number 0; number n is that of row `rows[n - 1]`."""
        self._pool, self._first, self._rows = pool, first, rows

    def __len__(self) -> int:
        return len(self._rows) + 1

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> list[str]: ...
    def __getitem__(self, number: int | slice) -> str | list[str]:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        if number < 0:
            number += len(self)
        if not 0 <= number < len(self):
            raise IndexError(number)
        if number == 0:
            return self._first
        text: str = self._pool[int(self._rows[number - 1])].as_py()
        return text


def strings(column: Any, rows: Ints | None = None) -> Strings:
    """A column (perhaps of those rows only) as one array of plain strings; none is `null`."""
    if rows is not None:
        column = column.take(pa.array(rows))
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # of no chunk, or too long for one
            column = (
                pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], "string")
            )
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.string()).fill_null(NULL)


def numbered(column: Any) -> tuple[Strings, Codes]:
    """The distinct texts, and the number of each row's."""
    if pa.types.is_dictionary(column.type) and not column.null_count:
        if isinstance(column, pa.ChunkedArray):
            column = column.unify_dictionaries().combine_chunks()
        if isinstance(column, pa.Array):
            codes = column.indices.to_numpy(zero_copy_only=False).astype(np.int32)
            return column.dictionary.cast(pa.string()), codes
    plain = isinstance(column, pa.Array) and pa.types.is_string(column.type)
    if not plain or column.null_count:
        column = strings(column)
    encoded = column.dictionary_encode()
    return encoded.dictionary, encoded.indices.to_numpy(zero_copy_only=False)


def canonical(texts: Strings) -> Strings:
    """Texts that are equal exactly where the JSON values are: 1.0 becomes 1. The same object if
    all are already."""
    found = json_columns.texts(texts)
    form = json_columns.forms(found)
    if not (form > CANONICAL).any():
        return texts
    return json_columns.in_form(found, form, _canonical)


def _canonical(text: str) -> str:
    return text if text == ANY else as_json(json.loads(text))


def pairs(texts: Strings) -> tuple[Strings, Strings]:
    """The canonical texts of both items of each list; null where it is no list of two."""
    row, items, wrong = json_columns.items(json_columns.texts(texts))
    two = (np.bincount(row, minlength=len(texts)) == 2) & ~wrong
    at = np.zeros(len(texts), np.int64)
    at[two] = np.searchsorted(row, np.flatnonzero(two))
    return _taken(items, at, two), _taken(items, at + 1, two)


def _taken(items: json_columns.Texts, at: Ints, there: Mask) -> Strings:
    """The canonical texts of some items, null where there are none."""
    begin, end = np.zeros(len(at), np.int64), np.full(len(at), -1)
    begin[there], end[there] = items.begin[at[there]], items.end[at[there]]
    return canonical(json_columns.Texts(items.data, begin, end).arrow())


def shown_ids(texts: Strings) -> Strings:
    """What answers about a topic show: an id's text, `ANY` for one that is there without its
    id, `NULL` for none. Null for what is no such answer."""
    found = json_columns.members(json_columns.texts(texts), ("topic_id",))["topic_id"].arrow()
    shown = pc.if_else(pc.equal(found, NULL), ANY, canonical(found)).fill_null(ANY)
    absent = pc.is_in(texts, pa.array([NULL, "false"]))
    there = pc.or_(pc.equal(texts, "true"), pc.starts_with(texts, "{"))
    return pc.case_when(pc.make_struct(absent, there), NULL, shown)


def places(ext: Any, shows: Mask) -> Ints | None:
    """The rank by (epoch, offset) of each row that `shows` one in its `ext`, else `NOWHERE`.

    None if no row does.
    """
    if ext.null_count == len(ext):
        return None
    texts, codes = numbered(ext)
    found = json_columns.members(json_columns.texts(texts), ("epoch", "offset"))
    epochs, offsets = map(json_columns.integers, found.values())
    placed = ((epochs >= 0) & (offsets >= 0))[codes] & shows
    if not placed.any():
        return None
    order = np.lexsort((offsets, epochs))
    rises = np.ones(len(order), dtype=bool)
    rises[1:] = (np.diff(epochs[order]) != 0) | (np.diff(offsets[order]) != 0)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.cumsum(rises) - 1
    placed_at: Ints = np.where(placed, ranks[codes], NOWHERE)
    return placed_at
