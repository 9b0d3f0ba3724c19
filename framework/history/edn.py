"""EDN forms of a text, with the lines where they begin, as JSON values.

The reader is `edn_format` (https://pypi.org/project/edn-format/). Two things are added to it. Lines
of plain tokens, as nearly all lines of a history are, are read by `quick`, which is several times
faster and knows only what it can read as the library does; it says so when it cannot. And the
grammar's tables are built once here, not for every text.

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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from itertools import chain
from math import isfinite
from typing import Any, Final
from uuid import UUID

import edn_format
import ply.yacc
from edn_format import edn_lex, edn_parse

from framework.history.event import Json


class EdnError(ValueError):
    """What is wrong with the form that begins in `line`."""

    def __init__(self, line: int, why: str, *, half: bool = False) -> None:
        super().__init__(why)
        self.line = line
        self.half = half
        """The text ends within its last line: its writer was killed."""


_json: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class _Tagged:
    tag: str
    value: Any


def forms(lines: Iterable[str]) -> Iterator[tuple[int, Json]]:
    """The forms, each with the number of the line where it begins, from 1. A text that is one
    vector or list gives that one's elements. Lines end in a newline, but for the last.

    Raises `EdnError`.
    """
    first = True
    source = iter(lines)
    for number, line in enumerate(source, 1):
        form = quick(line)
        if form is not None:
            found: list[Json] | None = [form]
        else:
            found = _alone(line)
        if found is None:
            yield from _spread("".join(chain([line], source)), number, first)
            return
        for form in found:
            if first and isinstance(form, list):
                yield from ((number, element) for element in form)
            else:
                yield number, form
            first = False


def _alone(line: str) -> list[Json] | None:
    """The forms of a line that stands for itself; None: it does not, or is malformed."""
    try:
        return read(line)
    except ValueError:
        return None


def _spread(text: str, number: int, first: bool) -> Iterator[tuple[int, Json]]:
    """Forms that go over several lines. `first`: none came before them."""
    for line, piece in _pieces(text, number, first):
        form = quick(piece)
        if form is not None:
            yield line, form
            continue
        try:
            found = read(piece)
        except ValueError as error:
            raise EdnError(line, str(error)) from None
        yield from ((line, form) for form in found)


# The library

_OPEN: Final = frozenset({"VECTOR_START", "LIST_START", "MAP_START", "SET_START"})
_CLOSE: Final = frozenset({"VECTOR_END", "LIST_END", "MAP_OR_SET_END"})
_SEQUENCE: Final = frozenset({"VECTOR_START", "LIST_START"})
_PREFIX: Final = frozenset({"TAG", "DISCARD_TAG", "MAP_NAMESPACE_TAG", "CARET"})
_TAG: Final = re.compile(edn_lex.TAG)
_known_tags: Final = {"inst", "uuid"}


def read(text: str) -> list[Json]:
    """The forms of a text, by the library. Raises `ValueError`, in one line."""
    for match in _TAG.finditer(text):
        tag = match.group()[1:]
        if tag not in _known_tags:
            edn_format.add_tag(tag, partial(_Tagged, tag))
            _known_tags.add(tag)
    try:
        return [plain(form) for form in _parser().parse(text, lexer=_lexer())]
    except edn_format.EDNDecodeError as error:
        raise ValueError(_why(error)) from None
    except (ValueError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"malformed ({error})") from None


@cache
def _parser() -> Any:
    return ply.yacc.yacc(
        module=edn_parse, debug=False, write_tables=False, errorlog=ply.yacc.NullLogger()
    )


@cache
def _lexer() -> Any:
    return edn_lex.lex()


def _why(error: Exception) -> str:
    token = error.args[0] if error.args else ""
    if hasattr(token, "value"):
        return f"{str(token.value)!r} does not belong there"
    return "it is not closed" if token == "EOF Reached" else str(token)[:80]


def _pieces(text: str, number: int, first: bool) -> Iterator[tuple[int, str]]:
    """The text of each outermost form, prefixes included, and its line. If the first form of all
    is a vector or list: of each form in that one. `number`: the line of the text's beginning."""
    depth = base = owed = start = opened = counted = 0
    line = number
    try:
        for kind, at, end in _tokens(text):
            if first and kind in _SEQUENCE:
                first, base, depth, opened = False, 1, 1, at
                continue
            first = False
            if kind in _CLOSE:
                depth -= 1
                if depth < base:
                    if owed or not base:
                        raise _Illegal(at, f"{text[at]!r} closes nothing")
                    base = 0
                    continue
            elif depth == base:
                if not owed:
                    start, owed = at, 1 + (kind == "CARET")
                elif kind in ("CARET", "DISCARD_TAG"):
                    owed += 1
            if kind in _OPEN:
                depth += 1
            elif depth == base and kind not in _PREFIX:
                owed -= 1
                if not owed:
                    line, counted = line + text.count("\n", counted, start), start
                    yield line, text[start:end]
        if owed or base:
            raise _Illegal(len(text), "it is not closed")
    except _Illegal as error:
        at = start if owed else opened if base else error.at
        line = number + text.count("\n", 0, at)
        raise EdnError(
            line, str(error), half=error.unfinished(text) and "\n" not in text[at:]
        ) from None


