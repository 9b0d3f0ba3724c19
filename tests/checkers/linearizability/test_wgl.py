"""WGL against brute force and against the antichain."""

import random

import pytest

from benchmarks.histories import cell, queue
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import NEVER, EncodedHistory, Kind
from checkers.linearizability.methods.jit_antichain.method import jit_antichain
from checkers.linearizability.methods.wgl import method
from checkers.linearizability.methods.wgl.method import wgl
from framework.verdict import Verdict
from tests.checkers.linearizability.encoded_oracle import (
    CELL_KINDS,
    encoded_of,
    is_legal_order,
    linearizable,
    random_cell,
    random_known,
    random_strings,
)

BUDGET_S = 300.0


def small(seed: int) -> EncodedHistory:
    """A history that brute force can decide."""
    rng = random.Random(seed)
    info, lies = rng.choice((0, 0.2, 0.4, 0.7)), rng.choice((0, 0.1, 0.3))
    clients = rng.randint(2, 6)
    if seed % 6 == 4:
        return random_strings(rng, rng.randint(2, 8), clients, info=info, lies=lies)
    if seed % 6 == 5:
        return random_known(rng, rng.randint(2, 8), clients, info=info)
    kinds = CELL_KINDS if seed % 2 else (Kind.READ, Kind.WRITE, Kind.CAS)
    count, values = rng.randint(2, 11), rng.randint(1, 4)
    return random_cell(rng, count, clients, values, kinds=kinds, info=info, lies=lies)


def decided(encoded: EncodedHistory) -> Decision:
    decision = wgl(encoded, Budget(BUDGET_S))
    assert decision is not None
    assert decision.method == "wgl"
    return decision


@pytest.mark.parametrize("part", range(15))
def test_agrees_with_brute_force(part: int) -> None:
    for seed in range(100 * part, 100 * (part + 1)):
        encoded = small(seed)
        decision, right = decided(encoded), linearizable(encoded)
        assert decision.verdict is (Verdict.VALID if right else Verdict.INVALID)
        if right:
            assert decision.order is not None and is_legal_order(encoded, decision.order)
        else:
            assert encoded.ret[decision.culprit] != NEVER
            assert decision.culprit in decision.involved


def test_the_thrifty_search_never_finds_an_order_that_is_none() -> None:
    given_up = 0
    for seed in range(10_000, 10_400):
        encoded = small(seed)
        search = method._Search(encoded, method.read_in(encoded), thrifty=True)
        while (status := search.slice(1_000)) == method.PAUSED:
            pass
        right = linearizable(encoded)
        if status == method.FOUND_ORDER:
            assert right and is_legal_order(encoded, search.order)
        else:
            given_up += right
    assert given_up < 20


def test_slices_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(method, "_SLICE", 1)
    for seed in range(20_000, 20_200):
        encoded = small(seed)
        assert (decided(encoded).verdict is Verdict.VALID) == linearizable(encoded)


@pytest.mark.parametrize("clients", [4, 12])
def test_agrees_with_the_frontier(clients: int) -> None:
    """On histories that are too long for brute force."""
    seen = set()
    for seed in range(120):
        rng = random.Random(seed)
        lies = rng.choice((0, 0, 0.02, 0.05))
        encoded = random_cell(rng, 60, clients, 3, kinds=CELL_KINDS[:4], info=0.1, lies=lies)
        one, other = decided(encoded), jit_antichain(encoded, Budget(BUDGET_S))
        assert other is not None and one.verdict is other.verdict
        seen.add(one.verdict)
        if one.order is not None:
            assert is_legal_order(encoded, one.order)
    assert seen == {Verdict.VALID, Verdict.INVALID}


@pytest.mark.parametrize("count", [64, 65, 150])
def test_hundreds_open_at_once(count: int) -> None:
    call = list(range(count)) + [2 * count + row for row in range(count)]
    ret = [count + row for row in range(count)] + [3 * count + row for row in range(count)]
    kind = [int(Kind.WRITE)] * count + [int(Kind.READ)] * count
    b = [1 + row % 7 for row in range(count)] + [-1] * count
    encoded = encoded_of(call, ret, kind, [-1] * count + [3] * count, b)
    decision = decided(encoded)
    assert decision.order is not None and is_legal_order(encoded, decision.order)


@pytest.mark.parametrize(
    ("count", "clients", "values", "info"),
    [(20_000, 5, 5, 0.0), (5_000, 5, 5, 0.05), (5_000, 5, 5, 0.2), (2_000, 10, 5, 0.05)],
)
def test_linearizable(count: int, clients: int, values: int, info: float) -> None:
    encoded = cell(count, clients, values=values, info=info, seed=3)
    decision = decided(encoded)
    assert decision.verdict is Verdict.VALID, decision.note
    assert decision.order is not None and is_legal_order(encoded, decision.order)


def test_not_linearizable() -> None:
    encoded = cell(5_000, 5, values=5, seed=3, plant="burst")
    decision = decided(encoded)
    assert decision.verdict is Verdict.INVALID
    assert decision.culprit >= 4_400


def test_a_budget_that_ran_out_is_reported() -> None:
    decided(cell(100, 5, values=5, info=0.05))
    encoded = cell(5_000, 30, values=5, info=0.05, seed=4, plant="burst")
    decision = wgl(encoded, Budget(0.0))
    assert decision is not None and decision.verdict is Verdict.UNKNOWN
    assert decision.note.startswith("wgl: time ran out after")
    decision = wgl(encoded, Budget(BUDGET_S, max_bytes=1_000))
    assert decision is not None and decision.verdict is Verdict.UNKNOWN
    assert decision.note.startswith("wgl: memory ran out after")


def test_queues_and_nothing_at_all() -> None:
    assert wgl(queue(50, 3), Budget(1.0)) is None
    assert decided(encoded_of([], [], [], [], [])).verdict is Verdict.VALID
