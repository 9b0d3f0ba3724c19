"""EDN: what forms become, where they begin, what is none; and the same as a library reads.

The library is `edn_format`, which takes several times as long."""

import json
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import partial
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import Any
from uuid import UUID

import edn_format
import pytest
from edn_format import edn_lex, edn_parse
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ply import yacc

from framework.history.edn import EdnError, forms
from tests.cases import cases


def read(text: str) -> list[Any]:
    return [form for _, form in forms(StringIO(text))]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{:a 1, :b nil}", {":a": 1, ":b": None}),
        ("[1 (2 3) true -4]", [1, [2, 3], True, -4]),
        ('"a\\nb"', "a\nb"),
        ('"\\u00e9 \\"é\\""', 'é "é"'),
        ('":x"', {"#string": ":x"}),
        (":x/y", ":x/y"),
        ('{1 2, "k" 3, [4] 5, nil 6}', {"1": 2, '"k"': 3, "[4]": 5, "null": 6}),
        ("#{3 1 2}", {"#set": [1, 2, 3]}),
        ("#{1 true}", {"#set": [1, True]}),
        ('#{"b" :a}', {"#set": [":a", "b"]}),
        ("#jepsen.history.Op{:f :read}", {"#jepsen.history.Op": {":f": ":read"}}),
        ("#foo/bar #baz [1]", {"#foo/bar": {"#baz": [1]}}),
        ("2.5", 2.5),
        ("2.0", {"#float": "2.0"}),
        ("2.", {"#float": "2.0"}),
        ("##NaN", {"#float": "nan"}),
        ("3/4", {"#ratio": "3/4"}),
        ("1.50M", {"#decimal": "1.50"}),
        ("12345678901234567890N", 12345678901234567890),
        ("+7", 7),
        ("0x1f", 31),
        ("\\a", {"#char": "a"}),
        ("\\u0041", {"#char": "A"}),
        ("\\newline", {"#char": "\n"}),
        ('[\\{ \\" \\; 1]', [{"#char": "{"}, {"#char": '"'}, {"#char": ";"}, 1]),
        ("name", {"#symbol": "name"}),
        ("x'", {"#symbol": "x'"}),
        ("[f'' a'b/c' /]", [{"#symbol": "f''"}, {"#symbol": "a'b/c'"}, {"#symbol": "/"}]),
        (":x'", ":x'"),
        ('#inst "2026-01-02"', {"#inst": "2026-01-02"}),
        ('#inst "2026"', {"#inst": "2026-01-01"}),
        (
            '#inst "2026-01-02T03:04:05.006-00:00"',
            {"#inst": "2026-01-02T03:04:05.006000+00:00"},
        ),
        (
            '#uuid "00000000-0000-0000-0000-000000000001"',
            {"#uuid": "00000000-0000-0000-0000-000000000001"},
        ),
        ("^{:doc 1} [2]", [2]),
        ("#_ {:a 1} {:b 2} ; and so on\n", {":b": 2}),
        ("[1 #_ #_ 2 3 4 #_5]", [1, 4]),
        ("#:op{:f 1, :_/g 2, :x/h 3, 4 5}", {":op/f": 1, ":g": 2, ":x/h": 3, "4": 5}),
        ("1,\r\n,", 1),
    ],
)
def test_forms_become_json(text: str, value: Any) -> None:
    (form,) = read(f"{{:v {text}}}\n")
    assert exactly(form) == exactly({":v": value})


def test_forms_have_the_lines_where_they_begin() -> None:
    text = '; c\n{:a 1}\n\n{:b\n "x\n;\n\\"y"}\n#_ [1\n2] #t\n{:c 3} {:d 4}\n'
    assert list(forms(StringIO(text))) == [
        (2, {":a": 1}),
        (4, {":b": 'x\n;\n"y'}),
        (9, {"#t": {":c": 3}}),
        (10, {":d": 4}),
    ]


