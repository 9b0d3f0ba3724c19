"""Texts and values as numbers, against what dictionaries of Python say."""

import random
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.linearizability.encoding.numbers import distinct, own_numbers

TEXT = st.one_of(
    st.integers(-5, 60).map(str),
    st.integers(0, 1 << 40).map(str),
    st.sampled_from(["", "null", "00", "01", "0", "1.0", "1e3", "+1", "x1", '"7"', "999999999"]),
)


def the_same(texts: Sequence[str]) -> None:
    pool, codes = distinct(pa.array(texts, pa.string()))
    known = pool.to_pylist()
    assert len(set(known)) == len(known)
    assert [known[code] for code in codes] == list(texts)


@settings(deadline=None)
@given(st.lists(TEXT, max_size=60))
def test_distinct_texts(texts: list[str]) -> None:
    the_same(texts)


def test_many_numbers_and_a_part_of_an_array() -> None:
    draw = random.Random(1)
    texts = [str(draw.randint(0, 20_000)) for _ in range(10_000)] + ["null", '"a"', "-4"] * 5
    the_same(texts)
    pool, codes = distinct(pa.array(["5", "6", *texts])[2:])
    assert [pool[int(code)].as_py() for code in codes] == texts


def test_own_numbers_of_each_key() -> None:
    draw = np.random.default_rng(2)
    for _ in range(300):
        rows, pool, initial = int(draw.integers(0, 30)), int(draw.integers(1, 8)), 0
        a, b = draw.integers(-2, pool, (2, rows))
        cuts = np.sort(draw.integers(0, rows + 1, int(draw.integers(0, 5))))
        starts = np.concatenate(([0], cuts, [rows]))
        own = np.empty((2, rows), np.int32)
        met, firsts = np.empty(2 * rows, np.int64), np.empty(len(starts), np.int64)
        own_numbers(a, b, starts, initial, np.zeros(pool, np.int32), own, met, firsts)
        for key in range(len(starts) - 1):
            values = [initial, *met[firsts[key] : firsts[key + 1]].tolist()]
            expected = [initial]
            for row in range(starts[key], starts[key + 1]):
                for side, column in enumerate((a, b)):
                    value = int(column[row])
                    if value >= 0 and value not in expected:
                        expected.append(value)
                    known = expected.index(value) if value >= 0 else -1
                    assert own[side, row] == known
            assert values == expected
