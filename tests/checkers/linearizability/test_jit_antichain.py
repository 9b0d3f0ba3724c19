"""The frontier against brute force, and on histories that nobody could search."""

import random

import numpy as np
import pytest

from benchmarks.histories import cell, queue
from checkers.linearizability.arrays.open import ANY, FREE
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import NEVER, EncodedHistory, Kind
from checkers.linearizability.methods.jit_antichain import forward, method
from checkers.linearizability.methods.jit_antichain.input import read_in
from checkers.linearizability.methods.jit_antichain.method import jit_antichain
from checkers.linearizability.methods.jit_antichain.run import Run
from checkers.linearizability.methods.jit_antichain.space import (
    DIED,
    PAUSED,
    SURVIVED,
    with_more_words,
)
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
FAMILIES = (
    CELL_KINDS,
    (Kind.READ, Kind.WRITE),
    (Kind.READ, Kind.WRITE, Kind.CAS),
    (Kind.READ, Kind.WRITE, Kind.CAS, Kind.DIFFERS),
    (Kind.READ, Kind.DIFFERS, Kind.CAS, Kind.CHANGE),
)


def small(seed: int) -> EncodedHistory:
    """A history that brute force can decide."""
    rng = random.Random(seed)
    info, lies = rng.choice((0, 0.2, 0.4, 0.7)), rng.choice((0, 0.1, 0.3))
    clients = rng.randint(2, 6)
    match seed % 7:
        case 5:
            return random_strings(rng, rng.randint(2, 8), clients, info=info, lies=lies)
        case 6:
            return random_known(rng, rng.randint(2, 8), clients, info=info)
    kinds = FAMILIES[seed % 7]
    count, values = rng.randint(2, 11), rng.randint(1, 4)
    return random_cell(rng, count, clients, values, kinds=kinds, info=info, lies=lies)


def decided(encoded: EncodedHistory) -> Decision:
    decision = jit_antichain(encoded, Budget(BUDGET_S))
    assert decision is not None
    assert decision.method == "jit antichain"
    return decision


def assert_right(encoded: EncodedHistory, decision: Decision, right: bool) -> None:
    assert decision.verdict is (Verdict.VALID if right else Verdict.INVALID)
    if right:
        assert decision.order is not None and is_legal_order(encoded, decision.order)
    else:
        assert encoded.ret[decision.culprit] != NEVER
        assert decision.culprit in decision.involved


@pytest.mark.parametrize("part", range(12))
def test_agrees_with_brute_force(part: int) -> None:
    for seed in range(100 * part, 100 * (part + 1)):
        encoded = small(seed)
        assert_right(encoded, decided(encoded), linearizable(encoded))


def narrowed(monkeypatch: pytest.MonkeyPatch, width: int, stride: int, cheap: int = 0) -> None:
    """From the beginning on, and a proof is sought after so few attempts."""
    monkeypatch.setattr(forward, "_LEAST", width)
    monkeypatch.setattr(forward, "_MOST", width)
    monkeypatch.setattr(forward, "_STRIDE_ROWS", stride)
    monkeypatch.setattr(forward, "_NEAR", stride)
    monkeypatch.setattr(forward, "_PAST", stride)
    monkeypatch.setattr(forward, "_CHEAP", cheap)


