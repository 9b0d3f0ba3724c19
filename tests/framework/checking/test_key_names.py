"""How keys are shown: JSON strings without their quotes, unless they would be another key."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.checking.keyed import unquoted


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('"t1"', "t1"),
        ('"a-b.c:d/e"', "a-b.c:d/e"),
        ('"two words"', "two words"),
        ('"\\u00e9"', "é"),
        ("1", "1"),
        ("[1]", "[1]"),
        ("null", "null"),
        *((text, text) for text in ('"1"', '""', '"true"', '"null"', '"NaN"', '"Infinity"')),
        *((text, text) for text in ('"[1]"', '"a\\nb"', '"{}"', '"-Infinity"')),
    ],
)
def test_as_shown(text: str, shown: str) -> None:
    assert unquoted(text) == shown


@settings(deadline=None)
@given(st.lists(st.one_of(st.text(max_size=8), st.sampled_from(["true", "NaN", "nullx", "t_1"]))))
def test_no_two_keys_are_shown_alike(names: list[str]) -> None:
    texts = {json.dumps(name) for name in names} | {"1", "true", "null", "NaN", "Infinity"}
    assert len({unquoted(text) for text in texts}) == len(texts)
