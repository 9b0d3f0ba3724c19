"""Histories of older releases: read once more, they get the verdict of today's."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from checkers.topic_linearizability import check_names
from framework.checking import observed
from framework.checking.runs import OPERATIONS, read_run
from framework.history.reader import read, read_history
from nodes.kraft.adapter.older import ASSERTED, restated
from nodes.kraft.adapter.states import STATES

PLAN = {"system": "kraft", "seed": 1, "workloads": [], "nodes": {}, "time_zero_ns": 0}
CREATED = {"topic_id": "A"}


def history(*operations: dict[str, Any]) -> bytes:
    """One operation after another."""
    lines = []
    for number, end in enumerate(operations):
        invoked = {"f": end["f"], "key": end.get("key", "t"), "process": 0}
        times = [{"index": at, "time": at} for at in (2 * number, 2 * number + 1)]
        value = {"value": end["asked"]} if "asked" in end else {}
        lines += [
            {**times[0], "type": "invoke", **invoked, **value},
            {
                **times[1],
                **invoked,
                **{name: each for name, each in end.items() if name != "asked"},
            },
        ]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def stored(folder: Path, *operations: dict[str, Any], system: str = "kraft") -> pa.Table:
    """The operations of a run that is read as `check` reads it."""
    (folder / "plan.json").write_text(json.dumps({**PLAN, "system": system}))
    (folder / "history.jsonl").write_bytes(history(*operations))
    plan = read_run(folder).info.plan
    return observed.restated(plan, read([folder / "history.jsonl"]).operations)


def failed(f: str, code: str, **fields: Any) -> dict[str, Any]:
    return {"f": f, "type": "fail", "error": [code, "said the node"], **fields}


def verdict(operations: pa.Table) -> str:
    table = operations.append_column("run", pa.array(["r"] * len(operations)))
    (row,) = check_names(table.select(OPERATIONS.names), budget_s=10).to_pylist()
    return str(row["verdict"])


@pytest.mark.parametrize(("f", "code"), ASSERTED)
def test_a_failure_that_was_read_by_its_code_asserts_it(f: str, code: str, tmp_path: Path) -> None:
    bare, placed = stored(tmp_path, failed(f, code), failed(f, code, ext={"epoch": 1})).to_pylist()
    assert json.loads(bare["ext"]) == {"asserts": ASSERTED[f, code]}
    assert json.loads(placed["ext"]) == {"asserts": ASSERTED[f, code], "epoch": 1}


@pytest.mark.parametrize(
    "operation",
    [
        failed("create", "NOT_CONTROLLER"),
        failed("create", "UNKNOWN_TOPIC_ID"),
        failed("write", "TOPIC_ALREADY_EXISTS"),
        {"f": "create", "type": "info", "error": ["TOPIC_ALREADY_EXISTS", ""]},
        {"f": "create", "type": "ok", "value": CREATED, "ext": {"epoch": 1, "offset": 2}},
        failed("create", "TOPIC_ALREADY_EXISTS", ext={"asserts": "stale"}),
    ],
)
def test_others_stay_as_they_are(operation: dict[str, Any], tmp_path: Path) -> None:
    (row,) = stored(tmp_path, operation).to_pylist()
    assert (None if row["ext"] is None else json.loads(row["ext"])) == operation.get("ext")


PRESENT_THEN = failed("create", "TOPIC_ALREADY_EXISTS")
ABSENT_THEN = failed("delete", "UNKNOWN_TOPIC_OR_PARTITION")
MADE = {"f": "create", "type": "ok", "value": CREATED}
GONE = {"f": "delete", "type": "ok", "value": CREATED}


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ([MADE, PRESENT_THEN, GONE, ABSENT_THEN], "VALID"),
        ([MADE, GONE, PRESENT_THEN], "INVALID"),
        ([MADE, ABSENT_THEN], "INVALID"),
        ([MADE, failed("describe", "UNKNOWN_TOPIC_ID")], "INVALID"),
    ],
)
def test_an_older_run_gets_the_verdict_that_it_had(
    operations: list[dict[str, Any]], expected: str, tmp_path: Path
) -> None:
    assert verdict(stored(tmp_path, *operations)) == expected


def test_codes_are_no_words_of_other_systems(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_bytes(history(PRESENT_THEN))
    (only,) = read_history(tmp_path / "history.jsonl").operations
    assert only.asserts is None
    assert stored(tmp_path, PRESENT_THEN, system="not installed").to_pylist()[0]["ext"] is None


def test_a_history_of_today_is_not_touched(tmp_path: Path) -> None:
    table = stored(tmp_path, MADE, failed("create", "TOPIC_ALREADY_EXISTS", ext={"asserts": "x"}))
    assert restated(table) is table


# --- states of brokers --------------------------------------------------------------------

BEAT = {"broker_id": 4, "broker_epoch": 7, "target": "SHUTDOWN", "incarnation": "i"}
GRANTED = {"broker_epoch": 7, "next_state": "SHUTDOWN", "lease_end_ms": 9}


@pytest.mark.parametrize(("word", "state"), STATES.items())
def test_states_are_in_the_words_of_all_systems(word: str, state: str, tmp_path: Path) -> None:
    asked, granted = {**BEAT, "target": word}, {**GRANTED, "next_state": word}
    process = {"incarnation": "i", "broker_state": word, "broker_epoch": 7, "broker_id": 4}
    replaced = {"first": process, "second": {**process, "broker_state": "ACTIVE"}}
    beat, swapped = stored(
        tmp_path,
        {"f": "heartbeat", "type": "ok", "key": "broker-4", "asked": asked, "value": granted},
        {"f": "replace", "type": "ok", "key": "broker-4", "value": replaced},
    ).to_pylist()
    assert json.loads(beat["value"]) == {**BEAT, "target": state}
    assert json.loads(beat["result"]) == {**GRANTED, "next_state": state}
    assert json.loads(swapped["result"]) == {
        "first": {**process, "broker_state": state},
        "second": {**process, "broker_state": "active"},
    }


@pytest.mark.parametrize(
    "operation",
    [
        {"f": "write", "type": "ok", "asked": BEAT, "value": GRANTED},
        {"f": "heartbeat", "type": "ok", "asked": {**BEAT, "target": "ELSEWHERE"}},
        {"f": "heartbeat", "type": "ok", "asked": {**BEAT, "target": "active", "by": "ACTIVE"}},
        {"f": "heartbeat", "type": "info"},
    ],
)
def test_other_words_stay(operation: dict[str, Any], tmp_path: Path) -> None:
    (row,) = stored(tmp_path, operation).to_pylist()
    assert json.loads(row["value"]) == operation.get("asked")
    assert json.loads(row["result"]) == operation.get("value")


def test_one_old_word_changes_no_other_operation(tmp_path: Path) -> None:
    other = {"f": "write", "type": "ok", "asked": BEAT}
    table = stored(tmp_path, {"f": "heartbeat", "type": "ok", "asked": BEAT}, other)
    targets = [json.loads(value)["target"] for value in table["value"].to_pylist()]
    assert targets == ["leaving", "SHUTDOWN"]


def test_a_state_of_today_is_not_touched(tmp_path: Path) -> None:
    today = {**BEAT, "target": "leaving"}
    table = stored(tmp_path, {"f": "heartbeat", "type": "ok", "asked": today})
    assert restated(table) is table


# --- processes ----------------------------------------------------------------------------

PROCESS = {"incarnation": "i", "broker_state": "active", "broker_epoch": 7}


@pytest.mark.parametrize("f", ["start", "restart", "bounce"])
def test_a_process_that_was_started_says_of_which_broker_it_is(f: str, tmp_path: Path) -> None:
    operation = {"f": f, "type": "ok", "key": "broker-301", "value": PROCESS}
    (row,) = stored(tmp_path, operation).to_pylist()
    assert json.loads(row["result"]) == {**PROCESS, "broker_id": 301}


def test_the_one_that_replaced_another_says_it_too(tmp_path: Path) -> None:
    value = {"first": {}, "second": PROCESS}
    operation = {"f": "replace", "type": "ok", "key": "broker-301", "value": value}
    (row,) = stored(tmp_path, operation).to_pylist()
    assert json.loads(row["result"])["second"] == {**PROCESS, "broker_id": 301}


@pytest.mark.parametrize(
    "operation",
    [
        {"f": "start", "type": "ok", "key": "broker-301", "value": {**PROCESS, "broker_id": 7}},
        {"f": "start", "type": "ok", "key": "b1", "value": PROCESS},
        {"f": "start", "type": "info", "key": "broker-301", "value": PROCESS},
        {"f": "drain", "type": "ok", "key": "broker-301", "value": {"reason": None}},
        {"f": "start", "type": "ok", "key": "broker-301"},
    ],
)
def test_nothing_else_says_it(operation: dict[str, Any], tmp_path: Path) -> None:
    (row,) = stored(tmp_path, operation).to_pylist()
    assert json.loads(row["result"]) == operation.get("value")


@pytest.mark.parametrize(
    ("reason", "granted"),
    [("controlled shutdown granted", True), ("controlled shutdown not granted in time", False)],
)
def test_a_process_that_was_drained_says_whether_it_was_let_go(
    reason: str, granted: bool, tmp_path: Path
) -> None:
    operation = {"f": "drain", "type": "ok", "key": "broker-301", "value": {"reason": reason}}
    (row,) = stored(tmp_path, operation).to_pylist()
    said = {"reason": reason, "granted": granted, "broker_id": 301}
    assert json.loads(row["result"]) == said
