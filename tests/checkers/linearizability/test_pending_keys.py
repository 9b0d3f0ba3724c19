"""A key of pending operations alone is linearizable; a whole history of them shows nothing."""

import json
from typing import Any

from checkers.linearizability.kernel import judge_block
from framework.checking.results import checker_result
from framework.history.pairing import Operation
from framework.verdict import Verdict
from tests.checkers.linearizability.agreement import table_of


def outcome(key: str, end: int | None, kind: str, f: str = "write") -> dict[str, Any]:
    operation = Operation(index=0, end=end, process=0, f=f, value=1, type=kind)  # type: ignore[arg-type]
    (row,) = judge_block(table_of([operation], key=key), model="register", budget_s=5).to_pylist()
    found: dict[str, Any] = row
    return found


def written_and_read(key: str) -> dict[str, Any]:
    write = Operation(index=0, end=1, process=0, f="write", value=1, type="ok")
    read = Operation(index=2, end=3, process=0, f="read", result=1, type="ok")
    table = table_of([write, read], key=key)
    found: dict[str, Any] = judge_block(table, model="register", budget_s=5).to_pylist()[0]
    return found


def test_beside_a_key_that_was_seen() -> None:
    seen = [written_and_read("w"), written_and_read("x")]
    rows = [*seen, outcome("y", None, "info"), outcome("z", 1, "info")]
    result = checker_result("register", "", rows)
    assert (result.verdict, result.seen, result.keys, result.note) == (Verdict.VALID, 2, 4, "")
    assert json.loads(rows[0]["figures"]) == {"operations": 2, "method: jit bitset": 1}
    assert result.figures["method: nothing completed"] == 2


def test_writes_alone_see_nothing() -> None:
    result = checker_result("register", "", [outcome("x", 1, "ok")])
    assert (result.verdict, result.seen) == (Verdict.UNKNOWN, 0)


def test_alone() -> None:
    result = checker_result("register", "", [outcome("y", None, "info")])
    assert (result.verdict, result.seen) == (Verdict.UNKNOWN, 0)
    assert result.note == "nothing to check was seen"


def test_a_note_names_its_keys() -> None:
    def unknown(key: str) -> dict[str, Any]:
        return {**outcome(key, 1, "ok"), "verdict": "UNKNOWN", "note": "no time left"}

    rows = [outcome("x", 1, "ok"), *(unknown(key) for key in "abcde")]
    assert checker_result("register", "", rows[:2]).note == "a: no time left"
    assert checker_result("register", "", rows).note == "a, b, c and 2 more: no time left"