@pytest.mark.parametrize(("width", "cheap"), [(1, 0), (1, 3), (2, 0)])
def test_agrees_whatever_the_width(width: int, cheap: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes back to checkpoints and widens, or proves over windows that nothing is left."""
    narrowed(monkeypatch, width, 1, cheap)
    monkeypatch.setattr(method, "_FIRST_WINDOW", width)
    died, again = 0, 0
    for seed in range(10_000, 11_200):
        encoded = small(seed)
        search = method._Search(encoded, Budget(BUDGET_S))
        assert_right(encoded, search.decide(), linearizable(encoded))
        died += search.forward.died_at >= 0
        again += search.forward.attempts > 1
    assert died >= 10 and (again or width > 1)


def test_time_that_runs_out_while_it_widens_refutes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    narrowed(monkeypatch, 1, stride=4)
    monkeypatch.setattr(method, "_FIRST_SLICE_S", 0.0)
    monkeypatch.setattr(method._Search, "_refuted", lambda *_: None)
    monkeypatch.setattr(forward, "_SLICE", 5)
    died = 0
    for seed in range(40):
        rng = random.Random(seed)
        encoded = random_cell(rng, 40, 8, 3, kinds=FAMILIES[2], lies=0, info=0.1)
        search = method._Search(encoded, Budget(0.2))
        assert search.decide().verdict is not Verdict.INVALID
        died += search.forward.died_at >= 0
    assert died > 0


def test_no_window_refutes_what_is_linearizable() -> None:
    refuted = 0
    for seed in range(40_000, 40_250):
        encoded = small(seed)
        right = linearizable(encoded)
        search = method._Search(encoded, Budget(BUDGET_S))
        rng = random.Random(seed)
        returns = sorted(int(each) for each in encoded.ret if each != NEVER)
        for _ in range(4):
            since = rng.choice([-1, *returns]) if encoded.transitions is None else -1
            until = rng.choice([*returns, int(NEVER)])
            proof = search._relaxed(since, until, Budget(BUDGET_S), 1 << 9)
            refuted += isinstance(proof, Decision)
            assert not (right and isinstance(proof, Decision)), seed
    assert refuted > 50


def test_what_is_open_where_a_window_begins_can_still_happen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A window that begins after the first return, while a change is open that is needed."""
    narrowed(monkeypatch, 2, stride=2)
    monkeypatch.setattr(method, "_FIRST_WINDOW", 1)
    rows = [
        (0, 3, Kind.READ, 0, -1),
        (1, 5, Kind.CHANGE, 2, 3),
        (2, 8, Kind.CAS, 4, 1),
        (4, 9, Kind.CHANGE, 4, 4),
        (6, 7, Kind.DIFFERS, 1, -1),
        (10, 11, Kind.READ, 3, -1),
        (12, 13, Kind.READ, 3, -1),
        (14, 15, Kind.CAS, 3, 1),
        (16, 17, Kind.DIFFERS, 4, -1),
        (18, 20, Kind.DIFFERS, 4, -1),
        (19, 21, Kind.CAS, 1, 1),
    ]
    encoded = encoded_of(*(list(column) for column in zip(*rows, strict=True)))
    assert_right(encoded, decided(encoded), True)


def test_a_narrow_run_never_refutes_what_is_linearizable() -> None:
    died = 0
    for seed in range(300):
        rng = random.Random(seed)
        encoded = random_cell(rng, 40, 8, 3, kinds=FAMILIES[2], lies=0, info=0.1)
        given = read_in(encoded)
        run = Run(encoded, given, np.arange(len(given.class_row), dtype=np.int32))
        status = run.go(Budget(BUDGET_S), 1)
        died += status == DIED
        assert status == SURVIVED or run.truncated
        assert_right(encoded, decided(encoded), True)
    assert died > 0


@pytest.mark.parametrize("words", [2, 4])
def test_agrees_with_many_words(words: int) -> None:
    """The masks are longer than they must be, and slots are taken from the last word."""
    for seed in range(20_000, 20_400):
        encoded = small(seed)
        given = read_in(encoded)
        run = Run(encoded, given, np.arange(len(given.class_row), dtype=np.int32))
        while run.space.masks.shape[2] < words:
            run.space = with_more_words(run.space)
        run.space.masks[ANY, FREE, :-1] = 0
        status = run.go(Budget(BUDGET_S), 1 << 40)
        assert status == (SURVIVED if linearizable(encoded) else DIED)


def crowd(count: int, wrong: bool) -> EncodedHistory:
    """Everybody writes at once, then everybody reads at once, all the same value."""
    call = list(range(count)) + [2 * count + row for row in range(count)]
    ret = [count + row for row in range(count)] + [3 * count + row for row in range(count)]
    kind = [int(Kind.WRITE)] * count + [int(Kind.READ)] * count
    b = [1 + row % 7 for row in range(count)] + [-1] * count
    a = [-1] * count + [3] * count
    if wrong:
        a[-1] = 4
    return encoded_of(call, ret, kind, a, b)


@pytest.mark.parametrize("count", [30, 64, 65, 200])
@pytest.mark.parametrize("wrong", [False, True])
def test_hundreds_open_at_once(count: int, wrong: bool) -> None:
    encoded = crowd(count, wrong)
    decision = decided(encoded)
    assert decision.verdict is (Verdict.INVALID if wrong else Verdict.VALID)
    if not wrong:
        assert decision.order is not None and is_legal_order(encoded, decision.order)


@pytest.mark.parametrize(
    ("count", "clients", "values", "info"),
    [
        (20_000, 5, 5, 0.0),
        (10_000, 5, 5, 0.01),
        (5_000, 5, 5, 0.05),
        (5_000, 20, 5, 0.0),
        (5_000, 20, 5, 0.05),
        (3_000, 100, 5, 0.0),
        (3_000, 100, 5, 0.05),
        (2_000, 5, None, 0.05),
        (3_000, 5, 200, 0.05),
    ],
)
def test_linearizable(count: int, clients: int, values: int | None, info: float) -> None:
    encoded = cell(count, clients, values=values, info=info, seed=3)
    decision = decided(encoded)
    assert decision.verdict is Verdict.VALID, decision.note
    assert decision.order is not None and is_legal_order(encoded, decision.order)


@pytest.mark.parametrize(
    ("count", "clients", "values", "info", "plant"),
    [
        (10_000, 5, 5, 0.0, "phantom"),
        (1_000, 5, 5, 0.05, "phantom"),
        (1_000, 5, 5, 0.05, "burst"),
        (5_000, 5, 5, 0.05, "burst"),
        (3_000, 20, 5, 0.05, "burst"),
        (3_000, 100, 5, 0.0, "burst"),
        (3_000, 100, 5, 0.05, "burst"),
        (1_000, 5, None, 0.0, "stale"),
    ],
)
def test_not_linearizable(count: int, clients: int, values: int, info: float, plant: str) -> None:
    encoded = cell(count, clients, values=values, info=info, seed=4, plant=plant)  # type: ignore[arg-type]
    decision = decided(encoded)
    assert decision.verdict is Verdict.INVALID, decision.note
    assert decision.culprit >= count * 8 // 10


def test_more_surprises_than_pending_writes() -> None:
    """Twenty writes that nobody heard of explain twenty surprises, not twenty-one."""

    def history(surprises: int) -> EncodedHistory:
        rows = [(row, int(NEVER), Kind.WRITE, -1, 1 + row % 2) for row in range(40)]
        now = 100
        for _ in range(surprises):
            rows += [(now, now + 1, Kind.WRITE, -1, 3), (now + 2, now + 3, Kind.READ, 1, -1)]
            now += 4
        return encoded_of(*(list(column) for column in zip(*rows, strict=True)))

    assert decided(history(20)).verdict is Verdict.VALID
    assert decided(history(21)).verdict is Verdict.INVALID


def test_many_classes_of_pending_operations() -> None:
    rng = random.Random(5)
    count = 3_000
    rows = [(row, int(NEVER), Kind.CAS, rng.randrange(500), 1 + row) for row in range(count)]
    rows += [(count, count + 1, Kind.READ, 0, -1)]
    rows += [(count + 2, count + 3, Kind.DIFFERS, 0, -1)]
    encoded = encoded_of(*(list(column) for column in zip(*rows, strict=True)))
    decision = decided(encoded)
    assert decision.verdict is Verdict.VALID
    assert decision.order is not None and is_legal_order(encoded, decision.order)


def test_a_budget_that_ran_out_is_reported() -> None:
    encoded = cell(20_000, 20, values=5, info=0.05)
    decided(cell(100, 5, values=5, info=0.05))
    decision = jit_antichain(encoded, Budget(0.0))
    assert decision is not None and decision.verdict is Verdict.UNKNOWN
    assert decision.note.startswith("jit antichain: time ran out after")
    decision = jit_antichain(encoded, Budget(BUDGET_S, max_bytes=10_000))
    assert decision is not None and decision.verdict is Verdict.UNKNOWN
    assert decision.note.startswith("jit antichain: memory ran out after")


def test_slices_and_checkpoints_change_nothing() -> None:
    encoded = cell(2_000, 10, values=4, info=0.02, seed=8)
    given = read_in(encoded)
    run = Run(encoded, given, np.arange(len(given.class_row), dtype=np.int32))
    levels = []
    rng = random.Random(0)
    while (status := run.slice(64, work=100)) == PAUSED:
        run.save()
        if run.checkpoints and rng.random() < 0.03:
            run.go_back(rng.choice(run.checkpoints[-5:]))
            levels.append(run.level)
    assert status == SURVIVED
    assert len(levels) > 3


def test_queues_and_nothing_at_all() -> None:
    assert jit_antichain(queue(50, 3), Budget(1.0)) is None
    assert decided(encoded_of([], [], [], [], [])).verdict is Verdict.VALID
    pending = encoded_of([0], [int(NEVER)], [Kind.WRITE], [-1], [1])
    assert_right(pending, decided(pending), True)
