"""Histories in which nothing could contradict anything are UNKNOWN, whatever the model, through
what `check --model` asks."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from framework.checking.foreign import check_histories, find_histories
from framework.plugins import registry
from framework.verdict import Verdict

Done = tuple[str, Any, str, Any]
"""f, value, type, result."""


def made(topic_id: str) -> dict[str, str]:
    return {"topic_id": topic_id}


HOLLOW: Final[dict[str, dict[str, dict[str, list[Done]]]]] = {
    "register": {
        "fails": {"x": [("write", 1, "fail", None), ("cas", [1, 2], "fail", None)] * 2},
        "writes": {"x": [("write", 1, "ok", 1), ("write", 2, "ok", 2)]},
        "reads of nothing": {"x": [("read", None, "ok", None)] * 3},
    },
    "kv": {
        "fails": {"x": [("write", "a", "fail", None), ("append", "b", "fail", None)]},
        "writes": {"x": [("write", "a", "ok", "a"), ("append", "b", "ok", "b")]},
    },
    "topics": {
        "fails": {"x": [("delete", None, "fail", None)] * 2},
        "creates": {name: [("create", {}, "ok", made(name))] for name in "xy"},
    },
    "set": {
        "fails": {name: [("remove", None, "fail", None)] for name in "12"},
        "adds": {name: [("add", None, "ok", None)] for name in "12"},
    },
    "grow-only-set": {
        "fails": {"x": [("add", 1, "fail", None)] * 2},
        "adds": {"x": [("add", 1, "ok", 1), ("add", 2, "ok", 2)]},
    },
    "queue": {
        "fails": {"x": [("enqueue", 1, "fail", None), ("dequeue", None, "fail", None)]},
        "writes": {"x": [("enqueue", 1, "ok", 1), ("enqueue", 2, "ok", 2)]},
    },
    "kafka": {
        "fails": {"x": [("produce", {"value": 1, "acks": "all"}, "fail", None)] * 2},
        "writes": {
            "x": [
                ("produce", {"value": at, "acks": "all"}, "ok", {"value": at, "offset": at})
                for at in (0, 1)
            ]
        },
    },
}
READS: Final[dict[str, tuple[str, list[Done]]]] = {
    "register": ("x", [("write", 1, "ok", 1), ("read", None, "ok", 1)]),
    "kv": ("x", [("write", "a", "ok", "a"), ("read", None, "ok", "a")]),
    "topics": ("x", [("create", {}, "ok", made("a")), ("describe", None, "ok", made("a"))]),
    "set": ("1", [("add", None, "ok", None), ("contains", None, "ok", True)]),
    "grow-only-set": ("x", [("add", 1, "ok", 1), ("read", None, "ok", [1])]),
    "queue": ("x", [("enqueue", 1, "ok", 1), ("dequeue", None, "ok", 1)]),
    "kafka": (
        "x",
        [
            ("produce", {"value": 1, "acks": "all"}, "ok", {"value": 1, "offset": 0}),
            ("fetch", {"consumer": "a", "from": 0}, "ok", {"records": [[0, 1]]}),
        ],
    ),
}


def judged(folder: Path, model: str, keys: dict[str, list[Done]]) -> tuple[Verdict, int]:
    events = []
    for key, operations in keys.items():
        for f, value, type_, result in operations:
            head = {"process": len(events), "f": f, "key": key}
            ended = result if type_ == "ok" else value
            for each in ({"type": "invoke", "value": value}, {"type": type_, "value": ended}):
                events.append({"index": len(events), "time": 1000 * len(events), **head, **each})
            events[-2]["process"] = events[-1]["process"] = len(events)
    path = folder / "history.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    (result,) = check_histories(None, find_histories([path]), model)
    return result.verdict, sum(each.seen for each in result.checkers)


def test_every_model_has_its_cases() -> None:
    models = [name for each in registry.names("models") for name in _names(each)]
    assert sorted(models) == sorted(HOLLOW) == sorted(READS)


def _names(plugin: str) -> list[str]:
    return list(registry.load("models", plugin).names)


@pytest.mark.parametrize(("model", "case"), [(m, case) for m in HOLLOW for case in HOLLOW[m]])
def test_what_nothing_could_contradict_is_unknown(tmp_path: Path, model: str, case: str) -> None:
    assert judged(tmp_path, model, HOLLOW[model][case]) == (Verdict.UNKNOWN, 0)


@pytest.mark.parametrize("model", READS)
def test_one_read_of_what_was_done_shows_something(tmp_path: Path, model: str) -> None:
    key, operations = READS[model]
    verdict, seen = judged(tmp_path, model, {key: operations})
    assert seen > 0 and (verdict is Verdict.VALID) == (seen > 1), "one answer is no more than one"
    verdict, again = judged(tmp_path, model, {key: operations, f"another {key}": operations})
    assert verdict is Verdict.VALID and again == 2 * seen
