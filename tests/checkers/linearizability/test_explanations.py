"""The evidence for a refutation: few operations, each needed, that nothing else can explain."""

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

from benchmarks.histories import cell, queue
from checkers.linearizability.decide import decide
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import NEVER, EncodedHistory, Ints
from checkers.linearizability.evidence.explain import MOST_SHOWN, explain
from checkers.linearizability.evidence.relaxed import Relaxing
from checkers.linearizability.evidence.shrink import pending_outside, shrink
from checkers.linearizability.evidence.small_search import OBSERVERS
from checkers.linearizability.methods.fifo import fifo
from checkers.linearizability.methods.unique_writes.method import unique_writes
from framework.verdict import Verdict
from tests.checkers.linearizability.encoded_oracle import (
    State,
    after,
    initial_state,
    linearizable,
    random_cell,
    random_known,
    random_queue,
    random_strings,
)
from tests.checkers.linearizability.refutations import (
    DEQ,
    EMPTY,
    ENQ,
    TAKE,
    C,
    D,
    R,
    Spec,
    W,
    history,
    invalid,
    table_of,
)


def is_explained(encoded: EncodedHistory, members: Sequence[int]) -> bool:
    """Brute force: the members have to take effect, other mutations may within their own time."""
    own = {int(row) for row in members}
    rows = [row for row in range(len(encoded)) if row in own or encoded.kind[row] not in OBSERVERS]
    call, ret = encoded.call.tolist(), encoded.ret.tolist()

    @cache
    def explore(state: State, left: frozenset[int]) -> bool:
        deadline = min((ret[row] for row in left if row in own), default=None)
        if deadline is None:
            return True
        for row in left:
            then = after(encoded, state, row) if call[row] < deadline else None
            if then is not None:
                # What is not a member and had returned by then can no longer happen.
                rest = {each for each in left if each in own or ret[each] > call[row]}
                if explore(then, frozenset(rest) - {row}):
                    return True
        return False

    return explore(initial_state(encoded), frozenset(rows))


def small_histories(count: int) -> Iterator[EncodedHistory]:
    for seed in range(count):
        rng = random.Random(seed)
        yield random_strings(rng, rng.randint(1, 8), rng.randint(1, 4))
        yield random_known(rng, rng.randint(1, 8), rng.randint(1, 4))
        yield random_queue(rng, rng.randint(1, 8), rng.randint(1, 4))
        yield random_cell(rng, rng.randint(1, 8), rng.randint(1, 4), rng.randint(1, 3))


def completed(encoded: EncodedHistory) -> Ints:
    return np.flatnonzero(encoded.ret != NEVER)


# The set


@pytest.mark.parametrize(
    ("operations", "fewest"),
    [
        pytest.param(
            [(0, 1, W, 1), (2, 3, W, 2), (4, 5, R, 1)], {1, 2}, id="a value that was overwritten"
        ),
        pytest.param([(0, 1, W, 1), (2, 3, R, 7)], {1}, id="a value that nobody wrote"),
        pytest.param(
            [(0, 9, W, 1), (1, 8, W, 2), (2, 3, R, 1), (4, 5, R, 2), (6, 7, R, 1)],
            {2, 3, 4},
            id="back and forth between two writes",
        ),
        pytest.param(
            [(0, 1, W, 5), (2, 3, C, 0, 1), (4, 5, R, 1)],
            {0, 1},
            id="a cas from what was overwritten",
        ),
        pytest.param(
            [(0, None, W, 1), (1, 2, W, 2), (3, 4, R, 1), (5, 6, W, 2), (7, 8, R, 1)],
            {2, 3, 4},
            id="a pending write takes effect once",
        ),
        pytest.param(
            [(0, 1, W, 2), (2, 3, W, 1), (4, 5, D, 1)], {1, 2}, id="nothing changes it again"
        ),
        pytest.param(
            [(0, 1, ENQ, 1), (2, 3, ENQ, 2), (4, 5, DEQ, 2), (6, 7, DEQ, 1)],
            {2, 3},
            id="last in, first out",
        ),
        pytest.param([(0, 1, ENQ, 1), (2, 3, EMPTY, -1)], {0, 1}, id="a value was lost"),
        pytest.param(
            [(0, 1, ENQ, 1), (2, 3, DEQ, 1), (4, 5, ENQ, 3), (6, 7, DEQ, 1)],
            {1, 3},
            id="a value came twice",
        ),
        pytest.param(
            [(0, 1, ENQ, 1), (2, None, TAKE, -1), (3, 4, ENQ, 2), (5, 6, EMPTY, -1)],
            {0, 2, 3},
            id="one pending dequeue took one value",
        ),
    ],
)
def test_the_fewest_operations_are_found(operations: list[Spec], fewest: set[int]) -> None:
    encoded = history(*operations)
    found = shrink(encoded, invalid(encoded, culprit=max(fewest)))
    assert set(found.tolist()) == fewest
    assert not is_explained(encoded, found.tolist())


