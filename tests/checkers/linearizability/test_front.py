"""The front: which method decides, what the log says, budgets, keys that cannot be judged."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import pyarrow as pa
import pytest

from checkers.linearizability import decide as front
from checkers.linearizability import kernel
from checkers.linearizability.decide import decide
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import EncodedHistory
from checkers.linearizability.encoding.encode import encode
from checkers.linearizability.kernel import judge_block
from checkers.linearizability.methods.table import METHODS, markdown
from checkers.linearizability.precompile import samples
from framework.compiled import compiled
from framework.history.pairing import Operation
from framework.verdict import Verdict
from tests.checkers.linearizability.agreement import table_of


def write(at: int, value: Any, offset: int | None = None, end: int | None = None) -> Operation:
    ext = None if offset is None else {"epoch": 1, "offset": offset}
    end = at + 1 if end is None else end
    return Operation(index=at, end=end, process=at, f="write", value=value, type="ok", ext=ext)


def read(at: int, result: Any) -> Operation:
    return Operation(index=at, end=at + 1, process=at, f="read", type="ok", result=result)


def judged(operations: Sequence[Operation], model: str = "register") -> dict[str, Any]:
    (row,) = judge_block(table_of(operations), model=model, budget_s=10).to_pylist()
    return {**row, "figures": json.loads(row["figures"]), "findings": json.loads(row["findings"])}


AGAINST_THE_LOG = [write(0, 1, 5), write(2, 2, 3), read(4, 2)]
"""In order for the clients; the log has the second write first."""


def with_methods(
    monkeypatch: pytest.MonkeyPatch, *but: str, **others: Callable[..., Decision | None]
) -> None:
    """All methods but some; others (blanks are underscores) decide as they are told to."""
    methods = tuple(
        replace(each, decide=others.get(each.name.replace(" ", "_"), each.decide))
        for each in METHODS
        if each.name not in but
    )
    monkeypatch.setattr(kernel, "decide", partial(decide, methods=methods))
    if "jit bitset" in but:
        monkeypatch.setattr(front, "jit_bitset_keys", lambda keys: [None] * len(keys))


EASY = ("jit bitset", "beam")


def test_the_methods_that_decided_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    unique = [write(0, 1), read(2, 1)]
    repeated = [write(0, 1), write(2, 2), write(4, 1), read(6, 1)]
    lost = [write(0, 1), write(2, 2), write(4, 1), read(6, 2)]
    for operations in (unique, repeated, lost):
        figures = {"operations": len(operations), "method: jit bitset": 1}
        assert judged(operations)["figures"] == figures
    with monkeypatch.context() as patch:
        with_methods(patch, *EASY)
        assert judged(unique)["figures"] == {"operations": 2, "method: unique writes": 1}
        assert judged(repeated)["figures"] == {"operations": 4, "method: jit antichain": 1}
        assert judged(lost)["figures"] == {"operations": 4, "method: interval refuter": 1}
        add = [Operation(index=0, end=1, process=0, f="add", type="ok")]
        again = [*add, Operation(index=2, end=3, process=0, f="remove", type="ok")]
        assert judged(again, "set")["figures"] == {"operations": 2, "method: two value sweep": 1}


def test_the_log_agrees() -> None:
    row = judged([write(0, 1, 3), write(2, 2, 5), read(4, 2)])
    assert (row["verdict"], row["findings"], row["note"]) == ("VALID", [], "")


def test_an_order_but_not_that_of_the_log_is_a_finding() -> None:
    row = judged(AGAINST_THE_LOG)
    assert row["verdict"] == "VALID" and row["figures"]["disagreement"] == 1
    (finding,) = row["findings"]
    assert "not the order of the system's own log" in finding["message"]
    assert set(finding["operations"]) == {0, 2}


def test_an_order_of_the_log_where_none_is_says_that_a_method_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def approves(encoded: EncodedHistory, budget: Budget) -> Decision:
        return Decision(Verdict.VALID, "log order")

    with_methods(monkeypatch, log_order=approves)
    row = judged([write(0, 1, 3), read(2, 7)])
    assert (row["verdict"], row["findings"]) == ("UNKNOWN", [])
    assert "unique writes says INVALID, log order has an order" in row["note"]


def test_the_log_decides_what_the_searches_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    operations = [write(0, 1, 3), write(2, 2, 5), write(4, 1, 7), read(6, 1)]
    with_methods(monkeypatch, *EASY, "wgl", "jit antichain")
    row = judged(operations)
    assert (row["verdict"], row["figures"]) == ("VALID", {"operations": 4, "method: log order": 1})


def test_what_was_tried_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def gives_up(encoded: EncodedHistory, budget: Budget) -> Decision:
        return Decision(Verdict.UNKNOWN, "jit antichain", note="7 configurations")

    with_methods(monkeypatch, *EASY, "wgl", jit_antichain=gives_up)
    row = judged([write(0, 1), write(2, 2), write(4, 1), read(6, 1)])
    assert row["verdict"] == "UNKNOWN"
    assert "the memory budget of a key ran out (1024 MiB): jit antichain 0.0 s" in row["note"]
    assert "7 configurations" in row["note"]


def test_without_time_it_says_so() -> None:
    encoded = encode("kv", table_of([read(0, 1)]))
    decision = decide(encoded, Budget(0.0)).decision
    assert decision.verdict is Verdict.UNKNOWN
    assert decision.note == "the time budget of a key ran out (0 s): no search had begun"


@compiled
def _twice(number: int) -> int:
    return 2 * number


def test_compiling_is_not_counted() -> None:
    began, budget = monotonic(), Budget(60.0)
    assert _twice(2) == 4
    _twice.recompile()  # type: ignore[attr-defined]
    left = budget.left_s
    assert 60.0 - left < monotonic() - began


def test_a_key_that_cannot_be_judged_is_unknown_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    real = kernel.judge_key

    def fails(model: str, table: pa.Table, key: Any, *decided: Any, **options: Any) -> Any:
        if key.key == '"bad"':
            raise ValueError("no way")
        return real(model, table, key, *decided, **options)

    monkeypatch.setattr(kernel, "judge_key", fails)
    malformed = [Operation(index=0, end=1, process=0, f="cas", value=4, type="ok")]
    tables = [
        table_of([write(0, 1)], key="good"),
        table_of([read(0, 7)], key="bad"),
        table_of(malformed, key="odd"),
    ]
    rows = judge_block(pa.concat_tables(tables), model="register", budget_s=5).to_pylist()
    assert [(row["key"], row["verdict"]) for row in rows] == [
        ("bad", "UNKNOWN"),
        ("good", "VALID"),
        ("odd", "UNKNOWN"),
    ]
    assert rows[0]["note"] == "the checker failed: ValueError: no way"
    assert rows[2]["note"] == "index 0: value of cas must be [from, to]"


def test_many_explanations_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """All are INVALID and named, also when no time for explaining is left."""
    monkeypatch.setattr(kernel.Patience, "__init__", lambda self: setattr(self, "left_s", 0.0))
    tables = [table_of([write(0, 1), read(2, 7)], key=number) for number in range(20)]
    rows = judge_block(pa.concat_tables(tables), model="register", budget_s=5).to_pylist()
    assert all(row["verdict"] == "INVALID" for row in rows)
    assert all(2 in json.loads(row["findings"])[0]["operations"] for row in rows)


def test_samples_are_of_every_kind() -> None:
    kinds = {int(kind) for encoded in samples() for kind in encoded.kind}
    assert kinds == set(range(11))
    assert all((encoded.call[1:] > encoded.call[:-1]).all() for encoded in samples())


def test_docs_have_the_table_of_methods() -> None:
    """From `python -m checkers.linearizability.methods.table`."""
    docs = (Path(__file__).parents[3] / "docs" / "checking.md").read_text().splitlines()
    lines = list(markdown())
    begin = docs.index(lines[0])
    assert docs[begin : begin + len(lines)] == lines
