"""The models that are more than a cell, step by step."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from checkers.linearizability.encoded import EncodedHistory, Kind, Transitions
from checkers.linearizability.encoding.transitions import (
    IMPOSSIBLE,
    Queue,
    Strings,
    Topic,
    Word,
    ids_shown,
    kv_steps,
    queue_steps,
    topic_steps,
)
from tests.checkers.linearizability.encoded_oracle import encoded_of, written

READ, WRITE, APPEND = Word.READ, Word.WRITE, Word.APPEND


def walked(model: Transitions, actions: Sequence[int]) -> list[str]:
    """The states in words after each action; where one is impossible, the last but so."""
    state, described = model.initial, [model.describe(model.initial)]
    for action in actions:
        state = model.step(state, action)
        if state == IMPOSSIBLE:
            return [*described, "impossible"]
        described.append(model.describe(state))
    return described


# Strings

ACTIONS = [
    (READ, "abc"),
    (READ, "abd"),
    (READ, ""),
    (READ, None),
    (WRITE, "ab"),
    (APPEND, "c"),
    (APPEND, ""),
    (APPEND, "x"),
    (WRITE, ""),
    (APPEND, "a"),
    (APPEND, "b"),
]
LOST = "a string that nothing read begins with"


@pytest.mark.parametrize(
    ("actions", "described"),
    [
        ([2, 4, 5, 0], ['""', '""', '"ab"', '"abc"', '"abc"']),
        ([4, 0], ['""', '"ab"', "impossible"]),
        ([4, 5, 1], ['""', '"ab"', '"abc"', "impossible"]),
        ([0], ['""', "impossible"]),
        ([3], ['""', "impossible"]),
        ([4, 5, 5, 6, 7, 0], ['""', '"ab"', '"abc"', LOST, LOST, LOST, "impossible"]),
        ([4, 7, 8, 2], ['""', '"ab"', LOST, '""', '""']),
        ([9, 10, 5, 0, 6, 0], ['""', '"a"', '"ab"', *['"abc"'] * 4]),
        ([4, 4, 6], ['""', '"ab"', '"ab"', '"ab"']),
    ],
)
def test_strings(actions: list[int], described: list[str]) -> None:
    assert walked(Strings(ACTIONS), actions) == described


def test_strings_differ_only_as_far_as_they_are_read() -> None:
    model = Strings([(READ, "ab"), (WRITE, "x"), (WRITE, "y"), (WRITE, "ab"), (WRITE, "a")])
    assert model.step(0, 1) == model.step(0, 2) != model.step(0, 3)
    assert len({model.step(0, action) for action in (1, 2, 3, 4)}) == 3
    nothing = Strings([(WRITE, "x"), (WRITE, "")])
    assert nothing.describe(nothing.initial) == '""'
    assert nothing.describe(nothing.step(0, 0)) == LOST
    assert nothing.describe(nothing.step(0, 1)) == '""'


def test_operations_of_a_string() -> None:
    cells = encoded_of(
        [0, 2, 4, 6],
        [1, 3, 5, 7],
        [Kind.STEP, Kind.STEP, Kind.LOOK, Kind.LOOK],
        [-1, 2, 3, 4],
        [1, -1, -1, -1],
    )
    steps = kv_steps(replace(cells, values=['""', '"x"', '"y"', '"xy"', "7"], initial=3))
    assert steps.kind.tolist() == [Kind.STEP, Kind.STEP, Kind.LOOK, Kind.LOOK]
    assert (steps.b.tolist(), steps.initial) == ([-1] * 4, 0)
    assert len(set(steps.a.tolist())) == 4
    assert steps.transitions is not None
    assert walked(steps.transitions, steps.a.tolist()) == [
        '""',
        '"x"',
        '"xy"',
        '"xy"',
        "impossible",
    ]


# Queues

PUT, GET, EMPTY, TAKE = Kind.ENQUEUE, Kind.DEQUEUE, Kind.EMPTY, Kind.TAKE
QUEUE_ACTIONS = [(PUT, -1, 1), (PUT, -1, 700), (GET, 1, -1), (GET, 700, -1), (EMPTY, -1, -1)]
VALUES = ["null", '"one"', *map(str, range(2, 701))]


@pytest.mark.parametrize(
    ("actions", "described"),
    [
        ([4, 0, 1, 2, 3], ["[]", "[]", '["one"]', '["one", 700]', "[700]", "[]"]),
        ([0, 4], ["[]", '["one"]', "impossible"]),
        ([0, 3], ["[]", '["one"]', "impossible"]),
        ([1, 2], ["[]", "[700]", "impossible"]),
        ([2], ["[]", "impossible"]),
        ([5], ["[]", "impossible"]),
        ([1, 0, 5, 5, 4], ["[]", "[700]", '[700, "one"]', '["one"]', "[]", "[]"]),
    ],
)
def test_queues(actions: list[int], described: list[str]) -> None:
    assert walked(Queue([*QUEUE_ACTIONS, (TAKE, -1, -1)], VALUES), actions) == described


def test_long_queues_are_cut_short() -> None:
    described = walked(Queue(QUEUE_ACTIONS, VALUES), [0, 0, 0, 0, 1, 0])
    four = '"one", "one", "one", "one"'
    assert described[-2:] == [f"[{four}, 700]", f"[{four}, 700, ... (6 in all)]"]


def test_operations_of_a_queue() -> None:
    cells = encoded_of(
        [0, 2, 4, 6], [1, 3, 5, 7], [PUT, GET, EMPTY, PUT], [-1, 1, -1, -1], [1, -1, -1, 1]
    )
    steps = queue_steps(cells)
    assert steps.kind.tolist() == [Kind.STEP, Kind.STEP, Kind.LOOK, Kind.STEP]
    assert steps.a[0] == steps.a[3]
    assert steps.transitions is not None
    assert walked(steps.transitions, steps.a.tolist()) == ["[]", "[1]", "[]", "[]", "[1]"]


# Topics: 0 is absent, 1 an id that was not shown, 2 and 3 are ids

CREATES = [(Kind.CAS, 0, 1), (Kind.CAS, 0, 2)]
DELETES = [(Kind.CHANGE, 0, 0), (Kind.CAS, 2, 0), (Kind.CAS, 3, 0)]
LOOKS = [(Kind.READ, 0, -1), (Kind.DIFFERS, 0, -1), (Kind.READ, 2, -1), (Kind.READ, 3, -1)]
HIDDEN, SHOWN, DELETE, DELETE_2, DELETE_3, ABSENT, PRESENT, SEE_2, SEE_3 = range(9)


def topic(once: bool = True, bindable: Sequence[int] = (2, 3)) -> Topic:
    names = ["null", "any", '"two"', '"three"']
    return Topic([*CREATES, *DELETES, *LOOKS], names, 0, 1, frozenset(bindable), once)


GONE, THERE, TWO, THREE, NO = (
    "absent",
    "present",
    'present with id "two"',
    'present with id "three"',
    "impossible",
)


@pytest.mark.parametrize(
    ("actions", "described"),
    [
        ([ABSENT, HIDDEN, PRESENT, DELETE, ABSENT], [GONE, GONE, THERE, THERE, GONE, GONE]),
        ([PRESENT], [GONE, NO]),
        ([DELETE], [GONE, NO]),
        ([DELETE_2], [GONE, NO]),
        ([SEE_2], [GONE, NO]),
        ([HIDDEN, HIDDEN], [GONE, THERE, NO]),
        ([HIDDEN, ABSENT], [GONE, THERE, NO]),
        ([HIDDEN, SEE_2, SEE_2, SEE_3], [GONE, THERE, TWO, TWO, NO]),
        ([HIDDEN, SEE_3, DELETE_3], [GONE, THERE, THREE, GONE]),
        ([HIDDEN, SEE_3, DELETE_2], [GONE, THERE, THREE, NO]),
        ([SHOWN, SEE_2, DELETE_2, ABSENT], [GONE, TWO, TWO, GONE, GONE]),
        ([SHOWN, SEE_3], [GONE, TWO, NO]),
        ([HIDDEN, DELETE_2, HIDDEN, SEE_2], [GONE, THERE, GONE, THERE, NO]),
        ([HIDDEN, DELETE_2, HIDDEN, SEE_3], [GONE, THERE, GONE, THERE, THREE]),
        ([HIDDEN, SEE_2, DELETE, HIDDEN, DELETE_2], [GONE, THERE, TWO, GONE, THERE, NO]),
        ([HIDDEN, DELETE, HIDDEN, SEE_2], [GONE, THERE, GONE, THERE, TWO]),
    ],
)
def test_topics(actions: list[int], described: list[str]) -> None:
    assert walked(topic(), actions) == described


def test_an_id_may_be_given_again_and_not_every_one_can_have_been_hidden() -> None:
    again = [HIDDEN, DELETE_2, HIDDEN, SEE_2]
    assert walked(topic(once=False), again) == [GONE, THERE, GONE, THERE, TWO]
    assert walked(topic(bindable=[3]), [HIDDEN, SEE_2]) == [GONE, THERE, NO]
    assert walked(topic(bindable=[3]), [SHOWN, DELETE, SHOWN])[-1] == TWO


def test_operations_of_a_topic() -> None:
    cells = written("0-1:c0>1 2-3:r2 4-5:d0 6-7:x0>0")
    steps = topic_steps(cells, 1, [2], once=True)
    assert steps.kind.tolist() == [Kind.STEP, Kind.LOOK, Kind.LOOK, Kind.STEP]
    assert steps.transitions is not None
    assert walked(steps.transitions, steps.a.tolist())[1:] == [
        "present",
        *["present with id 2"] * 2,
        "absent",
    ]


def test_ids_that_were_shown() -> None:
    def shown(operations: str) -> list[int]:
        encoded: EncodedHistory = written(operations)
        return np.asarray(ids_shown(encoded)).tolist()

    assert shown("0-1:c0>1 2-3:r4 4-5:c3>0 6-7:d5 8-9:x6>0 10-11:r0 12-13:r4") == [3, 4]
    assert shown("0-1:c0>1 2-3:d0") == []
