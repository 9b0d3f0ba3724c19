"""The kernel that Spark runs for one key: rows of operations in, an outcome out."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from checkers.linearizability.decide import Invalid, Unknown, decide
from checkers.linearizability.encode import malformed
from checkers.linearizability.judging import judge_block
from checkers.linearizability.model import Model, NotInModel
from checkers.linearizability.models import MODELS
from framework.checking.keyed import Kernel, Outcome, judged
from framework.errors import UsageError
from framework.history.event import Json
from framework.history.pairing import Operation
from framework.plugins.checker import Finding
from framework.verdict import Verdict

Row = Mapping[str, Any]


def operation_of(row: Row) -> Operation:
    """An operation from a row of `Tables.operations`."""
    code = row["error_code"]
    return Operation(
        op=row["op"],
        end=row["end"],
        process=row["process"],
        f=row["f"],
        key=_json(row["key"]),
        value=_json(row["value"]),
        type=row["type"],
        result=_json(row["result"]),
        error=None if code is None else (code, row["error_message"] or ""),
        node=row["node"],
    )


def check_key(rows: Sequence[Row], *, model: Callable[[], Model], budget_s: float) -> Outcome:
    """Linearizability of one key. `seen` counts the operations that completed."""
    operations = [operation_of(row) for row in sorted(rows, key=lambda row: row["op"])]
    seen = sum(operation.type != "info" for operation in operations)
    decision = decide(model(), operations, budget_s=budget_s)
    if isinstance(decision, Unknown):
        return Outcome(verdict=Verdict.UNKNOWN, seen=seen, note=decision.why)
    figures = {"operations": len(operations)}
    if isinstance(decision, Invalid):
        return judged(seen, [finding(decision)], figures)
    # Also where all is pending: a whole history of that is UNKNOWN, one such key is in order.
    return Outcome(verdict=Verdict.VALID, seen=seen, figures=figures)


def finding(invalid: Invalid) -> Finding:
    """The evidence in a sentence."""
    culprit = invalid.culprit
    states = invalid.states[:5]
    more = f" or {len(invalid.states) - 5} others" if len(invalid.states) > 5 else ""
    around = "; ".join(map(told, invalid.around))
    message = f"no order of the operations explains {told(culprit)}"
    if states:
        message += f". Before it the object could only be {' or '.join(states)}{more}"
    if around:
        message += f". Beside it and just before: {around}"
    return Finding(message=message, operations=[culprit.op, *(op.op for op in invalid.around)])


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


class Models:
    """What `check --model` needs to know of the models."""

    names: Sequence[str] = tuple(MODELS)

    def validate(self, model: str, operation: Operation) -> None:
        """Raises `UsageError` for an operation that the model has no word for."""
        try:
            self._instances[model].action(operation)
        except NotInModel as error:
            raise UsageError(str(error)) from None

    def kernel(self, model: str, budget_s: float) -> Kernel:
        return partial(check_key, model=MODELS[model], budget_s=budget_s)

    def malformed(self, model: str, table: pa.Table) -> tuple[int, str] | None:
        """The first operation (its index) that the model has no word for, and what is wrong."""
        return malformed(model, table)

    def block(self, model: str, budget_s: float) -> Callable[[pa.Table], pa.Table]:
        """Decides every key of a table; `OUTCOME_ARROW`."""
        return partial(judge_block, model=model, budget_s=budget_s)

    def __init__(self) -> None:
        self._instances = {name: model() for name, model in MODELS.items()}


def _json(text: str | None) -> Json:
    return None if text is None else json.loads(text)


def _short(value: Json) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
