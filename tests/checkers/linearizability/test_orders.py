"""The replay of orders against an independent one, and their layout from what changes something."""

import random
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from checkers.linearizability.arrays.layout import laid_out
from checkers.linearizability.arrays.replay import is_legal
from checkers.linearizability.arrays.trails import mutations_of, no_trails
from checkers.linearizability.encoded import NEVER, EncodedHistory
from tests.checkers.linearizability.encoded_oracle import (
    is_legal_order,
    random_cell,
    random_queue,
    written,
)


@pytest.mark.parametrize("make", [partial(random_cell, values=1), random_queue])
def test_a_replay_says_what_the_oracle_says(make: Callable[..., EncodedHistory]) -> None:
    legal = 0
    for seed in range(3_000):
        rng = random.Random(seed)
        count = rng.randint(1, 4)
        made = make(rng, count, 3, info=0.2)
        rows = [row for row in range(count) if made.ret[row] != NEVER or rng.random() < 0.5]
        if rng.random() < 0.1:
            rows += rng.choices(range(count))
        rng.shuffle(rows)
        expected = is_legal_order(made, rows)
        assert is_legal(made, np.array(rows, np.int64)) == expected, (seed, rows)
        legal += expected
    assert legal > 300


@pytest.mark.parametrize(
    ("text", "mutations", "legal"),
    [
        ("0-3:w1 1-2:r1", [0], True),
        ("0-3:w1 1-2:r1", [], False),
        ("0-1:w1 2-3:r0 4-5:w0", [0, 2], False),
        ("0-1:w1 2-3:c0>2", [0, 1], False),
        ("0-1:w1 2-3:x1>2", [0, 1], False),
        ("0-3:w1 1-2:r1", [0, 0], True),
        ("0-1:r1 2-3:w1", [1], False),
        ("0-:w1 1-2:r1", [0], True),
        ("0-:w1 1-2:r1 3-4:w2 5-6:r1", [0, 2, 0], False),
        ("0-3:w1 1-4:w2 2-5:r2", [1], True),
    ],
)
def test_a_layout_is_legal_where_there_is_one(text: str, mutations: list[int], legal: bool) -> None:
    encoded = written(text)
    order, stuck, _ = laid_out(encoded, np.array(mutations, np.int32))
    assert is_legal(encoded, order) == is_legal_order(encoded, order) == legal
    assert not legal or stuck < 0


def test_trails_are_read_from_their_ends() -> None:
    trails = no_trails(4)
    trails[:] = [(-1, 7), (0, 8), (0, 9), (2, 3)]
    mutations, beginning = mutations_of(trails, 3)
    assert (mutations.tolist(), beginning) == ([7, 9, 3], -1)
    assert mutations_of(trails, -1)[0].tolist() == []
