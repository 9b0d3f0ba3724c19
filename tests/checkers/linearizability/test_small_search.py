"""The search over few operations, against brute force; and what it tells of an order's end."""

import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from checkers.linearizability.decision import Budget
from checkers.linearizability.encoded import NEVER, EncodedHistory
from checkers.linearizability.evidence.small_search import (
    OBSERVERS,
    End,
    Found,
    Move,
    Refuted,
    State,
    TooMuch,
    Trail,
    Walk,
    after,
)
from tests.checkers.linearizability import encoded_oracle
from tests.checkers.linearizability.encoded_oracle import (
    initial_state,
    is_legal_order,
    random_cell,
    random_known,
    random_queue,
    random_strings,
    written,
)
from tests.checkers.linearizability.refutations import (
    DEQ,
    EMPTY,
    ENQ,
    TAKE,
    C,
    D,
    R,
    W,
    X,
    history,
    move,
    texts,
)


def walk(
    encoded: EncodedHistory, members: Sequence[int], max_steps: int = 10_000, **options: Any
) -> Walk:
    """All other mutations are helpers."""
    others = [
        row
        for row in range(len(encoded))
        if row not in members and int(encoded.kind[row]) not in OBSERVERS
    ]
    chosen = [move(encoded, row, 1 << bit) for bit, row in enumerate(members)]
    helping = [move(encoded, row, 1 << bit, member=False) for bit, row in enumerate(others)]
    return Walk(encoded, [*chosen, *helping], max_steps, **options)


def found(encoded: EncodedHistory, members: Sequence[int], **options: Any) -> Found:
    return walk(encoded, members, **options).run({initial_state(encoded): None})


def rows(moves: Sequence[Move]) -> list[int]:
    return [each.row for each in moves]


@pytest.mark.parametrize(
    ("kind", "values", "state", "then"),
    [
        (R, (1,), 1, 1),
        (R, (1,), 2, None),
        (W, (3,), 1, 3),
        (C, (1, 2), 1, 2),
        (C, (1, 2), 3, None),
        (D, (1,), 2, 2),
        (D, (1,), 1, None),
        (X, (1, 4), 2, 4),
        (X, (1, 4), 1, None),
        (ENQ, (3,), (1,), (1, 3)),
        (DEQ, (1,), (1, 2), (2,)),
        (DEQ, (2,), (1, 2), None),
        (DEQ, (1,), (), None),
        (EMPTY, (-1,), (), ()),
        (EMPTY, (-1,), (1,), None),
        (TAKE, (-1,), (1, 2), (2,)),
        (TAKE, (-1,), (), None),
    ],
)
def test_one_operation(kind: Any, values: Any, state: State, then: State) -> None:
    encoded = history((0, 1, kind, *values))
    assert after(encoded, state, move(encoded, 0)) == then


def test_one_operation_of_a_model() -> None:
    encoded = texts((0, 1, "write", "a"), (2, 3, "read", "a"))
    states = [0, after(encoded, 0, move(encoded, 0))]
    assert states == [0, 1]
    assert [after(encoded, each, move(encoded, 1)) for each in states] == [None, 1]


# Against brute force


Reached = tuple[State, frozenset[int]]
"""A state, and the operations that took effect."""


def reached(encoded: EncodedHistory, members: Sequence[int], until: float) -> set[Reached]:
    """With all members that returned by then, with or without what else was invoked."""
    call, ret = encoded.call.tolist(), encoded.ret.tolist()
    rows = [
        row
        for row in range(len(encoded))
        if call[row] < until and (row in members or int(encoded.kind[row]) not in OBSERVERS)
    ]
    needed = {row for row in members if ret[row] < until}
    seen = {(initial_state(encoded), frozenset[int](), -1)}
    left = list(seen)
    while left:
        state, done, latest = left.pop()
        for row in rows:
            if row in done or ret[row] < latest:
                continue
            then = encoded_oracle.after(encoded, state, row)
            more = (then, done | {row}, max(latest, call[row]))
            if then is not None and more not in seen:
                seen.add(more)
                left.append(more)
    return {(state, done) for state, done, _ in seen if needed <= done}


def small(count: int) -> Iterator[tuple[EncodedHistory, list[int]]]:
    for seed in range(count):
        rng = random.Random(seed)
        size, clients = rng.randint(2, 6), rng.randint(2, 4)
        for encoded in (
            random_strings(rng, size, clients),
            random_known(rng, size, clients),
            random_queue(rng, size, clients),
            random_cell(rng, size, clients, 2),
        ):
            yield encoded, members_of(rng, encoded)


