"""A key of pending operations alone is linearizable; a whole history of them shows nothing."""

from typing import Any

from checkers.linearizability.kernel import check_key
from checkers.linearizability.models import MODELS
from framework.checking.keyed import outcome_row
from framework.checking.results import checker_result
from framework.verdict import Verdict


def row(key: str, end: int | None, kind: str) -> dict[str, Any]:
    fixed = {"run": "r", "op": 0, "process": "0", "f": "write", "value": "1", "result": None}
    named = {"key": f'"{key}"', "end": end, "type": kind}
    return {**fixed, **named, "error_code": None, "error_message": None, "node": None}


def outcome(key: str, end: int | None, kind: str) -> dict[str, Any]:
    judged = check_key([row(key, end, kind)], model=MODELS["register"], budget_s=5)
    return outcome_row("r", "register", key, judged)


def test_beside_a_key_that_was_seen() -> None:
    rows = [outcome("x", 1, "ok"), outcome("y", None, "info"), outcome("z", 1, "info")]
    result = checker_result("register", "", rows)
    assert (result.verdict, result.seen, result.keys, result.note) == (Verdict.VALID, 1, 3, "")


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
