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

from checkers.linearizability.compiled import compiled

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

NONE: Final = np.iinfo(np.int64).min
"""The integer that is not there."""
SENT, POLLED = 0, 1
_SMALLEST_RECORD: Final = 6
"""Bytes of `[0,1],`: a text has no more records than that allows."""

_QUOTE, _BACKSLASH, _COMMA, _COLON = 34, 92, 44, 58
_OPEN, _CLOSE, _OPEN_BRACE, _CLOSE_BRACE = 91, 93, 123, 125
_MINUS, _ZERO, _NINE, _SPACE = 45, 48, 57, 32
_S, _P, _N = 115, 112, 110


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
        offsets, data = _gather(self.data, self.begin, self.end)
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
    _members(objects.data, objects.begin, objects.end, wanted, ends, begin, end)
    return {name: Texts(objects.data, begin[n], end[n]) for n, name in enumerate(names)}


def integers(numbers: Texts) -> Ints:
    """The whole numbers that the texts are; `NONE` for what is none."""
    made = np.empty(len(numbers), np.int64)
    _integers(numbers.data, numbers.begin, numbers.end, made)
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
    count = _lists(lists.data, lists.begin, lists.end, shape, made, wrong)
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


# --- compiled: positions in `data`; -1 says that a text is not of the shape --------------------


@compiled
def _blank(data: Bytes, at: int, end: int) -> int:
    """Past white space."""
    while at < end and data[at] <= _SPACE:
        at += 1
    return at


@compiled
def _string(data: Bytes, at: int, end: int) -> int:
    """Past the string that begins at `at`."""
    at += 1
    while at < end:
        if data[at] == _BACKSLASH:
            at += 1
        elif data[at] == _QUOTE:
            return at + 1
        at += 1
    return -1


@compiled
def _value(data: Bytes, at: int, end: int) -> int:
    """Past the value that begins at `at`."""
    if at >= end:
        return -1
    first = data[at]
    if first == _QUOTE:
        return _string(data, at, end)
    if first in (_OPEN, _OPEN_BRACE):
        depth = 0
        while at < end:
            c = data[at]
            if c == _QUOTE:
                at = _string(data, at, end)
                if at < 0:
                    return -1
                continue
            if c in (_OPEN, _OPEN_BRACE):
                depth += 1
            elif c in (_CLOSE, _CLOSE_BRACE):
                depth -= 1
                if depth == 0:
                    return at + 1
            at += 1
        return -1
    begin = at
    while at < end:
        c = data[at]
        if c in (_COMMA, _CLOSE, _CLOSE_BRACE, _COLON) or c <= _SPACE:
            break
        at += 1
    return at if at > begin else -1


@compiled
def _integer(data: Bytes, begin: int, end: int) -> int:
    at = begin
    negative = at < end and data[at] == _MINUS
    if negative:
        at += 1
    if at >= end or end - at > 18:
        return NONE
    number = 0
    while at < end:
        if data[at] < _ZERO or data[at] > _NINE:
            return NONE
        number = number * 10 + (data[at] - _ZERO)
        at += 1
    return -number if negative else number


@compiled
def _integers(data: Bytes, begin: Ints, end: Ints, made: Ints) -> None:
    for row in range(len(begin)):
        made[row] = _integer(data, begin[row], end[row])


@compiled
def _gather(data: Bytes, begin: Ints, end: Ints) -> tuple[NDArray[np.int32], Bytes]:
    offsets = np.zeros(len(begin) + 1, np.int32)
    size = 0
    for row in range(len(begin)):
        size += max(0, end[row] - begin[row])
        offsets[row + 1] = size
    made = np.empty(size, np.uint8)
    to = 0
    for row in range(len(begin)):
        for at in range(begin[row], end[row]):
            made[to] = data[at]
            to += 1
    return offsets, made


@compiled
def _next(data: Bytes, at: int, end: int, close: int) -> int:
    """After an item: at the next one; -2 past the close (a list's or object's end)."""
    at = _blank(data, at, end)
    if at >= end:
        return -1
    if data[at] == close:
        return -2
    if data[at] != _COMMA:
        return -1
    return _blank(data, at + 1, end)


@compiled
def _members(
    data: Bytes, begin: Ints, end: Ints, names: Bytes, ends: Ints, out_begin: Ints, out_end: Ints
) -> None:
    for row in range(len(begin)):
        last = end[row]
        at = _blank(data, begin[row], last)
        if at >= last or data[at] != _OPEN_BRACE:
            continue
        at = _blank(data, at + 1, last)
        while at >= 0 and at < last and data[at] == _QUOTE:
            name = at + 1
            at = _string(data, at, last)
            if at < 0:
                break
            size = at - 1 - name
            at = _blank(data, at, last)
            if at >= last or data[at] != _COLON:
                break
            value = _blank(data, at + 1, last)
            at = _value(data, value, last)
            if at < 0:
                break
            start = 0
            for which in range(len(ends)):
                if ends[which] - start == size:
                    same = True
                    for n in range(size):
                        if names[start + n] != data[name + n]:
                            same = False
                            break
                    if same:
                        out_begin[which, row] = value
                        out_end[which, row] = at
                start = ends[which]
            at = _next(data, at, last, _CLOSE_BRACE)


