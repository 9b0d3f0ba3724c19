"""EDN forms of a text, with the lines where they begin, as JSON values.

The grammar is https://github.com/edn-format/edn, and what else Clojure writes: ratios, `##NaN`,
namespaced maps, metadata (which is left out), primes in symbols. Symbols and tags of any name are
read; none is looked up. A key of a map, or an element of a set, that is there twice is an error.

What a form becomes is one-to-one but for what Clojure itself calls equal (vectors and lists):

| EDN | JSON |
| --- | --- |
| nil, true, 3, 2.5, "text" | null, true, 3, 2.5, "text" |
| :name, ":text" | ":name", {"#string": ":text"} |
| [a b], (a b) | [a, b] |
| {:a 1, 2 nil, [3] 4} | {":a": 1, "2": null, "[3]": 4}: the JSON of a name, but of a keyword |
| #{2 1} | {"#set": [1, 2]} |
| #tag form | {"#tag": form} |
| 3.0, 1/2, 2.5M, \\a, name | {"#float": "3.0"}, {"#ratio": "1/2"}, {"#decimal": "2.5"}, ... |
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from enum import Enum, auto
from fractions import Fraction
from functools import partial
from math import isfinite
from typing import Final, Literal, TypeAlias, final
from uuid import UUID

from framework.history.event import Json


class EdnError(ValueError):
    """What is wrong with the form that begins in `line`."""

    def __init__(self, line: int, why: str, *, half: bool = False) -> None:
        super().__init__(why)
        self.line = line
        self.half = half
        """The text ends within its last line: its writer was killed."""


class _Mark(Enum):
    """What is no form."""

    CLOSING = auto()
    NOTHING = auto()
    """A comment, or a form that is discarded."""


@final
@dataclass(frozen=True, slots=True)
class _Opening:
    """What begins a form that is built of others: of all up to `close`, or of the next `count`."""

    build: Callable[[list[Json]], Json | Literal[_Mark.NOTHING]]
    close: str = ""
    count: int = -1


_Atom: TypeAlias = Json | _Mark | _Opening
_CLOSING: Final = _Mark.CLOSING
_NOTHING: Final = _Mark.NOTHING
_TOP: Final = _Opening(list, count=1)
_DEPTH: Final = 200
_NOT_CLOSED: Final = "it is not closed"


def forms(lines: Iterable[str]) -> Iterator[tuple[int, Json]]:
    """The forms, each with the number of the line where it begins, from 1. A text that is one
    vector or list gives that one's elements. Lines end in a newline, but for the last.

    Raises `EdnError`.
    """
    atoms = _Atoms()
    opening, items, stack = _TOP, list[Json](), list[tuple[_Opening, list[Json]]]()
    begun = whole = number = 0  # lines: of the form that is open, of the vector that holds all
    text, token, first = "", "", True
    for number, text, tokens in _tokens(lines):
        try:
            for token in tokens:
                form = atoms[token]
                if type(form) is _Opening:
                    if not stack:
                        if first and token in "[(":
                            opening, whole, first = replace(_TOP, close=form.close), number, False
                            continue
                        begun = number
                    if len(stack) == _DEPTH:
                        raise ValueError("it is too deep")
                    stack.append((opening, items))
                    opening, items = form, []
                    continue
                if form is _CLOSING:
                    if opening.close != token:
                        raise ValueError(_misplaced(token, opening))
                    if not stack:
                        opening, whole = _TOP, 0
                        continue
                    form = opening.build(items)
                    opening, items = stack.pop()
                if form is not _NOTHING:
                    items.append(form)
                while stack and len(items) == opening.count:
                    form = opening.build(items)
                    opening, items = stack.pop()
                    if form is not _NOTHING:
                        items.append(form)
                if not stack:
                    if items:
                        yield begun or number, items.pop()
                        first = False
                    begun = 0
        except (ValueError, ArithmeticError) as error:
            line = begun or number
            half = token == tokens[-1] and token not in _CLOSERS and line == number
            raise EdnError(line, str(error), half=half and _is_cut(text)) from None
    if stack or whole:
        raise EdnError(begun or whole, _NOT_CLOSED, half=begun == number and _is_cut(text))


def _is_cut(text: str) -> bool:
    """It is one line, without its newline."""
    return "\n" not in text


def _misplaced(token: str, opening: _Opening) -> str:
    if opening.close:
        return f"{token!r} stands where {opening.close!r} must"
    return f"{token!r} closes nothing"


def key_of(name: str) -> Json:
    """The JSON value of a map's key, from its name in the object that the map became."""
    return name if name.startswith(":") else json.loads(name)


