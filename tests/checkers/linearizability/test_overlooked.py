"""What fits nowhere into an order, and the set that grows by it."""

from typing import Any

import numpy as np
import pytest

from checkers.linearizability.decision import Budget
from checkers.linearizability.evidence.grow import MOST_GROWN, grown, overlooked
from checkers.linearizability.evidence.relaxed import Relaxing
from checkers.linearizability.evidence.small_search import TooMuch
from tests.checkers.linearizability.encoded_oracle import written
from tests.checkers.linearizability.refutations import move

ORDER = "10-19:w1 20-29:r1 30-39:c1>2 40-49:x5>3"
"""Which is 0 until 19 at most, then 1, from 30 on 2 perhaps, and 3 from 40 on."""


@pytest.mark.parametrize(
    ("what", "fits"),
    [
        # at some time it is so
        ("0-9:r0", True),
        ("0-18:r0", True),
        ("12-18:r0", True),
        ("0-9:r1", False),
        ("0-11:r1", True),
        ("21-28:r0", False),
        ("21-28:r1", True),
        ("31-38:r1", True),
        ("31-38:r2", True),
        ("41-48:r1", False),
        ("41-48:r2", True),
        ("51-58:r2", False),
        ("51-58:r3", True),
        ("51-:r2", False),
        ("0-9:d0", False),
        ("0-11:d0", True),
        ("51-58:d3", False),
        ("51-58:d1", True),
        # a write that nobody sees: before one of the order, or at the end
        ("0-9:w7", True),
        ("12-18:w7", True),
        ("21-28:w7", False),
        ("21-28:w1", True),
        ("31-38:w7", False),
        ("51-58:w7", True),
        # others too, if they can
        ("0-9:c0>7", True),
        ("0-9:c1>7", False),
        ("21-28:c1>7", False),
        ("21-28:c1>1", True),
        ("21-28:c2>2", False),
        ("51-58:c3>7", True),
        ("51-58:c1>1", False),
        ("0-9:x1>7", True),
        ("0-9:x0>7", False),
        ("21-28:x2>7", False),
        ("51-58:x3>7", False),
        ("51-58:x1>7", True),
    ],
)
def test_what_fits_into_an_order(what: str, fits: bool) -> None:
    encoded = written(f"{ORDER} {what}")
    row = next(row for row in range(5) if encoded.call[row] == int(what.split("-")[0]))
    order = [move(encoded, each) for each in range(5) if each != row]
    assert overlooked(encoded, order, np.array([row])) == ([] if fits else [row])


def test_times_of_an_order_are_bounded_by_what_is_before_and_after() -> None:
    encoded = written("0-90:w1 5-15:r2 10-80:r1 20-30:w2 25-70:w3 31-40:r1 32-41:r3 71-75:r2")
    order = [move(encoded, row) for row in (0, 2, 3, 4)]
    assert overlooked(encoded, order, np.array([1, 5, 6, 7])) == [1, 5, 7]


def test_what_is_in_the_order_is_not_overlooked() -> None:
    encoded = written("0-9:w1 10-19:r7 20-29:r8")
    order = [move(encoded, 0), move(encoded, 1)]
    assert overlooked(encoded, order, np.arange(3)) == [2]


def test_without_an_order_it_is_as_at_first() -> None:
    encoded = written("0-9:w1 10-19:r7 20-29:r0")
    assert overlooked(encoded, [], np.arange(3)) == [1]


def grow(operations: str, *seed: int, **options: Any) -> list[int] | None:
    encoded = written(operations)
    among = np.argsort(encoded.ret, kind="stable")
    options = {"max_steps": 1000, "budget": Budget(60)} | options
    found = grown(Relaxing(encoded), np.array(seed, np.int64), among, **options)
    return None if found is None else found.tolist()


def test_a_set_grows_by_what_its_order_overlooks() -> None:
    assert grow("0-1:w1 2-3:w2 4-5:r1", 2) == [1, 2]
    assert grow("0-1:w1 2-3:r1", 1) is None


def test_it_grows_by_the_latest_eight() -> None:
    between = " ".join(f"{i}-{i + 1}:w2" for i in range(2, 22, 2))
    assert grow(f"0-1:w1 {between} 30-31:r1", 11) == [3, 4, 5, 6, 7, 8, 9, 10, 11]


def test_it_grows_no_further_than_searches_go() -> None:
    hard = "0-1:w1 2-3:w2 4-5:r1"
    assert grow(hard, 2, budget=Budget(0)) is None
    open_ones = " ".join(f"{i}-30:w{i}" for i in range(1, 5))
    with pytest.raises(TooMuch):
        grow(f"{open_ones} 40-41:r1", 0, 1, 2, 3, 4, max_steps=1)


@pytest.mark.parametrize(("size", "is_searched"), [(MOST_GROWN, True), (MOST_GROWN + 1, False)])
def test_it_does_not_grow_too_large(size: int, is_searched: bool) -> None:
    relaxing = Relaxing(written(" ".join(f"{2 * i}-{2 * i + 1}:w1" for i in range(size))))
    before = relaxing.steps_left
    assert grown(relaxing, np.arange(size), np.arange(size), 10_000, Budget(60)) is None
    assert (relaxing.steps_left < before) is is_searched
