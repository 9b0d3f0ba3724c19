"""The beam against brute force, and on histories that are too wide for all else."""

import random

import pytest

from benchmarks.histories import Plant, cell, queue
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import EncodedHistory
from checkers.linearizability.methods.beam import method
from checkers.linearizability.methods.beam.method import beam
from framework.verdict import Verdict
from tests.checkers.linearizability.encoded_oracle import (
    CELL_KINDS,
    encoded_of,
    is_legal_order,
    linearizable,
    random_cell,
)

BUDGET_S = 300.0


def small(seed: int) -> EncodedHistory:
    """A history that brute force can decide."""
    rng = random.Random(seed)
    kinds = CELL_KINDS if seed % 2 else CELL_KINDS[:4]
    info, lies = rng.choice((0, 0, 0.2, 0.5)), rng.choice((0, 0, 0.1, 0.3))
    count, values = rng.randint(2, 10), rng.randint(1, 3)
    return random_cell(rng, count, rng.randint(2, 6), values, kinds=kinds, info=info, lies=lies)


def found(encoded: EncodedHistory) -> Decision:
    decision = beam(encoded, Budget(BUDGET_S))
    assert decision is not None and decision.verdict is Verdict.VALID
    assert decision.order is not None and decision.method == "beam"
    return decision


@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("narrow", [1, 4])
def test_finds_orders_and_only_where_there_are_any(
    narrow: int, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(method, "_NARROW", narrow)
    missed = had = 0
    for seed in range(150 * part, 150 * (part + 1)):
        encoded = small(seed)
        decision, right = beam(encoded, Budget(BUDGET_S)), linearizable(encoded)
        had += right
        if decision is None:
            missed += right
            continue
        assert right and decision.verdict is Verdict.VALID
        assert decision.order is not None and is_legal_order(encoded, decision.order)
    assert missed == 0 and had > 50


def test_slices_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = cell(1_000, 20, values=5, info=0.01, seed=5)
    whole = found(encoded)
    monkeypatch.setattr(method, "_SLICE", 1)
    assert found(encoded).order.tolist() == whole.order.tolist()  # type: ignore[union-attr]


def test_room_for_what_was_put_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = cell(6_000, 20, values=5, seed=6)
    whole = found(encoded)
    monkeypatch.setattr(method, "SPARE_TRAILS", -2_000)
    assert found(encoded).order.tolist() == whole.order.tolist()  # type: ignore[union-attr]


@pytest.mark.parametrize("info", [0.0, 0.01, 0.05])
@pytest.mark.parametrize("clients", [5, 20, 100])
def test_much_open_at_once(clients: int, info: float) -> None:
    for seed in range(3):
        encoded = cell(5_000, clients, values=5, info=info, seed=seed)
        decision = found(encoded)
        assert decision.order is not None and is_legal_order(encoded, decision.order)


@pytest.mark.parametrize("plant", ["phantom", "burst"])
def test_gives_up_where_there_is_no_order(plant: Plant) -> None:
    assert beam(cell(5_000, 20, values=5, seed=3, plant=plant), Budget(BUDGET_S)) is None


def test_gives_up_where_more_is_open_than_it_has_slots_for() -> None:
    assert beam(cell(5_000, 300, values=5, seed=3), Budget(BUDGET_S)) is None


def test_a_budget_that_ran_out_is_reported() -> None:
    decision = beam(cell(200_000, 20, values=5, seed=3), Budget(0.0))
    assert decision is not None and decision.verdict is Verdict.UNKNOWN
    assert decision.note.startswith("beam: time ran out after")
    decision = beam(cell(200_000, 20, values=5, seed=3), Budget(BUDGET_S, max_bytes=1_000))
    assert decision is not None and decision.note.startswith("beam: memory ran out after")


def test_only_cells_of_few_values() -> None:
    assert beam(queue(50, 3), Budget(1.0)) is None
    assert beam(cell(200, 3), Budget(1.0)) is None
    assert beam(encoded_of([], [], [], [], []), Budget(1.0)) is None
