"""Why an order cannot go on, word for word."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from checkers.linearizability.encoded import EncodedHistory
from checkers.linearizability.evidence.reasons import Reasons, short
from checkers.linearizability.evidence.relaxed import Relaxing
from checkers.linearizability.evidence.small_search import OTHER, End, State
from tests.checkers.linearizability.encoded_oracle import after, initial_state, written
from tests.checkers.linearizability.refutations import (
    DEQ,
    EMPTY,
    ENQ,
    TAKE,
    Spec,
    history,
    move,
    texts,
)


def reasons(encoded: EncodedHistory, model: str = "") -> Reasons:
    return Reasons(Relaxing(encoded), model, lambda row: f"#{row}")


def why(
    encoded: EncodedHistory, order: Sequence[int], model: str = "", stuck: int = -1
) -> tuple[list[str], list[int]]:
    """Why an operation (the last one) cannot follow that order; and which ones are named that may
    not be in it."""
    state: State = initial_state(encoded)
    for row in order:
        state = after(encoded, state, row)
    words = reasons(encoded, model)
    end = End(state, [move(encoded, row) for row in order], [])
    return words.why(end, move(encoded, range(len(encoded))[stuck])), list(words.named)


NOT_1 = "needs 1, but the value is 2"


@pytest.mark.parametrize(
    ("operations", "order", "lines"),
    [
        (
            "0-1:w1 2-3:r7",
            [0],
            [
                "needs 7, but the value is 1",
                "no operation that was invoked before index 3 leads to 7",
            ],
        ),
        # a cas does not help itself, nor does what is invoked later
        (
            "0-9:w2 1-5:c1>1",
            [0],
            [NOT_1, "no operation that was invoked before index 5 leads to 1"],
        ),
        (
            "0-1:r0 2-3:w1 4-5:w2 6-7:r0",
            [0, 1, 2],
            [
                "needs 0, but the value is 2",
                "it was so initially, before number 2 of the order",
                "nothing else that was invoked before index 7 leads to 0",
            ],
        ),
        (
            "0-1:w0 2-3:w1 4-5:r0",
            [0, 1],
            [
                "needs 0, but the value is 1",
                "#0 is number 1 of the order, and number 2, #1, comes after it",
            ],
        ),
        (
            "0-9:w1 1-8:w1 2-7:w2 3-6:r1",
            [1, 0, 2],
            [
                NOT_1,
                "#1 is number 1 of the order, and number 2, #0, comes after it",
                "#0 is number 2 of the order, and number 3, #2, comes after it",
            ],
        ),
        (
            "0-1:w1 2-3:r1 4-5:d3 6-7:w2 8-9:r1",
            [0, 1, 2, 3],
            [NOT_1, "#0 is number 1 of the order, and number 4, #3, comes after it"],
        ),
    ],
)
def test_what_leads_to_it_in_the_order(operations: str, order: list[int], lines: list[str]) -> None:
    encoded = written(operations)
    stuck = next(row for row in range(len(encoded)) if row not in order)
    assert why(encoded, order, stuck=stuck) == (lines, [])


@pytest.mark.parametrize(
    ("times", "earlier"),
    [
        (3, []),
        (4, ["number 1 of the order leads to it, and comes earlier still"]),
        (5, ["numbers 1 and 3 of the order lead to it, and come earlier still"]),
        (6, ["numbers 1, 3 and 5 of the order lead to it, and come earlier still"]),
    ],
)
def test_three_of_those_in_the_order_are_named(times: int, earlier: list[str]) -> None:
    writes = " ".join(f"{4 * i}-{4 * i + 1}:w1 {4 * i + 2}-{4 * i + 3}:w2" for i in range(times))
    lines, named = why(written(f"{writes} 100-101:r1"), range(2 * times))
    reasons = [
        f"#{row} is number {row + 1} of the order, and number {row + 2}, #{row + 1}, comes after it"
        for row in range(2 * times - 6, 2 * times, 2)
    ]
    assert (lines, named) == ([NOT_1, *reasons, *earlier], [])


@pytest.mark.parametrize(
    ("operations", "order", "lines", "named"),
    [
        ("0-1:w1 2-3:w2 4-5:r1", [1], ["#0 had returned (index 1) before #1 was invoked"], [0, 1]),
        (
            "0-5:w1 1-3:w1 6-7:w2 8-9:r1",
            [2],
            [
                "#0 had returned (index 5) before #2 was invoked, "
                "and so had one earlier one that leads to it"
            ],
            [0, 2],
        ),
        (
            "0-1:w1 2-3:w1 4-5:w1 6-7:w2 8-9:r1",
            [3],
            [
                "#2 had returned (index 5) before #3 was invoked, "
                "and so had 2 earlier ones that lead to it"
            ],
            [2, 3],
        ),
        (
            "0-1:w1 2-3:w2 4-5:w3 6-7:r1",
            [1, 2],
            ["#0 had returned (index 1) before #2 was invoked"],
            [0, 2],
        ),
        # before the last change of the order, and before what was invoked last of it
        (
            "0-1:w1 2-30:w2 3-5:w1 6-9:r2 7-20:d3 8-31:r1",
            [1, 4, 3],
            [
                "#0 had returned (index 1) before #1 was invoked",
                "#2 had returned (index 5) before #4 was invoked",
            ],
            [0, 1, 2, 4],
        ),
        # as long as one looked there was no change
        (
            "0-1:c3>1 2-3:r0 4-5:r1",
            [1],
            ["#0 had returned (index 1) before #1 was invoked"],
            [0, 1],
        ),
        (
            "0-9:w2 1-10:c3>1 2-11:w1 4-12:x5>1 5-13:r1",
            [0],
            ["#1 needs 3 itself", "#2 does not fit either", "#3 does not fit either"],
            [1, 2, 3],
        ),
    ],
)
def test_what_leads_to_it_elsewhere(
    operations: str, order: list[int], lines: list[str], named: list[int]
) -> None:
    (first, *others), found = why(written(operations), order)
    assert first.startswith("needs 1, but the value is ")
    assert (others, found) == (lines, named)


def test_thousands_that_returned_before_are_counted() -> None:
    writes = " ".join(f"{2 * i}-{2 * i + 1}:w1" for i in range(1100))
    lines, named = why(written(f"{writes} 2200-2201:w2 2202-2203:r1"), [1100])
    assert lines[1:] == [
        "#1099 had returned (index 2199) before #1100 was invoked, "
        "and so had 1,099 earlier ones that lead to it"
    ]
    assert named == [1099, 1100]


@pytest.mark.parametrize(("times", "more"), [(3, []), (5, ["nor do 2 more of that kind help"])])
def test_three_of_those_that_need_something_else_are_named(times: int, more: list[str]) -> None:
    sets = " ".join(f"{i + 1}-{i + 20}:c3>1" for i in range(times))
    lines, named = why(written(f"0-40:w2 {sets} 10-30:r1"), [0])
    assert lines == [NOT_1, *(f"#{row} needs 3 itself" for row in (1, 2, 3)), *more]
    assert named == [1, 2, 3]


NO_OTHER = "nothing else that changes it from there was open"


@pytest.mark.parametrize(
    ("operations", "order", "since"),
    [
        ("0-1:w1 2-3:d1", [0], "#0"),
        ("0-1:w1 2-3:x1>4", [0], "#0"),
        ("0-1:w2 2-3:w1 4-5:d1", [1], "#1"),
        ("0-9:w1 1-4:w2 5-6:r2 7-8:d1", [1, 2, 0], "#2"),  # that was invoked last
        ("0-1:w1 2-9:c3>2 3-4:d1", [0], "#0"),
        ("0-1:w1 2-9:x1>2 3-4:d1", [0], "#0"),
    ],
)
def test_nothing_takes_the_value_away(operations: str, order: list[int], since: str) -> None:
    assert why(written(operations), order)[0] == [
        "needs anything but 1, but the value is 1",
        f"{NO_OTHER} after {since} was invoked",
    ]


def test_nothing_takes_the_first_value_away() -> None:
    lines = ["needs anything but 0, but the value is 0", NO_OTHER]
    assert why(written("2-3:d0"), []) == (lines, [])


@pytest.mark.parametrize("what", ["2-9:w2", "2-:w2", "2-9:c1>2", "2-9:x3>2"])
def test_what_might_take_the_value_away_is_not_denied(what: str) -> None:
    lines, _ = why(written(f"0-1:w1 {what} 3-4:d1"), [0])
    assert lines == ["needs anything but 1, but the value is 1"]


PUT_1 = (0, 1, ENQ, 1)


@pytest.mark.parametrize(
    ("operations", "order", "lines"),
    [
        (
            [PUT_1, (2, 3, DEQ, 2)],
            [0],
            [
                "needs 2 to be the first, but the queue is [1]",
                "no operation that was invoked before index 3 enqueues 2",
            ],
        ),
        (
            [PUT_1, (2, 3, ENQ, 2), (4, 5, DEQ, 2)],
            [0, 1],
            [
                "needs 2 to be the first, but the queue is [1, 2]",
                "#1 is number 2 of the order, and 2 is not the first yet",
            ],
        ),
        (
            [(0, 1, ENQ, 2), (2, 3, ENQ, 1), (4, 5, DEQ, 2), (6, 7, DEQ, 1), (8, 9, DEQ, 1)],
            [0, 1, 2, 3],
            [
                "needs 1 to be the first, but the queue is empty",
                "#1 is number 2 of the order, and number 4, #3, comes after it",
            ],
        ),
        (
            [PUT_1, (2, None, TAKE, -1), (3, 4, DEQ, 1)],
            [0, 1],
            [
                "needs 1 to be the first, but the queue is empty",
                "#0 is number 1 of the order, and number 2, #1, comes after it",
            ],
        ),
        (
            [PUT_1, (2, 3, EMPTY, -1)],
            [0],
            [
                "needs an empty queue, but the queue is [1]",
                "no operation that was invoked before index 3 takes 1 out",
            ],
        ),
        (
            [PUT_1, (2, 3, ENQ, 2), (4, 9, DEQ, 2), (5, 6, EMPTY, -1)],
            [0, 1],
            [
                "needs an empty queue, but the queue is [1, 2]",
                "no operation that was invoked before index 6 takes 1 out",
            ],
        ),
        (
            [PUT_1, (2, 9, DEQ, 1), (3, 4, EMPTY, -1)],
            [0],
            ["needs an empty queue, but the queue is [1]"],
        ),
        (
            [PUT_1, (2, None, TAKE, -1), (3, 4, EMPTY, -1)],
            [0],
            ["needs an empty queue, but the queue is [1]"],
        ),
    ],
)
def test_of_a_queue(operations: list[Spec], order: list[int], lines: list[str]) -> None:
    assert why(history(*operations), order) == (lines, [])


@pytest.mark.parametrize(
    ("between", "order", "lines"),
    [
        ([], [0], ["no other change was invoked before index 4"]),
        ([(2, 9, "write", "c")], [0], []),
        ([(2, 9, "write", "c")], [0, 1], ["no other change was invoked before index 4"]),
    ],
)
def test_of_a_string(between: list[Any], order: list[int], lines: list[str]) -> None:
    encoded = texts((0, 1, "write", "a"), *between, (3, 4, "read", "b"))
    shown = "'c'" if len(order) == 2 else "'a'"
    assert why(encoded, order) == ([f"is impossible: the object is {shown}", *lines], [])


@pytest.mark.parametrize(
    ("model", "text", "words"),
    [
        ("", "null", "null"),
        ("", " a\n b ", "a b"),
        ("set", "true", "in the set"),
        ("set", "false", "not in the set"),
        ("set", '"x"', '"x"'),
        ("topics", "null", "absent"),
        ("topics", "any", "present"),
        ("kafka topics", "null", "absent"),
        ("kafka topics", "any", "present"),
        ("kafka topics", '"i 7"', 'present with id "i 7"'),
    ],
)
def test_values_and_what_is_needed_in_words(model: str, text: str, words: str) -> None:
    encoded = replace(written("0-1:w1 2-3:r0"), values=[text, "1"])
    said = reasons(encoded, model)
    assert said.value(0) == words
    assert said.state(0) == f"{'it is' if model else 'the value is'} {words}"
    assert why(encoded, [0], model)[0][0].startswith(
        f"needs {'it to be ' if model else ''}{words}, but "
    )


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ((), "empty"),
        ((1,), "[1]"),
        ((1, 2, 3, 1, 2), "[1, 2, 3, 1, 2]"),
        ((1, 2, 3, 1, 2, 3), "[1, 2, 3, 1, 2, ... (6 in all)]"),
    ],
)
def test_the_state_of_a_queue(state: State, words: str) -> None:
    assert reasons(history((0, 1, ENQ, 3))).state(state) == f"the queue is {words}"


@pytest.mark.parametrize(
    ("model", "states", "words"),
    [
        ("", [2, 3], "the value is 2 or 3"),
        ("", [2, OTHER], "the value is 2 or something else"),
        ("set", [1, 2, 3], "it is 1, 2 or 3"),
        ("", [0, 1, 2, 3, 4, 5], "the value is 0, 1, 2, 3, 4 or 5"),
        ("", [0, 1, 2, 3, 4, 5, 6], "the value is 0, 1, 2, 3, 4 or 2 others"),
    ],
)
def test_several_states(model: str, states: list[State], words: str) -> None:
    assert reasons(written("0-1:w6"), model).states(states) == words


def test_several_states_of_objects_and_queues() -> None:
    encoded = texts((0, 1, "write", "a"))
    assert encoded.transitions is not None
    states = [0, encoded.transitions.step(0, 0)]
    assert reasons(encoded).states(states) == "the object is '' or 'a'"
    assert reasons(history((0, 1, ENQ, 3))).states([(1,), (3,)]) == "the queue is [1] or [3]"


def test_texts_are_cut() -> None:
    assert short("x" * 60) == "x" * 60
    assert short("x" * 61) == "x" * 57 + "..."
    assert short("abcdef", 5) == "ab..."
