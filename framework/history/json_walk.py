"""A JSON text where it lies, in bytes: where its strings, numbers, names and values end. Compiled.

What is at `end` and after it is not looked at. A position that is `WRONG`: there is no such
thing. `value` takes what Python's decoder takes, or less; `past` is for texts that are JSON.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from framework.compiled import lean

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

WRONG: Final = -1
NONE: Final = np.iinfo(np.int64).min
"""The integer that is not there."""
ABSENT, CANONICAL, SPACED, OTHER = range(4)
"""How a text stands to its canonical form (`framework.history.texts.as_json`): there is none,
or null; it is; it is but for blanks; ask Python."""
DEPTH: Final = 60
QUOTE, COMMA, COLON, N = 34, 44, 58, 110
LIST, LIST_END, OBJECT, OBJECT_END = 91, 93, 123, 125
_MINUS, _ZERO, _NINE, _BACKSLASH, _U = 45, 48, 57, 92, 117
_DIGITS: Final = 4_000
"""Python reads no longer integers."""
_ESCAPED: Final = np.isin(np.arange(256), list(b'"\\/bfnrt'))


def word_of(text: str) -> int:
    """At most 8 ASCII characters as `word` has them."""
    return int.from_bytes(text.encode(), "big")


_TRUE, _FALSE, _NULL = map(word_of, ("true", "false", "null"))


@lean
def word(text: Bytes, begin: int, end: int) -> int:
    """Up to 8 bytes as one number; of more, the last ones."""
    made = 0
    for at in range(begin, end):
        made = (made << 8) | int(text[at])
    return made


@lean
def byte(text: Bytes, at: int, end: int) -> int:
    """0: the end."""
    return int(text[at]) if at < end else 0


@lean
def blanks(text: Bytes, at: int, end: int) -> int:
    """Past white space."""
    while at < end and (text[at] == 32 or text[at] == 10 or text[at] == 9 or text[at] == 13):
        at += 1
    return at


@lean
def string(text: Bytes, at: int, end: int) -> tuple[int, bool]:
    """Past the string whose quote is at `at`; whether it is plain ASCII without escapes."""
    at += 1
    plain = True
    while at < end:
        here = text[at]
        if here == QUOTE:
            return at + 1, plain
        if here < 32:
            return WRONG, False
        if here == _BACKSLASH:
            plain = False
            at += 1
            if byte(text, at, end) == _U:
                for _ in range(4):
                    at += 1
                    digit = byte(text, at, end)
                    if not (_ZERO <= digit <= _NINE or 97 <= digit | 32 <= 102):
                        return WRONG, False
            elif not _ESCAPED[byte(text, at, end)]:
                return WRONG, False
        elif here >= 127:
            plain = False
        at += 1
    return WRONG, False


@lean
def _digits(text: Bytes, at: int, end: int) -> int:
    """Past one digit or more."""
    begin = at
    while at < end and _ZERO <= text[at] <= _NINE:
        at += 1
    return at if at > begin else WRONG


@lean
def _number(text: Bytes, at: int, end: int) -> tuple[int, bool]:
    """Past a number; whether it is an integer in its canonical form."""
    begin = at
    if byte(text, at, end) == _MINUS:
        at += 1
    zero = byte(text, at, end) == _ZERO
    whole = not zero or at == begin
    at = at + 1 if zero else _digits(text, at, end)
    if at >= 0 and byte(text, at, end) == 46:
        whole = False
        at = _digits(text, at + 1, end)
    if at >= 0 and byte(text, at, end) | 32 == 101:
        whole = False
        at += 1
        sign = byte(text, at, end)
        at = _digits(text, at + 1 if sign == 43 or sign == _MINUS else at, end)
    return (WRONG if at - begin > _DIGITS else at), whole


@lean
def scalar(text: Bytes, at: int, end: int) -> tuple[int, bool]:
    """Past what is no list and no object; whether it is in its canonical form."""
    first = byte(text, at, end)
    if first == QUOTE:
        return string(text, at, end)
    if first == _MINUS or _ZERO <= first <= _NINE:
        return _number(text, at, end)
    if at + 4 <= end and word(text, at, at + 4) in (_TRUE, _NULL):
        return at + 4, True
    if at + 5 <= end and word(text, at, at + 5) == _FALSE:
        return at + 5, True
    return WRONG, False


@lean
def name(text: Bytes, at: int, end: int) -> tuple[int, bool, int]:
    """Of the member at `at`: past its name; whether that is plain; where the value begins."""
    if byte(text, at, end) != QUOTE:
        return WRONG, False, WRONG
    stop, plain = string(text, at, end)
    if stop < 0:
        return WRONG, False, WRONG
    at = blanks(text, stop, end)
    if byte(text, at, end) != COLON:
        return WRONG, False, WRONG
    return stop, plain, blanks(text, at + 1, end)


@lean
def following(text: Bytes, at: int, end: int, close: int) -> tuple[int, bool]:
    """After an item or member: at the next, and True; past `close`, and False."""
    at = blanks(text, at, end)
    here = byte(text, at, end)
    if here == COMMA:
        return blanks(text, at + 1, end), True
    return (at + 1 if here == close else WRONG), False


@lean
def entered(text: Bytes, at: int, end: int, opening: int) -> tuple[int, bool]:
    """In the list or object at `at`: at its first item or member, and True; past it, and False."""
    if byte(text, at, end) != opening:
        return WRONG, False
    at = blanks(text, at + 1, end)
    return (at + 1, False) if byte(text, at, end) == opening + 2 else (at, True)


@lean
def _rises(text: Bytes, first: int, first_end: int, second: int, second_end: int) -> bool:
    """Whether one name stands before another, and is not the same."""
    while first < first_end and second < second_end:
        if text[first] != text[second]:
            return bool(text[first] < text[second])
        first += 1
        second += 1
    return first == first_end and second < second_end


@lean
def value(text: Bytes, at: int, end: int, around: Ints) -> tuple[int, int]:
    """Past the value at `at`, and how that stands to its canonical form.

    `around`, (`DEPTH`, 3): room for what is open: what it is, and where its last name is."""
    depth = 0
    odd = spaced = False
    while True:
        if depth > 0 and around[depth - 1, 0] == OBJECT:
            stop, plain, after = name(text, at, end)
            if after < 0:
                return WRONG, OTHER
            last, last_end = around[depth - 1, 1], around[depth - 1, 2]
            rises = last < 0 or _rises(text, last, last_end, at + 1, stop - 1)
            around[depth - 1, 1], around[depth - 1, 2] = at + 1, stop - 1
            odd = odd or not plain or not rises
            spaced = spaced or after != stop + 1
            at = after
        first = byte(text, at, end)
        if first in (OBJECT, LIST):
            after, more = entered(text, at, end, first)
            spaced = spaced or after != (at + 1 if more else at + 2)
            at = after
            if more:
                if depth == DEPTH:
                    return WRONG, OTHER
                around[depth, 0], around[depth, 1] = first, -1
                depth += 1
                continue
        else:
            at, plain = scalar(text, at, end)
            odd = odd or not plain
            if at < 0:
                return WRONG, OTHER
        while depth > 0:
            after, more = following(text, at, end, around[depth - 1, 0] + 2)
            if after < 0:
                return WRONG, OTHER
            spaced = spaced or after != at + 1
            at = after
            if more:
                break
            depth -= 1
        if depth == 0:
            return at, OTHER if odd else SPACED if spaced else CANONICAL


@lean
def past(text: Bytes, at: int, end: int) -> int:
    """Past the value at `at` of a text that is JSON."""
    depth = 0
    begin = at
    while at < end:
        here = text[at]
        if here == QUOTE:
            at, _ = string(text, at, end)
            if at < 0 or depth == 0:
                return at
            continue
        if here in (LIST, OBJECT):
            depth += 1
        elif here in (LIST_END, OBJECT_END):
            depth -= 1
            if depth <= 0:
                return at + 1 if depth == 0 else at if at > begin else WRONG
        elif depth == 0 and (here in (COMMA, COLON) or here <= 32):
            break
        at += 1
    return at if depth == 0 and at > begin else WRONG


@lean
def integer(text: Bytes, begin: int, end: int) -> int:
    """The integer of at most 18 digits that the text is; else `NONE`."""
    negative = byte(text, begin, end) == _MINUS
    at = begin + 1 if negative else begin
    if at >= end or end - at > 18:
        return NONE
    number = 0
    for place in range(at, end):
        digit = int(text[place]) - _ZERO
        if digit < 0 or digit > 9:
            return NONE
        number = number * 10 + digit
    return -number if negative else number
