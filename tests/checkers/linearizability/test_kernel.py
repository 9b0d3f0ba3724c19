"""A table's keys in, a row of outcome for each out: which of them are judged one by one, what an
explanation may take, and what two methods that disagree come to."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from checkers.linearizability import kernel
from checkers.linearizability.decide import Decided
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import EncodedHistory
from checkers.linearizability.encoding.encode import Keyed, encode_keys
from checkers.linearizability.evidence.explain import explain
from checkers.linearizability.kernel import Models, Patience, judge_block, judge_key, outcomes
from framework.checking.keyed import OUTCOME_ARROW, Outcome
from framework.history.pairing import Operation
from framework.plugins.checker import Finding
from framework.verdict import Verdict
from tests.checkers.linearizability.agreement import table_of
from tests.checkers.linearizability.test_front import read, write

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN
NOW = [0.0]


def sound(key: str, run: str = "r") -> pa.Table:
    return table_of([write(0, 1), read(2, 1)], key=key, run=run)


def wrong(key: str) -> pa.Table:
    return table_of([write(0, 1), read(2, 7)], key=key)


def failed_one(f: str, code: str | None = None, **ext: str) -> Operation:
    error = None if code is None else (code, "")
    return Operation(index=4, end=5, process=2, f=f, type="fail", error=error, ext=ext or None)


def only(table: pa.Table, model: str = "register") -> Keyed:
    (key,) = encode_keys(model, table)
    return key


# --- who is judged ------------------------------------------------------------------------


def test_what_has_an_order_is_not_asked_again_but_for_keys_apart() -> None:
    asked: list[tuple[str, Verdict | None]] = []

    def judge(table: pa.Table, key: Keyed, known: Decision | None) -> Outcome:
        asked.append((key.key, known and known.verdict))
        return Outcome(verdict=UNKNOWN, seen=9)

    pending = table_of([Operation(index=0, process=0, f="write", value=1)], key="d")
    table = pa.concat_tables([sound("a"), sound("b"), wrong("c"), pending])
    options: Any = {"model": "register", "checker": "mine", "judge": judge}
    rows = outcomes(table, apart={("r", '"b"')}, **options).to_pylist()
    assert asked == [('"b"', VALID), ('"c"', INVALID), ('"d"', None)]
    assert [(row["key"], row["checker"], row["verdict"], row["seen"]) for row in rows] == [
        ("a", "mine", "VALID", 1),
        ("b", "mine", "UNKNOWN", 9),
        ("c", "mine", "UNKNOWN", 9),
        ("d", "mine", "UNKNOWN", 9),
    ]
    assert json.loads(rows[0]["figures"]) == {"operations": 2, "method: jit bitset": 1}


def test_of_a_table_that_nobody_can_read_every_key_is_unknown() -> None:
    """Once, in order, whatever was made of others before."""
    table = pa.concat_tables([sound("b"), sound("a"), sound("b", "q"), sound("a")])
    rows = judge_block(table.drop_columns(["index"]), model="register", budget_s=5)
    assert rows.schema == OUTCOME_ARROW
    assert [(row["run"], row["key"], row["verdict"]) for row in rows.to_pylist()] == [
        ("q", "b", "UNKNOWN"),
        ("r", "a", "UNKNOWN"),
        ("r", "b", "UNKNOWN"),
    ]
    assert all("the checker failed" in row["note"] for row in rows.to_pylist())


@pytest.mark.parametrize(
    ("model", "operation", "verdict"),
    [
        ("set", failed_one("add", "REFUSED"), VALID),  # turned away: it says nothing of the set
        ("set", failed_one("add"), INVALID),  # it is in the set, which nobody had put there
        ("kafka topics", failed_one("create", "REFUSED"), VALID),
        ("kafka topics", failed_one("create", "REFUSED", asserts="present"), INVALID),
        ("register", Operation(index=4, end=5, process=2, f="read", result=7, type="ok"), INVALID),
    ],
)
def test_what_is_read_of_operations_is_enough_to_decide_and_to_tell(
    model: str, operation: Operation, verdict: Verdict
) -> None:
    table = table_of([operation]).select(["run", *kernel.COLUMNS])
    (row,) = judge_block(table, model=model, budget_s=5).to_pylist()
    assert (row["key"], Verdict(row["verdict"])) == ("x", verdict)
    assert ("index 4 to 5, process 2" in row["findings"]) is (verdict is INVALID)


def test_what_was_made_before_a_table_failed_is_not_told_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real, made = kernel.outcome_row, list[str]()

    def fails(run: str, checker: str, key: str, outcome: Outcome) -> dict[str, Any]:
        made.append(key)
        if len(made) == 2:
            raise ValueError("no way")
        return real(run, checker, key, outcome)

    monkeypatch.setattr(kernel, "outcome_row", fails)
    table = pa.concat_tables([sound("a"), sound("b")])
    rows = judge_block(table, model="register", budget_s=5).to_pylist()
    assert [(row["key"], row["verdict"]) for row in rows] == [("a", "UNKNOWN"), ("b", "UNKNOWN")]


def test_a_malformed_key_says_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of([Operation(index=4, end=5, process=0, f="cas", value=4, type="ok")])
    key = only(table)
    found = judge_key("register", table, key, budget_s=5)
    assert (found.verdict, found.note) == (UNKNOWN, "index 4: value of cas must be [from, to]")
    monkeypatch.setattr(kernel, "malformed", lambda *_: None)
    assert judge_key("register", table, key, budget_s=5).note == "malformed"


def test_a_key_that_is_decided_is_not_decided_again(monkeypatch: pytest.MonkeyPatch) -> None:
    table, asked = sound("a"), list[float]()

    def decides(encoded: EncodedHistory, budget: Budget) -> Decided:
        asked.append(budget.seconds)
        return Decided(Decision(UNKNOWN, "other", note="long"))

    monkeypatch.setattr(kernel, "decide", decides)
    known = judge_key("register", table, only(table), Decision(VALID, "mine"), budget_s=5)
    assert (known.verdict, known.figures) == (VALID, {"operations": 2, "method: mine": 1})
    found = judge_key("register", table, only(table), budget_s=5)
    assert (found.verdict, found.note, found.seen, asked) == (UNKNOWN, "long", 1, [5])


# --- explanations -------------------------------------------------------------------------


@pytest.fixture
def explained(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What each explanation may take; each takes 50 s, and asks whether there is an order."""
    given: list[float] = []
    NOW[0] = 1000.0

    def explains(
        table: pa.Table,
        encoded: EncodedHistory,
        decision: Decision,
        budget: Budget,
        *,
        model: str,
        decide: Callable[[EncodedHistory, Budget], Decision],
    ) -> Finding:
        given.append(budget.seconds)
        NOW[0] += 50
        assert decide(encoded, Budget(5)).verdict is INVALID
        return explain(table, encoded, decision, Budget(5), model=model)

    monkeypatch.setattr(kernel, "monotonic", lambda: NOW[0])
    monkeypatch.setattr(kernel, "explain", explains)
    return given


