"""Columns of JSON texts, read in bulk: equal values, pairs, topic ids, places in a log.

Texts are canonical as `framework.checking.columns.as_json` makes them: no spaces, names sorted,
ASCII. What regular expressions can tell is told for whole columns at once; only odd texts
(nested values, floats, escapes) are parsed one by one, and each distinct one once.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from checkers.linearizability.encoded import NOWHERE, Codes, Ints
from framework.history.event import Json
from framework.history.texts import as_json, whole

Strings: TypeAlias = Any
"""A `pyarrow.StringArray`."""
Mask: TypeAlias = NDArray[np.bool_]

NULL: Final = "null"
ANY: Final = "any"
"""What stands for an id that nobody showed. It is no JSON text, hence no id."""

_ATOM: Final = r'(?:0|-?[1-9][0-9]*|null|true|false|"[^"\\]*")'
_PAIR: Final = rf"^\[(?P<first>{_ATOM}),(?P<second>{_ATOM})\]$"
_ID: Final = r'^\{(?:.*,)?"topic_id":(?P<id>"[^"\\]*")\}$'
_EPOCH: Final = r'^\{(?:.*,)?"epoch":(?P<found>[0-9]{1,18})[,}]'
_OFFSET: Final = r'^\{(?:.*,)?"offset":(?P<found>[0-9]{1,18})[,}]'


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
    if not (isinstance(column, pa.Array) and pa.types.is_string(column.type)):
        column = strings(column)
    encoded = column.dictionary_encode()
    return encoded.dictionary, encoded.indices.to_numpy(zero_copy_only=False)


def canonical(texts: Strings) -> Strings:
    """Texts that are equal exactly where the JSON values are: 1.0 becomes 1. The same object if
    all are already."""
    plain = pc.match_substring_regex(texts, f"^(?:{_ATOM}|{ANY})$")
    return _odd_ones(texts, pc.invert(plain), lambda text: as_json(whole(json.loads(text))))


def pairs(texts: Strings) -> tuple[Strings, Strings]:
    """The canonical texts of both items of each list; null where it is no list of two."""
    found = pc.extract_regex(texts, _PAIR)
    first, second = (pc.struct_field(found, name) for name in ("first", "second"))
    odd = np.flatnonzero(pc.is_null(found).to_numpy(zero_copy_only=False))
    if not len(odd):
        return first, second
    firsts, seconds = first.to_pylist(), second.to_pylist()
    for row in odd.tolist():
        value = whole(json.loads(texts[row].as_py()))
        firsts[row] = seconds[row] = None
        if isinstance(value, list) and len(value) == 2:
            firsts[row], seconds[row] = map(as_json, value)
    return pa.array(firsts, pa.string()), pa.array(seconds, pa.string())


def shown_ids(texts: Strings) -> Strings:
    """What answers about a topic show: an id's text, `ANY` for one that is there without its
    id, `NULL` for none. Null for what is no such answer."""
    found = pc.struct_field(pc.extract_regex(texts, _ID), "id")
    return _odd_ones(texts, pc.is_null(found), _shown_id, found)


def _shown_id(text: str) -> str | None:
    value = json.loads(text)
    if value is None or value is False:
        return NULL
    if value is True:
        return ANY
    if not isinstance(value, dict):
        return None
    shown = value.get("topic_id")
    return ANY if shown is None else as_json(whole(shown))


def places(ext: Any, shows: Mask) -> Ints | None:
    """The rank by (epoch, offset) of each row that `shows` one in its `ext`, else `NOWHERE`.

    None if no row does.
    """
    column = ext if isinstance(ext, pa.ChunkedArray) else pa.chunked_array([ext])
    if column.null_count == len(column):
        return None
    texts, codes = numbered(column)
    telling = pc.match_substring(texts, '"offset":').to_numpy(zero_copy_only=False)
    if not telling.any():
        return None
    epochs, offsets = _numbers(texts, _EPOCH), _numbers(texts, _OFFSET)
    nested = pc.match_substring_regex(texts, r"^.+\{").to_numpy(zero_copy_only=False)
    for row in np.flatnonzero(nested & telling).tolist():
        value = json.loads(texts[row].as_py())
        epochs[row], offsets[row] = (_natural(value, name) for name in ("epoch", "offset"))
    placed = ((epochs >= 0) & (offsets >= 0))[codes] & shows
    if not placed.any():
        return None
    order = np.lexsort((offsets, epochs))
    rises = np.ones(len(order), dtype=bool)
    rises[1:] = (np.diff(epochs[order]) != 0) | (np.diff(offsets[order]) != 0)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.cumsum(rises) - 1
    found: Ints = np.where(placed, ranks[codes], NOWHERE)
    return found


def _numbers(texts: Strings, pattern: str) -> Ints:
    found = pc.struct_field(pc.extract_regex(texts, pattern), "found")
    cast: Ints = found.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False).copy()
    return cast


def _natural(value: Json, name: str) -> int:
    number = value.get(name) if isinstance(value, dict) else None
    return number if type(number) is int and number >= 0 else -1


def _odd_ones(
    texts: Strings, odd: Any, read: Callable[[str], str | None], others: Strings | None = None
) -> Strings:
    """`others` (else the texts), and for the odd ones what `read` makes of the text."""
    others = texts if others is None else others
    rows = np.flatnonzero(odd.to_numpy(zero_copy_only=False))
    if not len(rows):
        return others
    mask = np.zeros(len(texts), dtype=bool)
    mask[rows] = True
    found = pa.array([read(texts[row].as_py()) for row in rows.tolist()], pa.string())
    return pc.replace_with_mask(others, pa.array(mask), found)
