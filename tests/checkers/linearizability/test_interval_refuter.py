"""Refutations without a search: never wrong, and what they find."""

import random
from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.histories import Plant, cell
from checkers.linearizability.decision import Budget
from checkers.linearizability.encoded import NEVER, EncodedHistory, Kind
from checkers.linearizability.methods import interval_refuter as refuter
from checkers.linearizability.methods.interval_refuter import interval_refuter
from framework.verdict import Verdict
from tests.checkers.linearizability.encoded_oracle import (
    encoded_of,
    linearizable,
    random_cell,
    shuffled_times,
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


def wild(rng: random.Random) -> EncodedHistory:
    """Each operation says something that may well not be so."""
    count, kinds = rng.randint(2, 9), rng.choice(KINDS)
    kind = [rng.choice(kinds) for _ in range(count)]
    pending = [each >= Kind.WRITE and rng.random() < 0.2 for each in kind]
    call, ret = shuffled_times(rng, count, rng.randint(1, 4), pending)
    a = [rng.randrange(3) if each != Kind.WRITE else -1 for each in kind]
    b = [rng.randrange(3) if each >= Kind.WRITE else -1 for each in kind]
    return encoded_of(call, ret, kind, a, b)


@pytest.mark.parametrize(
    ("make", "seed", "finds", "names"),
    [
        (small, 0, 147, 298),
        (small, 1, 142, 278),
        (wild, 0, 601, 968),
        (wild, 1, 580, 897),
        (wild, 2, 593, 936),
    ],
)
def test_refutes_only_what_is_wrong(
    make: Callable[[random.Random], EncodedHistory], seed: int, finds: int, names: int
) -> None:
    """And no less of it than it did: so much is found, and so many operations show it."""
    rng = random.Random(seed)
    wrong, refuted, named = 0, 0, 0
    for _ in range(800):
        history = make(rng)
        is_wrong = not linearizable(history)
        wrong += is_wrong
        decision = interval_refuter(history, Budget())
        if decision is not None:
            refuted += 1
            named += len(decision.involved)
            assert is_wrong
            assert (decision.verdict, decision.method) == (Verdict.INVALID, "interval refuter")
            assert decision.culprit in decision.involved
            assert history.ret[decision.culprit] != NEVER
            alone = history.take(np.array(decision.involved))
            assert not linearizable(alone), "what is involved must suffice"
    assert refuted > 0.7 * wrong > 100
    assert refuted >= finds and named <= names * refuted / finds


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
        ("0-5:r1 1-2:w2", 0, [0]),
        ("0-9:c1>1 1-2:w1 3-4:w2 5-6:r1", 3, [0, 2, 3]),
        ("0-1:w3 2-3:w2 4-5:w1 6-7:d1", 3, [1, 2, 3]),
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
        "never written, though it waited",
        "a cas that leaves its value makes none",
        "only the last of what was there before",
    ],
)
def test_what_it_finds(text: str, culprit: int, involved: list[int]) -> None:
    decision = interval_refuter(written(text), Budget())
    assert decision is not None
    assert (decision.culprit, list(decision.involved)) == (culprit, involved)


def test_each_value_has_as_many_places_as_mutations_make_it() -> None:
    history = written("0-1:w2 2-3:w1 4-5:c1>2 6-7:r2 8-9:x1>2")
    columns = history.kind, history.a, history.b
    assert refuter._new_sweep(*columns, 0, 3).offsets.tolist() == [0, 0, 1, 4]


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