def test_on_random_histories_the_set_is_a_proof_and_each_of_it_is_needed() -> None:
    refuted = 0
    for encoded in small_histories(250):
        if linearizable(encoded):
            continue
        refuted += 1
        relaxing = Relaxing(encoded)
        found = shrink(encoded, invalid(encoded))
        assert not is_explained(encoded, found.tolist()), encoded
        for row in found:
            rest = found[found != row]
            assert not len(rest) or relaxing.refuted(rest) is None, encoded
    assert refuted > 200


def test_any_set_that_is_refuted_has_no_order_by_brute_force() -> None:
    """And no set of all completed operations is refuted that has one."""
    refuted = explained = 0
    for seed, encoded in enumerate(small_histories(250)):
        rng = random.Random(seed)
        relaxing = Relaxing(encoded)
        whole = completed(encoded)
        assert (relaxing.refuted(whole) is None) is linearizable(encoded), encoded
        some = np.array([row for row in whole if rng.random() < 0.5], np.int64)
        if relaxing.refuted(some) is not None:
            assert not is_explained(encoded, some.tolist()), encoded
            refuted += 1
        else:
            explained += 1
    assert refuted > 50 and explained > 50


def test_relaxing_for_methods_is_sound_too() -> None:
    """They know no operation that may take effect within its time: it is pending for them."""
    refuted = 0
    for seed, encoded in enumerate(small_histories(150)):
        rng = random.Random(seed)
        some = np.array([row for row in completed(encoded) if rng.random() < 0.7], np.int64)
        if len(some) and not linearizable(pending_outside(encoded, some)):
            assert not is_explained(encoded, some.tolist()), encoded
            refuted += 1
    assert refuted > 20


def test_a_method_is_asked_about_what_is_too_large_to_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("checkers.linearizability.evidence.shrink._candidates", lambda *_: iter(()))
    monkeypatch.setattr("checkers.linearizability.evidence.shrink._grown", lambda *_: None)

    def asked(encoded: EncodedHistory, budget: Budget) -> Decision:
        verdict = Verdict.VALID if linearizable(encoded) else Verdict.INVALID
        return Decision(verdict, "brute force")

    encoded = history((0, 1, W, 3), (2, 3, W, 1), (4, 5, W, 2), (6, 7, R, 1), (8, 9, R, 2))
    assert shrink(encoded, invalid(encoded, 3), asked).tolist() == [2, 3]
    assert shrink(encoded, invalid(encoded, 3), None).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("clients", [5, 100])
def test_of_a_stale_read_among_thousands_few_are_left(clients: int, seed: int) -> None:
    encoded = cell(20_000, clients, info=0.05, plant="stale", seed=seed)
    decision = unique_writes(encoded, Budget(60))
    assert decision is not None and decision.verdict is Verdict.INVALID
    found = shrink(encoded, decision, budget=Budget(60))
    assert 2 <= len(found) <= 4
    assert Relaxing(encoded).refuted(found) is not None


