"""Lies are made as they are named, and the table says of each whether somebody found it."""

from collections.abc import Mapping
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from benchmarks.falsified.__main__ import main, row_of
from benchmarks.falsified.answers import WHOLE, at, places, with_value
from benchmarks.falsified.judging import Judged
from benchmarks.falsified.lies import DONE, REFUSED, changes_of
from benchmarks.falsified.reasons import Reason
from benchmarks.falsified.table import table
from benchmarks.falsified.trials import ERROR, tried
from checkers.partition_data import PartitionData
from framework.checking.findings import finding
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.checking.runs import FAULTS, NEMESIS
from framework.evidence.run_events import RunEvents
from framework.history.columns import OPERATIONS
from framework.history.pairing import Operation
from framework.history.rows import OperationRows
from framework.plugins.checker import RunTables
from framework.testing.story import Story
from framework.verdict import Verdict

ID = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"
ANSWER = {"n": 3, "list": [{"id": ID, "on": True}, {"id": OTHER, "on": None}], "at": [[0, 7]]}


# --- answers and lies ---------------------------------------------------------------------


def test_fields_have_names_and_places() -> None:
    found: dict[str, list[Any]] = {}
    for field, place in places(ANSWER):
        found.setdefault(field, []).append(at(ANSWER, place))
    assert found == {
        WHOLE: [ANSWER],
        "n": [3],
        "list": [ANSWER["list"]],
        "list[]": ANSWER["list"],
        "list[].id": [ID, OTHER],
        "list[].on": [True, None],
        "at": [[[0, 7]]],
        "at[].0": [0],  # a record is as long as it is: its members alone can be something else
        "at[].1": [7],
    }


def test_what_a_transaction_did_is_a_list_of_records() -> None:
    did = [["send", "t/0", [7, 1]], ["poll", {"t/0": [[7, 1], [8, 2]], "t/1": []}]]
    found: dict[str, list[Any]] = {}
    for field, place in places(did):
        found.setdefault(field, []).append(at(did, place))
    assert found == {
        WHOLE: [did],
        "[].0": ["send", "poll"],
        "[].1": ["t/0", did[1][1]],
        "[].2.0": [7],
        "[].2.1": [1],
        "[].1{}": [[[7, 1], [8, 2]], []],
        "[].1{}[].0": [7, 8],
        "[].1{}[].1": [1, 2],
    }


def test_one_place_is_changed_and_the_answer_stays() -> None:
    before = repr(ANSWER)
    changed = with_value(ANSWER, ("list", 1, "id"), "X")
    assert changed == {**ANSWER, "list": [{"id": ID, "on": True}, {"id": "X", "on": None}]}
    assert with_value(ANSWER, (), None) is None
    assert repr(ANSWER) == before


@pytest.mark.parametrize(
    ("value", "others", "told"),
    [
        (3, [3, 5], {"+1": 4, "-1": 2, "0": 0, "another's": 5}),
        (True, [], {"flipped": False}),
        ("a", ["a", "b"], {"another's": "b"}),
        (3, [3, None], {"another's": None}),
        (None, [None, 7], {"another's": 7}),
        ([1], [[1], [2]], {"one missing": [], "one too many": [1, 2], "one twice": [1, 1]}),
        ([1], [[1]], {"one too many": [1, 2], "empty": []}),
        ({}, [], {}),
    ],
)
def test_a_value_is_told_as_another(value: Any, others: list[Any], told: Mapping[str, Any]) -> None:
    changes = changes_of(value)
    made = {name: changes[name](value, others, Random(1)) for name in told}
    assert made == told
    assert changes or not told


def test_an_id_may_be_nobodys() -> None:
    made = changes_of(ID)["nobody's"](ID, [ID], Random(1))
    assert changes_of(made).keys() == changes_of(ID).keys() > changes_of("a").keys()
    assert made not in (ID, OTHER)


@pytest.mark.parametrize(
    ("value", "others", "name"),
    [(0, [0], "0"), (0, [0], "another's"), ([], [[]], "empty"), ([], [], "one missing")],
)
def test_what_would_change_nothing_is_no_lie(value: Any, others: list[Any], name: str) -> None:
    with pytest.raises(LookupError):
        changes_of(value)[name](value, others, Random(1))


def asked(index: int, result: Any, error: str | None = None, key: str = "t") -> Operation:
    return Operation(
        index=index,
        end=index + 1,
        f="read",
        key=key,
        node="n1",
        type="ok" if error is None else "fail",
        result=result,
        error=None if error is None else (error, ""),
    )


def test_a_whole_answer_is_told_as_another() -> None:
    first, second, beside = asked(0, 1), asked(2, 2), asked(4, 3, key="u")
    nothing = asked(6, None)
    no, never = asked(8, None, "NO"), asked(10, None, "NEVER")
    every = [first, second, beside, nothing, no, never]

    def told(name: str, operation: Operation) -> tuple[str, Any, str | None]:
        made = {**DONE, **REFUSED}[name](operation, every, Random(1))
        assert (made.index, made.end, made.key) == (operation.index, operation.end, operation.key)
        return made.type, made.result, made.error_code

    assert told("earlier", second) == ("ok", 1, None)
    assert told("another's", second) == ("ok", 3, None)
    assert told("absent", second) == ("ok", None, None)
    assert told("refused", second) in (("fail", None, "NO"), ("fail", None, "NEVER"))
    assert told("granted", no)[0] == "ok"
    assert told("another error", no) == ("fail", None, "NEVER")
    with pytest.raises(LookupError):
        told("earlier", first)