def members_of(rng: random.Random, encoded: EncodedHistory) -> list[int]:
    completed = [row for row in range(len(encoded)) if encoded.ret[row] != NEVER]
    return [row for row in completed if rng.random() < 0.7]


def test_what_is_found_is_what_brute_force_finds() -> None:
    refutations = orders = 0
    for encoded, members in small(80):
        refuted = found(encoded, members).refuted
        in_turn = sorted(members, key=lambda row: encoded.ret[row])
        failing = [row for row in in_turn if not reached(encoded, members, encoded.ret[row] + 0.5)]
        assert (refuted and refuted.row) == (failing[0] if failing else None)
        if refuted is None:
            order = found(encoded, members).order
            assert is_legal(encoded, order, set(members))
            orders += 1
        else:
            is_all(encoded, members, refuted)
            refutations += 1
    assert orders > 60 and refutations > 60


def is_all(encoded: EncodedHistory, members: Sequence[int], refuted: Refuted) -> None:
    """Every state, and every one that an order ends in, once: by how much is done there."""
    until = int(encoded.ret[refuted.row])
    ways = reached(encoded, members, until)
    assert sorted(map(str, refuted.states)) == sorted({str(state) for state, _ in ways})
    most: dict[State, int] = {}
    for state, done in ways:
        left = [row for row in members if encoded.call[row] < until and row not in done]
        if all(encoded_oracle.after(encoded, state, row) is None for row in left):
            most[state] = max(most.get(state, 0), len(done & set(members)))
    shown = [(end.state, sum(each.member for each in end.order)) for end in refuted.ends]
    assert dict(shown) == most and len(shown) == len(most)
    assert shown == sorted(shown, key=lambda each: -each[1])
    for end in refuted.ends:
        is_an_end(encoded, members, until, end)


def is_legal(encoded: EncodedHistory, order: Sequence[Move], members: set[int]) -> bool:
    """Some operations of the history, all those members among them."""
    chosen = sorted(rows(order))
    part = encoded.take(np.array(chosen, np.int64))
    places = [chosen.index(row) for row in rows(order)]
    return members <= set(chosen) and is_legal_order(part, places)


def is_an_end(encoded: EncodedHistory, members: Sequence[int], until: int, end: End) -> None:
    own = {each.row for each in end.order if each.member}
    state = initial_state(encoded)
    for each in end.order:
        state = encoded_oracle.after(encoded, state, each.row)
    assert state == end.state
    assert rows(end.stuck) == [
        each for each in sorted(members) if encoded.call[each] < until and each not in own
    ]
    assert is_legal(encoded, end.order, set())


# What is told


@pytest.mark.parametrize(
    ("operations", "members", "order"),
    [
        ("0-1:w1 2-3:r1", [1], [0, 1]),
        # others' writes that nobody sees are not told
        ("0-9:w1 1-9:w2 2-9:w3 3-4:r3", [3], [2, 3]),
        ("0-9:w1 1-9:c1>2 2-9:w3 3-4:r3", [3], [2, 3]),
        # an observer takes effect as soon as it can
        ("0-5:w1 1-8:r1 2-7:r1 6-9:w2", [0, 1, 2, 3], [0, 1, 2, 3]),
        ("0-1:d1 2-3:w1", [0, 1], [0, 1]),
        # the shortest way
        ("0-9:w1 1-8:c1>2 2-7:w2 3-4:r2", [3], [2, 3]),
        # nothing is told of what comes after the last member
        ("0-1:w1 2-3:r1 4-5:w2", [1], [0, 1]),
        # of those that do the same the one that returns first
        ("0-9:w1 1-5:w1 2-3:r1", [2], [1, 2]),
    ],
)
def test_the_order(operations: str, members: list[int], order: list[int]) -> None:
    encoded = written(operations)
    assert rows(found(encoded, members).order) == order


def ends(
    encoded: EncodedHistory, members: Sequence[int]
) -> list[tuple[State, list[int], list[int]]]:
    refuted = found(encoded, members).refuted
    assert refuted is not None
    return [(end.state, rows(end.order), rows(end.stuck)) for end in refuted.ends]