class _Illegal(Exception):
    """No form goes on like this."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(why)
        self.at = at

    def unfinished(self, text: str) -> bool:
        """More text could have made it whole."""
        return self.at == len(text) or text[self.at] == '"'


def _tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """The kind, beginning and end of each token."""
    lexer = edn_lex.lex()
    lexer.input(text)
    while True:
        try:
            token = lexer.token()
        except (ValueError, ArithmeticError) as error:  # 1/0 is a token, and no number
            raise _Illegal(lexer.lexpos, _why(error)) from None
        if token is None:
            return
        yield token.type, token.lexpos, lexer.lexpos


# JSON values of forms


def plain(form: Any) -> Json:
    """The JSON value of a form as the library reads it."""
    kind = type(form)
    if kind is int or form is None or kind is bool:
        return form
    if kind is edn_format.Keyword:
        return f":{form.name}"
    if kind is str:
        return {"#string": form} if form.startswith(":") else form
    if kind is edn_format.ImmutableList or kind is tuple:
        return [plain(element) for element in form]
    if kind is edn_format.ImmutableDict:
        return {_name(plain(name)): plain(value) for name, value in form.items()}
    if kind is frozenset:
        return _set([plain(element) for element in form])
    if kind is _Tagged:
        return {f"#{form.tag}": plain(form.value)}
    return _scalar(form)


def _scalar(form: Any) -> Json:
    match form:
        case float():
            return form if isfinite(form) and form % 1 else {"#float": str(form)}
        case Decimal():
            return {"#decimal": str(form)}
        case Fraction():
            return {"#ratio": str(form)}
        case edn_format.Char():
            return {"#char": str(form)}
        case edn_format.Symbol():
            return {"#symbol": form.name}
        case UUID():
            return {"#uuid": str(form)}
        case date():
            return {"#inst": form.isoformat()}
        case edn_format.MetadataValue():
            return plain(form.value)
    raise ValueError(f"a form of an unknown kind, {type(form).__name__}")


def key_of(name: str) -> Json:
    """The JSON value of a map's key, from its name in the object that the map became."""
    return name if name.startswith(":") else json.loads(name)


def _name(key: Json) -> str:
    return key if isinstance(key, str) and key.startswith(":") else _json(key)


def _set(elements: list[Json]) -> Json:
    if all(type(element) is int for element in elements):
        return {"#set": sorted(set(elements))}
    by_text = {_json(element): element for element in elements}
    return {"#set": [by_text[text] for text in sorted(by_text)]}


# Lines of plain tokens

_TOKENS: Final = re.compile(
    r'"[^"\\\n]*"'  # strings without escapes
    r"|(?:#(?:[a-zA-Z][a-zA-Z0-9.]*)?)?[{[(]"  # what opens, tagged or not
    r"|[]})]"
    r'|[^][{}()"\s,]+'  # atoms
    r"|[^ \t\n,]"  # anything else: not plain
)
_KEYWORD: Final = re.compile(r":(?:[a-zA-Z][a-zA-Z0-9_?!*.-]*/)?[a-zA-Z][a-zA-Z0-9_?!*.-]*")
_INTEGER: Final = re.compile("-?(?:0|[1-9][0-9]{0,17})")
_KEPT: Final = 1 << 17
_DEPTH: Final = 64
_CLOSES: Final = {"{": "}", "[": "]", "(": ")"}
_NOT_PLAIN: Final = object()


class _Atoms(dict[str, Any]):
    """Atoms and strings by their text; a first share of them is kept."""

    def __missing__(self, text: str) -> Any:
        found: Any = _NOT_PLAIN
        if _INTEGER.fullmatch(text):
            found = int(text)
        elif _KEYWORD.fullmatch(text):
            found = text
        elif text[0] == '"' and len(text) > 1 and text[1] != ":":
            found = text[1:-1]
        if len(text) <= (6 if type(found) is int else 24) and len(self) < _KEPT:
            self[text] = found
        return found


_atoms: Final = _Atoms(nil=None, true=True, false=False)


def quick(text: str) -> Json:
    """The one form of a text of plain tokens: never nil. None: let the library read it."""
    stack: list[tuple[str, list[Any]]] = []
    items: list[Any] = []
    for token in _TOKENS.findall(text):
        if token[-1] in "{[(":
            if len(stack) == _DEPTH:
                return None
            stack.append((token, items))
            items = []
        elif token in ("}", "]", ")"):
            if not stack:
                return None
            opening, outer = stack.pop()
            if _CLOSES[opening[-1]] != token:
                return None
            form = _built(opening, items)
            if form is None:
                return None
            outer.append(form)
            items = outer
        else:
            atom = _atoms[token]
            if atom is _NOT_PLAIN:
                return None
            items.append(atom)
    return items[0] if not stack and len(items) == 1 else None


def _built(opening: str, items: list[Any]) -> Json:
    """A map, set, vector or list, tagged or not; None: let the library make it."""
    if opening == "#{":
        # Where Python would take true for 1, the library does.
        whole = all(type(item) is int for item in items) or all(type(item) is str for item in items)
        return _set(items) if whole else None
    form: Any = items
    if opening[-1] == "{":
        if len(items) % 2:
            return None
        form = {}
        for at in range(0, len(items), 2):
            name = items[at]
            if type(name) is str:
                form[name if name[:1] == ":" else _name(name)] = items[at + 1]
            elif type(name) is int:
                form[str(name)] = items[at + 1]
            else:
                return None
    if opening[0] != "#":
        return form
    tag = opening[1:-1]
    return None if tag in ("", "inst", "uuid") else {f"#{tag}": form}
