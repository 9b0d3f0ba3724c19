"""Reading JSON texts where they lie, in the bytes of an Arrow column.

A history of ten million operations has as many JSON values. No Python object is made of them:
compiled code walks over the column's bytes, and notes where members, items, keys and values begin
and end. Texts are taken as JSON; what is not of the shape asked for is told by row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checkers.kafka_log.json_bytes import (
    NONE,
    Bytes,
    Ints,
    find_lists,
    find_members,
    gather,
    parse_integers,
)

_SMALLEST_RECORD: Final = 6
"""Bytes of `[0,1],`: a text has no more records than that allows."""
_QUOTE: Final = 34


@dataclass(frozen=True, slots=True)
class Texts:
    """A column of texts: text i is `data[begin[i]:end[i]]`; a null is empty."""

    data: Bytes
    begin: Ints
    end: Ints

    def __post_init__(self) -> None:
        self.data.setflags(write=False)  # for compiled code, what may be written is another type

    def __len__(self) -> int:
        return len(self.begin)

    def take(self, rows: Ints) -> "Texts":
        return Texts(self.data, self.begin[rows], self.end[rows])

    def where(self, rows: NDArray[np.bool_], other: "Texts") -> "Texts":
        """Own texts at `rows`, elsewhere those of `other`."""
        shift = len(self.data)
        return Texts(
            np.concatenate([self.data, other.data]),
            np.where(rows, self.begin, other.begin + shift),
            np.where(rows, self.end, other.end + shift),
        )

    def arrow(self) -> pa.StringArray:
        """The texts again; a text whose end is before its begin is null."""
        absent = self.end < self.begin
        offsets, data = gather(self.data, self.begin, self.end)
        valid = None
        if absent.any():
            valid = pa.py_buffer(np.packbits(~absent, bitorder="little"))
        return pa.StringArray.from_buffers(
            len(self), pa.py_buffer(offsets), pa.py_buffer(data), valid
        )


def texts(column: pa.Array | pa.ChunkedArray) -> Texts:
    """The texts of a string column, of any of Arrow's kinds, of less than 2 GiB."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # an empty one, in older releases
        column = pa.array([], pa.string()) if not len(column) else pa.concat_arrays(column.chunks)
    if not pa.types.is_string(column.type):
        column = column.cast(pa.string())
    _, offsets, data = column.buffers()
    count = len(column)
    if offsets is None or count == 0:
        none = np.zeros(count, np.int64)
        return Texts(np.zeros(0, np.uint8), none, none)
    places = np.frombuffer(offsets, np.int32)[column.offset : column.offset + count + 1]
    held = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    begin, end = places[:-1].astype(np.int64), places[1:].astype(np.int64)
    if column.null_count:
        end = np.where(column.is_null().to_numpy(zero_copy_only=False), begin, end)
    return Texts(held, begin, end)


def members(objects: Texts, names: Sequence[str]) -> dict[str, Texts]:
    """The text of each named member of each object; absent (its end before its begin) where there
    is none, or no object."""
    encoded = [name.encode() for name in names]
    wanted = np.frombuffer(b"".join(encoded), np.uint8)
    ends = np.cumsum([len(name) for name in encoded]).astype(np.int64)
    begin = np.zeros((len(names), len(objects)), np.int64)
    end = np.full((len(names), len(objects)), -1, np.int64)
    find_members(objects.data, objects.begin, objects.end, wanted, ends, begin, end)
    return {name: Texts(objects.data, begin[n], end[n]) for n, name in enumerate(names)}


def integers(numbers: Texts) -> Ints:
    """The whole numbers that the texts are; `NONE` for what is none."""
    made = np.empty(len(numbers), np.int64)
    parse_integers(numbers.data, numbers.begin, numbers.end, made)
    return made


def unquoted(names: Texts) -> Texts:
    """Strings without their quotes, anything else as it is."""
    begin, end, data = names.begin, names.end, names.data
    some = end - begin >= 2
    quoted = some.copy()
    quoted[some] = data[begin[some]] == _QUOTE
    return Texts(data, np.where(quoted, begin + 1, begin), np.where(quoted, end - 1, end))


@dataclass(frozen=True, slots=True)
class Found:
    """What lists held, in order: `row` is the text that an item is from. `wrong`: for each text,
    whether it was not of the shape; then it has no items here."""

    row: Ints
    kind: NDArray[np.int8]
    key: Texts
    offset: Ints
    value: Texts
    epoch: Ints
    wrong: NDArray[np.bool_]


def items(lists: Texts) -> Found:
    """The items of lists, as `value`."""
    return _found(lists, 0)


def records(lists: Texts) -> Found:
    """Records `[offset, value]` or `[offset, value, epoch]` of lists of them."""
    return _found(lists, 1)


def micro_operations(lists: Texts) -> Found:
    """Records of lists of `["send", key, [offset, value]]` and `["poll", {key: records, ...}]`."""
    return _found(lists, 2)


def _found(lists: Texts, shape: int) -> Found:
    size = np.maximum(lists.end - lists.begin, 0)
    smallest = 2 if shape == 0 else _SMALLEST_RECORD
    room = int(size.sum()) // smallest + len(lists)
    made = np.empty((7, room), np.int64)
    wrong = np.zeros(len(lists), np.bool_)
    count = find_lists(lists.data, lists.begin, lists.end, shape, made, wrong)
    made = made[:, :count].copy()
    row, kind, key_from, key_to, offset, value_from, value_to = made
    epoch = np.full(count, NONE, np.int64)
    if shape == 1:
        given = key_to > key_from
        epoch[given] = integers(Texts(lists.data, key_from[given], key_to[given]))
    return Found(
        row,
        kind.astype(np.int8),
        Texts(lists.data, key_from, key_to),
        offset,
        Texts(lists.data, value_from, value_to),
        epoch,
        wrong,
    )
