"""Columns as plain values: those that Arrow itself makes, and of equal ones few objects."""

import json

import pyarrow as pa
import pytest

from framework.history.plain import json_values, plain_values

COLUMNS = {
    "integers": pa.array([1, -(1 << 63), 0]),
    "integers with nulls": pa.array([1, None, 3]),
    "texts": pa.array(["a", "b", "c"]),
    "texts that repeat": pa.array(["a", None, "b"] * 9),
    "numbered texts": pa.array(["a", "b"] * 9).dictionary_encode(),
    "numbered texts with nulls": pa.array(["a", None] * 9).dictionary_encode(),
    "flags": pa.array([True, None, False]),
    "none": pa.array([], pa.string()),
    "numbered, none": pa.array([], pa.string()).dictionary_encode(),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_values_are_those_of_arrow(name: str) -> None:
    column = pa.chunked_array([COLUMNS[name], COLUMNS[name]])
    assert plain_values(column) == column.to_pylist()
    part = column.slice(1, len(column) // 2)
    assert plain_values(part) == part.to_pylist()


def test_lists_of_numbers_are_tuples() -> None:
    column = pa.chunked_array([pa.array([[1, 2], [], [3]], pa.list_(pa.int8()))])
    assert plain_values(column) == [(1, 2), (), (3,)]
    assert plain_values(column.slice(1)) == [(), (3,)]


def test_of_equal_texts_one_object() -> None:
    values = plain_values(pa.chunked_array([pa.array(["a long name"] * 20)]))
    assert {id(each) for each in values} == {id(values[0])}


@pytest.mark.parametrize("times", [1, 9])
def test_json_texts_are_parsed(times: int) -> None:
    said = ["x", 1, None, [1, {"a": [2]}], {"a": 1, "b": [None, True]}, "a,b]", 1.5, {}] * times
    column = pa.chunked_array([pa.array([json.dumps(each) for each in said])])
    assert json_values(column) == said


@pytest.mark.parametrize("times", [1, 9])
def test_no_text_is_no_value(times: int) -> None:
    column = pa.chunked_array([pa.array([None, '{"a":1}'] * times)])
    assert json_values(column) == [None, {"a": 1}] * times
    assert json_values(column.slice(0, 0)) == []
