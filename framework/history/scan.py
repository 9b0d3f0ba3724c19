"""Lines of JSON into offsets of their fields, compiled: no Python object for a line.

`scan` understands what histories are made of and gives up on everything else: bad JSON, a field of
another type, an index or a time out of order, a name with an escape in it, nesting deeper than
`DEPTH`. Who calls it then reads the same bytes with `framework.history.reader`, which either finds
them in order or says in one line what is wrong. So `scan` may refuse what is right, but must
never accept what the reader refuses, nor see another value in it.

Buffers are UTF-8, and end with a newline: no byte after it is looked at.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from framework.compiled import compiled

Bytes = NDArray[np.uint8]

PROCESS, OPERATION, KEY, VALUE, ERROR, NODE, EXT = range(7)
"""The columns of texts."""
TEXTS: Final = 7
ABSENT, CANONICAL, SPACED, OTHER = range(4)
"""How a text stands to its canonical form (`framework.history.texts.as_json`): there is none,
or null; it is; it is but for blanks; ask Python."""
DEPTH: Final = 60
GAVE_UP: Final = -1
_DIGITS: Final = 4_000
"""Python reads no longer integers."""
_TYPE, _INDEX, _TIME, _UNKNOWN = 7, 8, 9, 10


@compiled
def _blanks(text: Bytes, at: int) -> int:
    while text[at] == 32 or text[at] == 9 or text[at] == 13:
        at += 1
    return at


@compiled
def _string(text: Bytes, at: int) -> tuple[int, bool]:
    """Of the string whose quote is at `at`: where it ends, and whether it is plain ASCII without
    escapes. Negative: it is none."""
    at += 1
    plain = True
    while True:
        byte = text[at]
        if byte == 34:
            return at + 1, plain
        if byte < 32:
            return GAVE_UP, False
        if byte == 92:
            plain = False
            at += 1
            escaped = text[at]
            if escaped == 117:
                for _ in range(4):
                    at += 1
                    digit = text[at] | 32
                    if not (48 <= text[at] <= 57 or 97 <= digit <= 102):
                        return GAVE_UP, False
            elif not (
                escaped == 34
                or escaped == 92
                or escaped == 47
                or escaped == 98
                or escaped == 102
                or escaped == 110
                or escaped == 114
                or escaped == 116
            ):
                return GAVE_UP, False
        elif byte >= 127:
            plain = False
        at += 1


@compiled
def _number(text: Bytes, at: int) -> tuple[int, bool]:
    """Where a number ends, and whether it is an integer in its canonical form."""
    begin = at
    if text[at] == 45:
        at += 1
    if text[at] == 48:
        at += 1
        whole = at - begin == 1
    elif 49 <= text[at] <= 57:
        while 48 <= text[at] <= 57:
            at += 1
        whole = True
    else:
        return GAVE_UP, False
    if text[at] == 46:
        whole = False
        at += 1
        if not 48 <= text[at] <= 57:
            return GAVE_UP, False
        while 48 <= text[at] <= 57:
            at += 1
    if text[at] | 32 == 101:
        whole = False
        at += 1
        if text[at] == 43 or text[at] == 45:
            at += 1
        if not 48 <= text[at] <= 57:
            return GAVE_UP, False
        while 48 <= text[at] <= 57:
            at += 1
    if at - begin > _DIGITS:
        return GAVE_UP, False
    return at, whole


@compiled
def _literal(text: Bytes, at: int) -> int:
    """Where `true`, `false` or `null` ends."""
    if text[at] == 116 and text[at + 1] == 114 and text[at + 2] == 117 and text[at + 3] == 101:
        return at + 4
    if text[at] == 110 and text[at + 1] == 117 and text[at + 2] == 108 and text[at + 3] == 108:
        return at + 4
    if (
        text[at] == 102
        and text[at + 1] == 97
        and text[at + 2] == 108
        and text[at + 3] == 115
        and text[at + 4] == 101
    ):
        return at + 5
    return GAVE_UP


@compiled
def _rises(text: Bytes, first: int, first_end: int, second: int, second_end: int) -> bool:
    """Whether one name stands before another, and is not the same."""
    while first < first_end and second < second_end:
        if text[first] != text[second]:
            return bool(text[first] < text[second])
        first += 1
        second += 1
    return first == first_end and second < second_end


@compiled
def _value(text: Bytes, at: int, kinds: Bytes, names: NDArray[np.int64]) -> tuple[int, int]:
    """Where the JSON value at `at` ends, and how it stands to its canonical form.

    `kinds` and `names` are room for `DEPTH` open brackets and the last name in each."""
    depth = 0
    form = CANONICAL
    member = False
    while True:
        if member:
            if text[at] != 34:
                return GAVE_UP, OTHER
            end, plain = _string(text, at)
            if end < 0:
                return GAVE_UP, OTHER
            top = depth - 1
            if not plain or (
                names[top, 0] >= 0
                and not _rises(text, names[top, 0], names[top, 1], at + 1, end - 1)
            ):
                form = OTHER
            names[top, 0] = at + 1
            names[top, 1] = end - 1
            at = _blanks(text, end)
            if text[at] != 58:
                return GAVE_UP, OTHER
            after = _blanks(text, at + 1)
            if (at != end or after != at + 1) and form == CANONICAL:
                form = SPACED
            at = after
            member = False
        byte = text[at]
        if byte == 34:
            at, plain = _string(text, at)
            if not plain:
                form = OTHER
        elif byte == 123 or byte == 91:
            if depth == DEPTH:
                return GAVE_UP, OTHER
            kinds[depth] = byte
            names[depth, 0] = -1
            depth += 1
            after = _blanks(text, at + 1)
            if after != at + 1 and form == CANONICAL:
                form = SPACED
            at = after
            if text[at] != byte + 2:
                member = byte == 123
                continue
            depth -= 1
            at += 1
        elif byte == 45 or 48 <= byte <= 57:
            at, whole = _number(text, at)
            if not whole:
                form = OTHER
        else:
            at = _literal(text, at)
        if at < 0:
            return GAVE_UP, OTHER
        while depth > 0:
            after = _blanks(text, at)
            if after != at and form == CANONICAL:
                form = SPACED
            at = after
            if text[at] == 44:
                after = _blanks(text, at + 1)
                if after != at + 1 and form == CANONICAL:
                    form = SPACED
                at = after
                member = kinds[depth - 1] == 123
                break
            if text[at] != kinds[depth - 1] + 2:
                return GAVE_UP, OTHER
            depth -= 1
            at += 1
        if depth == 0:
            return at, form


@compiled
def _field(text: Bytes, begin: int, end: int) -> int:
    """Which field has this name."""
    size = end - begin
    first = text[begin]
    if size == 1:
        return OPERATION if first == 102 else _UNKNOWN
    word = 0
    for at in range(begin, min(end, begin + 8)):
        word = word * 256 + int(text[at])
    if size == 3:
        if word == 0x6B6579:
            return KEY
        if word == 0x657874:
            return EXT
    elif size == 4:
        if word == 0x74797065:
            return _TYPE
        if word == 0x74696D65:
            return _TIME
        if word == 0x6E6F6465:
            return NODE
    elif size == 5:
        if word == 0x76616C7565:
            return VALUE
        if word == 0x696E646578:
            return _INDEX
        if word == 0x6572726F72:
            return ERROR
    elif size == 7 and word == 0x70726F63657373:
        return PROCESS
    return _UNKNOWN


@compiled
def _type(text: Bytes, begin: int, end: int) -> int:
    """invoke, ok, fail, info: 0 to 3."""
    size = end - begin
    if size == 4 and text[begin + 1] == 111 and text[begin + 2] == 107:
        return 1
    word = 0
    for at in range(begin + 1, min(end - 1, begin + 8)):
        word = word * 256 + int(text[at])
    if size == 8 and word == 0x696E766F6B65:
        return 0
    if size == 6 and word == 0x6661696C:
        return 2
    if size == 6 and word == 0x696E666F:
        return 3
    return GAVE_UP


@compiled
def _integer(text: Bytes, begin: int, end: int) -> int:
    negative = text[begin] == 45
    total = 0
    for at in range(begin + 1 if negative else begin, end):
        total = total * 10 + int(text[at]) - 48
    return -total if negative else total


@compiled
def scan(
    text: Bytes,
    begin: NDArray[np.int32],
    end: NDArray[np.int32],
    form: NDArray[np.uint8],
    types: NDArray[np.int8],
    times: NDArray[np.int64],
    timed: NDArray[np.bool_],
) -> tuple[int, int]:
    """How many events there are, negative if it gave up; and the index of the first of them, by
    what the lines themselves say, negative if none does.

    Fills [column, event] of `begin`, `end` and `form`, and [event] of the others. The room for
    events is that of the lines.
    """
    kinds = np.empty(DEPTH, np.uint8)
    names = np.empty((DEPTH, 2), np.int64)
    size = len(text)
    at = 0
    event = 0
    base = -1
    last = 0
    was_timed = False
    while at < size:
        at = _blanks(text, at)
        if text[at] == 10:
            at += 1
            continue
        if text[at] != 123:
            return GAVE_UP, 0
        at = _blanks(text, at + 1)
        for column in range(TEXTS):
            form[column, event] = ABSENT
            begin[column, event] = 0
            end[column, event] = 0
        kind = GAVE_UP
        index = -1
        has_time = False
        time = 0
        if text[at] == 125:
            return GAVE_UP, 0
        while True:
            if text[at] != 34:
                return GAVE_UP, 0
            stop, plain = _string(text, at)
            if stop < 0 or not plain:
                return GAVE_UP, 0
            field = _field(text, at + 1, stop - 1)
            at = _blanks(text, stop)
            if text[at] != 58:
                return GAVE_UP, 0
            at = _blanks(text, at + 1)
            first = text[at]
            stop, how = _value(text, at, kinds, names)
            if stop < 0:
                return GAVE_UP, 0
            null = first == 110
            if field < TEXTS:
                if (
                    (
                        field == PROCESS
                        and not (
                            first == 34
                            or (
                                first != 123
                                and first != 91
                                and first != 116
                                and first != 102
                                and first != 110
                                and how == CANONICAL
                            )
                        )
                    )
                    or (field == OPERATION and (first != 34 or stop - at == 2))
                    or (field == NODE and first != 34 and not null)
                    or (field == EXT and first != 123 and not null)
                ):
                    return GAVE_UP, 0
                form[field, event] = ABSENT if null else how
                begin[field, event] = at
                end[field, event] = stop
            elif field == _TYPE:
                kind = _type(text, at, stop) if first == 34 else GAVE_UP
                if kind < 0:
                    return GAVE_UP, 0
            elif field in (_INDEX, _TIME):
                number = 0
                if not null:
                    if (
                        (first != 45 and not 48 <= first <= 57)
                        or how != CANONICAL
                        or stop - at > 18
                    ):
                        return GAVE_UP, 0
                    number = _integer(text, at, stop)
                if field == _TIME:
                    has_time = not null
                    time = number
                else:
                    if number < 0:
                        return GAVE_UP, 0
                    index = -1 if null else number
            at = _blanks(text, stop)
            if text[at] == 44:
                at = _blanks(text, at + 1)
            elif text[at] == 125:
                break
            else:
                return GAVE_UP, 0
        at = _blanks(text, at + 1)
        if text[at] != 10 or kind < 0:
            return GAVE_UP, 0
        if form[PROCESS, event] == ABSENT or form[OPERATION, event] == ABSENT:
            return GAVE_UP, 0
        if index >= 0:
            if base < 0 and index >= event:
                base = index - event
            if index - event != base:
                return GAVE_UP, 0
        if has_time:
            if was_timed and time < last:
                return GAVE_UP, 0
            was_timed = True
            last = time
        types[event] = kind
        times[event] = time
        timed[event] = has_time
        event += 1
        at += 1
    return event, base


@compiled
def copy(
    text: Bytes,
    begin: NDArray[np.int32],
    end: NDArray[np.int32],
    form: NDArray[np.uint8],
    offsets: NDArray[np.int32],
    out: Bytes,
) -> int:
    """The texts one after another, without the blanks of those that are `SPACED`; the size of all.
    `offsets` has one more than there are texts."""
    to = 0
    for row in range(len(begin)):
        offsets[row] = to
        if form[row] == ABSENT:
            continue
        if form[row] != SPACED:
            for at in range(begin[row], end[row]):
                out[to] = text[at]
                to += 1
            continue
        inside = False
        for at in range(begin[row], end[row]):
            byte = text[at]
            if byte == 34:
                inside = not inside
            if inside or not (byte == 32 or byte == 9 or byte == 13):
                out[to] = byte
                to += 1
    offsets[len(begin)] = to
    return to


@compiled
def forms(text: Bytes, offsets: NDArray[np.int32], form: NDArray[np.uint8]) -> None:
    """How each of the JSON texts, separated by a newline, stands to its canonical form. A text that
    is none is `OTHER`."""
    kinds = np.empty(DEPTH, np.uint8)
    names = np.empty((DEPTH, 2), np.int64)
    for row in range(len(form)):
        begin = _blanks(text, offsets[row])
        end, how = _value(text, begin, kinds, names)
        if end < 0 or text[_blanks(text, end)] != 10:
            form[row] = OTHER
        elif begin != offsets[row] or text[end] != 10:
            form[row] = SPACED if how == CANONICAL else how
        else:
            form[row] = how


@compiled
def pair(
    types: NDArray[np.int8],
    processes: NDArray[np.int32],
    nemesis: int,
    f: NDArray[np.int32],
    keys: NDArray[np.int32],
    completion: NDArray[np.int64],
    first: NDArray[np.int64],
    pending: NDArray[np.int64],
) -> bool:
    """Invocations and completions by process. False: it gave up, for what does not fit together.

    `completion` [event]: the completion of an invocation, or -1. `first` [process]: its first
    event. `pending` [process]: its invocation that is open at the end, or -1. A completion that is
    the first event of its process belongs to an invocation before this range.
    """
    first[:] = -1
    pending[:] = -1
    completion[:] = -1
    for event in range(len(types)):
        process = processes[event]
        if process == nemesis:
            continue
        known = first[process] >= 0
        if not known:
            first[process] = event
        open_at = pending[process]
        if types[event] == 0:
            if open_at >= 0:
                return False
            pending[process] = event
        elif open_at >= 0:
            if f[event] != f[open_at] or (keys[event] >= 0 and keys[event] != keys[open_at]):
                return False
            completion[open_at] = event
            pending[process] = -1
        elif known:
            return False
    return True
