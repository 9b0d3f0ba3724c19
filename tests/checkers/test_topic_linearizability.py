"""Topic linearizability: planted violations, honest histories, and brute force."""

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from checkers.topic_linearizability import (
    TopicLinearizability,
    check_name,
    check_names,
    id_findings,
)
from framework.checking.columns import Columns
from framework.checking.keyed import SearchOptions, outcome_row
from framework.checking.results import CheckerResult, checker_result
from framework.checking.runs import OPERATIONS, add_operation
from framework.history.pairing import Operation
from framework.plugins.capabilities import unmet
from framework.plugins.checker import RunInfo, RunTables, Tables
from framework.plugins.outcomes import ABSENT, PRESENT
from framework.testing.judging import each_run
from framework.testing.oracle import linearizable, random_history
from framework.verdict import Verdict


def op(f: str, op: int, end: int | None, outcome: str = "", *, name: str = "t") -> Operation:
    """`outcome`: "" (ok, nothing shown), "=id" (ok), "info", what a fail asserts, or its code."""
    operation = Operation(index=op, end=end, process=op, f=f, key=name)
    if end is None or outcome == "info":
        return operation
    operation.type = "ok" if outcome == "" or outcome.startswith("=") else "fail"
    if outcome.startswith("="):
        operation.result = {"topic_id": outcome[1:], "partitions": []}
    elif outcome in (PRESENT, ABSENT):
        operation.error, operation.ext = ("REFUSED", "said the node"), {"asserts": outcome}
    elif outcome:
        operation.error = (outcome, "said the node")
    return operation


def rows(operations: Iterable[Operation]) -> list[dict[str, Any]]:
    columns = Columns(OPERATIONS)
    for operation in operations:
        add_operation(columns, "r", operation)
    found: list[dict[str, Any]] = columns.table().to_pylist()
    return found


HONEST = {
    "one life after another": [
        op("describe", 0, 1),
        op("create", 2, 3, "=A"),
        op("describe", 4, 5, "=A"),
        op("create", 6, 7, PRESENT),
        op("delete", 8, 9, "=A"),
        op("delete", 10, 11, ABSENT),
        op("create", 12, 13, "=B"),
        op("describe", 14, 15, "=B"),
    ],
    "a pending create that took effect late": [
        op("create", 0, 1, "info"),
        op("describe", 2, 3),
        op("describe", 4, 5, "=X"),
        op("create", 6, 7, PRESENT),
    ],
    "a pending create that never did": [op("create", 0, None), op("describe", 1, 2)],
    "a pending delete explains an absence": [
        op("create", 0, 1, "=A"),
        op("delete", 2, None),
        op("describe", 3, 4, "=A"),
        op("describe", 5, 6),
    ],
    "reads that overlap a create see either": [
        op("create", 0, 9, "=A"),
        op("describe", 1, 2),
        op("describe", 3, 4, "=A"),
        op("delete", 5, 6, "=A"),
    ],
    "other failures say nothing": [
        op("create", 0, 1, "=A"),
        op("create", 2, 3, "NOT_CONTROLLER"),
        op("delete", 4, 5, "INVALID_REQUEST"),
        op("describe", 6, 7, "NOT_CONTROLLER"),
        op("describe", 8, 9, "=A"),
    ],
    "a code is no observation": [
        op("create", 0, 1, "TOPIC_ALREADY_EXISTS"),
        op("describe", 2, 3),
        op("create", 4, 5, "=A"),
        op("delete", 6, 7, "UNKNOWN_TOPIC_OR_PARTITION"),
        op("describe", 8, 9, "=A"),
    ],
    "two pending creates, a delete of each": [
        op("create", 0, None),
        op("create", 1, None),
        op("describe", 2, 3, "=X"),
        op("delete", 4, 5, "=X"),
        op("describe", 6, 7, "=Y"),
        op("delete", 8, 9),
        op("delete", 10, 11, ABSENT),
    ],
}

