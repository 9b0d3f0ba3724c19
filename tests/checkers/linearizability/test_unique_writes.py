"""Registers of unique values: as brute force says, and every clause by an example."""

import random
from dataclasses import replace
from time import thread_time

import numpy as np
import pytest

from benchmarks.histories import Plant, cell
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import NEVER, EncodedHistory, Kind
from checkers.linearizability.methods.unique_writes.method import unique_writes
from framework.verdict import Verdict
from tests.checkers.linearizability.encoded_oracle import (
    encoded_of,
    is_legal_order,
    linearizable,
    shuffled_times,
    written,
)

MIXES = ((4, 3, 3, 2), (2, 5, 3, 1), (1, 6, 3, 0), (2, 4, 1, 4), (4, 0, 3, 3), (1, 6, 2, 2))
"""Shares of reads, failed cas, writes, cas."""


def small_cell(rng: random.Random) -> EncodedHistory:
    """A run of a register of unique values, with some lies."""
    count, clients = rng.randint(1, 11), rng.randint(1, 5)
    info, lies = rng.choice((0, 0.1, 0.3)), rng.choice((0, 0.1, 0.3))
    mix = rng.choice(MIXES)
    pending = [rng.random() < info for _ in range(count)]
    call, ret = shuffled_times(rng, count, clients, pending)
    kind, a, b = [0] * count, [-1] * count, [-1] * count
    ends = [2 * count if end == NEVER else end for end in ret]
    state, fresh, met = 0, 1, [0]
    for row in sorted(range(count), key=lambda row: rng.uniform(call[row], ends[row])):
        what = rng.choices((Kind.READ, Kind.DIFFERS, Kind.WRITE, Kind.CAS), mix)[0]
        if pending[row] and what < Kind.WRITE:
            what = Kind.WRITE
        lie = rng.random() < lies
        near = [*met[-3:], fresh, fresh + 1]
        kind[row] = what
        if what == Kind.DIFFERS:
            a[row] = rng.choice([value for value in near if lie or value != state])
        elif what != Kind.WRITE:
            a[row] = rng.choice(near) if lie else state
        if what >= Kind.WRITE:
            b[row] = fresh
            if not (pending[row] and rng.random() < 0.5) and not (lie and what == Kind.CAS):
                state = fresh
                met.append(fresh)
            fresh += 1
    return encoded_of(call, ret, kind, a, b)


def until(history: EncodedHistory, event: int) -> EncodedHistory:
    """What was known just after an event."""
    seen = history.take(np.flatnonzero(history.call <= event))
    return replace(seen, ret=np.where(seen.ret <= event, seen.ret, NEVER))


def decided(history: EncodedHistory) -> Decision:
    decision = unique_writes(history, Budget())
    assert decision is not None
    assert decision.method == "unique writes"
    return decision


@pytest.mark.parametrize("seed", range(24))
def test_agrees_with_brute_force(seed: int) -> None:
    rng = random.Random(seed)
    undecided, refuted = 0, 0
    for _ in range(100):
        history = small_cell(rng)
        decision = unique_writes(history, Budget(), order_anyway=rng.random() < 0.5)
        if decision is None:
            undecided += 1
            continue
        assert decision.verdict is (Verdict.VALID if linearizable(history) else Verdict.INVALID)
        if decision.order is not None:
            assert is_legal_order(history, decision.order)
        if decision.verdict is Verdict.INVALID:
            refuted += 1
            assert decision.culprit in decision.involved
            assert not linearizable(until(history, int(history.ret[decision.culprit])))
            alone = history.take(np.array(decision.involved))
            assert not linearizable(alone), "what is involved must suffice"
    assert refuted > 5
    assert undecided < 4


def test_culprits_of_values_are_the_earliest() -> None:
    rng = random.Random(5)
    refuted = 0
    for _ in range(1500):
        history = small_cell(rng)
        if (history.kind == Kind.DIFFERS).any():
            continue
        decision = decided(history)
        if decision.verdict is Verdict.INVALID:
            refuted += 1
            before = int(history.ret[decision.culprit]) - 1
            assert linearizable(until(history, before))
    assert refuted > 20


@pytest.mark.parametrize(
    ("text", "culprit", "clause"),
    [
        ("0-1:w1 2-3:r2", 1, "a value that nobody had written"),
        ("0-:w1 1-2:c0>2 3-4:c0>3", 2, "one value replaced by two compare-and-sets"),
        ("0-3:c2>1 1-4:c1>2", 0, "compare-and-sets in a cycle"),
        ("0-1:r1 2-3:w1", 0, "a value that nobody had written"),
        ("0-1:w1 2-3:c1>2 4-5:r1", 2, "a value's operations against real time"),
        ("0-1:w1 2-3:w2 4-5:r1", 2, "two values that would each have to come before the other"),
        ("0-9:w1 1-2:r1 3-4:w2 5-6:r1", 3, "two values that would each have to come before"),
        ("0-1:w1 2-3:d1", 1, "a compare-and-set that failed on a value that was there"),
        ("0-1:w1 2-3:d1 4-5:w2", 1, "a compare-and-set that failed on a value that was there"),
        ("0-9:w2 1-2:w1 3-5:d1 4-6:r1 7-8:r1", 4, "a compare-and-set that failed on"),
        ("0-1:c0>1 2-3:d1 4-5:c1>2", 1, "a compare-and-set that failed on a value that was there"),
        ("0-1:d0", 0, "a compare-and-set that failed on a value that was there all the time"),
    ],
)
def test_clauses(text: str, culprit: int, clause: str) -> None:
    history = written(text)
    assert not linearizable(history)
    decision = decided(history)
    assert decision.verdict is Verdict.INVALID
    assert decision.culprit == culprit
    assert decision.note.startswith(clause)


