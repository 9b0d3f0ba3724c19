"""The log's own order against real time and results: as brute force along the log decides."""

import random
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from benchmarks.histories import cell
from checkers.linearizability.decision import Budget
from checkers.linearizability.encoded import NEVER, NOWHERE, EncodedHistory, Kind
from checkers.linearizability.methods.log_order import model
from checkers.linearizability.methods.log_order.method import log_order
from framework.verdict import Verdict
from tests.checkers.linearizability.encoded_oracle import (
    State,
    after,
    encoded_of,
    initial_state,
    is_legal_order,
    random_cell,
    random_known,
    random_queue,
    random_strings,
)

N = int(NEVER)
SEES = (Kind.READ, Kind.DIFFERS, Kind.LOOK, Kind.EMPTY)


def rank(encoded: EncodedHistory, row: int) -> tuple[int, bool]:
    """An operation that sees comes after what its place names."""
    assert encoded.place is not None
    return int(encoded.place[row]), Kind(int(encoded.kind[row])) in SEES


def explains(encoded: EncodedHistory) -> bool:
    """Whether some order that keeps to the log's explains the history. Exhaustive."""
    call, ret = encoded.call.tolist(), encoded.ret.tolist()
    ranks = [rank(encoded, row) for row in range(len(encoded))]

    @cache
    def explore(state: State, left: frozenset[int]) -> bool:
        named = [ranks[row] for row in left if ranks[row][0] >= 0]
        deadline = min((ret[row] for row in left), default=N)
        if deadline == N and not named:
            return True
        for row in left:
            if call[row] > deadline or (ranks[row][0] >= 0 and ranks[row] > min(named)):
                continue
            then = after(encoded, state, row)
            if then is not None and explore(then, left - {row}):
                return True
        return False

    return explore(initial_state(encoded), frozenset(range(len(encoded))))


def some_order(encoded: EncodedHistory) -> list[int] | None:
    """A linearization, if there is one."""
    call, ret = encoded.call.tolist(), encoded.ret.tolist()

    @cache
    def explore(state: State, left: frozenset[int]) -> tuple[int, ...] | None:
        deadline = min((ret[row] for row in left), default=N)
        if deadline == N:
            return ()
        for row in left:
            then = after(encoded, state, row) if call[row] < deadline else None
            if then is not None and (rest := explore(then, left - {row})) is not None:
                return (row, *rest)
        return None

    found = explore(initial_state(encoded), frozenset(range(len(encoded))))
    return None if found is None else list(found)


def placed(rng: random.Random, encoded: EncodedHistory) -> EncodedHistory:
    """With the places of a true log, most of the time; and not all of them."""
    order = some_order(encoded) if rng.random() < 0.7 else None
    if order is None:
        times = np.minimum(encoded.ret, 2 * len(encoded))
        draws = [rng.uniform(*span) for span in zip(encoded.call, times, strict=True)]
        order = np.argsort(draws).tolist()
    place = np.full(len(encoded), NOWHERE)
    of_changes, of_looks, of_pending = rng.choice([1, 0.8]), rng.choice([0, 0.3]), rng.random() / 2
    changes = 0
    for row in order:
        looks = encoded.kind[row] in SEES
        pending = encoded.ret[row] == NEVER
        if rng.random() < (of_looks if looks else of_pending if pending else of_changes):
            changes += not looks
            place[row] = changes
    if rng.random() < 0.2 and len(encoded) > 1:
        one, other = rng.sample(range(len(encoded)), 2)
        place[one], place[other] = place[other], place[one]
    return replace(encoded, place=place)


MAKERS = {
    "cell": lambda rng: random_cell(rng, rng.randrange(1, 9), rng.randrange(1, 5), 4, lies=0.1),
    "queue": lambda rng: random_queue(rng, rng.randrange(1, 9), rng.randrange(1, 5), lies=0.1),
    "strings": lambda rng: random_strings(rng, rng.randrange(1, 8), rng.randrange(1, 5), lies=0.1),
    "known": lambda rng: random_known(rng, rng.randrange(1, 8), rng.randrange(1, 5)),
    "pending": lambda rng: random_cell(
        rng, rng.randrange(3, 10), rng.randrange(2, 5), 3, info=0.5, lies=0
    ),
    "pending in queues": lambda rng: random_queue(
        rng, rng.randrange(3, 10), rng.randrange(2, 5), info=0.4, lies=0
    ),
}


@pytest.mark.parametrize(
    ("name", "count", "finds", "refutes"),
    [
        ("cell", 150, 90, 22),
        ("queue", 150, 72, 28),
        ("strings", 120, 90, 5),
        ("known", 120, 23, 49),
        ("pending", 500, 394, 23),
        ("pending in queues", 250, 137, 24),
    ],
)
def test_agrees_with_brute_force(name: str, count: int, finds: int, refutes: int) -> None:
    """And decides no less than it did."""
    rng = random.Random(3)
    seen: Counter[Verdict | None] = Counter()
    for _ in range(count):
        encoded = placed(rng, MAKERS[name](rng))
        decision = log_order(encoded, Budget())
        seen[decision and decision.verdict] += 1
        if decision is None:
            continue
        assert decision.verdict is (Verdict.VALID if explains(encoded) else Verdict.INVALID)
        if decision.verdict is Verdict.INVALID:
            assert decision.culprit in decision.involved
            # Of a model, what narrowed it down may be left out.
            alone = encoded.take(np.array(decision.involved))
            assert name == "strings" or not explains(alone), "what is involved must suffice"
            continue
        assert decision.order is not None
        order = decision.order.tolist()
        assert is_legal_order(encoded, order)
        ranks = [rank(encoded, row) for row in order if rank(encoded, row)[0] >= 0]
        assert ranks == sorted(ranks)
    assert seen[Verdict.VALID] >= finds
    assert seen[Verdict.INVALID] >= refutes


