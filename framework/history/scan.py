"""Lines of JSON into offsets of their fields, compiled: no Python object for a line.

`scan` understands what histories are made of and gives up on everything else: bad JSON, a field of
another type, an index or a time out of order, a name with an escape in it, nesting deeper than
`DEPTH`. Who calls it then reads the same bytes with `framework.history.reader`, which either finds
them in order or says in one line what is wrong. So `scan` may refuse what is right, but must
never accept what the reader refuses, nor see another value in it.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from framework.compiled import compiled, lean
from framework.history.event import EVENT_TYPES
from framework.history.json_walk import (
    ABSENT,
    CANONICAL,
    DEPTH,
    NONE,
    OBJECT,
    OBJECT_END,
    QUOTE,
    Bytes,
    Ints,
    N,
    blanks,
    byte,
    entered,
    following,
    integer,
    name,
    value,
    word,
    word_of,
)

PROCESS, OPERATION, KEY, VALUE, ERROR, NODE, EXT = range(7)
"""The columns of texts."""
TEXTS: Final = 7
GAVE_UP: Final = -1
_TYPE, _INDEX, _TIME = 7, 8, 9
_FIELDS: Final = (
    *("process", "f", "key", "value", "error", "node", "ext"),
    *("type", "index", "time"),
)
_NAMES: Final = np.array([*map(word_of, _FIELDS)], np.int64)
_KINDS: Final = np.array([*map(word_of, EVENT_TYPES)], np.int64)


@lean
def _which(words: Ints, text: Bytes, begin: int, end: int) -> int:
    """The place of a text among some words; how many there are, if it is none."""
    if end - begin <= 8:
        found = word(text, begin, end)
        for place in range(len(words)):
            if words[place] == found:
                return place
    return len(words)


@lean
def _fits(field: int, first: int, size: int, form: int) -> bool:
    """Whether a value that begins with this byte can be that of a field."""
    if field == PROCESS:
        number = first == 45 or 48 <= first <= 57
        return first == QUOTE or (number and form == CANONICAL)
    if field == OPERATION:
        return first == QUOTE and size > 2
    if field == NODE:
        return first in (QUOTE, N)
    if field == EXT:
        return first in (OBJECT, N)
    return True


@compiled
def scan(
    text: Bytes,
    ends: Ints,
    begin: Ints,
    end: Ints,
    form: Bytes,
    types: NDArray[np.int8],
    times: Ints,
    timed: NDArray[np.bool_],
) -> tuple[int, int]:
    """How many events there are, negative if it gave up; and the index of the first of them, by
    what the lines themselves say, negative if none does.

    Lines stop at `ends`, the places of newlines. Fills [column, event] of `begin`, `end` (before
    `begin`: absent) and `form`, and [event] of the others. The room for events is that of the
    lines.
    """
    around = np.empty((DEPTH, 3), np.int64)
    line = 0
    event = 0
    base = -1
    last = 0
    was_timed = False
    for stop in ends:
        at = blanks(text, line, stop)
        line = stop + 1
        if at == stop:
            continue
        for column in range(TEXTS):
            form[column, event] = ABSENT
            begin[column, event] = 0
            end[column, event] = -1
        kind = len(_KINDS)
        index = time = NONE
        at, more = entered(text, at, stop, OBJECT)
        if not more:
            return GAVE_UP, 0
        while more:
            after, plain, here = name(text, at, stop)
            if not plain:
                return GAVE_UP, 0
            field = _which(_NAMES, text, at + 1, after - 1)
            first = byte(text, here, stop)
            past, how = value(text, here, stop, around)
            if past < 0 or not _fits(field, first, past - here, how):
                return GAVE_UP, 0
            if field < TEXTS:
                form[field, event] = ABSENT if first == N else how
                begin[field, event] = here
                end[field, event] = here - 1 if first == N else past
            elif field == _TYPE:
                kind = _which(_KINDS, text, here + 1, past - 1) if first == QUOTE else len(_KINDS)
                if kind == len(_KINDS):
                    return GAVE_UP, 0
            elif field in (_INDEX, _TIME):
                number = NONE
                if first != N:
                    number = integer(text, here, past) if how == CANONICAL else NONE
                    if number == NONE or (field == _INDEX and number < 0):
                        return GAVE_UP, 0
                if field == _TIME:
                    time = number
                else:
                    index = number
            at, more = following(text, past, stop, OBJECT_END)
        if at < 0 or blanks(text, at, stop) != stop or kind == len(_KINDS):
            return GAVE_UP, 0
        if form[PROCESS, event] == ABSENT or form[OPERATION, event] == ABSENT:
            return GAVE_UP, 0
        if index != NONE:
            if base < 0 and index >= event:
                base = index - event
            if index - event != base:
                return GAVE_UP, 0
        if time != NONE:
            if was_timed and time < last:
                return GAVE_UP, 0
            was_timed = True
            last = time
        types[event] = kind
        times[event] = time if time != NONE else 0
        timed[event] = time != NONE
        event += 1
    return event, base
