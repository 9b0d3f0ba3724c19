"""Orders laid out by what changes something, and the steps of a model that kernels read."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from checkers.linearizability.arrays.kinds import FOREVER
from checkers.linearizability.arrays.layout import laid_out
from checkers.linearizability.arrays.replay import is_legal
from checkers.linearizability.arrays.steps import (
    IMPOSSIBLE,
    UNKNOWN,
    answered,
    no_steps,
    nothing_wanted,
    step_of,
)
from checkers.linearizability.encoded import EncodedHistory, Transitions
from tests.checkers.linearizability.encoded_oracle import Strings, written
from tests.checkers.linearizability.refutations import texts


def rows(numbers: list[int]) -> np.ndarray:
    return np.array(numbers, np.int32)


@pytest.mark.parametrize(
    ("operations", "mutations", "order", "stuck", "missing"),
    [
        ("0-1:w1 2-3:r1 4-5:w2", [0, 2], [0, 1, 2], -1, [0, 0]),
        # what looks comes as soon as it fits, a change when a return needs it
        ("0-9:w1 1-8:r1 2-3:r0 4-7:d1 5-6:d0", [0], [2, 3, 0, 1, 4], -1, [0]),
        # writes that are not among them just before one that is
        ("0-9:w1 1-8:w2 2-7:w3 3-4:r3", [2], [0, 1, 2, 3], -1, [0]),
        # unless they leave the state as it is
        ("0-1:w1 2-5:w1 3-4:r1", [0], [0, 1, 2], -1, [0]),
        ("0-1:w1 2-9:c1>2 3-8:x1>3 4-7:r2", [0, 1, 2], [0, 1, 3, 2], -1, [0, 0, 0]),
        # each once, and just before no other change
        ("0-9:w2 1-4:w3 5-6:w4", [1, 2], [0, 1, 2], -1, [0, 0]),
        ("0-9:w2 1-2:c0>1", [1], [1], 0, [0]),
        ("0-1:w1 2-3:w0 4-5:r0", [0, 1], [0, 1, 2], -1, [0, 0]),
        # what never returned is left out
        ("0-:r0 1-2:r0", [], [1], -1, []),
        # what is not explained
        ("0-1:c0>1", [], [], 0, []),
        ("0-1:w1 2-3:r2", [0], [0], 1, [0]),
        ("0-1:c3>1 2-3:r0", [0], [], 0, [0]),
        ("0-1:r1 2-3:w1", [1], [], 0, [0]),
        ("0-1:w1 2-3:w2 4-5:r1", [0, 1], [0, 1], 2, [0, 0]),
        ("0-1:w1 2-3:r1", [0, 0], [0, 1], -1, [0, 0]),
        # pending ones that were not there: not yet, or used before
        ("0-1:r1 2-:w1 3-4:r1", [1], [1, 0, 2], -1, [1]),
        ("0-:w1 1-2:r1 3-4:w2 5-6:r1", [0, 2, 0], [0, 1, 2, 0, 3], -1, [0, 0, 1]),
        ("0-:w1 1-2:r1", [0], [0, 1], -1, [0]),
    ],
)
def test_an_order_of_a_cell(
    operations: str, mutations: list[int], order: list[int], stuck: int, missing: list[int]
) -> None:
    found, row, absent = laid_out(written(operations), rows(mutations))
    assert (found.tolist(), row, absent.tolist()) == (order, stuck, missing)


@pytest.mark.parametrize(
    ("since", "initial", "until", "mutations", "order", "stuck"),
    [
        (-1, 0, FOREVER, [0, 2], [0, 1, 2, 3], -1),
        (-1, 0, 5, [0, 2], [0, 1, 2], -1),
        (-1, 0, 4, [0], [0, 1], -1),
        (3, 1, FOREVER, [2], [2, 3], -1),
        (3, 2, FOREVER, [], [2, 3], -1),
        (5, 2, FOREVER, [], [3], -1),
        (5, 1, FOREVER, [], [], 3),
        (6, 1, FOREVER, [], [], -1),
    ],
)
def test_a_part_of_an_order(
    since: int, initial: int, until: int, mutations: list[int], order: list[int], stuck: int
) -> None:
    encoded = written("0-1:w1 2-3:r1 4-5:w2 6-7:r2")
    found, row, _ = laid_out(encoded, rows(mutations), None, initial, since, until)
    assert (found.tolist(), row) == (order, stuck)


def asked(encoded: EncodedHistory, size: int, *steps: tuple[int, int]) -> np.ndarray:
    wanted = nothing_wanted(len(steps))
    for at, (state, action) in enumerate(steps):
        wanted[at].state, wanted[at].action = state, action
    table, made, _ = answered(no_steps(size), wanted, 0, encoded)
    assert made == len(steps)
    return table


def abc() -> EncodedHistory:
    return texts(
        (0, 1, "write", "a"), (2, 9, "read", "ab"), (3, 4, "append", "b"), (5, 6, "read", "a")
    )


def test_steps_are_asked_once_and_kept() -> None:
    encoded, wanted = abc(), nothing_wanted(3)
    for at, (state, action) in enumerate([(0, 0), (0, 2), (0, 1)]):
        wanted[at].state, wanted[at].action = state, action
    table, made, greatest = answered(no_steps(2), wanted, 0, encoded)
    assert (len(table), made, greatest) == (8, 3, 2)
    assert [step_of(table, 0, action) for action in range(4)] == [1, IMPOSSIBLE, 2, UNKNOWN]
    more = nothing_wanted(2)
    more[0].state, more[0].action = 1, 2
    more[1].state, more[1].action = 1, 3
    table, made, greatest = answered(table, more, made, encoded)
    assert (len(table), made, greatest) == (16, 5, 3)
    found = [step_of(table, *step) for step in ((0, 0), (0, 1), (0, 2), (1, 2), (1, 3), (2, 0))]
    assert found == [1, IMPOSSIBLE, 2, 3, 1, UNKNOWN]
    same, made, greatest = answered(table, nothing_wanted(0), 8, encoded)
    assert (same is table, made, greatest) == (True, 8, 0)


class Sums(Transitions):
    initial = 0

    def step(self, state: int, action: int) -> int:
        return state + action

    def describe(self, state: int) -> str:
        return str(state)


def test_steps_stay_what_they_are_where_a_table_grows() -> None:
    encoded = replace(abc(), transitions=Sums())
    table, made = no_steps(1), 0
    assert step_of(table, 3, 7) == UNKNOWN
    for state in range(16):
        wanted = nothing_wanted(16)
        wanted["state"], wanted["action"] = state, range(16)
        table, made, greatest = answered(table, wanted, made, encoded)
        assert (made, greatest) == (16 * (state + 1), state + 15)
    assert len(table) == 512
    for state, action in product(range(16), repeat=2):
        assert step_of(table, state, action) == state + action
    assert step_of(table, 16, 0) == step_of(table, 0, 16) == UNKNOWN != IMPOSSIBLE


def test_many_steps_share_a_table() -> None:
    model = Strings([("append", "x")])
    encoded = texts((0, 1, "append", "x"))
    encoded = EncodedHistory(
        encoded.call, encoded.ret, encoded.kind, encoded.a, encoded.b, transitions=model
    )
    table = asked(encoded, 1, *((state, 0) for state in range(100)))
    assert len(table) == 256
    assert [step_of(table, state, 0) for state in range(101)] == [*range(1, 101), UNKNOWN]


def test_an_order_of_a_model() -> None:
    encoded = abc()
    table = asked(encoded, 16, (0, 0), (0, 1), (0, 3), (1, 1), (1, 2), (1, 3), (2, 1), (2, 3))
    found, stuck, _ = laid_out(encoded, rows([0, 2]), table)
    assert (found.tolist(), stuck) == ([0, 2, 1], 3)
    without = encoded.take(np.arange(3))
    assert is_legal(without, found, table) and not is_legal(without, np.arange(3), table)
