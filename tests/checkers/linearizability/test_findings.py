"""What a finding says and shows, word for word."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from checkers.linearizability.decision import Budget
from checkers.linearizability.evidence import explain
from checkers.linearizability.evidence.describe import operation_of
from checkers.linearizability.evidence.reasons import Reasons
from checkers.linearizability.evidence.relaxed import Relaxing
from checkers.linearizability.evidence.small_search import End, Refuted, State
from framework.history.pairing import Operation
from framework.plugins.checker import Finding
from tests.checkers.linearizability.encoded_oracle import written
from tests.checkers.linearizability.refutations import invalid, move, table_of


def finding(operations: str, words: Mapping[int, Any] | None = None, **options: Any) -> Finding:
    encoded = written(operations)
    decision = invalid(encoded, options.pop("culprit", -1), options.pop("involved", ()))
    return explain.explain(table_of(encoded, words), encoded, decision, Budget(60), **options)


def test_one_operation_is_enough() -> None:
    found = finding("0-1:r7")
    assert found.message.splitlines() == [
        "no order of the operations explains read -> 7 (index 0 to 1, process 0)",
        "It alone is enough.",
        "At first the value is 0.",
        "It cannot come then:",
        "  read -> 7 (index 0 to 1, process 0) needs 7, but the value is 0",
        "    no operation that was invoked before index 1 leads to 7",
    ]
    assert found.operations == [0]
    assert found.picture == {
        "bars": [
            {
                "index": 0,
                "end": 1,
                "from_ns": 0,
                "to_ns": 1000,
                "process": "0",
                "label": "read -> 7",
                "outcome": "ok",
                "member": True,
                "place": None,
                "fails": "needs 7, but the value is 0; "
                "no operation that was invoked before index 1 leads to 7",
            }
        ],
        "state": "the value is 0",
        "others": 0,
    }


def test_one_other_operation() -> None:
    found = finding("0-1:r7 2-3:w1")
    assert found.message.splitlines()[1] == (
        "It alone is enough, whatever the other one of the key did in its own time, or not at all."
    )
    assert found.picture is not None and found.picture["others"] == 1


def test_all_are_enough() -> None:
    found = finding("0-1:w1 2-3:c1>2 4-5:r1")
    assert (
        found.message.splitlines()[1] == "2 operations are enough, whatever the other one of "
        "the key did in its own time, or not at all."
    )
    assert finding("0-1:r7").message.splitlines()[1] == "It alone is enough."


def lines(operations: str, *ends: tuple[State, list[int], list[int]]) -> list[str]:
    """The message of such ends; an operation that is open at none of them is not a member."""
    encoded = written(operations)
    members = sorted({row for _, _, stuck in ends for row in stuck} | {0})
    refuted = Refuted(
        members[-1],
        [state for state, *_ in ends],
        [
            End(
                state,
                [move(encoded, row, member=row in members) for row in order],
                [move(encoded, row) for row in stuck],
            )
            for state, order, stuck in ends
        ],
    )
    names = explain._Names(table_of(encoded), encoded)
    reasons = Reasons(Relaxing(encoded), "", names.brief)
    return explain._lines(encoded, np.array(members), refuted, reasons, names)[0]


FOUR = "0-9:w1 1-8:w2 2-7:w3 3-6:r7"


ENOUGH = (
    "2 operations are enough, whatever the other 2 of the key did in their own time, or not at all."
)
CANNOT = "What has to come next, and cannot:"
NOBODY = "    no operation that was invoked before index 6 leads to 7"
ONE = "write 1 (index 0 to 9, process 0)"
TWO = "write 2 (index 1 to 8, process 1), one of the others"
THREE = "write 3 (index 2 to 7, process 2), one of the others"


def stuck(state: int) -> list[str]:
    why = f"needs 7, but the value is {state}"
    return [CANNOT, f"  read -> 7 (index 3 to 6, process 3) {why}", NOBODY]


def test_other_orders_begin_where_they_differ() -> None:
    said = lines(FOUR, (2, [1, 0], [3]), (3, [1, 2, 0], [3]), (1, [0], [3]))
    assert said == [
        "no order of the operations explains read -> 7 (index 3 to 6, process 3)",
        ENOUGH,
        "An order gets this far, and then the value is 2:",
        f"  1. {TWO}",
        f"  2. {ONE}",
        *stuck(2),
        "Another order with the same numbers up to 1, and then the value is 3:",
        f"  2. {THREE}",
        f"  3. {ONE}",
        *stuck(3),
        "Another order, and then the value is 1:",
        f"  1. {ONE}",
        *stuck(1),
    ]


def test_three_ends_are_named() -> None:
    four = [(state, [0], [3]) for state in (1, 2, 3, 4)]
    same = "Another order with the same numbers up to 1, and then the value is"
    three = lines(FOUR, *four[:3])
    assert three[2:] == [
        "An order gets this far, and then the value is 1:",
        f"  1. {ONE}",
        *stuck(1),
        f"{same} 2:",
        *stuck(2),
        f"{same} 3:",
        *stuck(3),
    ]
    assert lines(FOUR, *four) == [*three, "Orders end in 4 states in all; the others fail too."]


def test_what_others_do_at_the_end_is_summed_up() -> None:
    expected = [
        ENOUGH,
        "An order gets this far, and then the value is 1:",
        f"  1. {ONE}",
        *stuck(1),
    ]
    said = lines(FOUR, (1, [0], [3]), (2, [0, 1], [3]), (3, [0, 2], [3]))
    idle = "Others may come in between, so that the value is 2 or 3: that does not help."
    assert said[1:] == [*expected, idle]
    assert lines(FOUR, (2, [0, 1], [3]))[2:] == [
        "An order gets this far, and then the value is 2:",
        f"  1. {ONE}",
        f"  2. {TWO}",
        *stuck(2),
    ]


def test_operations_are_named_by_what_was_asked_and_answered() -> None:
    encoded = written("0-1:w1 2-:w2 4-5:d3 6-7:c1>2 8-9:r1 10-11:w4")
    table = table_of(
        encoded,
        {
            0: {"value": '"a  b"', "result": "7"},
            1: {"value": None},
            3: {"type": "fail", "error_code": "NO"},
            4: {"result": '{"topic_id": "ab", "more": 1}'},
            5: {"result": "4"},
        },
    )
    asked: list[Sequence[int]] = []

    def source(indices: Sequence[int]) -> list[dict[str, Any]]:
        asked.append(indices)
        return [each for each in table.to_pylist() if each["index"] in indices]

    names = explain._Names(source, encoded)
    names.look_up([0, 1, 2])
    names.look_up([2, 3, 4])
    names.look_up([0, 4])
    assert [names.full(row) for row in range(6)] == [
        'write "a b" -> 7 (index 0 to 1, process 0)',
        "write -> no completion (index 2, process 1)",
        "cas [3, 99] -> fail (index 4 to 5, process 2)",
        "cas [1, 2] -> fail NO (index 6 to 7, process 3)",
        "read -> id ab (index 8 to 9, process 4)",
        "write 4 (index 10 to 11, process 5)",
    ]
    assert asked == [[0, 2, 4], [6, 8], [10]]
    assert names.brief(0) == 'write "a b" -> 7 (index 0)'
    assert explain._Names(lambda _: [], encoded).full(1) == (
        "operation -> no completion (index 2, process ?)"
    )


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ('{"topic_id":"ab"}', "id ab"),
        ('{"topic_id":null,"x":1}', '{"topic_id":null,"x":1}'),
        ('["topic_id"]', '["topic_id"]'),
        ('{"x":{"topic_id":1}}', '{"x":{"topic_id":1}}'),
        ("x" * 61, "x" * 57 + "..."),
    ],
)
def test_values_in_words(value: str, words: str) -> None:
    assert explain._in_words(value) == words


PLAIN = "0-1:w1 2-:w3 4-5:r1"


def test_the_plain_finding_names_what_the_method_did() -> None:
    """Where there is nothing that refutes it."""
    expected = "no order of the operations explains read -> 1 (index 4 to 5, process 2)"
    others = "write 1 (index 0 to 1, process 0); write 3 -> no completion (index 2, process 1)"
    found = finding(PLAIN, culprit=2, involved=[0, 2, 1])
    assert found.message == f"{expected}. Beside it: {others}"
    assert found.operations == [4, 0, 2] and found.picture is None
    assert finding(PLAIN, culprit=2).message == expected
    found = finding(PLAIN)
    assert found.message == "no order of the operations explains what was seen"
    assert list(found.operations) == []
    first = finding(PLAIN, culprit=0, involved=[0])
    assert (first.operations, first.message.count("write 1")) == ([0], 1)


def test_the_plain_finding_names_twelve() -> None:
    rows = list(range(14))
    found = finding(" ".join(f"{2 * row}-{2 * row + 1}:w1" for row in rows), involved=rows)
    assert found.message.count("write 1 (") == 12 and len(found.operations) == 14


ROW = {"index": 4, "end": 9, "process": 1, "f": "cas", "value": "[1, 2]", "type": "fail"}


def test_an_operation_from_a_row() -> None:
    expected = {"error_code": "NO", "error_message": "not now", "key": '"k"', "node": "n1"}
    assert operation_of(ROW | expected | {"result": None}) == Operation(
        index=4,
        end=9,
        process=1,
        f="cas",
        key="k",
        value=[1, 2],
        type="fail",
        error=("NO", "not now"),
        node="n1",
    )
    bare = operation_of(ROW | {"result": "3"})
    assert (bare.key, bare.result, bare.error, bare.node) == (None, 3, None, None)
    silent = operation_of(ROW | {"result": None, "error_code": "NO", "error_message": None})
    assert silent.error == ("NO", "")
