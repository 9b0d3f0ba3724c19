"""Operations and findings in words."""

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

import pyarrow as pa

from checkers.linearizability.coded import Coded
from checkers.linearizability.decision import Decision
from framework.history.event import Json
from framework.history.pairing import Operation
from framework.plugins.checker import Finding

Row: TypeAlias = Mapping[str, Any]


def operation_of(row: Row) -> Operation:
    """An operation from a row of `framework.checking.runs.OPERATIONS`."""
    code = row.get("error_code")
    return Operation(
        op=row["op"],
        end=row["end"],
        process=row["process"],
        f=row["f"],
        key=_json(row.get("key")),
        value=_json(row["value"]),
        type=row["type"],
        result=_json(row["result"]),
        error=None if code is None else (code, row.get("error_message") or ""),
        node=row.get("node"),
    )


def told(operation: Operation) -> str:
    """An operation in words, as in `cas [1,2] -> ok (index 4, process 0)`."""
    value = "" if operation.value is None else f" {_short(operation.value)}"
    if operation.end is None:
        outcome = "no completion"
    elif operation.type == "ok":
        outcome = _short(operation.result)
    else:
        outcome = " ".join([operation.type, *(operation.error or ())[:1]])
    where = f"index {operation.op}, process {operation.process}"
    return f"{operation.f}{value} -> {outcome} ({where})"


def plainly(table: pa.Table, coded: Coded, decision: Decision) -> Finding:
    """The culprit and what is beside it, without more of an explanation.

    `table` has the key's operations.
    """
    rows = [decision.culprit, *(row for row in decision.involved if row != decision.culprit)]
    ops = [int(coded.call[row]) for row in rows if row >= 0]
    by_op = {row["op"]: operation_of(row) for row in table.to_pylist() if row["op"] in set(ops)}
    culprit, *others = (told(by_op[op]) for op in ops)
    message = f"no order of the operations explains {culprit}"
    if others:
        message += f". Beside it and before: {'; '.join(others)}"
    return Finding(message=message, operations=ops)


def _json(text: str | None) -> Json:
    return None if text is None else json.loads(text)


def _short(value: Json) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
