"""A violation of every kind in every model is rejected, with operations that show it; the same
history without it is accepted."""

import json
from typing import Any

import pytest

from checkers.linearizability.kernel import judge_block
from framework.history.event import Json
from framework.history.pairing import Operation
from tests.checkers.linearizability.agreement import table_of

Step = tuple[Any, ...]
"""(f, value, result), which is ok; or (f, value, "fail" or "info" as a `Type`). In turn, unless
they are in a list: those overlap."""


class Type(str):
    """An outcome other than ok."""


FAIL, INFO = Type("fail"), Type("info")


def operations_of(steps: list[Any]) -> list[Operation]:
    found: list[Operation] = []
    index = 0
    for step in steps:
        together = step if isinstance(step, list) else [step]
        begun = []
        for f, value, outcome in together:
            kind = str(outcome) if isinstance(outcome, Type) else "ok"
            result: Json = None if isinstance(outcome, Type) else outcome
            begun.append(
                Operation(
                    index=index,
                    process=len(found),
                    f=f,
                    value=value,
                    type=kind,  # type: ignore[arg-type]
                    result=result,
                )
            )
            found.append(begun[-1])
            index += 1
        for operation in begun:
            operation.end = index
            index += 1
    return found


def w(value: Json) -> Step:
    return ("write", value, None)


def r(result: Json) -> Step:
    return ("read", None, result)


def a(text: str) -> Step:
    return ("append", text, None)


def enq(value: Json) -> Step:
    return ("enqueue", value, None)


def deq(result: Json) -> Step:
    return ("dequeue", None, result)


def cas(before: Json, after: Json, outcome: Any = None) -> Step:
    return ("cas", [before, after], outcome)


def add(outcome: Any = None) -> Step:
    return ("add", None, outcome)


def rem(outcome: Any = None) -> Step:
    return ("remove", None, outcome)


def has(result: bool) -> Step:
    return ("contains", None, result)


def create(topic_id: str | Type | None = None) -> Step:
    if isinstance(topic_id, Type):
        return ("create", None, topic_id)
    return ("create", None, {"topic_id": topic_id} if topic_id else None)


def delete(outcome: Any = None) -> Step:
    return ("delete", None, outcome)


def describe(shown: Any) -> Step:
    return ("describe", None, {"topic_id": shown} if isinstance(shown, str) else shown)


CLEAN: dict[str, dict[str, list[Any]]] = {
    "register": {
        "in turn": [r(None), w(1), r(1), cas(1, 2), r(2), cas(1, 3, FAIL), r(2)],
        "overlapping writes": [[w(1), w(2), r(None), r(1), r(2)], r(2)],
        "a pending write, late": [w(1), ("write", 2, INFO), r(1), r(2), r(2)],
        "a pending cas never": [w(1), cas(1, 2, INFO), r(1), cas(1, 3), r(3)],
        "a failed cas beside a write": [w(1), [cas(1, 2, FAIL), w(3)], r(3)],
        "odd values": [w({"b": [1.0], "a": None}), r({"a": None, "b": [1]}), w("é"), r("é")],
    },
    "kv": {
        "in turn": [r(""), a("x"), r("x"), a("y"), r("xy"), w("z"), r("z")],
        "overlapping": [[a("x"), a("y")], r("yx")],
        "a pending append": [a("x"), ("append", "y", INFO), a("z"), r("xz"), r("xzy")],
    },
    "topics": {
        "a life": [
            describe(None),
            create("A"),
            create(FAIL),
            describe("A"),
            delete(),
            delete(FAIL),
        ],
        "pending": [
            create(INFO),
            describe(None),
            describe("X"),
            ("delete", None, INFO),
            describe(None),
        ],
        "without ids": [create(), describe(True), delete(), describe(False)],
    },
    "set": {
        "in turn": [has(False), add(), add(FAIL), has(True), rem(), rem(FAIL), has(False)],
        "overlapping": [[add(), rem(), has(True)], has(False)],
        "pending": [add(INFO), has(False), has(True), rem(), has(False)],
    },
    "queue": {
        "in turn": [deq(None), enq(1), enq(2), deq(1), deq(2), deq(None)],
        "overlapping": [[enq(1), enq(2)], deq(2), deq(1)],
        "repeated values": [enq(1), enq(1), deq(1), deq(1), deq(None)],
        "pending": [("enqueue", 1, INFO), enq(2), deq(2), ("dequeue", None, INFO), deq(1)],
    },
}

