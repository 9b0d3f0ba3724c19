"""Register linearizability: planted violations, honest histories, and brute force."""

import json
import random
from collections.abc import Iterable, Sequence
from typing import Any, cast

import pyarrow as pa
import pytest

from checkers import register_linearizability
from checkers.register_linearizability import RegisterLinearizability, check_registers, replacement
from framework.checking.columns import Columns
from framework.checking.keyed import SearchOptions
from framework.checking.results import CheckerResult, checker_result
from framework.checking.runs import OPERATIONS, add_operation
from framework.history.pairing import Operation
from framework.plugins.checker import Finding, RunInfo, RunTables, Tables
from framework.testing.judging import each_run
from framework.testing.oracle import is_linearizable, random_history
from framework.verdict import Verdict


def op(
    f: str, op: int, end: int | None, value: Any = None, type: str = "ok", *, key: str = "r"
) -> Operation:
    """`value`: of a read its result, of a write or cas the argument."""
    operation = Operation(index=op, end=end, process=op, f=f, key=key)
    operation.type = "info" if end is None else type  # type: ignore[assignment]
    if f == "read":
        operation.result = value
    else:
        operation.value = value
    return operation


def table(operations: Iterable[Operation]) -> pa.Table:
    columns = Columns(OPERATIONS)
    for operation in operations:
        add_operation(columns, "run", operation)
    return columns.table()


def judged(operations: Iterable[Operation]) -> tuple[str, list[dict[str, Any]]]:
    """The verdict on one key, and the findings."""
    (row,) = check_registers(table(operations), budget_s=10).to_pylist()
    return row["verdict"], json.loads(row["findings"])


HONEST = {
    "nothing was written": [op("read", 0, 1), op("cas", 2, 3, [1, 2], "fail")],
    "one after another": [
        op("write", 0, 1, 1),
        op("cas", 2, 3, [1, 2]),
        op("cas", 4, 5, [1, 3], "fail"),
        op("read", 6, 7, 2),
    ],
    "the first value by cas": [op("cas", 0, 1, [None, 1]), op("read", 2, 3, 1)],
    "a read beside a write sees either": [
        op("write", 0, 1, 1),
        op("write", 2, 9, 2),
        op("read", 3, 4, 1),
        op("read", 5, 6, 2),
    ],
    "a write of unknown fate took effect late": [
        op("write", 0, 1, 1),
        op("write", 2, None, 2),
        op("read", 3, 4, 1),
        op("read", 5, 6, 2),
    ],
    "a write of unknown fate never did": [op("write", 0, None, 1), op("read", 1, 2)],
    "a write that failed did nothing": [op("write", 0, 1, 1, "fail"), op("read", 2, 3)],
}

PLANTED = {
    "a stale read": [op("write", 0, 1, 1), op("write", 2, 3, 2), op("read", 4, 5, 1)],
    "a stale null": [op("write", 0, 1, 1), op("read", 2, 3)],
    "a read after a cas of what it replaced": [
        op("write", 0, 1, 1),
        op("cas", 2, 3, [1, 2]),
        op("read", 4, 5, 1),
    ],
    "back in time between two reads": [
        op("write", 0, 1, 1),
        op("write", 2, None, 2),
        op("read", 3, 4, 2),
        op("read", 5, 6, 1),
    ],
    "a lost write": [op("write", 0, 1, 1), op("cas", 2, 3, [None, 2])],
    "two cas of one value": [
        op("write", 0, 1, 1),
        op("cas", 2, 5, [1, 2]),
        op("cas", 3, 4, [1, 3]),
    ],
    "a cas that failed although the value was there": [
        op("write", 0, 1, 1),
        op("cas", 2, 3, [1, 2], "fail"),
    ],
    "a value that nobody wrote": [op("write", 0, 1, 1), op("read", 2, 3, 7)],
    "a value before it was written": [op("read", 0, 1, 1), op("write", 2, 3, 1)],
    "a write that failed took effect": [op("write", 0, 1, 1, "fail"), op("read", 2, 3, 1)],
}
STALE = {"a stale read", "a stale null", "a read after a cas of what it replaced"}