def reported(encoded: EncodedHistory, *places: int) -> EncodedHistory:
    return replace(encoded, place=np.array(places, np.int64))


def test_a_log_against_real_time() -> None:
    """Both orders of two writes explain the results; the log has the one that time forbids."""
    writes = encoded_of([0, 2], [1, 3], [Kind.WRITE] * 2, [-1] * 2, [1, 2])
    right, wrong = (log_order(reported(writes, *places), Budget()) for places in ((1, 2), (2, 1)))
    assert right is not None
    assert right.verdict is Verdict.VALID
    assert wrong is not None
    assert (wrong.verdict, wrong.culprit, wrong.involved) == (Verdict.INVALID, 0, [0, 1])


def test_a_log_against_results_that_another_order_explains() -> None:
    """Concurrent writes, then a read of the first of the log."""
    history = encoded_of(
        [0, 1, 4], [3, 2, 5], [Kind.WRITE, Kind.WRITE, Kind.READ], [-1, -1, 1], [1, 2, -1]
    )
    right = log_order(reported(history, 2, 1, NOWHERE), Budget())
    wrong = log_order(reported(history, 1, 2, NOWHERE), Budget())
    assert right is not None
    assert right.order is not None
    assert right.order.tolist() == [1, 0, 2]
    assert wrong is not None
    assert (wrong.verdict, wrong.culprit) == (Verdict.INVALID, 2)


def test_a_read_with_a_place_saw_the_log_up_to_there() -> None:
    history = encoded_of(
        [0, 1, 2], [10, 11, 12], [Kind.WRITE, Kind.WRITE, Kind.READ], [-1, -1, 1], [1, 2, -1]
    )
    first = log_order(reported(history, 1, 2, 1), Budget())
    second = log_order(reported(history, 1, 2, 2), Budget())
    assert first is not None
    assert first.verdict is Verdict.VALID
    assert second is not None
    assert second.verdict is Verdict.INVALID


def test_a_pending_write_without_a_place_that_somebody_saw() -> None:
    history = encoded_of(
        [0, 2, 3, 5],
        [1, N, 4, 6],
        [Kind.WRITE, Kind.WRITE, Kind.READ, Kind.CAS],
        [-1, -1, 2, 2],
        [1, 2, -1, 3],
    )
    decision = log_order(reported(history, 1, NOWHERE, NOWHERE, 2), Budget())
    assert decision is not None
    assert decision.order is not None
    assert decision.order.tolist() == [0, 1, 2, 3]


def test_time_that_ran_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "_ASK_EVERY", 1)
    history = random_known(random.Random(1), 6, 2, info=0)
    decision = log_order(reported(history, *range(1, 7)), Budget(0.0))
    assert decision is not None and decision.verdict is Verdict.UNKNOWN
    assert decision.note == "log order: 0 of 6 operations"


def test_says_nothing_without_an_order() -> None:
    history = encoded_of([0, 1], [3, 2], [Kind.WRITE] * 2, [-1] * 2, [1, 2])
    assert log_order(history, Budget()) is None
    assert log_order(reported(history, NOWHERE, NOWHERE), Budget()) is None
    assert log_order(reported(history, 7, 7), Budget()) is None, "two changes at one place"
    assert log_order(reported(history, 7, NOWHERE), Budget()) is not None


@pytest.mark.parametrize(("clients", "values", "finds"), [(4, 3, 135), (4, 5, 133), (6, 3, 137)])
def test_guesses_well_where_much_is_pending(clients: int, values: int, finds: int) -> None:
    """Of 150 histories that the log explains: no fewer than it did."""
    found = 0
    for seed in range(150):
        history = cell(30, clients, values=values, info=0.3, seed=seed, placed=True)
        decision = log_order(history, Budget())
        if decision is not None:
            assert decision.order is not None and is_legal_order(history, decision.order)
            found += 1
    assert found >= finds


@pytest.mark.parametrize("info", [0.0, 0.05])
@pytest.mark.parametrize("values", [None, 5])
def test_long_histories(values: int | None, info: float) -> None:
    length = 2_000 if info else 20_000
    history = cell(length, 5, values=values, info=info, placed=True)
    decision = log_order(history, Budget())
    if values is None or not info:
        assert decision is not None
        assert decision.order is not None
        assert is_legal_order(history, decision.order)
    else:
        # Which of many pending writes of a value was it? Found or not, never refuted.
        assert decision is None or decision.verdict is Verdict.VALID
    spoilt = cell(length, 20, values=values, info=info, placed=True, plant="phantom")
    refused = log_order(spoilt, Budget())
    assert refused is None or refused.verdict is Verdict.INVALID
    assert info or refused is not None
