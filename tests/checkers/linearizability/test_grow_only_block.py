"""Sets read whole, from tables of operations."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from checkers.linearizability.methods.grow_only_block import judge_sets, malformed
from framework.checking.columns import Columns
from framework.checking.runs import OPERATIONS, add_operation
from framework.history.pairing import Operation


def table(*operations: tuple[Any, ...]) -> pa.Table:
    """(run, key, op, end, f, value or result, type)."""
    columns = Columns(OPERATIONS)
    for run, key, op, end, f, value, kind in operations:
        reads = f == "read"
        operation = Operation(
            index=op,
            process=op,
            f=f,
            key=key,
            value=None if reads else value,
            type=kind,
            end=end,
            result=value,
        )
        add_operation(columns, run, operation)
    return columns.table()


def outcomes(*operations: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    found = judge_sets(table(*operations)).to_pylist()
    return [(row["run"], row["key"], row["verdict"], row["findings"]) for row in found]


GOOD: Sequence[tuple[Any, ...]] = (
    ("0", "a", 0, 1, "add", 5, "ok"),
    ("0", "a", 2, 3, "add", 6, "fail"),
    ("0", "a", 4, None, "add", True, "info"),
    ("0", "a", 5, 6, "read", [5.0, True], "ok"),
    ("0", "a", 7, 8, "read", None, "info"),
)
BAD: Sequence[tuple[Any, ...]] = (
    ("0", "b", 10, 11, "add", "x", "ok"),
    ("0", "b", 12, 13, "read", [], "ok"),
)


def test_each_key_of_each_run_is_decided() -> None:
    other = tuple(("1", *each[1:]) for each in GOOD)
    good, bad, again = outcomes(*BAD, *reversed(GOOD), *other)
    assert good[:3] == ("0", "a", "VALID")
    assert bad[:3] == ("0", "b", "INVALID")
    assert again[:3] == ("1", "a", "VALID")
    assert '"an added element that no later read shows: \\"x\\" ' in bad[3].replace('\\\\"', '\\"')
    assert '"operations": [10, 12]' in bad[3]


def test_true_is_not_one_nor_a_text_what_it_says() -> None:
    for added, shown in ((1, True), ("1", 1), ([1], "[1]"), (None, "null")):
        add = ("0", None, 0, 1, "add", added, "ok")
        read = ("0", None, 2, 3, "read", [shown], "ok")
        assert outcomes(add, read)[0][2] == "INVALID"
        assert outcomes(add, (*read[:5], [added], "ok"))[0][2] == "VALID"


def test_what_the_model_has_no_word_for() -> None:
    assert malformed(table(*GOOD, *BAD)) is None
    assert malformed(table(*GOOD, ("0", "a", 20, 21, "remove", 5, "ok"))) == (
        20,
        "'remove' is not an operation of grow-only-set: add, read",
    )
    assert malformed(table(*GOOD, ("0", "a", 20, 21, "read", 5, "ok"))) == (
        20,
        "the result of read must be a list of elements, not 5",
    )