@pytest.mark.parametrize("name", HONEST)
def test_accepts(name: str) -> None:
    assert judged(HONEST[name]) == ("VALID", [])


@pytest.mark.parametrize("name", PLANTED)
def test_rejects_and_names_the_operations(name: str) -> None:
    verdict, findings = judged(PLANTED[name])
    assert verdict == "INVALID"
    (finding,) = findings
    assert {each.index for each in PLANTED[name][-2:]} & set(finding["operations"])
    assert all(f"index {number}" in finding["message"] for number in finding["operations"])
    assert finding["picture"]
    assert finding["message"].startswith("a stale read: ") == (name in STALE)


def test_agrees_with_brute_force() -> None:
    verdicts = []
    for seed in range(600):
        rng = random.Random(f"registers/{seed}")
        operations = random_history("register of unique values", rng)
        if not any(operation.end is not None for operation in operations):
            continue
        expected = is_linearizable("register", operations)
        verdict, findings = judged(operations)
        assert verdict == ("VALID" if expected else "INVALID"), f"seed {seed}: {operations}"
        assert bool(findings) is not expected
        verdicts.append(expected)
    assert 100 < sum(verdicts) < len(verdicts) - 100


REPLACED: dict[str, tuple[int | None, list[Operation]]] = {
    "by a write": (2, [op("write", 0, 1, 1), op("write", 2, 3, 2)]),
    "by a cas": (2, [op("write", 0, 1, 1), op("cas", 2, 3, [1, 2])]),
    "what a cas wrote": (2, [op("cas", 0, 1, [7, 1]), op("write", 2, 3, 2)]),
    "what another failed to write, too": (
        4,
        [op("write", 0, 1, 1, "fail"), op("write", 2, 3, 1), op("write", 4, 5, 2)],
    ),
    "not by a read": (None, [op("write", 0, 1, 1), op("read", 2, 3, 2)]),
    "not by what failed": (None, [op("write", 0, 1, 1), op("write", 2, 3, 2, "fail")]),
    "not by what has no answer": (None, [op("write", 0, 1, 1), op("write", 2, None, 2)]),
    "not by what began before it was written": (None, [op("write", 0, 3, 1), op("write", 2, 5, 2)]),
    "not by what ended after the read began": (None, [op("write", 0, 1, 1), op("write", 2, 11, 2)]),
    "not what two wrote": (
        None,
        [op("write", 0, 1, 1), op("write", 2, 3, 2), op("write", 4, 5, 1)],
    ),
    "not what has no answer": (None, [op("write", 0, None, 1), op("write", 2, 3, 2)]),
    "not what nobody wrote": (None, [op("write", 2, 3, 2)]),
    "nor beside what is no cas": (
        2,
        [
            op("write", 0, 1, 1),
            op("write", 2, 3, 2),
            op("cas", 4, None),
            op("cas", 5, None, [1]),
            op("cas", 6, None, [7, 1, 9]),
        ],
    ),
}


@pytest.mark.parametrize("name", REPLACED)
def test_what_replaced_the_value_that_a_read_returned(name: str) -> None:
    index, before = REPLACED[name]
    read = op("read", 10, 12, 1)
    found = replacement(read, [*before, read])
    assert (None if found is None else found.index) == index
    assert replacement(read, [*before, read], []) is None, "among none"


def test_only_reads_that_were_answered_are_stale() -> None:
    before = [op("write", 0, 1, 1), op("write", 2, 3, 2)]
    assert replacement(op("cas", 10, 12, [1, 3]), before) is None
    assert replacement(op("read", 10, None, 1), before) is None
    null = replacement(op("read", 10, 12), before)
    assert null is not None and null.index == 0
    assert replacement(op("read", 10, 12), [*before, op("write", 4, 5)]) is None


