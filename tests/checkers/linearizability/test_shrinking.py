"""Which sets are tried, and what becomes of one that is refuted."""

import numpy as np
import pytest

from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import NEVER, EncodedHistory, Ints
from checkers.linearizability.evidence import shrink
from checkers.linearizability.evidence.relaxed import Relaxing
from checkers.linearizability.evidence.shrink import pending_outside
from checkers.linearizability.evidence.small_search import Found, Refuted, TooMuch
from framework.verdict import Verdict
from tests.checkers.linearizability.encoded_oracle import encoded_of, written
from tests.checkers.linearizability.refutations import (
    DEQ,
    EMPTY,
    ENQ,
    TAKE,
    R,
    history,
    invalid,
)


def reads(count: int) -> EncodedHistory:
    """One after the other, of what nobody wrote."""
    return encoded_of(
        range(0, 2 * count, 2), range(1, 2 * count, 2), [R] * count, [1] * count, [-1] * count
    )


def windows(encoded: EncodedHistory, decision: Decision) -> list[list[int]]:
    whole = shrink._completed_until_the_culprit(encoded, decision)
    return [rows.tolist() for rows in shrink._candidates(encoded, decision, whole)]


def span(first: int, last: int) -> list[int]:
    return list(range(first, last + 1))


def test_windows_end_with_the_culprit_or_a_little_later() -> None:
    # a window grows by an eighth and a quarter of it beyond the culprit
    assert windows(reads(40), invalid(reads(40), culprit=19)) == [
        [19],
        span(16, 19),
        span(17, 20),
        span(16, 19),
        span(12, 19),
        span(13, 20),
        span(14, 21),
        [*span(12, 19)],
        span(4, 19),
        span(6, 21),
        span(8, 23),
        span(4, 19),
        span(0, 19),
        span(0, 23),
        span(0, 27),
        span(0, 19),
    ]


def test_of_what_is_named_more_is_tried_and_no_windows_beyond_the_end() -> None:
    assert windows(reads(6), invalid(reads(6), involved=[0, 5])) == [
        [0, 5],
        span(2, 5),
        [0, 2, 3, 4, 5],
        span(0, 5),
        span(0, 5),
    ]
    assert windows(reads(4), invalid(reads(4))) == [span(0, 3)]
    many = invalid(reads(202), involved=range(201))
    assert windows(reads(202), many)[0] == span(198, 201)


def test_the_first_operation_of_all_may_be_the_culprit() -> None:
    assert windows(reads(4), invalid(reads(4), culprit=0)) == [[0], [0], [0, 1], [0]]


def test_what_did_not_complete_is_in_no_window() -> None:
    encoded = written("0-:w1 1-6:r1 2-5:r1 7-:w2")
    assert windows(encoded, invalid(encoded, culprit=0, involved=[3])) == [[1, 2]]
    assert windows(encoded, invalid(encoded, culprit=2, involved=[0])) == [[2], [2], [1, 2], [2]]


def test_in_the_order_of_their_returns() -> None:
    encoded = written("0-9:r1 1-6:r1 2-5:r1 3-8:r1 10-12:r1")
    assert shrink._completed_until_the_culprit(encoded, invalid(encoded, 3)).tolist() == [2, 1, 3]


def test_what_methods_are_asked() -> None:
    encoded = history(
        (0, 1, ENQ, 1), (2, 9, DEQ, 1), (3, 4, EMPTY, -1), (5, 6, DEQ, 2), (7, 8, TAKE, -1)
    )
    asked = pending_outside(encoded, np.array([2, 3]))
    # later than 6 nothing happens
    assert asked.call.tolist() == [0, 2, 3, 5]
    assert asked.ret.tolist() == [NEVER, NEVER, 4, 6]
    assert asked.kind.tolist() == [ENQ, TAKE, EMPTY, DEQ]
    assert asked.a.tolist() == [-1, -1, -1, 2]
    cell = pending_outside(written("0-1:w1 2-3:r2 4-5:c3>4 6-7:r4"), np.array([3]))
    assert (cell.ret.tolist(), cell.a.tolist()) == ([NEVER, NEVER, 7], [-1, 3, 4])


