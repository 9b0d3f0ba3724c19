"""Cells with few operations open at once: as brute force says, one key or many in a call."""

import random
from collections import Counter

import numpy as np
import pytest

from benchmarks.histories import Plant, cell
from checkers.linearizability.decide import decide, decide_small
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import NEVER, EncodedHistory, EncodedKeys, Kind
from checkers.linearizability.methods.jit_antichain.method import jit_antichain
from checkers.linearizability.methods.jit_bitset.greedy import has_easy_order
from checkers.linearizability.methods.jit_bitset.method import METHOD, jit_bitset, jit_bitset_keys
from checkers.linearizability.methods.jit_bitset.sets import LANES, SLOTS
from framework.verdict import Verdict
from tests.checkers.linearizability.encoded_oracle import (
    encoded_of,
    linearizable,
    random_cell,
    shuffled_times,
    written,
)

KINDS = (Kind.READ, Kind.DIFFERS, Kind.WRITE, Kind.CAS, Kind.CHANGE)


def small(rng: random.Random, info: float) -> EncodedHistory:
    """Any cell: each operation says something that may well not be so."""
    count, clients = rng.randint(1, 9), rng.randint(1, 5)
    kind = [rng.choice(KINDS) for _ in range(count)]
    pending = [each >= Kind.WRITE and rng.random() < info for each in kind]
    call, ret = shuffled_times(rng, count, clients, pending)
    a = [rng.randint(0, 2) if each != Kind.WRITE else -1 for each in kind]
    b = [rng.randint(0, 2) if each >= Kind.WRITE else -1 for each in kind]
    return encoded_of(call, ret, kind, a, b)


def by_sets(history: EncodedHistory) -> Decision | None:
    """Without a try at an easy order."""
    return jit_bitset_keys(EncodedKeys.of([history]), tiny=0)[0]


@pytest.mark.parametrize("info", [0, 0.1, 0.4])
def test_it_says_what_brute_force_says(info: float) -> None:
    rng = random.Random(info)
    verdicts = set()
    for _ in range(2000):
        history = small(rng, info)
        decision = by_sets(history)
        assert decision is not None and decision == jit_bitset(history, Budget())
        assert (decision.verdict is Verdict.VALID) == linearizable(history)
        verdicts.add(decision.verdict)
        if decision.verdict is Verdict.INVALID:
            check_culprit(history, decision)
    assert verdicts == {Verdict.VALID, Verdict.INVALID}


def test_an_easy_order_is_one_and_not_rare() -> None:
    rng = random.Random(5)
    found = valid = 0
    for _ in range(3000):
        history = small(rng, rng.choice([0, 0.2]))
        columns = (history.call, history.ret, history.kind, history.a, history.b)
        rows = np.empty(62, np.int64)
        easy = has_easy_order(*columns, 0, len(history), history.initial, rows)
        assert not easy or linearizable(history)
        found += easy
        valid += linearizable(history)
    assert valid / 2 < found < valid


def test_more_open_than_a_word_has_slots() -> None:
    rng = random.Random(4)
    verdicts = Counter(check_as_brute_force(random_wide(rng)) for _ in range(1500))
    assert min(verdicts[Verdict.VALID], verdicts[Verdict.INVALID]) > 200


def random_wide(rng: random.Random) -> EncodedHistory:
    return random_cell(rng, rng.randint(8, SLOTS), SLOTS, rng.randint(1, 4), info=0.1, lies=0.1)


def check_as_brute_force(history: EncodedHistory) -> Verdict:
    decision = by_sets(history)
    assert decision is not None and decision == jit_bitset(history, Budget())
    assert (decision.verdict is Verdict.VALID) == linearizable(history)
    return decision.verdict


def check_culprit(history: EncodedHistory, decision: Decision) -> None:
    """All that returned before it has an order, and with it none."""
    end = history.ret[decision.culprit]
    assert linearizable(until(history, end - 1)) and not linearizable(until(history, end))
    assert decision.culprit in decision.involved


def until(history: EncodedHistory, event: int) -> EncodedHistory:
    """What was known at an event: what had not returned is pending, if it changes anything."""
    ret = np.where(history.ret <= event, history.ret, NEVER)
    rows = np.flatnonzero((history.call <= event) & ((ret != NEVER) | (history.kind >= Kind.WRITE)))
    known = EncodedHistory(history.call, ret, history.kind, history.a, history.b, history.initial)
    return known.take(rows)


def test_many_pending_operations_are_used_where_one_is_needed() -> None:
    """More of them than slots: found or left, and never said to be wrong."""
    rng = random.Random(2)
    verdicts: Counter[Verdict | None] = Counter()
    for seed in range(150):
        values, info = rng.choice([2, 5, None]), rng.choice([0.05, 0.1, 0.3])
        plant: Plant = rng.choice(["none", "phantom", "burst"])
        history = cell(
            rng.randint(20, 300),
            rng.randint(2, 6),
            values=values,
            info=info,
            seed=seed,
            plant=plant,
        )
        decision = jit_bitset(history, Budget())
        verdicts[None if decision is None else decision.verdict] += 1
        if decision is not None:
            expected = jit_antichain(history, Budget())
            assert expected is not None and decision.verdict is expected.verdict
    assert verdicts[Verdict.VALID] > 40 and verdicts[Verdict.INVALID] > 10 < verdicts[None]


