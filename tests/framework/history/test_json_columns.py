"""JSON texts read where they lie, beside Python's decoder."""

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.history.json_columns import forms, in_form, integers, texts
from framework.history.json_walk import ABSENT, CANONICAL, NONE, OTHER, SPACED
from framework.history.lines import decode
from framework.history.texts import as_json
from tests.cases import cases

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | st.integers() | FLOATS | st.text(max_size=4)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=6,
)
SEPARATORS = st.sampled_from([(",", ":"), (", ", ": "), ("\n,", "\t:\r")])


@pytest.mark.parametrize("text", ["\x00null", "[\x00true]", "xnull", "null\x00", "\x00false"])
def test_a_word_is_that_word_alone(text: str) -> None:
    assert forms(texts(pa.array([text]))).tolist() == [OTHER]


@settings(max_examples=cases(200), deadline=None)
@given(JSON, SEPARATORS, st.booleans(), st.data())
def test_what_is_taken_is_json_and_its_form_is_true(
    value: Any, separators: tuple[str, str], ascii_: bool, data: st.DataObject
) -> None:
    """Also of texts that were broken somewhere."""
    text = json.dumps(value, separators=separators, ensure_ascii=ascii_)
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(text)))
        put = data.draw(st.sampled_from(["", " ", '"', "{", "]", "1", "-", ".", ",", "\\", "\x00"]))
        text = text[:at] + put + text[at + data.draw(st.integers(0, 2)) :]
    found = texts(pa.array([text, None, "7"]))
    form = forms(found)
    assert form.tolist()[1:] == [ABSENT, CANONICAL]
    if form[0] == OTHER:
        return
    canonical = as_json(decode(text))
    assert (form[0] == ABSENT) == (canonical == "null")
    assert form[0] != CANONICAL or text == canonical
    if form[0] == SPACED:
        assert in_form(found, form, str)[0].as_py() == canonical


@settings(deadline=None)
@given(st.lists(st.integers(-(10**20), 10**20) | st.sampled_from(["", "-", "1.5", "null", '"1"'])))
def test_integers(values: list[int | str]) -> None:
    found = integers(texts(pa.array([str(value) for value in values], pa.string()))).tolist()
    small = [isinstance(value, int) and len(str(abs(value))) <= 18 for value in values]
    assert found == [value if fits else NONE for value, fits in zip(values, small, strict=True)]


def test_canonical_texts_are_known_as_such() -> None:
    """Else all of them would be made anew."""
    values = [[], {}, [1, {"a": "b", "c": [True, None]}], "x y", -7, {"a": 1}, False]
    assert set(forms(texts(pa.array(map(as_json, values))))) == {CANONICAL}
    assert forms(texts(pa.array(['{"b":1,"a":2}', "1.0", "[1,]", "-0", '"é"', " 1"]))).tolist() == [
        *[OTHER] * 5,
        SPACED,
    ]
