"""Records of JSON texts: lists of them, and the micro-operations of transactions. Compiled."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from framework.compiled import compiled, lean
from framework.history.json_columns import Texts, integers
from framework.history.json_walk import (
    LIST,
    LIST_END,
    NONE,
    OBJECT,
    OBJECT_END,
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
    word,
    word_of,
)

SENT, POLLED = 0, 1
_SMALLEST_RECORD: Final = 6
"""Bytes of `[0,1],`: a text has no more records than that allows."""
_WRONG: Final = -1
_NO_TEXT: Final = -1
"""The end of one that is null."""
_SEND, _POLL = word_of('"send"'), word_of('"poll"')


@dataclass(frozen=True, slots=True)
class Found:
    """What lists held, in order: `row` is the text that a record is from. `wrong`: for each text,
    whether it was not of the shape; then it has no records here."""

    row: Ints
    kind: NDArray[np.int8]
    key: Texts
    offset: Ints
    value: Texts
    epoch: Ints
    wrong: NDArray[np.bool_]


def records(lists: Texts) -> Found:
    """Records `[offset, value]` or `[offset, value, epoch]` of lists of them."""
    return _found(lists, False)


def micro_operations(lists: Texts) -> Found:
    """Records of lists of `["send", key, [offset, value]]` and `["poll", {key: records, ...}]`."""
    return _found(lists, True)


def _found(lists: Texts, micro: bool) -> Found:
    size = np.maximum(lists.end - lists.begin, 0)
    made = np.empty((7, int(size.sum()) // _SMALLEST_RECORD + len(lists)), np.int64)
    wrong = np.zeros(len(lists), np.bool_)
    count = _lists(lists.data, lists.begin, lists.end, micro, made, wrong)
    row, kind, key_from, key_to, offset, value_from, value_to = made[:, :count].copy()
    key = Texts(lists.data, key_from, key_to)
    return Found(
        row,
        kind.astype(np.int8),
        key,
        offset,
        Texts(lists.data, value_from, value_to),
        np.full(count, NONE, np.int64) if micro else integers(key),
        wrong,
    )


@lean
def _record(data: Bytes, at: int, end: int, made: Ints, count: int) -> int:
    """Past one `[offset, value]` or `[offset, value, epoch]`; the epoch goes where keys do."""
    at, more = entered(data, at, end, LIST)
    after = past(data, at, end) if more else _WRONG
    if after < 0:
        return _WRONG
    made[4, count] = integer(data, at, after)
    if made[4, count] == NONE and data[at] != N:
        return _WRONG
    at, more = following(data, after, end, LIST_END)
    after = past(data, at, end) if more else _WRONG
    if after < 0:
        return _WRONG
    made[5, count], made[6, count] = at, after
    at, more = following(data, after, end, LIST_END)
    if more:
        after = past(data, at, end)
        if after < 0:
            return _WRONG
        made[2, count], made[3, count] = at, after
        at, more = following(data, after, end, LIST_END)
    return _WRONG if more else at


@lean
def _records(data: Bytes, at: int, end: int, row: int, made: Ints, count: int) -> tuple[int, int]:
    """Past a list of records, and how many there are now."""
    at, more = entered(data, at, end, LIST)
    while more:
        made[0, count], made[1, count] = row, POLLED
        made[2, count], made[3, count] = 0, _NO_TEXT
        at = _record(data, at, end, made, count)
        if at < 0:
            break
        count += 1
        at, more = following(data, at, end, LIST_END)
    return at, count


@lean
def _send(data: Bytes, at: int, end: int, row: int, made: Ints, count: int) -> tuple[int, int]:
    """Past the rest of a `send`, from its key on, and how many records there are now."""
    key, after = at, past(data, at, end)
    at, more = following(data, after, end, LIST_END) if after >= 0 else (_WRONG, False)
    stop = past(data, at, end) if more else _WRONG
    if stop < 0:
        return _WRONG, count
    made[3, count] = _NO_TEXT
    if _record(data, at, stop, made, count) != stop or made[3, count] != _NO_TEXT:
        made[4, count], made[5, count], made[6, count] = NONE, at, stop
    made[0, count], made[1, count] = row, SENT
    made[2, count], made[3, count] = key, after
    at, more = following(data, stop, end, LIST_END)
    return (_WRONG if more else at), count + 1


@lean
def _poll(data: Bytes, at: int, end: int, row: int, made: Ints, count: int) -> tuple[int, int]:
    """Past the rest of a `poll`, records by key, and how many there are now; null is as good as
    none."""
    if byte(data, at, end) == N:
        at = past(data, at, end)
    else:
        at, more = entered(data, at, end, OBJECT)
        while more:
            key = at
            stop, _, at = name(data, at, end)
            if at < 0:
                break
            first = count
            at, count = _records(data, at, end, row, made, count)
            if at < 0:
                break
            for each in range(first, count):
                made[2, each], made[3, each] = key, stop
            at, more = following(data, at, end, OBJECT_END)
    at, more = following(data, at, end, LIST_END) if at >= 0 else (_WRONG, False)
    return (_WRONG if more else at), count


@lean
def _micro(data: Bytes, at: int, end: int, row: int, made: Ints, count: int) -> tuple[int, int]:
    """Past a micro-operation, `["send", ...]` or `["poll", ...]`, and how many records there are
    now."""
    at, more = entered(data, at, end, LIST)
    after = past(data, at, end) if more else _WRONG
    if after - at != 6:
        return _WRONG, count
    which = word(data, at, after)
    at, more = following(data, after, end, LIST_END)
    if which == _SEND and more:
        return _send(data, at, end, row, made, count)
    if which == _POLL and more:
        return _poll(data, at, end, row, made, count)
    return (at if which == _POLL else _WRONG), count


@compiled
def _lists(
    data: Bytes, begin: Ints, end: Ints, micro: bool, made: Ints, wrong: NDArray[np.bool_]
) -> int:
    """The records of all lists of micro-operations, or of records. An empty text and null are empty
    lists."""
    count = 0
    for row in range(len(begin)):
        last = end[row]
        at = blanks(data, begin[row], last)
        if at >= last or data[at] == N:
            continue
        before = count
        if micro:
            at, more = entered(data, at, last, LIST)
            while more:
                at, count = _micro(data, at, last, row, made, count)
                if at < 0:
                    break
                at, more = following(data, at, last, LIST_END)
        else:
            at, count = _records(data, at, last, row, made, count)
        if at < 0:
            wrong[row] = True
            count = before
    return count