PLANTED = {
    "stale describe": [
        op("create", 0, 1, "=A"),
        op("delete", 2, 3, "=A"),
        op("create", 4, 5, "=B"),
        op("describe", 6, 7, "=A"),
    ],
    "stale absence": [op("create", 0, 1, "=A"), op("describe", 2, 3)],
    "lost create": [
        op("create", 0, 1, "=A"),
        op("describe", 2, 3, "=A"),
        op("create", 4, 5, "=B"),
    ],
    "resurrected topic": [
        op("create", 0, 1, "=A"),
        op("delete", 2, 3, ""),
        op("describe", 4, 5, "=A"),
    ],
    "resurrected beside a pending create": [
        op("create", 0, 1, "=A"),
        op("create", 2, None),
        op("delete", 3, 4, ""),
        op("describe", 5, 6, "=A"),
    ],
    "a pending create's id comes back": [
        op("create", 0, None),
        op("create", 1, None),
        op("describe", 2, 3, "=X"),
        op("delete", 4, 5, "=X"),
        op("describe", 6, 7),
        op("describe", 8, 9, "=X"),
    ],
    "two creates ok": [op("create", 0, 3, "=A"), op("create", 1, 2, "=B")],
    "id reused": [
        op("create", 0, 1, "=A"),
        op("delete", 2, 3, "=A"),
        op("create", 4, 5, "=A"),
    ],
    "delete ok of an absent topic": [op("describe", 0, 1), op("delete", 2, 3, "")],
    "deleted twice": [
        op("create", 0, 1, "=A"),
        op("delete", 2, 3, "=A"),
        op("delete", 4, 5, "=A"),
    ],
    "dirty read": [op("describe", 0, 1, "=Z")],
    "read before its create": [op("describe", 0, 1, "=A"), op("create", 2, 3, "=A")],
    "wrong presence": [op("create", 0, 1, PRESENT)],
    "wrong presence after a delete": [
        op("create", 0, 1, "=A"),
        op("delete", 2, 3, "=A"),
        op("create", 4, 5, PRESENT),
    ],
    "wrong absence": [op("create", 0, 1, "=A"), op("delete", 2, 3, ABSENT)],
    "wrong absence of a describe": [op("create", 0, 1, "=A"), op("describe", 2, 3, ABSENT)],
    "delete names another id": [op("create", 0, 1, "=A"), op("delete", 2, 3, "=B")],
}


@pytest.mark.parametrize("name", HONEST)
def test_accepts(name: str) -> None:
    outcome = check_name(rows(HONEST[name]), budget_s=10)
    assert outcome.verdict is Verdict.VALID, outcome.findings
    assert outcome.seen == sum(o.ok or o.asserts is not None for o in HONEST[name])


@pytest.mark.parametrize("name", PLANTED)
def test_rejects_and_names_the_operations(name: str) -> None:
    outcome = check_name(rows(PLANTED[name]), budget_s=10)
    assert outcome.verdict is Verdict.INVALID
    named = {o for finding in outcome.findings for o in finding.operations}
    assert PLANTED[name][-1].index in named or len(named) > 1
    assert named <= {o.index for o in PLANTED[name]}
    for finding in outcome.findings:
        assert all(f"index {o}" in finding.message for o in finding.operations)


WRONG_BY_IDS = {
    "id reused": ("id A was given to 2 creates", [0, 4]),
    "deleted twice": ("id A was deleted 2 times", [2, 4]),
    "dirty read": ("id Z was seen, but no create can have installed it by then", [0]),
    "delete names another id": ("id B was seen, but no create can have installed it", [2]),
    "read before its create": ("id A was seen before its create was invoked", [0, 2]),
    "stale describe": ("id A was seen again after its delete had been answered", [0, 2, 6]),
    "a pending create's id comes back": ("id X was seen again after its delete", [4, 8]),
}


@pytest.mark.parametrize("name", [*PLANTED, *HONEST])
def test_rules_of_ids_alone(name: str) -> None:
    """What they say, and of which operations; nothing of what is wrong for another reason."""
    found = id_findings({**PLANTED, **HONEST}[name])
    if name not in WRONG_BY_IDS:
        assert not found
        return
    (finding,) = found
    text, operations = WRONG_BY_IDS[name]
    assert finding.message.startswith(text) and list(finding.operations) == operations


def test_three_of_many_that_saw_a_deleted_topic_are_shown() -> None:
    late = [op("describe", index, index + 1, "=A") for index in (4, 6, 8, 10)]
    (found,) = id_findings([op("create", 0, 1, "=A"), op("delete", 2, 3, "=A"), *late])
    assert list(found.operations) == [0, 2, 4, 6, 8]


@pytest.mark.parametrize(
    ("maker", "may"),
    [
        (op("create", 0, 1, "info"), True),
        (op("create", 0, None), True),
        (op("create", 0, 1), True),
        (op("create", 0, 1, "=B"), False),
        (op("create", 0, 1, "NOT_CONTROLLER"), False),
        (op("delete", 0, None), False),
        (op("create", 4, None), False),
    ],
)
def test_create_that_showed_no_id_may_have_made_any(maker: Operation, may: bool) -> None:
    """Also one that ends after it, if it began before the first answer that shows the id ended."""
    seen = [op("describe", 2, 3, "=A"), op("describe", 5, 6, "=A")]
    messages = [each.message for each in id_findings([maker, *seen])]
    assert (not messages) == may, messages