@compiled
def _record(data: Bytes, at: int, end: int, made: Ints, count: int) -> int:
    """One `[offset, value]` or `[offset, value, epoch]`; the epoch goes where keys do."""
    if at >= end or data[at] != _OPEN:
        return -1
    at = _blank(data, at + 1, end)
    after = _value(data, at, end)
    if after < 0:
        return -1
    offset = _integer(data, at, after)
    if offset == NONE and data[at] != _N:
        return -1
    made[4, count] = offset
    at = _next(data, after, end, _CLOSE)
    after = _value(data, at, end) if at >= 0 else -1
    if after < 0:
        return -1
    made[5, count], made[6, count] = at, after
    at = _next(data, after, end, _CLOSE)
    if at >= 0:
        after = _value(data, at, end)
        if after < 0:
            return -1
        made[2, count], made[3, count] = at, after
        at = _next(data, after, end, _CLOSE)
    if at != -2:
        return -1
    return _blank(data, after, end) + 1


@compiled
def _records(data: Bytes, at: int, end: int, row: int, kind: int, made: Ints, count: int) -> int:
    """A list of records; how many there are now, -1 for what is none. The caller knows where the
    list ends."""
    if at >= end or data[at] != _OPEN:
        return -1
    at = _blank(data, at + 1, end)
    while at >= 0 and at < end and data[at] != _CLOSE:
        made[0, count], made[1, count] = row, kind
        made[2, count], made[3, count] = 0, 0
        at = _record(data, at, end, made, count)
        if at < 0:
            return -1
        count += 1
        at = _next(data, at, end, _CLOSE)
        if at == -2:
            return count
    return count if at >= 0 and at < end else -1


@compiled
def _send(data: Bytes, at: int, end: int, row: int, made: Ints, count: int) -> int:
    """The rest of a `send`, from its key on."""
    after = _value(data, at, end)
    if after < 0:
        return -1
    key_from, key_to = at, after
    at = _next(data, after, end, _CLOSE)
    after = _value(data, at, end) if at >= 0 else -1
    if after < 0 or _next(data, after, end, _CLOSE) != -2:
        return -1
    made[2, count], made[3, count] = 0, 0
    if _record(data, at, after, made, count) != after or made[3, count] != 0:
        made[4, count], made[5, count], made[6, count] = NONE, at, after
    made[0, count], made[1, count] = row, SENT
    made[2, count], made[3, count] = key_from, key_to
    return count + 1


@compiled
def _poll(data: Bytes, at: int, end: int, row: int, made: Ints, count: int) -> int:
    """A poll's object of records by key; null is as good as none."""
    if data[at] == _N:
        return count
    if data[at] != _OPEN_BRACE:
        return -1
    at = _blank(data, at + 1, end)
    while at >= 0 and at < end and data[at] == _QUOTE:
        key_from = at
        key_to = _string(data, at, end)
        if key_to < 0:
            return -1
        at = _blank(data, key_to, end)
        if at >= end or data[at] != _COLON:
            return -1
        at = _blank(data, at + 1, end)
        after = _value(data, at, end)
        if after < 0:
            return -1
        first = count
        count = _records(data, at, after, row, POLLED, made, count)
        if count < 0:
            return -1
        for each in range(first, count):
            made[2, each], made[3, each] = key_from, key_to
        at = _next(data, after, end, _CLOSE_BRACE)
        if at == -2:
            return count
    return count if at >= 0 and at < end and data[at] == _CLOSE_BRACE else -1


@compiled
def _micro(data: Bytes, at: int, end: int, row: int, made: Ints, count: int) -> int:
    """One micro-operation, `["send", ...]` or `["poll", ...]`."""
    if at >= end or data[at] != _OPEN:
        return -1
    at = _blank(data, at + 1, end)
    after = _value(data, at, end)
    if after - at != 6 or data[at] != _QUOTE:
        return -1
    name = data[at + 1]
    sends = name == _S and data[at + 2] == 101 and data[at + 3] == _N and data[at + 4] == 100
    polls = name == _P and data[at + 2] == 111 and data[at + 3] == 108 and data[at + 4] == 108
    at = _next(data, after, end, _CLOSE)
    if sends and at >= 0:
        return _send(data, at, end, row, made, count)
    if not polls:
        return -1
    return count if at == -2 else -1 if at < 0 else _poll(data, at, end, row, made, count)


@compiled
def _lists(
    data: Bytes, begin: Ints, end: Ints, shape: int, made: Ints, wrong: NDArray[np.bool_]
) -> int:
    """The items of all lists, of a shape: 0 anything, 1 records, 2 micro-operations. An empty
    text and null are empty lists."""
    count = 0
    for row in range(len(begin)):
        last = end[row]
        at = _blank(data, begin[row], last)
        if at >= last or data[at] == _N:
            continue
        before = count
        if data[at] != _OPEN:
            wrong[row] = True
            continue
        if shape == 1:
            count = _records(data, at, last, row, POLLED, made, count)
            if count < 0:
                wrong[row] = True
                count = before
            continue
        at = _blank(data, at + 1, last)
        while True:
            if at < 0 or at >= last:
                wrong[row] = True
                break
            if data[at] == _CLOSE:
                break
            after = _value(data, at, last)
            if after < 0:
                wrong[row] = True
                break
            if shape == 0:
                made[0, count], made[1, count] = row, 0
                made[2, count], made[3, count], made[4, count] = 0, 0, NONE
                made[5, count], made[6, count] = at, after
                count += 1
            else:
                now = _micro(data, at, after, row, made, count)
                if now < 0:
                    wrong[row] = True
                    break
                count = now
            at = _next(data, after, last, _CLOSE)
            if at == -2:
                break
        if wrong[row]:
            count = before
    return count