@pytest.mark.parametrize(
    ("cited", "newer", "read"),
    [
        ([0, 2, 8], 2, 8),
        ([0, 4, 8], 4, 8),  # what the finding names is enough
        ([8], 2, 8),  # it names nothing that does
        ([0, 2, 6, 8], 2, 6),
    ],
)
def test_a_finding_is_headed_by_the_first_stale_read_that_it_names(
    cited: Sequence[int], newer: int, read: int
) -> None:
    operations = [
        *(op("write", 2 * value, 2 * value + 1, value + 1) for value in range(3)),
        *(op("read", at, at + 1, 1) for at in (6, 8)),
    ]
    given = Finding(message="why", operations=cited)
    found = register_linearizability._with_stale_read(given, operations)
    line, rest = found.message.split("\n")
    assert line.startswith("a stale read: ") and line.endswith(" returned") and rest == "why"
    replaced, returned = line.split(" had replaced what ")
    assert f"index {newer}" in replaced and f"index {read}" in returned
    assert found.operations == sorted({*cited, newer, read})


def test_what_is_called_stale_is_impossible_whatever_else_happened() -> None:
    found = 0
    for seed in range(3_000):
        operations = random_history("register of unique values", random.Random(f"stale/{seed}"))
        if any(replacement(operation, operations) for operation in operations):
            found += 1
            assert not is_linearizable("register", operations), operations
    assert found > 50


def test_of_a_run_that_goes_on_the_same_operations_are_judged() -> None:
    """Each key by itself, and nothing else; a cas that failed counts where it says why."""
    silent, differs, strange = (op("cas", 2, 3, [1, 2], "fail", key=key) for key in "abc")
    differs.ext, strange.ext = {"asserts": "differs"}, {"attempts": 1}
    operations = [
        *(op("write", 0, 1, 1, key=key) for key in "abcd"),
        *(silent, differs, strange, op("read", 4, 5, 7, key="d")),
        op("describe", 6, 7, {"topic_id": "x"}, key="e"),
        op("write", 8, 9, 1, key=cast(str, None)),
    ]
    nothing = pa.table({})
    prefix = RunTables(
        run="r",
        plan={},
        operations=table(operations).drop_columns(["run"]),
        observations=nothing,
        nemesis=nothing,
        faults=nothing,
        evidence={},
    )
    rows = RegisterLinearizability().judge_run(prefix, 10).to_pylist()
    assert {row["key"]: row["verdict"] for row in rows} == {
        "a": "VALID",
        "b": "INVALID",
        "c": "VALID",
        "d": "INVALID",
    }


def test_what_it_may_spend_on_a_key_is_an_option() -> None:
    assert RegisterLinearizability().options == SearchOptions()
    assert RegisterLinearizability(SearchOptions(budget=3)).options.budget == 3


def test_on_spark_a_cas_that_never_reached_the_system_says_nothing(spark: Any) -> None:
    refused = op("cas", 2, 3, [1, 2], "fail")
    refused.error = ("CONNECTION_FAILED", "refused")
    differs = op("cas", 6, 7, [1, 2], "fail", key="other")
    differs.error, differs.ext = ("VALUE_DIFFERS", ""), {"asserts": "differs"}
    operations = [op("write", 0, 1, 1), refused, op("write", 4, 5, 1, key="other"), differs]
    tables = Tables(
        spark=spark,
        runs=[RunInfo(run="run", path="", plan={})],
        operations=spark.createDataFrame(table(operations)),
        nemesis=None,
        faults=None,
        each=each_run(spark, []),
    )
    checker = RegisterLinearizability()
    rows = [row.asDict() for row in checker.check(tables).collect()]
    assert {row["key"]: row["verdict"] for row in rows} == {"r": "VALID", "other": "INVALID"}
    result = checker_result(checker.name, checker.summary, rows)
    assert (result.verdict, result.seen, result.keys) == (Verdict.INVALID, 1, 2)


def contract(case: Any, name: str) -> Any:
    """What the contract of every checker asks for."""

    def judge(operations: Iterable[Operation]) -> CheckerResult:
        rows = check_registers(table(operations), budget_s=10).to_pylist()
        return checker_result(name, "", rows, clauses=RegisterLinearizability.clauses)

    return case(
        judge=judge,
        clean=HONEST["one after another"],
        planted={
            each: (("stale",) if each in STALE else (), lambda each=each: PLANTED[each])
            for each in PLANTED
        },
        nothing=[],
    )