def test_what_pending_operations_do_not_explain_is_never_valid() -> None:
    """Several in slots at once, that some configurations have and others not."""
    for seed in range(60):
        history = cell(3_000, 4, values=3, info=0.3, seed=seed, plant="burst")
        decision = jit_bitset(history, Budget())
        assert decision is None or decision.verdict is Verdict.INVALID


def test_what_a_write_does_not_need_is_not_asked_for() -> None:
    history = written("0-1:w1 2-3:w2 4-5:r2")
    history.a[:2] = 7
    decision = jit_bitset(history, Budget())
    assert decision is not None and decision.verdict is Verdict.VALID


def test_what_nobody_has_made_is_refuted_however_much_is_pending() -> None:
    history = cell(3_000, 5, values=5, info=0.05, plant="phantom")
    assert (history.ret == NEVER).sum() > SLOTS
    decision = jit_bitset(history, Budget())
    assert decision is not None and decision.verdict is Verdict.INVALID
    assert history.a[decision.culprit] > history.b.max()


@pytest.mark.parametrize("values", [5, None])
def test_long_histories_with_pending_operations(values: int | None) -> None:
    """Nearly all are found: what is left costs a search."""
    keys = [cell(2_000, 5, values=values, info=0.05, seed=seed) for seed in range(40)]
    decided = [each and each.verdict for each in jit_bitset_keys(EncodedKeys.of(keys))]
    assert decided.count(Verdict.VALID) >= 38 and Verdict.INVALID not in decided


def test_a_pending_operation_takes_effect_once_and_while_another_was_open() -> None:
    once = "0-:w1 1-2:w2 3-4:r1 5-6:w2 7-8:r1"
    assert verdict_of(once) is Verdict.INVALID
    twice = "0-:w1 9-:w1 1-2:w2 3-4:r1 5-6:w2 10-11:r1"
    assert verdict_of(twice) is Verdict.VALID
    assert verdict_of("0-:w1 1-2:w2 3-8:r1 4-5:w3 6-7:r3 9-10:r3") is Verdict.VALID
    assert verdict_of("0-:w1 1-:c1>2 2-3:w5 4-5:r2 6-7:r2") is Verdict.VALID
    assert verdict_of("0-:w1 1-:c1>2 2-3:w5 4-5:r2 6-7:r1") is Verdict.INVALID


def verdict_of(text: str) -> Verdict | None:
    history = written(text)
    decision = jit_bitset(history, Budget())
    assert decision is None or (decision.verdict is Verdict.VALID) == linearizable(history)
    return None if decision is None else decision.verdict


def test_many_keys_in_one_call_are_each_as_alone() -> None:
    rng = random.Random(3)
    keys = [small(rng, 0.1) for _ in range(500)]
    joined = EncodedKeys.of(keys)
    assert jit_bitset_keys(joined) == [jit_bitset(key, Budget()) for key in keys]
    decided = decide_small(joined)
    assert any(each is not None for each in decided)
    for key, known in zip(keys, decided, strict=True):
        if known is not None:
            assert known.verdict is decide(key).decision.verdict


def test_a_key_that_is_left_open_leaves_nothing_behind_for_the_next() -> None:
    """The keys of a call share their sets, and which value has which lane."""
    phantom = cell(200, 20, values=5, plant="phantom")
    sound = cell(200, 4, values=5)
    joined = EncodedKeys.of([phantom, sound, phantom, sound])
    verdicts = [each and each.verdict for each in jit_bitset_keys(joined)]
    assert verdicts[1] is verdicts[3] is Verdict.VALID
    assert verdicts[0] in (None, Verdict.INVALID)


@pytest.mark.parametrize("values", [5, None])
@pytest.mark.parametrize("plant", ["none", "phantom", "burst"])
def test_long_histories(values: int | None, plant: Plant) -> None:
    history = cell(20_000, 4, values=values, plant=plant)
    decision = jit_bitset(history, Budget())
    assert decision is not None and decision.method == METHOD
    assert decision.verdict is (Verdict.VALID if plant == "none" else Verdict.INVALID)


def test_what_it_does_not_decide() -> None:
    def writes(count: int) -> EncodedHistory:
        rows = range(count)
        kind, a = [Kind.WRITE] * count, [-1] * count
        return encoded_of(list(rows), [count + row for row in rows], kind, a, list(rows))

    assert by_sets(writes(SLOTS)) is not None
    assert by_sets(writes(SLOTS + 1)) is None, "more open at once than it has slots"
    assert jit_bitset(writes(70), Budget()) is None
    many = LANES + 1
    values = " ".join(f"{2 * each}-{2 * each + 1}:w{each}" for each in range(1, many))
    assert verdict_of(values) is Verdict.VALID, "many values, one after the other"
    assert jit_bitset(encoded_of([0], [1], [Kind.ENQUEUE], [-1], [1]), Budget()) is None, "no cell"
    assert jit_bitset(encoded_of([], [], [], [], []), Budget()) is None


def test_a_budget_bounds_it() -> None:
    history = cell(5_000, 5, values=None)
    assert jit_bitset(history, Budget()) is not None
    assert jit_bitset(history, Budget(0.0)) is None
    assert jit_bitset_keys(EncodedKeys.of([history]), most=4_000) == [None]