PLANTED: dict[str, dict[str, list[Any]]] = {
    "register": {
        "stale read": [w(1), w(2), r(1)],
        "phantom read": [w(1), r(7)],
        "lost write": [w(1), r(None)],
        "read that goes back": [[w(1), r(1), r(None)], r(None)],
        "cas from another value": [w(1), cas(2, 3)],
        "two cas from one value": [w(1), [cas(1, 2), cas(1, 3)]],
        "failed cas that had to succeed": [w(1), cas(1, 2, FAIL)],
        "failed cas that took effect": [w(1), cas(2, 3, FAIL), r(3)],
        "failed write that took effect": [w(1), ("write", 2, FAIL), r(2)],
        "pending write, twice": [("write", 1, INFO), w(2), r(1), w(2), r(1)],
        "repeated values": [w(1), w(2), w(1), r(2)],
        "equal numbers of another type": [w(1), r(True)],
    },
    "kv": {
        "lost append": [a("x"), a("y"), r("x")],
        "doubled append": [a("x"), r("xx")],
        "other order": [a("x"), a("y"), r("yx")],
        "phantom": [a("x"), r("xz")],
        "shrinks": [w("ab"), r("ab"), r("a")],
        "failed append that took effect": [("append", "x", FAIL), r("x")],
        "no string": [w("1"), r(1)],
    },
    "topics": {
        "stale presence": [create("A"), delete(), describe("A")],
        "stale absence": [create("A"), describe(None)],
        "created twice": [create("A"), create("B")],
        "failed create of nothing": [create(FAIL)],
        "failed delete of something": [create("A"), delete(FAIL)],
        "another id": [create("A"), describe("B")],
        "deleted by another id": [create("A"), delete({"topic_id": "B"})],
        "two ids of one pending create": [create(INFO), describe("X"), describe("Y")],
    },
    "set": {
        "added twice": [add(), add()],
        "removed from nothing": [rem()],
        "stale": [add(), rem(), has(True)],
        "lost add": [add(), has(False)],
        "failed add of an absent one": [add(FAIL)],
        "failed remove of a present one": [add(), rem(FAIL)],
        "pending add, twice": [add(INFO), has(True), rem(), has(True)],
    },
    "queue": {
        "reordered": [enq(1), enq(2), deq(2), deq(1)],
        "twice": [enq(1), deq(1), deq(1)],
        "lost": [enq(1), deq(None)],
        "overtaken for good": [enq(1), enq(2), deq(2), deq(None)],
        "phantom": [enq(1), deq(2)],
        "dequeued before": [deq(1), enq(1)],
        "failed enqueue that took effect": [("enqueue", 1, FAIL), deq(1)],
        "repeated values, one too many": [enq(1), enq(1), deq(1), deq(1), deq(1)],
        "repeated values, reordered": [enq(1), enq(2), enq(1), deq(1), deq(1)],
        "one pending dequeue for two": [("dequeue", None, INFO), enq(1), enq(2), enq(3), deq(3)],
    },
}


def judged(model: str, steps: list[Any]) -> tuple[dict[str, Any], list[Operation]]:
    operations = operations_of(steps)
    (row,) = judge_block(table_of(operations), model=model, budget_s=20).to_pylist()
    return row, operations


def cases(table: dict[str, dict[str, list[Any]]]) -> list[tuple[str, str]]:
    return [(model, name) for model, named in table.items() for name in named]


@pytest.mark.parametrize(("model", "name"), cases(CLEAN))
def test_accepted(model: str, name: str) -> None:
    row, operations = judged(model, CLEAN[model][name])
    assert (row["verdict"], row["note"], row["findings"]) == ("VALID", "", "[]")
    assert row["seen"] == sum(sees(each.f, each.type) for each in operations)


def sees(f: str, type: str) -> bool:
    """Whether it says what the object was, which something else would contradict."""
    failures_say = ("cas", "create", "delete", "add", "remove")
    return f in failures_say if type == "fail" else type == "ok" and f not in BLIND


BLIND = ("write", "append", "enqueue")


@pytest.mark.parametrize(("model", "name"), cases(PLANTED))
def test_rejected(model: str, name: str) -> None:
    row, operations = judged(model, PLANTED[model][name])
    assert row["verdict"] == "INVALID"
    (finding,) = json.loads(row["findings"])
    assert "no order of the operations explains" in finding["message"]
    named = set(finding["operations"])
    assert named and named <= {operation.index for operation in operations}


MUCH: dict[str, list[Any]] = {
    "register": [step for n in range(100, 250) for step in (w(n), r(n))] + [w(None)],
    "kv": [step for n in range(150) for step in (w(str(n)), r(str(n)))] + [w("")],
    "topics": [step for n in range(100) for step in (create(f"T{n}"), delete())],
    "set": [step for _ in range(100) for step in (add(), has(True), rem())],
    "queue": [step for n in range(100, 250) for step in (enq(n), deq(n))],
}


@pytest.mark.parametrize("model", MUCH)
def test_much_that_is_clean_is_accepted(model: str) -> None:
    row, _ = judged(model, MUCH[model])
    assert row["verdict"] == "VALID"


@pytest.mark.parametrize(("model", "name"), cases(PLANTED))
def test_rejected_after_much_that_is_clean(model: str, name: str) -> None:
    """What came before, of other values and in order, changes nothing."""
    row, operations = judged(model, [*MUCH[model], *PLANTED[model][name]])
    assert row["verdict"] == "INVALID"
    (finding,) = json.loads(row["findings"])
    assert max(finding["operations"]) >= operations[len(MUCH[model])].index
