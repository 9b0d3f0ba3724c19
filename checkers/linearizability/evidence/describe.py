"""Operations in words."""

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from framework.history.event import Json
from framework.history.pairing import Operation

Row: TypeAlias = Mapping[str, Any]


def operation_of(row: Row) -> Operation:
    """An operation from a row of `framework.checking.runs.OPERATIONS`."""
    code = row.get("error_code")
    return Operation(
        index=row["index"],
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


def describe_operation(operation: Operation) -> str:
    """An operation in words, as in `cas [1,2] -> ok (index 4, process 0)`."""
    value = "" if operation.value is None else f" {_short(operation.value)}"
    if operation.end is None:
        outcome = "no completion"
    elif operation.type == "ok":
        outcome = _short(operation.result)
    else:
        outcome = " ".join([operation.type, *(operation.error or ())[:1]])
    where = f"index {operation.index}, process {operation.process}"
    return f"{operation.f}{value} -> {outcome} ({where})"


def _json(text: str | None) -> Json:
    return None if text is None else json.loads(text)


def _short(value: Json) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
