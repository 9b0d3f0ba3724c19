"""Columns of rows: what there is not is null in Arrow and `NONE` among numbers, in both ways."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from checkers.logs.row_columns import (
    NAME,
    absent,
    arrow,
    codes,
    dictionary,
    integers_of,
    offsets,
    or_null,
    places,
    prefixed,
)
from framework.history.json_columns import texts
from framework.history.json_walk import NONE

NUMBERS = np.array([3, NONE, 0, -1], np.int64)
NAMES = [["b", None], [], ["a", "b"]]


@pytest.mark.parametrize(
    ("column", "field", "wanted"),
    [
        (None, pa.field("x", pa.int64()), [None] * 4),
        (None, pa.field("x", NAME), [None] * 4),
        (or_null(NUMBERS), pa.field("x", pa.int64()), [3, None, 0, -1]),
        (offsets(NUMBERS), pa.field("x", pa.int64()), [3, None, 0, None]),
        (NUMBERS, pa.field("previous_ns", pa.int64()), [3, None, 0, -1]),
        (np.array([1, 0, 1, 1], np.bool_), pa.field("x", pa.int8()), [1, 0, 1, 1]),
        (pa.array([1, None, 2, 3], pa.int32()), pa.field("x", pa.int64()), [1, None, 2, 3]),
        (pa.array(["a", None, "a", "b"]), pa.field("x", NAME), ["a", None, "a", "b"]),
        (pa.chunked_array(NAMES), pa.field("x", pa.string()), ["b", None, "a", "b"]),
    ],
)
def test_whatever_it_is_a_column_has_the_type_of_its_field(
    column: Any, field: pa.Field, wanted: list[Any]
) -> None:
    made = arrow(column, field, 4)
    assert (made.type, made.to_pylist()) == (field.type, wanted)
    assert pa.table([made], pa.schema([field])).column(0).to_pylist() == wanted


@pytest.mark.parametrize("encoded", [False, True])
def test_names_are_one_dictionary(encoded: bool) -> None:
    column = pa.chunked_array(NAMES, pa.string())
    column = column.dictionary_encode() if encoded else column
    made = dictionary(column)
    assert (made.type, made.to_pylist()) == (NAME, ["b", None, "a", "b"])
    assert codes(column).tolist() == [0, -1, 1, 0]
    assert prefixed("x ", made).to_pylist() == ["x b", None, "x a", "x b"]


def test_whole_numbers_of_a_table() -> None:
    column = pa.chunked_array([[1, None], [-1]], pa.int32())
    assert integers_of(pa.table({"n": column}), "n").tolist() == [1, NONE, -1]


def test_places_count_from_the_first_of_a_row() -> None:
    assert places(np.array([0, 0, 2, 2, 2, 5])).tolist() == [0, 1, 0, 1, 2, 0]


def test_an_empty_text_is_as_good_as_none() -> None:
    assert absent(texts(pa.array(["", None, "x"]))).tolist() == [True, True, False]