@pytest.mark.parametrize("end", [1, None])
def test_what_did_not_succeed_shows_no_id(end: int | None) -> None:
    """Though its completion repeats what was asked for."""
    asked = op("delete", 0, end, "INVALID_REQUEST")
    asked.result = {"topic_id": "Z"}
    assert not id_findings([asked])


def test_what_ids_show_comes_with_the_searchs_picture() -> None:
    (found,) = check_name(rows(PLANTED["stale describe"]), budget_s=10).findings
    assert found.picture and len(found.message.splitlines()) > 1


def test_an_operation_that_cannot_be_read_is_what_is_said_of_its_name() -> None:
    """Whatever else is wrong with it: what else there was, nobody could read."""
    odd = op("describe", 6, 7)
    odd.result = [1]
    outcome = check_name(rows([*PLANTED["deleted twice"], odd]), budget_s=10)
    assert outcome.verdict is Verdict.UNKNOWN and not outcome.findings
    assert outcome.note.startswith("index 6: the result of describe must be")


def test_a_picture_is_of_the_operations_that_broke_a_rule() -> None:
    """The search shows an absence that nobody explains; the rule is about the other id."""
    found = check_name(
        rows(
            [
                op("create", 0, 1, "=A"),
                op("describe", 2, 3),
                op("describe", 4, 5, "=A"),
                op("delete", 6, 7, "=A"),
                op("delete", 8, 9, ABSENT),
                op("describe", 10, 11, "=Z"),
            ]
        ),
        budget_s=10,
    ).findings
    (finding,) = found
    assert finding.message.startswith("id Z was seen") and list(finding.operations) == [10]
    assert not finding.picture


def test_a_spent_budget_is_unknown() -> None:
    # 40 lives need 39 ends, and only 20 are there; in any order of any of them.
    crowd = [op("create", i, None) for i in range(60)]
    crowd += [op("delete", 100 + i, None) for i in range(20)]
    crowd += [op("describe", 200 + i, 400 + i, f"=id{i}") for i in range(40)]
    outcome = check_name(rows(crowd), budget_s=0.2)
    assert outcome.verdict is Verdict.UNKNOWN and "budget" in outcome.note


# Brute force: the state is the present id and every id that was ever installed.


def explain(state: Any, operation: Operation, ids: Sequence[str]) -> Iterable[Any]:
    present, used = state
    result = operation.result
    shown = result.get("topic_id") if isinstance(result, dict) else None
    match operation.f, operation.type:
        case "create", "ok" | "info":
            fresh = [i for i in ([shown] if shown else ids) if i not in used]
            if present is None:
                return [(i, used | {i}) for i in fresh]
            return []
        case "delete", "ok":
            return [(None, used)] if present and shown in (None, present) else []
        case "delete", "info":
            return [(None, used)]
        case "describe", "ok":
            if not result:
                return [] if present else [state]
            return [state] if present and shown in (None, present) else []
    if operation.asserts == PRESENT:
        return [state] if present else []
    if operation.asserts == ABSENT:
        return [] if present else [state]
    return [state]


def test_agrees_with_brute_force() -> None:
    verdicts = []
    for seed in range(700):
        rng = random.Random(f"topics of kafka/{seed}")
        operations = random_history("topics", rng)
        for number, operation in enumerate(operations):
            if operation.type == "fail":
                saw = PRESENT if operation.f == "create" else ABSENT
                operation.error = ("REFUSED", "")
                operation.ext = {"asserts": saw} if rng.random() < 0.8 else None
            # Mostly unique ids, as they should be.
            elif operation.f == "create" and operation.result and rng.random() < 0.3:
                operation.result = {"topic_id": f"own{number}"}
        ids = {o.result["topic_id"] for o in operations if isinstance(o.result, dict)}
        # As many unseen ids as there are operations: they never run out.
        every = [*sorted(ids), *(f"unseen{i}" for i in range(len(operations)))]
        expected = linearizable(
            lambda state, o, every=every: explain(state, o, every), (None, frozenset()), operations
        )
        outcome = check_name(rows(operations), budget_s=10)
        got = outcome.verdict is Verdict.VALID
        if outcome.seen:
            assert got is expected, f"seed {seed}: {operations}"
            verdicts.append(expected)
    assert 100 < sum(verdicts) < 600