@pytest.mark.parametrize("text", ["[{:a 1}\n {:b 2}]\n", "({:a 1}\n{:b 2})", "[{:a 1}\n{:b 2}\n]"])
def test_a_text_that_is_one_vector_gives_its_elements(text: str) -> None:
    for before in ("", "\ufeff"):
        found = list(forms(StringIO(before + text)))
        assert found == [(1, {":a": 1}), (2, {":b": 2})]


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("{:a 1}\n{:b [1 2}\n{:c 3}\n", 2, "'}' stands where ']' must"),
        ("{:a 1}\n}\n{:c 3}\n", 2, "'}' closes nothing"),
        ("{:a [#t]}\n", 1, "']' closes nothing"),
        ("{:a 1}\n{:b}\n", 2, "as many values as keys"),
        ("{:a 1}\n{:a 1 :b 2 :a 2}\n", 2, "a map has the key :a twice; each may be there once"),
        ("{1 2, 1N 2}\n", 1, "a map has the key 1 twice"),
        ("{[1] 2, (1) 3}\n", 1, "a map has the key [1] twice"),
        ("{:a #:b{:c 1, :b/c 2}}\n", 1, "a map has the key :b/c twice"),
        ("{:a #{1 2 1}}\n", 1, "a set has the element 1 twice"),
        ('{:a #{"x" :y "x"}}\n', 1, "a set has the element x twice"),
        ("{:a 1}\n{:b 'c}\n", 2, '"\'c" is not EDN'),
        ('{:a 1}\n{:b\n "x}\n{:b 2}\n', 2, "it is not closed"),
        ("{:a 1}\n{:b\n 2\n{:b 2}\n", 2, "it is not closed"),
        ("[{:a 1}\n {:b 2}\n", 1, "it is not closed"),
        ("[{:a 1}\n {:b 2}", 1, "it is not closed"),
        ("{:a 1} #_\n", 1, "it is not closed"),
        ('{:a #inst "tomorrow"}\n', 1, "#inst of 'tomorrow' is malformed"),
        ("{:a #uuid 7}\n", 1, "#uuid of 7 is malformed"),
        ("{:a #:b [1]}\n", 1, "#:b needs a map"),
        ("{:a 1}\n{:a 1/0}\n", 2, "Fraction"),
        ("{:a 007}\n", 1, "'007' is not EDN"),
        ("{:a 1a}\n", 1, "'1a' is not EDN"),
        ("{:a \0}\n", 1, "is not EDN"),
        ("{:a \\ab}\n", 1, "is not EDN"),
        ("{:a ::b}\n", 1, "'::b' is not EDN"),
        ('{:a "\\q"}\n', 1, "escape"),
        ("[[" * 200 + "\n", 1, "it is too deep"),
    ],
)
def test_what_is_not_edn_is_reported_with_its_line(text: str, line: int, why: str) -> None:
    with pytest.raises(EdnError) as error:
        read(text)
    assert why in str(error.value)
    assert error.value.line == line
    assert not error.value.half


# Beside the library


def exactly(form: Any) -> str:
    """1, 1.0 and true apart."""
    return json.dumps(form, sort_keys=True)


for tag in ("t", "x.Op", "jepsen.history.Op"):
    edn_format.add_tag(tag, partial(lambda tag, form: ("tagged", tag, form), tag))
PARSER = yacc.yacc(module=edn_parse, debug=False, write_tables=False, errorlog=yacc.NullLogger())
LEXER = edn_lex.lex()


def by_library(text: str) -> list[Any] | None:
    """None: it refuses the text."""
    LEXER.lineno = 1
    try:
        return [of(form) for form in PARSER.parse(text, lexer=LEXER)]
    except (ValueError, TypeError, AttributeError):
        return None


