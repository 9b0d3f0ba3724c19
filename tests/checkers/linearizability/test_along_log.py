"""The log's own order against real time and results: as brute force along the log decides."""

import random
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from benchmarks.histories import cell
from checkers.linearizability.coded import NEVER, NOWHERE, Coded, Kind
from checkers.linearizability.decision import Budget
from checkers.linearizability.log.along_log import along_log
from framework.verdict import Verdict
from tests.checkers.linearizability.coded_oracle import (
    State,
    after,
    coded_of,
    initial_state,
    is_legal_order,
    random_cell,
    random_known,
    random_queue,
    random_strings,
)

N = int(NEVER)
SEES = (Kind.READ, Kind.DIFFERS, Kind.LOOK, Kind.EMPTY)


def rank(coded: Coded, row: int) -> tuple[int, bool]:
    """An operation that sees comes after what its place names."""
    assert coded.place is not None
    return int(coded.place[row]), Kind(int(coded.kind[row])) in SEES


def explains(coded: Coded) -> bool:
    """Whether some order that keeps to the log's explains the history. Exhaustive."""
    call, ret = coded.call.tolist(), coded.ret.tolist()
    ranks = [rank(coded, row) for row in range(len(coded))]

    @cache
    def explore(state: State, left: frozenset[int]) -> bool:
        named = [ranks[row] for row in left if ranks[row][0] >= 0]
        deadline = min((ret[row] for row in left), default=N)
        if deadline == N and not named:
            return True
        for row in left:
            if call[row] > deadline or (ranks[row][0] >= 0 and ranks[row] > min(named)):
                continue
            then = after(coded, state, row)
            if then is not None and explore(then, left - {row}):
                return True
        return False

    return explore(initial_state(coded), frozenset(range(len(coded))))


def some_order(coded: Coded) -> list[int] | None:
    """A linearization, if there is one."""
    call, ret = coded.call.tolist(), coded.ret.tolist()

    @cache
    def explore(state: State, left: frozenset[int]) -> tuple[int, ...] | None:
        deadline = min((ret[row] for row in left), default=N)
        if deadline == N:
            return ()
        for row in left:
            then = after(coded, state, row) if call[row] < deadline else None
            if then is not None and (rest := explore(then, left - {row})) is not None:
                return (row, *rest)
        return None

    found = explore(initial_state(coded), frozenset(range(len(coded))))
    return None if found is None else list(found)


def placed(rng: random.Random, coded: Coded) -> Coded:
    """With the places of a true log, most of the time; and not all of them."""
    order = some_order(coded) if rng.random() < 0.7 else None
    if order is None:
        times = np.minimum(coded.ret, 2 * len(coded))
        draws = [rng.uniform(*span) for span in zip(coded.call, times, strict=True)]
        order = np.argsort(draws).tolist()
    place = np.full(len(coded), NOWHERE)
    of_changes, of_looks, of_pending = rng.choice([1, 0.8]), rng.choice([0, 0.3]), rng.random() / 2
    changes = 0
    for row in order:
        looks = coded.kind[row] in SEES
        pending = coded.ret[row] == NEVER
        if rng.random() < (of_looks if looks else of_pending if pending else of_changes):
            changes += not looks
            place[row] = changes
    if rng.random() < 0.2 and len(coded) > 1:
        one, other = rng.sample(range(len(coded)), 2)
        place[one], place[other] = place[other], place[one]
    return replace(coded, place=place)


MAKERS = {
    "cell": lambda rng: random_cell(rng, rng.randrange(1, 9), rng.randrange(1, 5), 4, lies=0.1),
    "queue": lambda rng: random_queue(rng, rng.randrange(1, 9), rng.randrange(1, 5), lies=0.1),
    "strings": lambda rng: random_strings(rng, rng.randrange(1, 8), rng.randrange(1, 5), lies=0.1),
    "known": lambda rng: random_known(rng, rng.randrange(1, 8), rng.randrange(1, 5)),
}


