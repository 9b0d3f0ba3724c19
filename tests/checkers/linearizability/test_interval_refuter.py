"""Refutations without a search: never wrong, and what they find."""

import random

import numpy as np
import pytest

from benchmarks.histories import Plant, cell
from checkers.linearizability.decision import Budget
from checkers.linearizability.encoded import NEVER, EncodedHistory, Kind
from checkers.linearizability.methods.interval_refuter import interval_refuter
from framework.verdict import Verdict
from tests.checkers.linearizability.encoded_oracle import (
    encoded_of,
    linearizable,
    random_cell,
    written,
)

KINDS = (
    (Kind.READ, Kind.WRITE),
    (Kind.READ, Kind.WRITE, Kind.CAS),
    (Kind.READ, Kind.DIFFERS, Kind.WRITE, Kind.CAS),
    (Kind.READ, Kind.DIFFERS, Kind.WRITE, Kind.CAS, Kind.CHANGE),
    (Kind.READ, Kind.CAS),
    (Kind.DIFFERS, Kind.CHANGE, Kind.WRITE),
)


def small(rng: random.Random) -> EncodedHistory:
    return random_cell(
        rng,
        rng.randint(1, 10),
        rng.randint(1, 4),
        rng.randint(1, 4),
        kinds=rng.choice(KINDS),
        info=rng.choice((0, 0.1, 0.3)),
        lies=rng.choice((0, 0.1, 0.3)),
    )


@pytest.mark.parametrize("seed", range(4))
def test_refutes_only_what_is_wrong(seed: int) -> None:
    rng = random.Random(seed)
    wrong, refuted = 0, 0
    for _ in range(800):
        history = small(rng)
        is_wrong = not linearizable(history)
        wrong += is_wrong
        decision = interval_refuter(history, Budget())
        if decision is not None:
            refuted += 1
            assert is_wrong
            assert (decision.verdict, decision.method) == (Verdict.INVALID, "interval refuter")
            assert decision.culprit in decision.involved
            assert history.ret[decision.culprit] != NEVER
            alone = history.take(np.array(decision.involved))
            assert not linearizable(alone), "what is involved must suffice"
    assert refuted > 0.7 * wrong > 100


@pytest.mark.parametrize(
    ("text", "culprit", "involved"),
    [
        ("0-1:r1 2-3:w1", 0, [0]),
        ("0-1:w1 2-3:w2 4-5:w1 6-7:w2 8-9:r1", 4, [2, 3, 4]),
        ("0-1:w1 2-3:r0", 1, [0, 1]),
        ("0-1:w1 2-3:d1", 1, [0, 1]),
        ("0-1:w1 2-3:x1>2", 1, [0, 1]),
        ("0-1:w1 2-:c2>3 4-5:r3", 2, [0, 1, 2]),
        ("0-1:w1 2-:w2 3-4:r2 5-6:w1 7-8:r2", 4, [0, 1, 2, 3, 4]),
        ("0-:w2 1-2:w1 3-4:r2 5-6:w1 7-8:w3 9-10:r2", 5, [0, 1, 2, 4, 5]),
    ],
    ids=[
        "not written yet",
        "overwritten",
        "the initial value, later",
        "differs from what is there",
        "changed where nothing changes",
        "by a cas that could not",
        "a pending write used twice",
        "used twice, with others between",
    ],
)
def test_what_it_finds(text: str, culprit: int, involved: list[int]) -> None:
    decision = interval_refuter(written(text), Budget())
    assert decision is not None
    assert (decision.culprit, list(decision.involved)) == (culprit, involved)


@pytest.mark.parametrize("values", [2, 5, 50])
@pytest.mark.parametrize(("clients", "info"), [(2, 0), (5, 0.05), (100, 0.05)])
def test_big_histories(values: int, clients: int, info: float) -> None:
    for seed in range(2):
        assert (
            interval_refuter(cell(10_000, clients, values=values, info=info, seed=seed), Budget())
            is None
        )


@pytest.mark.parametrize("plant", ["phantom", "burst"])
@pytest.mark.parametrize(("clients", "info"), [(2, 0), (5, 0.05), (100, 0.05)])
def test_planted_violations_are_found(plant: Plant, clients: int, info: float) -> None:
    """Also a burst: more reads that surprise than pending writes can explain."""
    history = cell(10_000, clients, values=5, info=info, plant=plant)
    decision = interval_refuter(history, Budget())
    assert decision is not None
    assert decision.culprit >= 8_900
    assert decision.culprit in decision.involved


def test_other_kinds_are_for_others() -> None:
    assert interval_refuter(encoded_of([0], [1], [Kind.STEP], [0], [-1]), Budget()) is None
    assert interval_refuter(encoded_of([], [], [], [], []), Budget()) is None
