"""A cell that flips between two values: as brute force says."""

import random
from dataclasses import replace

import numpy as np
import pytest

from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import NEVER, EncodedHistory, Kind
from checkers.linearizability.methods.two_value_sweep import two_value_sweep
from framework.verdict import Verdict
from tests.checkers.linearizability.encoded_oracle import (
    encoded_of,
    is_legal_order,
    linearizable,
    shuffled_times,
)

ABSENT, PRESENT = 0, 1


def flipping(
    rng: random.Random, count: int, clients: int, info: float, lies: float, cas: float
) -> EncodedHistory:
    """Creates and deletes, looks that see which it is, and those that see which it is not."""
    pending = [rng.random() < info for _ in range(count)]
    call, ret = shuffled_times(rng, count, clients, pending)
    kind, a, b = [0] * count, [-1] * count, [-1] * count
    ends = [2 * count if end == NEVER else end for end in ret]
    state = ABSENT
    for row in sorted(range(count), key=lambda row: rng.uniform(call[row], ends[row])):
        seen = 1 - state if rng.random() < lies else state
        if pending[row] or rng.random() < cas:
            kind[row], a[row], b[row] = Kind.CAS, seen, 1 - seen
            if rng.random() < 0.03:
                b[row] = seen
            if not (pending[row] and rng.random() < 0.5) and seen == state:
                state = b[row]
        elif rng.random() < 0.7:
            kind[row], a[row] = Kind.READ, seen
        else:
            kind[row], a[row] = Kind.DIFFERS, rng.choice((1 - seen, 1 - seen, 1 - seen, 7))
    return encoded_of(call, ret, kind, a, b)


def small(rng: random.Random) -> EncodedHistory:
    return flipping(
        rng,
        rng.randint(0, 11),
        rng.randint(1, 5),
        rng.choice((0, 0.1, 0.3, 0.6)),
        rng.choice((0, 0.1, 0.3)),
        rng.choice((0.3, 0.6, 1)),
    )


def decided(history: EncodedHistory) -> Decision:
    decision = two_value_sweep(history, Budget())
    assert decision is not None
    assert decision.method == "two value sweep"
    return decision


def until(history: EncodedHistory, event: int) -> EncodedHistory:
    seen = history.take(np.flatnonzero(history.call <= event))
    return replace(seen, ret=np.where(seen.ret <= event, seen.ret, NEVER))


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_brute_force(seed: int) -> None:
    rng = random.Random(seed)
    refuted = 0
    for _ in range(800):
        history = small(rng)
        decision = decided(history)
        assert decision.verdict is (Verdict.VALID if linearizable(history) else Verdict.INVALID)
        if decision.verdict is Verdict.VALID:
            assert decision.order is not None
            assert is_legal_order(history, decision.order)
            continue
        refuted += 1
        end = int(history.ret[decision.culprit])
        assert not linearizable(until(history, end))
        assert linearizable(until(history, end - 1)), "the culprit is the earliest"
        assert decision.culprit in decision.involved
        alone = history.take(np.array(decision.involved))
        assert not linearizable(alone), "what is involved must suffice"
    assert refuted > 100


@pytest.mark.parametrize(("clients", "info"), [(1, 0), (5, 0.05), (20, 0.3), (100, 0.05)])
def test_big_histories(clients: int, info: float) -> None:
    history = flipping(random.Random(clients), 20_000, clients, info, 0, 0.5)
    decision = decided(history)
    assert decision.verdict is Verdict.VALID
    assert decision.order is not None
    assert is_legal_order(history, decision.order)


def test_one_delete_too_many() -> None:
    """Thousands of flips before it do not have to be told."""
    history = flipping(random.Random(3), 20_000, 4, 0, 0, 0.5)
    ends = int(history.ret.max())
    rows = range(4)
    late = encoded_of(
        [*history.call, *(ends + 1 + 2 * row for row in rows)],
        [*history.ret, *(ends + 2 + 2 * row for row in rows)],
        [*history.kind, *(Kind.CAS for _ in rows)],
        [*history.a, ABSENT, PRESENT, ABSENT, ABSENT],
        [*history.b, PRESENT, ABSENT, PRESENT, PRESENT],
    )
    assert decided(history).verdict is Verdict.VALID
    decision = decided(late)
    assert decision.verdict is Verdict.INVALID
    assert decision.culprit >= 20_000
    assert len(decision.involved) < 40


@pytest.mark.parametrize(("flips", "involved"), [(10, [8, 9, 10]), (11, [8, 9, 10, 11])])
def test_the_last_flips_show_one_too_many(flips: int, involved: list[int]) -> None:
    """As many as begin with the initial value."""
    times = range(0, 2 * flips + 2, 2)
    a = [*(row % 2 for row in range(flips)), 1 - flips % 2]
    history = encoded_of(
        times, [each + 1 for each in times], [Kind.CAS] * len(a), a, [1 - each for each in a]
    )
    assert list(decided(history).involved) == involved


@pytest.mark.parametrize(
    ("kind", "a", "b"), [(Kind.WRITE, -1, 1), (Kind.CAS, 1, 2), (Kind.CHANGE, 0, 1)]
)
def test_what_flips_more_than_two_values_is_for_others(kind: Kind, a: int, b: int) -> None:
    history = encoded_of([0, 2, 4], [1, 3, 5], [Kind.CAS, kind, Kind.READ], [0, a, 1], [1, b, -1])
    assert two_value_sweep(history, Budget()) is None


def test_nothing_ever_changes() -> None:
    for a, kind, expected in (
        (0, Kind.READ, Verdict.VALID),
        (1, Kind.READ, Verdict.INVALID),
        (0, Kind.DIFFERS, Verdict.INVALID),
        (1, Kind.DIFFERS, Verdict.VALID),
    ):
        assert decided(encoded_of([0], [1], [kind], [a], [-1])).verdict is expected
    assert decided(encoded_of([], [], [], [], [])).verdict is Verdict.VALID