# Tokens

_PART: Final = r"[\w.*+!?$%&=<>@:#'/-]"
"""What names and numbers are made of."""
_TOKEN: Final = re.compile(
    r"[\[({})\]]|\#[{_]|\^"
    rf"|{_PART}+"
    r'|"[^"\\]*(?:\\.[^"\\]*)*"'
    rf"|\\\S{_PART}*"  # characters
    r'|".*'  # a string that goes on in the next line
    r"|;[^\n]*"
    r"|[^\s,]",  # anything else is not EDN
    re.DOTALL,
)


def _tokens(lines: Iterable[str]) -> Iterator[tuple[int, str, list[str]]]:
    """Each line with its number and tokens; lines that a string goes over together, as the first
    of them."""
    source = enumerate(lines, 1)
    for number, line in source:
        text = line.removeprefix("\ufeff") if number == 1 else line
        tokens = _TOKEN.findall(text)
        while tokens and tokens[-1][0] == '"' and tokens[-1][-1] == "\n":
            more = list[str]()
            for _, line in source:
                more.append(line)
                if '"' in line:
                    break
            if not more:
                break
            text += "".join(more)
            tokens = _TOKEN.findall(text)
        yield number, text, tokens


# Forms of others


def _map(items: list[Json]) -> Json:
    if len(items) % 2:
        raise ValueError("a map has as many values as keys")
    each = iter(items)
    found: dict[str, Json] = {
        name if type(name) is str and name[:1] == ":" else _json(name): value
        for name, value in zip(each, each, strict=True)
    }
    if 2 * len(found) != len(items):
        raise ValueError(_twice("a map", "key", items[::2]))
    return found


def _set(items: list[Json]) -> Json:
    numbers = {item for item in items if type(item) is int}
    if len(numbers) == len(items):
        return {"#set": sorted(numbers)}
    by_text = {_json(item): item for item in items}
    if len(by_text) != len(items):
        raise ValueError(_twice("a set", "element", items))
    return {"#set": [by_text[text] for text in sorted(by_text)]}


def _twice(whole: str, part: str, items: Iterable[Json]) -> str:
    """Of keys or elements that are not all different."""
    counts = Counter(item if type(item) is str else _json(item) for item in items)
    ((text, _),) = counts.most_common(1)
    return f"{whole} has the {part} {text:.40} twice; each may be there once"


_json: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def _tagged(tag: str, items: list[Json]) -> Json:
    (form,) = items
    if tag in _KNOWN:
        try:
            if not isinstance(form, str):
                raise ValueError
            form = _KNOWN[tag](form)
        except ValueError:
            raise ValueError(f"{tag} of {form!r:.40} is malformed") from None
    return {tag: form}


def _instant(text: str) -> str:
    """In ISO 8601. Of a year or a month, its first day."""
    if len(text) <= len("2026-01-02"):
        return date.fromisoformat(f"{text}-01-01"[:10]).isoformat()
    return datetime.fromisoformat(text).isoformat()


_KNOWN: Final[dict[str, Callable[[str], str]]] = {
    "#inst": _instant,
    "#uuid": lambda text: str(UUID(text)),
}


def _in_namespace(name: str, items: list[Json]) -> Json:
    """A map whose keywords are of a namespace, where they say no other; `_`: of none."""
    (form,) = items
    if not isinstance(form, dict) or any(key[0] == "#" for key in form):
        raise ValueError(f"#:{name} needs a map")
    names = [_qualified(key, name) for key in form]
    if len(set(names)) != len(names):
        raise ValueError(_twice("a map", "key", names))
    return dict(zip(names, form.values(), strict=True))


def _qualified(key: str, name: str) -> str:
    if key[0] != ":":
        return key
    return f":{key[3:]}" if key.startswith(":_/") else key if "/" in key else f":{name}/{key[1:]}"


