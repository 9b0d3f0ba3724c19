"""Sets read whole, from tables of operations."""

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from checkers.linearizability.methods.grow_only_block import GrowOnlySet, judge_sets, malformed
from framework.checking.columns import Columns
from framework.checking.runs import OPERATIONS, add_operation
from framework.history.pairing import Operation


def table(*operations: tuple[Any, ...]) -> pa.Table:
    """(run, key, index, end, f, value or result, type)."""
    columns = Columns(OPERATIONS)
    for run, key, index, end, f, value, kind in operations:
        reads = f == "read"
        operation = Operation(
            index=index,
            process=index,
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


def test_keys_of_one_operation_are_decided_too() -> None:
    one = ("0", "c", 20, 21, "read", ["never added"], "ok")
    assert [each[:3] for each in outcomes(one)] == [("0", "c", "INVALID")]
    assert [each[1:3] for each in outcomes(*GOOD, one, *BAD)] == [
        ("a", "VALID"),
        ("b", "INVALID"),
        ("c", "INVALID"),
    ]


def test_of_nothing_there_is_no_outcome() -> None:
    assert judge_sets(table()).to_pylist() == []


def test_figures_count_what_became_of_elements() -> None:
    """Of what was added, or may have been; one is lost, one nobody read, one nobody added."""
    (row,) = judge_sets(
        table(
            *GOOD,
            ("0", "a", 10, 11, "add", "lost", "ok"),
            ("0", "a", 12, 13, "read", [5, "lost", "more"], "ok"),
            ("0", "a", 14, 15, "read", [5, 5, True], "ok"),
            ("0", "a", 16, 17, "add", "late", "ok"),
        )
    ).to_pylist()
    assert (row["checker"], row["verdict"], row["seen"]) == ("grow-only-set", "INVALID", 3)
    assert json.loads(row["figures"]) == {
        "operations": 9,
        "method: grow-only set": 1,
        "attempted": 4,
        "acknowledged": 3,
        "stable": 1,
        "lost": 1,
        "never_read": 1,
        "recovered": 1,
        "unexpected": 1,
        "repeated": 1,
    }


def test_names_may_be_numbered_and_what_no_history_holds_is_unknown() -> None:
    plain = table(*BAD, *GOOD)
    for name in ("f", "key"):
        at = plain.schema.get_field_index(name)
        named = plain.set_column(at, name, plain[name].dictionary_encode())
        assert judge_sets(named) == judge_sets(plain)
    result = plain.schema.get_field_index("result")
    broken = pa.array(["[1" if each else None for each in plain["result"].to_pylist()])
    found = judge_sets(plain.set_column(result, "result", broken)).to_pylist()
    assert [(row["key"], row["verdict"]) for row in found] == [("a", "UNKNOWN"), ("b", "UNKNOWN")]
    assert all("JSON" in row["note"] for row in found)


def test_numbers_are_equal_however_they_are_written() -> None:
    """In a file that others wrote, as it stands there."""
    plain = table(("0", "a", 0, 1, "add", 5, "ok"), ("0", "a", 2, 3, "read", [], "ok"))
    at = plain.schema.get_field_index("result")
    verdicts = {}
    for text in ("[5]", "[5.0]", "[5e0]", "[5.5]", "[5.0, 5.5]", '["5"]'):
        read = plain.set_column(at, "result", pa.array([None, text]))
        (verdicts[text],) = judge_sets(read)["verdict"].to_pylist()
    assert [text for text, each in verdicts.items() if each == "VALID"] == ["[5]", "[5.0]", "[5e0]"]


def test_a_finding_shows_elements_shortly_and_whom_it_is_about() -> None:
    model = GrowOnlySet().block("grow-only-set", 1.0)
    (row,) = model(table(("0", "a", 0, 1, "read", ["x" * 80], "ok"))).to_pylist()
    (finding,) = json.loads(row["findings"])
    assert finding["message"].endswith(f': "{"x" * 59} (read of index 0)')
    assert finding["operations"] == [0]


def test_of_many_operations_without_a_word_the_first_is_named() -> None:
    wrong = [("0", "a", index, index + 1, "remove", index, "ok") for index in (24, 20, 22)]
    found = malformed(table(*GOOD, *wrong))
    assert found is not None and found[0] == 20
    assert GrowOnlySet().malformed("grow-only-set", table(*GOOD, *wrong)) == found


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
