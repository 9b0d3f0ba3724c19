"""Cells with few operations open at once: as brute force says, one key or many in a call."""

import random

import numpy as np
import pytest

from benchmarks.histories import cell
from checkers.linearizability.coded import NEVER, Coded, CodedKeys, Kind
from checkers.linearizability.decide import decide, decide_small
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.narrow.kernel import WIDTH
from checkers.linearizability.narrow.narrow import METHOD, narrow, narrow_keys
from framework.verdict import Verdict
from tests.checkers.linearizability.coded_oracle import coded_of, linearizable, shuffled_times

KINDS = (Kind.READ, Kind.DIFFERS, Kind.WRITE, Kind.CAS, Kind.CHANGE)


def small(rng: random.Random, info: float) -> Coded:
    """Any cell: each operation says something that may well not be so."""
    count, clients = rng.randint(1, 9), rng.randint(1, 5)
    kind = [rng.choice(KINDS) for _ in range(count)]
    pending = [each >= Kind.WRITE and rng.random() < info for each in kind]
    call, ret = shuffled_times(rng, count, clients, pending)
    a = [rng.randint(0, 2) if each != Kind.WRITE else -1 for each in kind]
    b = [rng.randint(0, 2) if each >= Kind.WRITE else -1 for each in kind]
    return coded_of(call, ret, kind, a, b)


def test_without_pending_operations_it_says_what_brute_force_says() -> None:
    rng = random.Random(1)
    verdicts = set()
    for _ in range(3000):
        history = small(rng, 0)
        decision = narrow(history, Budget())
        assert decision is not None
        assert (decision.verdict is Verdict.VALID) == linearizable(history)
        verdicts.add(decision.verdict)
        if decision.verdict is Verdict.INVALID:
            check_culprit(history, decision)
    assert verdicts == {Verdict.VALID, Verdict.INVALID}


def check_culprit(history: Coded, decision: Decision) -> None:
    """All that returned before it has an order, and with it none."""
    end = history.ret[decision.culprit]
    assert linearizable(until(history, end - 1)) and not linearizable(until(history, end))
    assert decision.culprit in decision.involved


def until(history: Coded, event: int) -> Coded:
    """What was known at an event: what had not returned is pending, if it changes anything."""
    ret = np.where(history.ret <= event, history.ret, NEVER)
    rows = np.flatnonzero((history.call <= event) & ((ret != NEVER) | (history.kind >= Kind.WRITE)))
    known = Coded(history.call, ret, history.kind, history.a, history.b, history.initial)
    return known.take(rows)


def test_with_pending_operations_it_says_less_and_nothing_wrong() -> None:
    rng = random.Random(2)
    told = 0
    for _ in range(3000):
        history = small(rng, 0.3)
        decision = narrow(history, Budget())
        if decision is not None:
            told += bool((history.ret == NEVER).any())
            assert (decision.verdict is Verdict.VALID) == linearizable(history)
    assert told > 500


def test_many_keys_in_one_call_are_each_as_alone() -> None:
    rng = random.Random(3)
    keys = [small(rng, 0.1) for _ in range(500)]
    joined = CodedKeys.of(keys)
    assert narrow_keys(joined) == [narrow(key, Budget()) for key in keys]
    decided = decide_small(joined)
    assert any(each is None for each in decided)
    for key, known in zip(keys, decided, strict=True):
        if known is not None:
            assert known.verdict is decide(key).decision.verdict


def test_a_key_that_is_left_open_leaves_nothing_behind_for_the_next() -> None:
    """Masks of open reads and denials are shared by the keys of a call."""
    phantom = cell(200, 20, values=5, plant="phantom")
    sound = cell(200, 4, values=5)
    joined = CodedKeys.of([phantom, sound, phantom, sound])
    verdicts = [each and each.verdict for each in narrow_keys(joined)]
    assert verdicts[1] is verdicts[3] is Verdict.VALID
    assert verdicts[0] in (None, Verdict.INVALID)


@pytest.mark.parametrize("values", [5, None])
@pytest.mark.parametrize("plant", ["none", "phantom", "burst"])
def test_long_histories(values: int | None, plant: str) -> None:
    history = cell(20_000, 4, values=values, plant=plant)  # type: ignore[arg-type]
    decision = narrow(history, Budget())
    assert decision is not None and decision.method == METHOD
    assert decision.verdict is (Verdict.VALID if plant == "none" else Verdict.INVALID)


def test_what_it_does_not_decide() -> None:
    def writes(count: int) -> Coded:
        rows = range(count)
        kind, a = [Kind.WRITE] * count, [-1] * count
        return coded_of(list(rows), [count + row for row in rows], kind, a, list(rows))

    assert narrow(writes(5), Budget()) is not None
    assert narrow(writes(12), Budget()) is None, f"more than {WIDTH} configurations"
    assert narrow(writes(70), Budget()) is None, "more open at once than a word has bits"
    assert narrow(coded_of([0], [1], [Kind.ENQUEUE], [-1], [1]), Budget()) is None, "no cell"
    assert narrow(coded_of([], [], [], [], []), Budget()) is None


def test_a_budget_bounds_it() -> None:
    history = cell(5_000, 5, values=None)
    assert narrow(history, Budget()) is not None
    assert narrow(history, Budget(0.0)) is None
    assert narrow_keys(CodedKeys.of([history]), most=4_000) == [None]