def test_more_surprises_than_pending_operations_can_explain() -> None:
    """Every one of them is needed: the pending operations explain all but one."""
    encoded = cell(1000, 5, values=5, info=0.05, plant="burst", seed=2)
    found = shrink(encoded, invalid(encoded, culprit=913), budget=Budget(20))
    assert [int(kind) for kind in encoded.kind[found]] == [W, R] * 7
    assert set(encoded.b[found[::2]].tolist()) == {1} and set(encoded.a[found[1::2]].tolist()) == {
        2
    }


@pytest.mark.parametrize("plant", ["swap", "lost", "repeat", "empty"])
def test_of_a_queue_few_are_left(plant: Any) -> None:
    encoded = queue(5000, 20, plant=plant, seed=3)
    decision = fifo(encoded, Budget(20))
    assert decision is not None and decision.verdict is Verdict.INVALID
    found = shrink(encoded, decision, budget=Budget(20))
    assert len(found) <= 4
    assert Relaxing(encoded).refuted(found) is not None


def test_without_time_it_is_all_that_completed_until_the_culprit_did() -> None:
    encoded = history((0, 1, W, 1), (2, 3, W, 2), (4, 5, R, 1), (6, 7, R, 2))
    assert shrink(encoded, invalid(encoded, culprit=2), budget=Budget(0)).tolist() == [0, 1, 2]


# The text


def test_a_stale_read_in_words() -> None:
    encoded = history((0, 1, W, 1), (2, 3, R, 1), (4, 5, W, 2), (6, 9, W, 3), (7, 8, R, 1))
    finding = explain(table_of(encoded), encoded, invalid(encoded))
    assert finding.message.splitlines() == [
        "no order of the operations explains read -> 1 (index 7 to 8, process 4)",
        "2 operations are enough, whatever the other 3 of the key did in their own time, or not "
        "at all.",
        "An order gets this far, and then the value is 2:",
        "  1. write 2 (index 4 to 5, process 2)",
        "What has to come next, and cannot:",
        "  read -> 1 (index 7 to 8, process 4) needs 1, but the value is 2",
        "    write 1 (index 0) had returned (index 1) before write 2 (index 4) was invoked",
    ]
    assert list(finding.operations) == [0, 4, 7]


def test_a_pending_operation_that_could_matter_is_named() -> None:
    encoded = history((0, None, W, 1), (1, 2, W, 2), (3, 4, R, 1), (5, 6, W, 2), (7, 8, R, 1))
    finding = explain(table_of(encoded), encoded, invalid(encoded))
    assert "1. write 1 -> no completion (index 0, process 0), one of the others" in finding.message
    assert (
        "write 1 -> no completion (index 0) is number 1 of the order, and number 3, "
        "write 2 (index 5), comes after it" in finding.message
    )
    assert 0 in finding.operations


def test_earlier_writes_of_a_repeated_value_are_counted() -> None:
    writes = [(2 * i, 2 * i + 1, W, 1) for i in range(50)]
    encoded = history(*writes, (100, 101, W, 2), (102, 103, R, 1))
    finding = explain(table_of(encoded), encoded, invalid(encoded))
    assert "and so had 49 earlier ones that lead to it" in finding.message
    assert len(finding.operations) == 3


def test_two_values_that_exclude_each_other_in_words() -> None:
    encoded = history(
        (0, 20, W, 1), (1, 21, W, 2), (2, 3, R, 1), (4, 5, R, 2), (6, 7, R, 1), (8, 9, R, 2)
    )
    finding = explain(table_of(encoded), encoded, invalid(encoded))
    assert "Each of 2 and 1 was written once at most" in finding.message
    assert (
        "read -> 2 (index 4) returned before read -> 1 (index 6) was invoked, and "
        "read -> 1 (index 6) before read -> 2 (index 8)." in finding.message
    )


def test_words_of_a_set_and_of_topics() -> None:
    encoded = history((0, 1, C, 0, 1), (2, 3, R, 0))
    named = EncodedHistory(
        encoded.call, encoded.ret, encoded.kind, encoded.a, encoded.b, 0, ["false", "true"]
    )
    finding = explain(table_of(encoded), named, invalid(encoded), model="set")
    assert "needs it to be not in the set, but it is in the set" in finding.message
    named = EncodedHistory(
        encoded.call, encoded.ret, encoded.kind, encoded.a, encoded.b, 0, ["null", '"i7"']
    )
    finding = explain(table_of(encoded), named, invalid(encoded), model="topics")
    assert 'needs it to be absent, but it is present with id "i7"' in finding.message