_CLOSERS: Final = ("}", "]", ")")
_SYNTAX: Final[dict[str, _Atom]] = {
    "{": _Opening(_map, "}"),
    "#{": _Opening(_set, "}"),
    "[": _Opening(list, "]"),
    "(": _Opening(list, ")"),
    "#_": _Opening(lambda _: _NOTHING, count=1),
    "^": _Opening(lambda items: items[1], count=2),
    **dict.fromkeys(_CLOSERS, _CLOSING),
    "nil": None,
    "true": True,
    "false": False,
}

# Atoms

_INTEGER: Final = re.compile(r"[+-]?(?:0|[1-9][0-9]*|0[xX][0-9a-fA-F]+)N?")
_FLOAT: Final = re.compile(r"[+-]?[0-9]+(?=[.eEM])(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?M?")
_RATIO: Final = re.compile(r"[+-]?[0-9]+/[0-9]+")
_NUMBER: Final = re.compile(r"[+-]?\.?[0-9]")
"""How no name begins."""
_NAME: Final = re.compile(r"(?:[^/:#'][^/]*/)?(?:[^/:#'][^/]*|/)")
_KEYWORD: Final = re.compile(r":(?:[^/:]+/)?[^/:][^/]*")
_TAG: Final = re.compile(r"#[^\W\d_][^/]*(?:/[^/]+)?")
_MAP_OF: Final = re.compile(r"#:[^/:]+")
_CHARACTER: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)")
_CHARACTERS: Final = {
    "\\newline": "\n",
    "\\return": "\r",
    "\\space": " ",
    "\\tab": "\t",
    "\\formfeed": "\f",
    "\\backspace": "\b",
}
_INFINITE: Final = {"##Inf": "inf", "##-Inf": "-inf", "##NaN": "nan"}
_KEPT: Final = 1 << 17
_string: Final = json.JSONDecoder(strict=False).decode


class _Atoms(dict[str, _Atom]):
    """What each token says; a first share of them is kept."""

    def __init__(self) -> None:
        super().__init__(_SYNTAX)

    def __missing__(self, token: str) -> _Atom:
        found = _atom(token)
        kept = type(found) in (str, _Opening) and len(token) <= 24
        if (kept or (type(found) is int and len(token) <= 6)) and len(self) < _KEPT:
            self[token] = found
        return found


def _atom(token: str) -> _Atom:
    """Raises `ValueError` or `ArithmeticError`."""
    if _INTEGER.fullmatch(token):
        return int(token.removesuffix("N"), 0)
    match token[0]:
        case ":" if _KEYWORD.fullmatch(token):
            return token
        case '"' if len(token) > 1 and token[-1] == '"':
            text: str = _string(token)
            return {"#string": text} if text[:1] == ":" else text
        case '"':
            raise ValueError(_NOT_CLOSED)
        case ";":
            return _NOTHING
        case "#" if _TAG.fullmatch(token):
            return _Opening(partial(_tagged, token), count=1)
        case "#" if _MAP_OF.fullmatch(token):
            return _Opening(partial(_in_namespace, token[2:]), count=1)
        case "#" if token in _INFINITE:
            return {"#float": _INFINITE[token]}
        case "\\":
            return {"#char": _character(token)}
    if _NUMBER.match(token):
        return _number(token)
    if _NAME.fullmatch(token) and re.fullmatch(f"{_PART}+", token):
        return {"#symbol": token}
    raise ValueError(f"{token[:40]!r} is not EDN")


def _character(token: str) -> str:
    if token in _CHARACTERS:
        return _CHARACTERS[token]
    if found := _CHARACTER.fullmatch(token):
        return chr(int(found[1], 16)) if found[1] else token[1]
    raise ValueError(f"{token[:40]!r} is not EDN")


def _number(token: str) -> Json:
    if _RATIO.fullmatch(token):
        return {"#ratio": str(Fraction(token))}
    if not _FLOAT.fullmatch(token):
        raise ValueError(f"{token[:40]!r} is not EDN")
    if token[-1] == "M":
        return {"#decimal": str(Decimal(token[:-1]))}
    number = float(token)
    return number if isfinite(number) and number % 1 else {"#float": str(number)}