@pytest.mark.parametrize(
    "text",
    [
        "0-9:w1 1-2:r1 3-4:r1",
        "0-:w1 1-2:r0 3-4:r1",
        "0-:c0>1 1-2:c1>2 3-4:r2",
        "0-:c7>1 1-2:r0",
        "0-5:w1 1-6:w2 2-3:d1 7-8:r1",
        "0-1:w1 2-:w2 3-4:d1",
        "0-1:w1 2-:c1>2 3-4:d1",
        "0-1:w1 2-:c1>2 3-4:d1 5-6:w3 7-8:r3",
        "0-5:w1 3-4:w2 6-7:d1 8-10:d2 9-:w5",
        "0-1:w1 2-9:w2 3-4:d1 5-8:r2",
        "0-3:w1 1-2:w2 4-7:w3 5-6:d1 8-9:r3",
        "0-1:d5 2-:d0 3-:r8",
    ],
)
def test_what_only_a_fitting_order_explains(text: str) -> None:
    history = written(text)
    assert linearizable(history)
    decision = unique_writes(history, Budget(), order_anyway=True)
    assert decision is not None and decision.order is not None
    assert is_legal_order(history, decision.order)


@pytest.mark.parametrize(
    "text", ["0-1:w1 2-3:w1", "0-1:w0", "0-1:w1 2-:c1>1", "0-1:w1 2-3:r1 4-5:c1>0"]
)
def test_values_written_twice_are_for_others(text: str) -> None:
    assert unique_writes(written(text), Budget()) is None


def test_other_kinds_are_for_others() -> None:
    history = written("0-1:w1 2-3:r1")
    for kind in set(Kind) - {Kind.READ, Kind.DIFFERS, Kind.WRITE, Kind.CAS}:
        other = replace(history, kind=np.array([Kind.WRITE, kind], np.int8))
        assert unique_writes(other, Budget()) is None


def test_times_and_values_may_be_sparse() -> None:
    rng = random.Random(8)
    for _ in range(200):
        history = small_cell(rng)
        far = replace(
            history,
            call=history.call * 10**9,
            ret=np.where(history.ret == NEVER, NEVER, history.ret * 10**9),
            a=np.where(history.a > 0, history.a * 10**7, history.a).astype(np.int32),
            b=np.where(history.b > 0, history.b * 10**7, history.b).astype(np.int32),
        )
        one, other = unique_writes(history, Budget()), unique_writes(far, Budget())
        assert (one and (one.verdict, one.culprit)) == (other and (other.verdict, other.culprit))


def test_nothing_happened() -> None:
    assert decided(written("")).verdict is Verdict.VALID


@pytest.mark.parametrize("clients", [1, 5, 20, 100])
@pytest.mark.parametrize("info", [0, 0.05, 0.3])
def test_big_histories_are_accepted(clients: int, info: float) -> None:
    for seed in range(3):
        history = cell(5_000, clients, info=info, seed=seed)
        assert (history.kind == Kind.DIFFERS).sum() > 50 or clients == 1
        decision = decided(history)
        assert decision.verdict is Verdict.VALID
        if decision.order is not None:
            assert is_legal_order(history, decision.order)


@pytest.mark.parametrize("plant", ["phantom", "stale", "burst"])
@pytest.mark.parametrize("clients", [2, 5, 100])
@pytest.mark.parametrize("info", [0, 0.05])
def test_planted_violations_are_found(plant: Plant, clients: int, info: float) -> None:
    history = cell(20_000, clients, info=info, plant=plant)
    decision = decided(history)
    assert decision.verdict is Verdict.INVALID
    assert decision.culprit in decision.involved
    assert 17_500 < decision.culprit < 20_100
    smaller = unique_writes(history.take(np.array(decision.involved)), Budget())
    assert smaller is not None and smaller.verdict is Verdict.INVALID


def spoiled_again_and_again(chain: int, times: int) -> EncodedHistory:
    """A write and a long chain of pending cas, seen at the end only, that could begin earlier: each
    time that a failed cas needs another value. But then there is no place for the last failed cas
    of the chain, and a pending write has to do."""
    never, now, current = int(NEVER), chain + 1, 0
    rows = [(1 + at, never, Kind.CAS, 1 + at, 2 + at) for at in range(chain)]
    for number in range(times):
        rows.append((now, never, Kind.WRITE, -1, chain + 2 + number))
        rows.append((now + 1, now + 2, Kind.DIFFERS, current, -1))
        now, current = now + 3, chain + 2 + number
    rows += [(now + 2 * at, now + 2 * at + 1, Kind.DIFFERS, 1 + at, -1) for at in range(chain)]
    now += 2 * chain
    rows.append((now, now + 3, Kind.READ, chain, -1))
    rows.append((now + 1, now + 4, Kind.READ, chain + 1, -1))
    rows.append((0, now + 2, Kind.WRITE, -1, 1))
    return encoded_of(*(list(column) for column in zip(*rows, strict=True)))  # type: ignore[arg-type]


def test_a_long_chain_is_not_looked_at_again_and_again() -> None:
    """100,000 operations: to go along the chain each time would take several seconds."""
    unique_writes(spoiled_again_and_again(3, 3), Budget(60.0))
    encoded = spoiled_again_and_again(25_000, 25_000)
    began = thread_time()
    decision = unique_writes(encoded, Budget(60.0))
    assert thread_time() - began < 1.0
    assert decision is not None and decision.order is not None
    assert decision.verdict is Verdict.VALID and is_legal_order(encoded, decision.order)
