"""What may help a few operations, and in which states they may begin."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from checkers.linearizability.encoded import NEVER, EncodedHistory, Kind
from checkers.linearizability.evidence import relaxed
from checkers.linearizability.evidence.relaxed import Relaxing
from checkers.linearizability.evidence.small_search import (
    OTHER,
    Found,
    Move,
    State,
    TooMuch,
    Trail,
    Walk,
)
from tests.checkers.linearizability.encoded_oracle import encoded_of, written
from tests.checkers.linearizability.refutations import DEQ, ENQ, TAKE, C, R, Spec, W, history, texts

Begun = tuple[list[tuple[int, int]], dict[State, int | None]]
"""The helpers, with what each leaves; and by state the operation that left it."""
Begins = Callable[..., Begun]


@pytest.fixture
def begins(monkeypatch: pytest.MonkeyPatch) -> Begins:
    """What a search of those members begins with."""
    moves: list[Move] = []
    starts: dict[State, int | None] = {}

    class Watched(Walk):
        def __init__(self, encoded: EncodedHistory, given: Sequence[Move], most: int) -> None:
            super().__init__(encoded, given, most)
            moves.extend(given)

        def run(self, begun: Mapping[State, Trail]) -> Found:
            starts.update(
                {state: trail[1].row if trail else None for state, trail in begun.items()}
            )
            return Found()

    def watched(encoded: EncodedHistory, given: Sequence[Move], most: int, budget: object) -> Walk:
        return Watched(encoded, given, most)

    def begun(encoded: EncodedHistory, *members: int) -> Begun:
        monkeypatch.setattr(relaxed, "Walk", watched)
        Relaxing(encoded).search(np.array(members, np.int64), 10)
        own, helping = moves[: len(members)], moves[len(members) :]
        assert [(each.row, each.member) for each in own] == [(row, True) for row in members]
        for some in (own, helping):
            assert [each.bit for each in some] == [1 << place for place in range(len(some))]
        assert not any(each.member for each in helping)
        return [(each.row, each.b) for each in helping], starts

    return begun


@pytest.mark.parametrize(
    ("operations", "members", "helpers", "starts"),
    [
        # what leaves the value that is sought: returned before (the last of them), or open
        (
            "0-1:w1 2-3:w1 4-5:w2 6-20:w1 8-9:r1 10-11:w1",
            [4],
            [(3, 1)],
            {1: 1, 0: None},
        ),
        ("0-4:w1 1-3:w1 8-9:r1", [2], [], {1: 0, 0: None}),
        # and by what that came about
        (
            "0-9:c2>1 1-8:c3>2 2-7:w3 3-6:w4 4-5:r1",
            [4],
            [(0, 1), (1, 2), (2, 3)],
            {0: None},
        ),
        # the latest state first, the initial one last unless somebody left it
        ("0-1:w1 2-3:w2 4-5:w3 10-11:r2 12-13:c3>4", [3, 4], [], {3: 2, 2: 1, 0: None}),
        ("0-1:w1 2-3:w2 10-11:r2 12-13:r1 14-15:r1", [2, 3, 4], [], {2: 1, 1: 0, 0: None}),
        ("0-1:w2 2-3:w0 10-11:r0 12-13:r2", [2, 3], [], {0: 1, 2: 0}),
        # members do not help themselves
        ("0-1:w1 2-3:w1 4-5:r1", [1, 2], [], {1: 0, 0: None}),
        ("0-1:w1 4-5:r1", [0, 1], [], {0: None}),
        # nothing takes a value away that somebody seeks, unless it is sought that it is gone
        ("0-1:w1 2-30:w2 10-11:r1", [2], [], {1: 0, 0: None}),
        (
            "0-1:w1 2-30:w2 3-:w3 4-:w3 5-:w3 6-30:w4 10-11:d1 12-13:r9",
            [6, 7],
            [(1, OTHER), (2, OTHER), (3, OTHER), (5, OTHER)],
            {1: 0, 0: None},
        ),
        ("0-1:w1 2-3:w5 4-5:w6 6-7:w1 10-11:d1", [4], [], {1: 3, OTHER: 2, 0: None}),
        (
            "0-1:w1 2-3:w5 4-30:c6>2 5-:w3 6-:c1>5 10-11:x1>4 12-13:r9",
            [5, 6],
            [(3, OTHER), (4, OTHER)],
            {OTHER: 1, 1: 0, 0: None},
        ),
        ("0-1:w1 2-30:w7 10-11:x1>4", [2], [(1, OTHER)], {1: 0, 0: None}),
        (
            "0-1:w1 2-30:w2 3-31:w9 10-11:d1 12-13:r9",
            [3, 4],
            [(2, 9), (1, OTHER)],
            {1: 0, 0: None},
        ),
        # a change that helps needs that, too; and what it leaves is not told twice
        ("0-30:x3>1 1-29:w4 10-11:r1", [2], [(0, 1), (1, OTHER)], {0: None}),
        ("0-30:x3>1 1-29:w3 10-11:r1 12-40:w4", [2], [(0, 1), (1, 3)], {0: None}),
        ("0-9:w4 10-30:w4 11-12:d1 13-14:r7", [2, 3], [(1, OTHER)], {OTHER: 0, 0: None}),
    ],
)
def test_of_a_cell(
    begins: Begins,
    operations: str,
    members: list[int],
    helpers: list[tuple[int, int]],
    starts: dict[State, int | None],
) -> None:
    found, begun = begins(written(operations), *members)
    assert found == helpers
    assert list(begun.items()) == list(starts.items())


PUT: list[Spec] = [(0, 1, ENQ, 1), (2, 3, ENQ, 2), (4, 5, DEQ, 1)]
TAKEN: list[Spec] = [(6, None, TAKE, -1), (7, None, TAKE, -1)]


def test_of_a_queue(begins: Begins) -> None:
    encoded = history(*PUT, *TAKEN, (8, 9, DEQ, 2), (10, 11, ENQ, 2))
    assert begins(encoded, 5) == ([(3, -1), (1, 2)], {(): None})


def test_of_what_is_put_into_a_queue(begins: Begins) -> None:
    encoded = history(*PUT, *TAKEN, (8, 9, ENQ, 1))
    assert begins(encoded, 0, 5) == ([(3, -1), (4, -1), (2, -1)], {(): None})


def test_of_a_string(begins: Begins) -> None:
    encoded = texts(
        (0, 1, "write", "a"), (2, 5, "read", "b"), (3, 4, "append", "c"), (6, 7, "write", "a")
    )
    assert begins(encoded, 1) == ([(0, -1), (2, -1)], {0: None})


# By value


def test_what_leaves_a_value() -> None:
    relaxing = Relaxing(written("0-1:w1 2-3:c1>2 4-5:r2 6-7:x1>2 8-9:w2 10-11:d2"))
    assert relaxing.leaving(2, 8).tolist() == [1, 3]
    assert relaxing.leaving(2, 9).tolist() == [1, 3, 4]
    assert relaxing.leaving(1, 9).tolist() == [0]
    assert relaxing.leaving(3, 9).tolist() == []
    assert relaxing.mutations(8).tolist() == [0, 1, 3]
    assert relaxing.mutations(9).tolist() == [0, 1, 3, 4]


def test_what_moves_a_value_in_a_queue() -> None:
    relaxing = Relaxing(history(*PUT, *TAKEN))
    assert relaxing.leaving(1, 9).tolist() == [0, 2]
    assert relaxing.leaving(OTHER, 9).tolist() == [3, 4]


def test_which_model_it_is() -> None:
    def models(encoded: EncodedHistory) -> tuple[bool, bool]:
        return Relaxing(encoded).is_cell, Relaxing(encoded).is_queue

    assert models(written("0-1:w1 2-3:r1 4-5:d1 6-7:c1>2 8-9:x1>2")) == (True, False)
    assert models(history((0, 1, ENQ, 1))) == (False, True)
    assert models(texts((0, 1, "write", "a"))) == (False, False)


# What it may cost


def search(relaxing: Relaxing, *members: int, most: int = 1000) -> Found:
    return relaxing.search(np.array(members, np.int64), most)


def test_nobody_contradicts_nothing() -> None:
    relaxing = Relaxing(written("0-1:w1"), all_steps=0)
    assert search(relaxing) == Found()


def test_a_search_begins_with_one_step_left_and_with_none_no_more() -> None:
    encoded = written("0-1:r0")
    assert search(Relaxing(encoded, all_steps=1), 0).refuted is None
    with pytest.raises(TooMuch):
        search(Relaxing(encoded, all_steps=0), 0)


def test_every_search_costs_its_steps_and_some_more() -> None:
    relaxing = Relaxing(written("0-9:w1 1-9:w2 2-9:w3 3-4:r3"), all_steps=1000)
    assert search(relaxing, 3).refuted is None
    assert relaxing.steps_left == 498
    with pytest.raises(TooMuch):
        search(relaxing, 0, 1, 2, 3, most=0)
    assert relaxing.steps_left == -3
    with pytest.raises(TooMuch):
        search(relaxing, 3)
    assert relaxing.steps_left == -3


def pending(what: str, count: int) -> str:
    return " ".join(f"{each}-:{what}" for each in range(count))


def test_no_more_pending_ones_that_do_the_same_than_there_are_members(begins: Begins) -> None:
    found, _ = begins(written(f"{pending('w1', 500)} 500-501:r1 502-503:r1"), 500, 501)
    assert found == [(0, 1), (1, 1)]


@pytest.mark.parametrize(("kind", "a", "is_too_much"), [(W, -1, False), (C, 3, True)])
def test_of_very_many_pending_ones_only_writes_are_alike(
    kind: Kind, a: int, is_too_much: bool
) -> None:
    count = 20_001
    last = [R], [1], [-1]
    columns = [kind] * count + last[0], [a] * count + last[1], [1] * count + last[2]
    encoded = encoded_of(range(count + 1), [NEVER] * count + [count + 1], *columns)
    if is_too_much:
        with pytest.raises(TooMuch):
            search(Relaxing(encoded), count)
    else:
        assert search(Relaxing(encoded), count).refuted is None


def test_with_too_many_helpers_there_is_no_search(begins: Begins) -> None:
    def some(count: int) -> EncodedHistory:
        return written(" ".join(f"{i}-{1000 + i}:w1" for i in range(count)) + " 500-501:r1")

    assert len(begins(some(400), 400)[0]) == 400
    with pytest.raises(TooMuch):
        begins(some(401), 401)
