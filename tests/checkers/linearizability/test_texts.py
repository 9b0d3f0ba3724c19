"""Columns of JSON texts: equal ones, pairs, ids that were shown, places in a log."""

import numpy as np
import pyarrow as pa
import pytest

from checkers.linearizability.encoded import NOWHERE
from checkers.linearizability.encoding.numbers import distinct
from checkers.linearizability.encoding.texts import (
    ANY,
    Texts,
    canonical,
    numbered,
    pairs,
    places,
    shown_ids,
    strings,
)

POOL = pa.array(["a", "b", "c", "d"])


def test_some_texts_of_a_pool() -> None:
    texts = Texts(POOL, "first", np.array([2, 0]))
    assert list(texts) == ["first", "c", "a"]
    assert (len(texts), texts[0], texts[-1], texts[-3]) == (3, "first", "a", "first")
    assert (texts[1:], texts[:-1], texts[::2]) == (["c", "a"], ["first", "c"], ["first", "a"])
    for outside in (3, -4):
        with pytest.raises(IndexError):
            texts[outside]


def test_a_column_as_plain_strings() -> None:
    column = pa.chunked_array([["a", None], ["b"]])
    assert strings(column).to_pylist() == ["a", "null", "b"]
    assert strings(column, np.array([2, 1])).to_pylist() == ["b", "null"]
    assert strings(column.dictionary_encode()).to_pylist() == ["a", "null", "b"]


def test_distinct_texts_and_the_number_of_each() -> None:
    plain = pa.array(["b", "a", "b", "null"])
    nothing = pa.array(["b", "a", "b", None])
    for column in (
        plain,
        plain.dictionary_encode(),
        nothing.dictionary_encode(),
        pa.chunked_array([nothing[:1], nothing[1:]]),
        pa.chunked_array([plain[:1].dictionary_encode(), plain[1:].dictionary_encode()]),
    ):
        names, codes = numbered(column)
        assert names.take(pa.array(codes)).to_pylist() == ["b", "a", "b", "null"]
        assert len(names) == 3


def test_equal_values_have_equal_texts() -> None:
    texts = pa.array(["1.0", "1", "any", '{"a":1.0}', "[1e0]"])
    assert canonical(texts).to_pylist() == ["1", "1", ANY, '{"a":1}', "[1]"]
    plain = pa.array(["1", "2"])
    assert canonical(plain) is plain


def test_pairs() -> None:
    texts = ["[1.0,[2]]", "[1]", "[1,2,3]", "4", "[]", "[7,8]", "null"]
    first, second = pairs(pa.array(texts))
    assert first.to_pylist() == ["1", None, None, None, None, "7", None]
    assert second.to_pylist() == ["[2]", None, None, None, None, "8", None]


def test_ids_that_answers_show() -> None:
    answers = {
        "null": "null",
        "false": "null",
        "true": ANY,
        '{"topic_id":"A"}': '"A"',
        '{"topic_id":null}': ANY,
        '{"x":1}': ANY,
        '{"topic_id":7.0}': "7",
        "[1]": None,
        "3": None,
        '"topic_id"': None,
    }
    assert shown_ids(pa.array(list(answers))).to_pylist() == list(answers.values())


def at(epoch: int, offset: int) -> str:
    return f'{{"epoch":{epoch},"offset":{offset}}}'


def test_places_are_ranks_by_epoch_and_then_offset() -> None:
    ext = [at(2, 0), at(1, 5), None, at(1, 7), at(0, 9), at(2, 0), '{"epoch":1}', '{"offset":1}']
    found = places(pa.array(ext), np.ones(8, bool))
    assert found is not None
    known = [each for each in found.tolist() if each != NOWHERE]
    assert np.argsort(np.argsort([known[0], known[1], known[2], known[3]])).tolist() == [3, 1, 2, 0]
    assert known[0] == known[4] and len(known) == 5
    assert [row for row in range(8) if found[row] == NOWHERE] == [2, 6, 7]


def test_only_what_completed_shows_its_place() -> None:
    ext = pa.array([at(0, 0), at(0, 1), '{"epoch":-1,"offset":3}', '{"epoch":3,"offset":-1}'])
    found = places(ext, np.array([True, False, True, True]))
    assert found is not None
    assert (found == NOWHERE).tolist() == [False, True, True, True]
    assert places(ext, np.array([False, False, True, True])) is None
    assert places(pa.array([None, None], pa.string()), np.ones(2, bool)) is None


@pytest.mark.parametrize(
    "texts",
    [
        [],
        ["7"],
        ["7", "7", "0", "3", "0"],
        ["15", "16", "x"],  # there is room for eight times as many
        ["23", "24", "25"],
        ["07", "7", "7", "00"],
        ["a", "b", "1"],
        ["a", "1", "2", "a"],
        ["", "1", "1"],
        ["123456789", "1234567890", "1", "2", "3"],
        ["-1", "1", "2"],
    ],
)
def test_distinct_texts(texts: list[str]) -> None:
    pool, codes = distinct(pa.array(texts, pa.string()))
    assert pool.take(pa.array(codes)).to_pylist() == texts
    assert sorted(pool.to_pylist()) == sorted(set(texts))