# --- a run --------------------------------------------------------------------------------


def blind(events: RunEvents) -> Outcome:
    """Finds an answer without a number, and looks at nothing else."""
    wrong = [each for each in events.operations if "offset" not in (each.result or {"offset": 0})]
    found = [finding("no number", [each]) for each in wrong]
    verdict = Verdict.INVALID if found else Verdict.VALID
    return Outcome(verdict=verdict, seen=9, findings=found)


class Blind(RunChecker):
    name = "blind"
    summary = "Answers have a number"
    requires: frozenset[str] = frozenset()
    check_run = RunCheck(blind, fs=("produce",))


def failing(events: RunEvents) -> Outcome:
    seen = sum(9 // (2 - each.result["offset"]) for each in events.operations)
    return Outcome(verdict=Verdict.VALID, seen=seen)


class Failing(RunChecker):
    name = "failing"
    summary = "Divides by an answer"
    requires: frozenset[str] = frozenset()
    check_run = RunCheck(failing, fs=("produce",))


def run_of(*checkers: RunChecker) -> Judged:
    """Two partitions, to each of which two values are written, and read to the end."""
    story = Story()
    for key in ("t/0", "t/1"):
        for offset in (0, 1):
            value = {"value": offset, "acks": "all", "producer": key, "idempotent": True}
            story.op("produce", key, value, {"offset": offset, "topic_id": ID})
        for _ in range(3):
            fetched = {
                "records": [[0, 0], [1, 1]],
                "high_watermark": 2,
                "log_start": 0,
                "position": 2,
            }
            story.op("fetch", key, {"consumer": "c", "from": 0}, fetched)
            story.op("seek", key, {"consumer": "c", "to": 0}, {"consumer": "c", "to": 0})
    (operations,) = OperationRows.of(story.operations).columns()
    tables = RunTables(
        run="r",
        plan={},
        operations=operations,
        observations=OPERATIONS.empty_table(),
        nemesis=NEMESIS.empty_table(),
        faults=FAULTS.empty_table(),
        evidence=dict[str, pa.Table](),
    )
    return Judged(tables, {each.name: each for each in checkers})


def rows(judged: Judged, *only: str) -> list[Mapping[str, Any]]:
    return [row_of("s", each) for each in tried(judged, 2, 1, only)]


def test_a_lie_is_found_by_the_checker_that_knows_better() -> None:
    judged = run_of(PartitionData())
    assert judged.clean()["partition-data"].verdict is not Verdict.INVALID
    found = rows(judged, "produce")
    offsets = [each for each in found if (each["field"], each["change"]) == ("offset", "+1")]
    assert len(offsets) == 2
    assert {name for each in offsets for name in each["invalid"]} >= {"partition-data/one-value"}
    assert "acks" not in {each["field"] for each in found}  # which nobody answered
    assert rows(run_of(PartitionData()), "seek") == []


def test_a_lie_that_nobody_looks_at_is_still_valid() -> None:
    found = rows(run_of(Blind()))
    assert {each["f"] for each in found} == {"produce", "fetch"}
    assert [each for each in found if each["invalid"] or each["unknown"]] == []
    lines = list(table(found))
    (offset,) = (line for line in lines if line.startswith("| produce | `offset`"))
    assert "0/" in offset
    assert "+1 2/2" in offset
    assert "**?**" in offset
    assert lines[-1].startswith(f"{len(found)} lies: 0 INVALID, 0 UNKNOWN, {len(found)} VALID;")


def test_a_checker_that_fails_on_a_lie_is_told_apart() -> None:
    found = rows(run_of(Failing()), "produce")
    failed = {(each["field"], each["change"]) for each in found if each["failed"]}
    assert ("offset", "from then on: +1") in failed
    assert {tuple(each["failed"]) for each in found} == {("failing",), ()}
    assert {tuple(each["invalid"]) for each in found} == {()}


def test_the_same_seed_tells_the_same_lies() -> None:
    first, again = (rows(run_of(PartitionData()), "fetch") for _ in range(2))
    assert first == again
    other = [row_of("s", each) for each in tried(run_of(PartitionData()), 2, 2, ["fetch"])]
    assert other != first


def test_a_refusal_may_be_told_as_granted() -> None:
    fields = {each["field"] for each in rows(run_of(Blind()), "produce")}
    assert ERROR not in fields  # none was refused there


def test_a_reason_covers_what_it_names() -> None:
    reason = Reason("fetch", "records[].*", "*", "because")
    row = {"f": "fetch", "field": "records[].0", "change": "+1"}
    assert reason.covers(row)
    assert not reason.covers({**row, "f": "produce"})
    assert not reason.covers({**row, "field": "records"})


def test_a_run_has_to_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([])
    assert "name a run" in capsys.readouterr().err
