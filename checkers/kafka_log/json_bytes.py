"""Compiled walks over JSON texts in bytes: where members, items, keys and values begin and end.

Positions are of `data`; -1 says that a text is not of the shape.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from framework.compiled import compiled

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

NONE: Final = np.iinfo(np.int64).min
"""The integer that is not there."""
SENT, POLLED = 0, 1
_QUOTE, _BACKSLASH, _COMMA, _COLON = 34, 92, 44, 58
_OPEN, _CLOSE, _OPEN_BRACE, _CLOSE_BRACE = 91, 93, 123, 125
_MINUS, _ZERO, _NINE, _SPACE = 45, 48, 57, 32
_S, _P, _N = 115, 112, 110


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
def parse_integers(data: Bytes, begin: Ints, end: Ints, made: Ints) -> None:
    for row in range(len(begin)):
        made[row] = _integer(data, begin[row], end[row])


@compiled
def gather(data: Bytes, begin: Ints, end: Ints) -> tuple[NDArray[np.int32], Bytes]:
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
def find_members(
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
def find_lists(
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