@pytest.mark.parametrize("name", MAKERS)
def test_agrees_with_brute_force(name: str) -> None:
    rng = random.Random(3)
    seen: Counter[Verdict | None] = Counter()
    for _ in range(800):
        coded = placed(rng, MAKERS[name](rng))
        decision = along_log(coded, Budget())
        seen[decision and decision.verdict] += 1
        if decision is None:
            continue
        assert decision.verdict is (Verdict.VALID if explains(coded) else Verdict.INVALID)
        if decision.verdict is Verdict.INVALID:
            assert decision.culprit in decision.involved
            continue
        assert decision.order is not None
        order = decision.order.tolist()
        assert is_legal_order(coded, order)
        ranks = [rank(coded, row) for row in order if rank(coded, row)[0] >= 0]
        assert ranks == sorted(ranks)
    assert seen[Verdict.VALID] > 100
    assert seen[Verdict.INVALID] > 20


def told(coded: Coded, *places: int) -> Coded:
    return replace(coded, place=np.array(places, np.int64))


def test_a_log_against_real_time() -> None:
    """Both orders of two writes explain the results; the log has the one that time forbids."""
    writes = coded_of([0, 2], [1, 3], [Kind.WRITE] * 2, [-1] * 2, [1, 2])
    right, wrong = (along_log(told(writes, *places), Budget()) for places in ((1, 2), (2, 1)))
    assert right is not None
    assert right.verdict is Verdict.VALID
    assert wrong is not None
    assert (wrong.verdict, wrong.culprit, wrong.involved) == (Verdict.INVALID, 0, [0, 1])


def test_a_log_against_results_that_another_order_explains() -> None:
    """Concurrent writes, then a read of the first of the log."""
    history = coded_of(
        [0, 1, 4], [3, 2, 5], [Kind.WRITE, Kind.WRITE, Kind.READ], [-1, -1, 1], [1, 2, -1]
    )
    right = along_log(told(history, 2, 1, NOWHERE), Budget())
    wrong = along_log(told(history, 1, 2, NOWHERE), Budget())
    assert right is not None
    assert right.order is not None
    assert right.order.tolist() == [1, 0, 2]
    assert wrong is not None
    assert (wrong.verdict, wrong.culprit) == (Verdict.INVALID, 2)


def test_a_read_with_a_place_saw_the_log_up_to_there() -> None:
    history = coded_of(
        [0, 1, 2], [10, 11, 12], [Kind.WRITE, Kind.WRITE, Kind.READ], [-1, -1, 1], [1, 2, -1]
    )
    first = along_log(told(history, 1, 2, 1), Budget())
    second = along_log(told(history, 1, 2, 2), Budget())
    assert first is not None
    assert first.verdict is Verdict.VALID
    assert second is not None
    assert second.verdict is Verdict.INVALID


def test_a_pending_write_without_a_place_that_somebody_saw() -> None:
    history = coded_of(
        [0, 2, 3, 5],
        [1, N, 4, 6],
        [Kind.WRITE, Kind.WRITE, Kind.READ, Kind.CAS],
        [-1, -1, 2, 2],
        [1, 2, -1, 3],
    )
    decision = along_log(told(history, 1, NOWHERE, NOWHERE, 2), Budget())
    assert decision is not None
    assert decision.order is not None
    assert decision.order.tolist() == [0, 1, 2, 3]


def test_says_nothing_without_an_order() -> None:
    history = coded_of([0, 1], [3, 2], [Kind.WRITE] * 2, [-1] * 2, [1, 2])
    assert along_log(history, Budget()) is None
    assert along_log(told(history, NOWHERE, NOWHERE), Budget()) is None
    assert along_log(told(history, 7, 7), Budget()) is None, "two changes at one place"
    assert along_log(told(history, 7, NOWHERE), Budget()) is not None


@pytest.mark.parametrize("info", [0.0, 0.05])
@pytest.mark.parametrize("values", [None, 5])
def test_long_histories(values: int | None, info: float) -> None:
    length = 2_000 if info else 20_000
    history = cell(length, 5, values=values, info=info, placed=True)
    decision = along_log(history, Budget())
    if values is None or not info:
        assert decision is not None
        assert decision.order is not None
        assert is_legal_order(history, decision.order)
    else:
        # Which of many pending writes of a value was it? Found or not, never refuted.
        assert decision is None or decision.verdict is Verdict.VALID
    spoilt = cell(length, 20, values=values, info=info, placed=True, plant="phantom")
    refused = along_log(spoilt, Budget())
    assert refused is None or refused.verdict is Verdict.INVALID
    assert info or refused is not None
