"""The oracle itself, on histories whose verdict is plain."""

import random

import pytest

from checkers.linearizability.encoded import NEVER, EncodedHistory, Kind
from tests.checkers.linearizability.encoded_oracle import (
    encoded_of,
    is_legal_order,
    linearizable,
    random_cell,
    random_known,
    random_queue,
    random_strings,
)

N = int(NEVER)


@pytest.mark.parametrize(
    ("columns", "verdict"),
    [
        (([0, 2], [1, 3], [Kind.WRITE, Kind.READ], [-1, 1], [1, -1]), True),
        (([0, 2], [1, 3], [Kind.WRITE, Kind.READ], [-1, 0], [1, -1]), False),
        (([0, 1], [3, 2], [Kind.WRITE, Kind.READ], [-1, 0], [1, -1]), True),
        (([0, 1], [N, 2], [Kind.WRITE, Kind.READ], [-1, 1], [1, -1]), True),
        (([0, 2], [1, 3], [Kind.CAS, Kind.DIFFERS], [0, 1], [1, -1]), False),
        (([0, 2], [1, 3], [Kind.CHANGE, Kind.READ], [1, 2], [2, -1]), True),
        (([0, 2], [1, 3], [Kind.ENQUEUE, Kind.EMPTY], [-1, -1], [1, -1]), False),
        (
            ([0, 2, 4], [1, N, 5], [Kind.ENQUEUE, Kind.TAKE, Kind.EMPTY], [-1] * 3, [1, -1, -1]),
            True,
        ),
        (([0, 2], [1, 3], [Kind.ENQUEUE, Kind.DEQUEUE], [-1, 2], [1, -1]), False),
    ],
)
def test_plain(columns: tuple[list[int], ...], verdict: bool) -> None:
    assert linearizable(encoded_of(*columns)) == verdict


def test_an_order_is_replayed() -> None:
    encoded = encoded_of(
        [0, 1, 4], [3, 2, 5], [Kind.WRITE, Kind.WRITE, Kind.READ], [-1, -1, 1], [1, 2, -1]
    )
    assert is_legal_order(encoded, [1, 0, 2])
    assert not is_legal_order(encoded, [0, 1, 2])
    assert not is_legal_order(encoded, [1, 0])
    assert not is_legal_order(encoded, [1, 0, 0, 2])
    late = encoded_of([0, 2], [1, 3], [Kind.WRITE, Kind.READ], [-1, 0], [1, -1])
    assert not is_legal_order(late, [1, 0])


def both(histories: list[EncodedHistory]) -> tuple[int, int]:
    verdicts = [linearizable(encoded) for encoded in histories]
    return verdicts.count(True), verdicts.count(False)


def test_random_histories_are_of_both_verdicts() -> None:
    rng = random.Random(1)
    families = [
        [random_cell(rng, 8, 4, 3) for _ in range(60)],
        [random_queue(rng, 8, 4) for _ in range(60)],
        [random_strings(rng, 7, 4) for _ in range(60)],
        [random_known(rng, 6, 4) for _ in range(60)],
    ]
    for family in families:
        assert min(both(family)) >= 5