def of(form: Any) -> Any:
    """What our reader makes of a form of the library."""
    match form:
        case None | bool() | int():
            return form
        case edn_format.Keyword():
            return f":{form.name}"
        case edn_format.Char():
            return {"#char": str(form)}
        case str():
            return {"#string": form} if form.startswith(":") else form
        case ("tagged", tag, value):
            return {f"#{tag}": of(value)}
        case edn_format.ImmutableList() | tuple():
            return [of(element) for element in form]
        case edn_format.ImmutableDict():
            named = ((of(name), of(value)) for name, value in form.items())
            return {
                name
                if str(name).startswith(":")
                else json.dumps(name, sort_keys=True, separators=(",", ":")): value
                for name, value in named
            }
        case frozenset():
            whole = all(type(element) is int for element in form)
            elements = [of(element) for element in form]
            by_text = {json.dumps(e, sort_keys=True, separators=(",", ":")): e for e in elements}
            return {"#set": sorted(form) if whole else [by_text[text] for text in sorted(by_text)]}
        case float():
            return form if isfinite(form) and form % 1 else {"#float": str(form)}
        case Decimal():
            return {"#decimal": str(form)}
        case Fraction():
            return {"#ratio": str(form)}
        case edn_format.Symbol():
            return {"#symbol": form.name}
        case UUID():
            return {"#uuid": str(form)}
        case date():
            return {"#inst": form.isoformat()}
    return of(form.value)  # with metadata


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=5),
    st.sampled_from(["read", "a/b", "x?", "f-1"]).map(edn_format.Keyword),
    st.sampled_from(["sym", "a.b", "+"]).map(edn_format.Symbol),
    st.sampled_from([1.5, -0.25, 3e70, 2.0, Decimal("1.5"), Fraction(1, 3)]),
    st.datetimes().map(lambda at: f'#inst "{at.isoformat()}Z"').map(edn_format.Symbol),
)


def written(value: Any) -> str:
    """EDN of a value made of scalars, lists, tuples (sets) and dicts."""
    match value:
        case list():
            return f"[{' '.join(map(written, value))}]"
        case tuple():
            return "#{" + " ".join(dict.fromkeys(map(written, value))) + "}"
        case dict():
            return "{" + ", ".join(f"{k} {written(v)}" for k, v in value.items()) + "}"
        case Fraction():
            return f"{value.numerator}/{value.denominator}"
        case str():
            quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            return f'"{quoted}"'
        case Decimal():
            return f"{value}M"
        case None:
            return "nil"
        case bool():
            return str(value).lower()
    return str(value)


names = st.sampled_from([":a", ":b", ":type", "1", "-2", '"k"', "nil", ":x/y", "[1 2]"])
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(st.integers(0, 9), max_size=4).map(tuple),
        st.lists(st.sampled_from([":a", "b", 2, True]), max_size=3).map(tuple),
        st.dictionaries(names, inner, max_size=4),
    ),
    max_leaves=12,
)
maps = st.tuples(
    st.sampled_from(["", "#x.Op", "#t ", "#_ 1 ", "^:m "]),
    st.dictionaries(names, values, max_size=5),
).map(lambda made: made[0] + written(made[1]))


@settings(max_examples=cases(300), deadline=None)
@given(maps)
def test_values_are_read_as_the_library_reads_them(text: str) -> None:
    assert exactly(read(text)) == exactly(by_library(text))


ATOMS = r"""
:a :a/b :a:b nil true 2 -3 +5 9 10N 0x1f 1.5 2e3 1.5M 2/3 "b" ":x" "\n" "2026-01-02" sym a/b + / -
a.b \a \newline \u0041 ##Inf
"""
TOKENS = ["{", "}", "[", "]", "(", ")", "#{", "}", "#t", "#_", "^", ";c\n", ",", "#uuid", "#inst"]
TOKENS += ATOMS.split()


@settings(max_examples=cases(500), deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=12))
@example(["#{", "#_", "2", "}"])
@example(["#{", "2", "2", "}"])
@example(["{", ":a", "2", ":a", "3", "}"])
def test_any_tokens_are_read_as_the_library_reads_them(tokens: Sequence[str]) -> None:
    text = "nil " + " ".join(tokens)
    expected = by_library(text)
    try:
        found = read(text)
    except EdnError as error:
        assert expected is None or "twice; each" in str(error), "the library takes the last one"
    else:
        assert exactly(found) == exactly(expected)


@settings(max_examples=cases(200), deadline=None)
@given(maps, st.data())
def test_a_line_cut_anywhere_is_half(text: str, data: st.DataObject) -> None:
    """Where it does not end with a whole form."""
    if text.startswith(("#_", "^")) or "\n" in text:
        return
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    with pytest.raises(EdnError) as error:
        read("{:a 1}\n" + cut)
    assert error.value.half and error.value.line == 2


@pytest.mark.parametrize("path", sorted((Path(__file__).parent / "jepsen").glob("*.edn")), ids=str)
def test_histories_are_read_as_the_library_reads_them(path: Path) -> None:
    text = path.read_text()
    whole = by_library(text)
    assert whole
    assert read(text) == (whole[0] if isinstance(whole[0], list) else whole)