def test_every_random_refutation_is_explained() -> None:
    """The picture's order is legal as far as it goes, and what fails comes after it."""
    seen = 0
    for encoded in small_histories(120):
        if linearizable(encoded):
            continue
        seen += 1
        finding = explain(table_of(encoded), encoded, invalid(encoded), Budget(20))
        assert finding.picture is not None, encoded
        bars: Any = finding.picture["bars"]
        row_of = {int(call): row for row, call in enumerate(encoded.call)}
        order = sorted((bar for bar in bars if bar["place"]), key=lambda bar: bar["place"])
        assert [bar["place"] for bar in order] == list(range(1, len(order) + 1))
        latest = -1
        for bar in order:
            assert bar["end"] is None or bar["end"] > latest
            latest = max(latest, bar["index"])
        stuck = [bar for bar in bars if bar["fails"]]
        assert stuck and all(bar["member"] and bar["place"] is None for bar in stuck)
        state: Any = initial_state(encoded)
        for bar in order:
            state = after(encoded, state, row_of[bar["index"]])
            if state is None:
                break  # the value that it begins with was left by somebody who is not told
        else:
            assert all(after(encoded, state, row_of[bar["index"]]) is None for bar in stuck)
    assert seen > 80


# What goes wrong


def test_what_cannot_be_looked_up_is_reported_by_its_index() -> None:
    encoded = history((0, 1, W, 1), (2, 3, W, 2), (4, 5, R, 1))

    def source(ops: Sequence[int]) -> Sequence[Mapping[str, Any]]:
        raise OSError("gone")

    finding = explain(source, encoded, invalid(encoded, culprit=2, involved=[1, 2]))
    assert finding.message.startswith(
        "no order of the operations explains the operation of index 4"
    )
    assert list(finding.operations) == [4, 2]
    assert finding.picture is None


def test_a_failing_explanation_leaves_the_plain_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: Any) -> Any:
        raise ZeroDivisionError

    encoded = history((0, 1, W, 1), (2, 3, W, 2), (4, 5, R, 1))
    monkeypatch.setattr("checkers.linearizability.evidence.explain.shrink", fails)
    finding = explain(table_of(encoded), encoded, invalid(encoded, culprit=2, involved=[1, 2]))
    assert finding.message == (
        "no order of the operations explains read -> 1 (index 4 to 5, process 2). "
        "Beside it: write 2 (index 2 to 3, process 1)"
    )
    assert list(finding.operations) == [4, 2]


def test_too_many_to_read_are_not_reported_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checkers.linearizability.evidence.shrink._candidates", lambda *_: iter(()))
    monkeypatch.setattr("checkers.linearizability.evidence.shrink._grown", lambda *_: None)
    writes = [(2 * i, 2 * i + 1, W, i) for i in range(1, MOST_SHOWN + 2)]
    encoded = history(*writes, (500, 501, R, 1))
    finding = explain(table_of(encoded), encoded, invalid(encoded, culprit=len(encoded) - 1))
    assert finding.message.startswith("no order of the operations explains read -> 1")
    assert finding.picture is None


@pytest.mark.parametrize("seed", [1, 2])
def test_what_a_refutation_by_counting_found_is_reported_by_few(seed: int) -> None:
    """Its culprit may come before what makes the violation plain."""
    encoded = cell(1000, 5, values=5, info=0.05, plant="burst", seed=seed)
    decision = decide(encoded, Budget(60)).decision
    assert decision.verdict is Verdict.INVALID
    finding = explain(table_of(encoded), encoded, decision, Budget(60))
    assert finding.picture is not None
    bars: Any = finding.picture["bars"]
    assert len([bar for bar in bars if bar["member"]]) <= 20