NAMES = {
    "fine": (HONEST["one life after another"], "VALID"),
    "again": (PLANTED["id reused"], "INVALID"),
    "wrong": (PLANTED["stale absence"], "INVALID"),
    "another of that id": (HONEST["one life after another"], "VALID"),
    "no ids shown": ([op("create", 0, 1), op("delete", 2, 3), op("create", 4, 5)], "VALID"),
    "pending": ([op("create", 0, 1, "=A"), op("delete", 2, 3), op("create", 4, None)], "VALID"),
    "cached": ([op("create", 0, 1, "=A"), op("metadata", 2, 3)], "VALID"),
    None: ([op("describe", 0, 1, "=A")], ""),
}


@pytest.mark.parametrize("run", ["r", "s"])
def test_names_are_judged_apart_while_a_run_goes_on(run: str) -> None:
    """An id is given once in one name of one run; what is of no name, or of a cache, is left."""
    columns = Columns(OPERATIONS)
    for name, (operations, _) in NAMES.items():
        for operation in operations:
            add_operation(columns, run, replace(operation, key=name))
    nothing = pa.table({})
    tables = RunTables(
        run=run,
        plan={},
        operations=columns.table(),
        observations=nothing,
        nemesis=nothing,
        faults=nothing,
        evidence={},
    )
    found = TopicLinearizability().judge_run(tables, 10.0).to_pylist()
    assert {row["key"]: row["verdict"] for row in found} == {
        name: verdict for name, (_, verdict) in NAMES.items() if verdict
    }
    assert {(row["run"], row["checker"]) for row in found} == {(run, "topic-linearizability")}


@pytest.mark.parametrize("missing", ["topic-operations", "linearizable-topic-read"])
def test_it_takes_writes_of_topics_and_recent_reads(missing: str) -> None:
    offered = {"topic-operations", "linearizable-topic-read"}
    assert unmet(TopicLinearizability.requires, offered) is None
    assert unmet(TopicLinearizability.requires, offered - {missing}) is not None


def test_options_are_those_that_are_given() -> None:
    given = SearchOptions(budget=7)
    assert TopicLinearizability(given).options is given
    assert TopicLinearizability().options == SearchOptions() != given


def test_runs_are_judged_apart() -> None:
    """Of two runs that did the same each has its own ids."""
    columns = Columns(OPERATIONS)
    for run in ("r", "s"):
        for operation in HONEST["one life after another"]:
            add_operation(columns, run, operation)
    found = check_names(columns.table(), budget_s=10).to_pylist()
    assert [(row["run"], row["verdict"]) for row in found] == [("r", "VALID"), ("s", "VALID")]


def test_on_spark_every_name_is_judged_by_itself(spark: Any) -> None:
    operations = [op("create", 0, 1, "=A", name="good"), op("metadata", 2, 3, name="good")]
    operations += [op("describe", 4, 5, "=A", name="good"), op("describe", 6, 7, "=Z", name="bad")]
    columns = Columns(OPERATIONS)
    for operation in operations:
        add_operation(columns, "r", operation)
    tables = Tables(
        spark=spark,
        runs=[RunInfo(run="r", path="", plan={})],
        operations=spark.createDataFrame(columns.table()),
        nemesis=None,
        faults=None,
        each=each_run(spark, []),
    )
    checker = TopicLinearizability()
    found = [row.asDict() for row in checker.check(tables).collect()]
    assert {row["key"]: row["verdict"] for row in found} == {"good": "VALID", "bad": "INVALID"}
    result = checker_result(checker.name, checker.summary, found)
    assert (result.verdict, result.seen, result.keys) == (Verdict.INVALID, 2, 2)
    assert [(f.key, list(f.operations)) for f in result.findings] == [("bad", [6])]
    figures = {row["key"]: json.loads(row["figures"]) for row in found}
    assert figures["bad"]["operations"] == 1


def contract(case: Any, name: str) -> Any:
    """What `test_contract` asks for."""

    def judge(operations: Sequence[Operation]) -> CheckerResult:
        clauses = TopicLinearizability.clauses
        if not operations:
            return checker_result(name, "", [], clauses=clauses)
        outcome = check_name(rows(operations), budget_s=10)
        row = outcome_row("r", name, "t", outcome)
        return checker_result(name, "", [row], clauses=clauses)

    return case(
        judge=judge,
        clean=next(iter(HONEST.values())),
        planted={each: ((), lambda each=each: PLANTED[each]) for each in PLANTED},
        nothing=[],
    )