def test_explanations_share_the_time_of_their_table(explained: list[float]) -> None:
    table = pa.concat_tables([wrong(str(number)) for number in range(5)])
    rows = judge_block(table, model="register", budget_s=5).to_pylist()
    assert explained == [10, 10, 10, 0, 0]  # 120 s were left, 70, 20, and less than none
    assert all(row["verdict"] == "INVALID" and row["seen"] == 1 for row in rows)


def test_less_than_an_explanation_may_take_may_be_left(explained: list[float]) -> None:
    patience, table = Patience(left_s=3), wrong("a")
    for _ in range(2):
        found = judge_key("register", table, only(table), budget_s=5, patience=patience)
        assert found.verdict is INVALID and len(found.findings) == 1
    assert (explained, patience.left_s) == ([3, 0], -97)


def test_without_a_table_an_explanation_has_time(explained: list[float]) -> None:
    judge_key("register", wrong("a"), only(wrong("a")), budget_s=5)
    assert explained == [10]


# --- disagreements ------------------------------------------------------------------------


def disagree(
    monkeypatch: pytest.MonkeyPatch, search: Verdict, culprit: int, *involved: int
) -> Outcome:
    """The log has no order where a search has one, or the other way round."""
    other = VALID if search is INVALID else INVALID
    log = Decision(other, "log order", culprit=culprit, involved=involved)
    decided = Decided(Decision(search, "search"), log)
    monkeypatch.setattr(kernel, "decide", lambda encoded, budget: decided)
    table = table_of([write(10, 1), write(20, 2), read(30, 2)])
    return judge_key("register", table, only(table), budget_s=5)


@pytest.mark.parametrize(
    ("culprit", "involved", "named"),
    [(1, (0, 1, 2), [20, 10, 30]), (0, (0, 2), [10, 30]), (-1, (0,), [10]), (2, (), [30])],
)
def test_each_operation_that_shows_the_logs_order_wrong_is_named_once(
    monkeypatch: pytest.MonkeyPatch, culprit: int, involved: tuple[int, ...], named: list[int]
) -> None:
    found = disagree(monkeypatch, VALID, culprit, *involved)
    assert found.verdict is VALID and found.figures["disagreement"] == 1
    (finding,) = found.findings
    assert list(finding.operations) == named
    assert f"(index {', '.join(map(str, named))})" in finding.message == found.note


def test_a_search_that_finds_no_order_where_the_log_has_one_is_doubted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = disagree(monkeypatch, INVALID, -1)
    assert (found.verdict, found.seen, list(found.findings)) == (UNKNOWN, 1, [])
    assert found.figures == {"operations": 3, "method: search": 1, "disagreement": 1}


# --- of check -----------------------------------------------------------------------------


def test_models_are_what_check_needs_to_know() -> None:
    models, table = Models(), sound("a")
    assert "register" in models.names and models.malformed("register", table) is None
    odd = table_of([replace(write(6, 1), f="dance")])
    found = models.malformed("register", odd)
    assert found is not None and found[0] == 6
    (row,) = models.block("register", 5)(table).to_pylist()
    assert (row["verdict"], row["checker"]) == ("VALID", "register")
    assert np.array_equal(only(table).rows, [0, 1])