@pytest.mark.parametrize(
    ("size", "needed"), [(1, {0}), (9, {3}), (9, {0, 8}), (16, {5, 6, 11}), (7, set(range(7)))]
)
def test_what_can_be_spared_is(size: int, needed: set[int]) -> None:
    asked = []

    def refuted(rows: Ints) -> bool:
        asked.append(rows.tolist())
        return needed <= set(rows.tolist())

    assert set(shrink._reduced(np.arange(size), refuted, Budget(60)).tolist()) == needed
    assert [] not in asked


def test_halves_go_first_and_nothing_is_asked_twice_without_need() -> None:
    asked: list[list[int]] = []

    def refuted(rows: Ints) -> bool:
        asked.append(rows.tolist())
        return 5 in rows

    assert shrink._reduced(np.arange(8), refuted, Budget(60)).tolist() == [5]
    assert asked == [[4, 5, 6, 7], [6, 7], [4, 5], [5]]


def test_without_time_nothing_is_spared() -> None:
    rows = shrink._reduced(np.arange(8), lambda rows: True, Budget(0))
    assert rows.tolist() == list(range(8))


def test_a_method_is_asked_in_slices() -> None:
    encoded = written("0-1:w1 2-3:r1")
    given: list[tuple[int, float]] = []
    said = [
        None,
        *(Decision(each, "") for each in (Verdict.VALID, Verdict.UNKNOWN, Verdict.INVALID)),
    ]

    def decide(part: EncodedHistory, budget: Budget) -> Decision | None:
        given.append((len(part), budget.seconds))
        return said[len(given) - 1]

    refuted = shrink._asking(encoded, decide, Budget(60))
    assert refuted(np.array([], np.int64)) is False
    assert [refuted(np.array([1])) for _ in range(4)] == [False, False, False, True]
    assert given == [(2, 0.3)] * 4


class Watched(Relaxing):
    """A search of each set is hard, or easy, and refutes none but `refutes`."""

    def __init__(self, encoded: EncodedHistory, hard: bool, refutes: int = -1) -> None:
        super().__init__(encoded)
        self.hard, self.refutes = hard, refutes
        self.is_cell = False  # no set is grown
        self.asked: list[tuple[int, int]] = []

    def search(self, members: Ints, max_steps: int, budget: Budget | None = None) -> Found:
        self.asked.append((len(members), max_steps))
        if len(self.asked) - 1 == self.refutes:
            return Found(Refuted(0, [], []))
        if self.hard:
            raise TooMuch
        return Found()


LONG = reads(300)
SIZES = [len(rows) for rows in windows(LONG, invalid(LONG, 199))]


def test_easy_sets_are_asked_once_and_large_ones_patiently() -> None:
    relaxing = Watched(LONG, hard=False)
    assert shrink.shrink(LONG, invalid(LONG, 199), relaxing=relaxing).tolist() == span(0, 199)
    easy = [(size, 30_000) for size in SIZES if size <= 64]
    assert max(easy) == (64, 30_000)
    assert relaxing.asked == [*easy, *((size, 300_000) for size in SIZES if size > 64)]


def test_after_six_hard_sets_all_are_asked_patiently() -> None:
    relaxing = Watched(LONG, hard=True)
    assert shrink.shrink(LONG, invalid(LONG, 199), relaxing=relaxing).tolist() == span(0, 199)
    easy = [(size, 30_000) for size in SIZES[:6]]
    assert relaxing.asked == [*easy, *((size, 300_000) for size in SIZES)]


@pytest.mark.parametrize("place", [0, 2, 6, 9])
def test_what_is_refuted_is_reduced(place: int) -> None:
    relaxing = Watched(LONG, hard=True, refutes=place)
    found = shrink.shrink(LONG, invalid(LONG, 199), relaxing=relaxing)
    size, steps = relaxing.asked[place]
    assert len(found) == size and steps == (30_000 if place < 6 else 300_000)
    assert {each for _, each in relaxing.asked[place:]} == {steps}
