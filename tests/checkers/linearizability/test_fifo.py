"""Queues decided by one sweep: as brute force does, with the operations that show a violation."""

import random

import numpy as np
import pytest

from benchmarks.histories import QueuePlant, queue
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import NEVER, EncodedHistory, Kind
from checkers.linearizability.methods.fifo import fifo
from framework.verdict import Verdict
from tests.checkers.linearizability.encoded_oracle import linearizable
from tests.checkers.linearizability.small_queues import small_queue, written


def decided(history: EncodedHistory) -> Decision:
    decision = fifo(history, Budget())
    assert decision is not None
    return decision


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_brute_force(seed: int) -> None:
    rng = random.Random(seed)
    refuted = 0
    for _ in range(300):
        history = small_queue(rng)
        decision = decided(history)
        assert decision.verdict is (Verdict.VALID if linearizable(history) else Verdict.INVALID)
        if decision.verdict is Verdict.INVALID:
            refuted += 1
            assert decision.culprit in decision.involved
            rows = np.array(decision.involved)
            assert not linearizable(history.take(rows)), "what is involved must suffice"
    assert refuted > 20


@pytest.mark.parametrize(
    ("text", "culprit", "involved"),
    [
        ("0-1:+1 2-3:-2", 1, [1]),
        ("0-1:-1 2-3:+1", 0, [0, 1]),
        ("0-1:+1 2-3:-1 4-5:-1", 2, [0, 1, 2]),
        ("0-1:+1 2-3:+2 4-5:-2 6-7:-1", 2, [0, 1, 2, 3]),
        ("0-1:+1 2-3:+2 4-5:-2", 2, [0, 1, 2]),
        ("0-1:+1 2-3:0", 1, [0, 1]),
        ("0-1:+1 2-6:0 3-4:+2 5-8:-1 9-10:-2", 1, [0, 1, 2, 3, 4]),
        ("0-1:+1 2-6:0 3-4:+2 5-8:-1 9-10:-2 11-12:+3", 1, [0, 1, 2, 3, 4]),
        ("0-1:+1 2-3:+2 4-:? 5-6:0", 3, [0, 1, 2, 3]),
        ("0-1:+1 2-3:+2 4-5:+3 6-:? 7-8:-3", 4, [0, 1, 2, 3, 4]),
    ],
    ids=[
        "nobody enqueued it",
        "before its enqueue",
        "twice",
        "overtaken",
        "overtook one that stays",
        "surely not empty",
        "one inside after the other",
        "one inside after the other, and one that came later",
        "two values, one may be gone",
        "two ahead, one may be gone",
    ],
)
def test_patterns(text: str, culprit: int, involved: list[int]) -> None:
    history = written(text)
    decision = decided(history)
    assert decision.verdict is Verdict.INVALID
    assert (decision.culprit, list(decision.involved)) == (culprit, involved)


@pytest.mark.parametrize(
    "text",
    [
        "0-:+1 1-2:-1",
        "0-:+1 1-2:0",
        "0-1:+1 2-:? 3-4:0",
        "0-1:+1 2-3:+2 4-:? 5-6:-2",
        "0-1:+1 2-5:0 3-4:-1 6-7:+2",
        "0-3:+1 1-2:0 4-5:-1",
        "0-:? 1-2:+1 3-4:0",
    ],
)
def test_what_a_queue_allows(text: str) -> None:
    assert decided(written(text)).verdict is Verdict.VALID


def test_speaks_only_of_queues_of_distinct_values() -> None:
    twice = written("0-1:+1 2-3:-1 4-5:+1")
    assert fifo(twice, Budget()) is None
    register = written("0-1:+1 2-3:-1")
    register.kind[:] = (Kind.WRITE, Kind.READ)
    assert fifo(register, Budget()) is None
    assert decided(written("0-1:+1").take(np.array([], np.int64))).verdict is Verdict.VALID


@pytest.mark.parametrize("text", ["0-1:+1 2-:-1", "0-1:+1 2-3:? 4-:?", "0-1:+1 2-3:-1 4-:+2 5-:-2"])
def test_what_returned_has_a_result_and_what_did_not_has_none(text: str) -> None:
    """Of other operations it says nothing."""
    assert fifo(written(text), Budget()) is None


def test_numbers_and_times_may_be_far_apart() -> None:
    """A key's values and events are some among those of many keys."""
    for seed in range(20):
        history = small_queue(random.Random(seed))
        far = EncodedHistory(
            history.call * 1_000_003,
            np.where(history.ret == NEVER, NEVER, history.ret % 1_000 * 1_000_003),
            history.kind,
            np.where(history.a > 0, history.a * 1_000_000, history.a),
            np.where(history.b > 0, history.b * 1_000_000, history.b),
        )
        near = decided(history)
        again = decided(far)
        assert (again.verdict, again.culprit) == (near.verdict, near.culprit)


@pytest.mark.parametrize("clients", [5, 100])
@pytest.mark.parametrize("info", [0.0, 0.05])
@pytest.mark.parametrize("plant", ["none", "swap", "lost", "repeat", "empty"])
def test_long_queues(clients: int, info: float, plant: QueuePlant) -> None:
    history = queue(20_000, clients, info=info, plant=plant, seed=7)
    expected = Verdict.VALID if plant == "none" else Verdict.INVALID
    assert decided(history).verdict is expected