def test_ends_that_do_more_come_first_and_then_the_shorter() -> None:
    encoded = written("0-9:w1 1-9:w2 2-9:c1>3 3-8:r7 4-7:r2")
    assert ends(encoded, [3, 4]) == [(2, [1, 4], [3]), (1, [1, 4, 0], [3]), (3, [1, 4, 0, 2], [3])]
    encoded = written("0-20:w1 1-20:w2 3-8:r7 4-9:r2")
    assert ends(encoded, [2, 3]) == [(2, [1, 3], [2]), (1, [1, 3, 0], [2]), (0, [], [2, 3])]


def test_an_end_is_idle_where_others_come_last() -> None:
    encoded = written("0-9:w1 1-9:r1 2-9:w2 3-4:r7")
    own, other = move(encoded, 1), move(encoded, 2, member=False)
    orders = [], [own], [other], [own, other], [other, own]
    assert [End(0, order, []).is_idle for order in orders] == [False, False, True, True, False]


def test_an_order_may_begin_with_what_left_the_state() -> None:
    encoded = written("0-1:w1 2-3:c1>5 4-30:w2 5-31:r2 6-7:r5 8-9:r2")
    before: Trail = ((None, move(encoded, 0, member=False)), move(encoded, 1, member=False))
    assert rows(walk(encoded, [4, 5]).run({5: before}).order) == [0, 1, 4, 2, 5]
    # unless nobody saw it
    assert rows(walk(encoded, [5]).run({5: before}).order) == [2, 5]
    assert rows(walk(encoded, [3, 5]).run({0: None, 5: before}).order) == [2, 3, 5]


@pytest.mark.parametrize(
    ("operations", "members", "failing"),
    [
        ("0-30:w1 1-31:w2 2-7:w3 3-4:r1 5-6:r2 8-9:r1", [3, 4, 5], 5),
        ("0-30:w1 1-31:w2 2-7:w3 3-4:r1 5-6:r2 8-9:r3 10-11:r1", [3, 4, 5, 6], 6),
        ("0-30:w1 1-31:w2 2-7:w3 3-4:r1 5-6:r2 8-9:r3 10-11:r3", [3, 4, 5, 6], None),
    ],
)
def test_what_helps_takes_effect_once(
    operations: str, members: list[int], failing: int | None
) -> None:
    refuted = found(written(operations), members).refuted
    assert (refuted and refuted.row) == failing


@pytest.mark.parametrize(
    ("operations", "members", "steps"),
    [
        # of configurations that none is better than the best go on
        ("0-50:w1 1-50:w2 2-50:w3 3-5:r1 6-8:r2 9-11:r3", [3, 4, 5], 14),
        ("0-5:w1 1-7:w2 2-9:w3 10-11:r1", [3], 26),
        # of what does the same one is tried
        ("0-:w1 1-:w1 2-5:w2 6-7:r1 8-9:r2", [3, 4], 11),
        # what looks takes effect at once
        ("0-50:w1 1-40:r1 2-41:d0 3-42:w2 4-10:w1 5-12:c1>2 6-43:d2", range(7), 71),
        ("0-30:w1 1-31:w2 2-32:c1>2 3-33:r1 4-34:r2 5-7:w1 6-9:d1 8-10:r2", [0, 3, 4, 5, 6, 7], 66),
    ],
)
def test_steps_are_counted(operations: str, members: Sequence[int], steps: int) -> None:
    encoded = written(operations)
    search = walk(encoded, members)
    search.run({0: None})
    assert 10_000 - search.steps_left == steps
    found(encoded, members, max_steps=steps)
    with pytest.raises(TooMuch):
        found(encoded, members, max_steps=1)


def test_steps_of_a_string_are_counted() -> None:
    encoded = texts(
        (0, 20, "write", "a"), (1, 21, "append", "b"), (2, 22, "read", "ab"), (3, 5, "read", "a")
    )
    search = walk(encoded, [0, 2, 3])
    assert rows(search.run({0: None}).order) == [0, 3, 1, 2]
    assert 10_000 - search.steps_left == 15


def test_the_clock_is_looked_at_now_and_then() -> None:
    encoded = written("0-9:w1 1-9:w2 2-9:w3 3-4:r3")
    for steps in (2049, 4096):
        assert found(encoded, [3], max_steps=steps, budget=Budget(0)).refuted is None
    with pytest.raises(TooMuch):
        found(encoded, [3], max_steps=4097, budget=Budget(0))
    assert found(encoded, [3], max_steps=4097, budget=Budget(60)).refuted is None
