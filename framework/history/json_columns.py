"""JSON texts where they lie, in the bytes of an Arrow column or of a file.

A history of ten million operations has as many JSON values. No Python object is made of them:
compiled code walks over the bytes, and notes where members and items begin and end. What is not of
the shape asked for is told by row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from framework.compiled import compiled
from framework.history.json_walk import (
    ABSENT,
    CANONICAL,
    DEPTH,
    LIST,
    LIST_END,
    OBJECT,
    OBJECT_END,
    OTHER,
    QUOTE,
    SPACED,
    Bytes,
    Ints,
    N,
    blanks,
    byte,
    entered,
    following,
    integer,
    name,
    past,
    value,
)


@dataclass(frozen=True, slots=True)
class Texts:
    """A column of texts: text i is `data[begin[i]:end[i]]`; null if that ends before it begins."""

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

    def arrow(self, form: Bytes | None = None) -> pa.StringArray:
        """The texts again, without the blanks of those that are `SPACED`."""
        if not len(self) or (self.end < self.begin).all():
            return pa.nulls(len(self), pa.string())
        form = np.full(len(self), CANONICAL, np.uint8) if form is None else form
        offsets, data = _gather(self.data, self.begin, self.end, form)
        valid = self.end >= self.begin
        bitmap = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
        return pa.StringArray.from_buffers(
            len(self), pa.py_buffer(offsets), pa.py_buffer(data), bitmap
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
        return Texts(np.zeros(0, np.uint8), np.zeros(count, np.int64), np.full(count, -1))
    places = np.frombuffer(offsets, np.int32)[column.offset : column.offset + count + 1]
    held = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    begin, end = places[:-1].astype(np.int64), places[1:].astype(np.int64)
    if column.null_count:
        end = np.where(column.is_null().to_numpy(zero_copy_only=False), begin - 1, end)
    return Texts(held, begin, end)


def forms(found: Texts) -> Bytes:
    """How each stands to its canonical form. What is no JSON is `OTHER`."""
    made = np.empty(len(found), np.uint8)
    _forms(found.data, found.begin, found.end, made)
    return made


def in_form(found: Texts, form: Bytes, others: Callable[[str], str | None]) -> pa.StringArray:
    """The texts in canonical form; those that are `OTHER` as `others` says, once for equal ones."""
    made = found.arrow(form)
    odd = form == OTHER
    if not odd.any():
        return made
    mask = pa.array(odd)
    known = made.filter(mask).dictionary_encode()
    changed = pa.array([others(text) for text in known.dictionary.to_pylist()], pa.string())
    return pc.replace_with_mask(made, mask, changed.take(known.indices))


def members(objects: Texts, names: Sequence[str]) -> dict[str, Texts]:
    """The text of each named member of each object; null where there is none, or no object."""
    encoded = [each.encode() for each in names]
    wanted = np.frombuffer(b"".join(encoded), np.uint8)
    ends = np.cumsum([len(each) for each in encoded]).astype(np.int64)
    begin = np.zeros((len(names), len(objects)), np.int64)
    end = np.full((len(names), len(objects)), -1, np.int64)
    _members(objects.data, objects.begin, objects.end, wanted, ends, begin, end)
    return {each: Texts(objects.data, begin[n], end[n]) for n, each in enumerate(names)}


def items(lists: Texts) -> tuple[Ints, Texts, NDArray[np.bool_]]:
    """Of all lists in order: the text that an item is from, and the item. For each text whether it
    is no list; null is an empty one."""
    room = int(np.maximum(lists.end - lists.begin, 0).sum()) // 2 + len(lists)
    made = np.empty((3, room), np.int64)
    wrong = np.zeros(len(lists), np.bool_)
    count = _items(lists.data, lists.begin, lists.end, made, wrong)
    row, begin, end = made[:, :count].copy()
    return row, Texts(lists.data, begin, end), wrong


def integers(numbers: Texts) -> Ints:
    """The whole numbers that the texts are; `NONE` for what is none."""
    made = np.empty(len(numbers), np.int64)
    _integers(numbers.data, numbers.begin, numbers.end, made)
    return made


def unquoted(strings: Texts) -> Texts:
    """Strings without their quotes, anything else as it is."""
    begin, end, data = strings.begin, strings.end, strings.data
    some = end - begin >= 2
    quoted = some.copy()
    quoted[some] = data[begin[some]] == QUOTE
    return Texts(data, np.where(quoted, begin + 1, begin), np.where(quoted, end - 1, end))


@compiled
def _integers(data: Bytes, begin: Ints, end: Ints, made: Ints) -> None:
    for row in range(len(begin)):
        made[row] = integer(data, begin[row], end[row])


@compiled
def _forms(data: Bytes, begin: Ints, end: Ints, made: Bytes) -> None:
    around = np.empty((DEPTH, 3), np.int64)
    for row in range(len(begin)):
        if end[row] < begin[row]:
            made[row] = ABSENT
            continue
        at = blanks(data, begin[row], end[row])
        after, form = value(data, at, end[row], around)
        if after < 0 or blanks(data, after, end[row]) != end[row]:
            made[row] = OTHER
        elif byte(data, at, end[row]) == N:
            made[row] = ABSENT
        elif form == CANONICAL and (at != begin[row] or after != end[row]):
            made[row] = SPACED
        else:
            made[row] = form


@compiled
def _gather(data: Bytes, begin: Ints, end: Ints, form: Bytes) -> tuple[NDArray[np.int32], Bytes]:
    """The texts one after another: where each begins, and the end; their bytes."""
    offsets = np.empty(len(begin) + 1, np.int32)
    room = 0
    for row in range(len(begin)):
        room += max(0, end[row] - begin[row])
    made = np.empty(room, np.uint8)
    to = 0
    for row in range(len(begin)):
        offsets[row] = to
        if form[row] != SPACED:
            for at in range(begin[row], end[row]):
                made[to] = data[at]
                to += 1
            continue
        inside = False
        for at in range(begin[row], end[row]):
            here = data[at]
            if here == QUOTE:
                inside = not inside
            if inside or here > 32:
                made[to] = here
                to += 1
    offsets[len(begin)] = to
    return offsets, made[:to]


@compiled
def _members(
    data: Bytes, begin: Ints, end: Ints, names: Bytes, ends: Ints, out_begin: Ints, out_end: Ints
) -> None:
    for row in range(len(begin)):
        last = end[row]
        at, more = entered(data, blanks(data, begin[row], last), last, OBJECT)
        while more:
            stop, _, here = name(data, at, last)
            after = past(data, here, last) if here >= 0 else here
            if after < 0:
                break
            start = 0
            for which in range(len(ends)):
                if ends[which] - start == stop - at - 2:
                    same = True
                    for n in range(ends[which] - start):
                        if names[start + n] != data[at + 1 + n]:
                            same = False
                            break
                    if same:
                        out_begin[which, row] = here
                        out_end[which, row] = after
                start = ends[which]
            at, more = following(data, after, last, OBJECT_END)


@compiled
def _items(data: Bytes, begin: Ints, end: Ints, made: Ints, wrong: NDArray[np.bool_]) -> int:
    count = 0
    for row in range(len(begin)):
        last = end[row]
        at = blanks(data, begin[row], last)
        if at >= last or data[at] == N:
            continue
        before = count
        at, more = entered(data, at, last, LIST)
        while more:
            after = past(data, at, last)
            if after < 0:
                at = after
                break
            made[0, count], made[1, count], made[2, count] = row, at, after
            count += 1
            at, more = following(data, after, last, LIST_END)
        if at < 0:
            wrong[row] = True
            count = before
    return count
