"""Checking histories that anyone recorded, against a sequential model, key by key."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

from framework.checking.columns import Columns
from framework.checking.keyed import DEFAULT_BUDGET_S, Kernel, keyed
from framework.checking.results import RunResult, checker_result, run_result
from framework.checking.runs import OPERATIONS, add_operation
from framework.errors import UsageError
from framework.history.pairing import Operation
from framework.history.reader import SUFFIXES, History, read_history
from framework.plugins import registry


class ModelSet(Protocol):
    """Sequential models for `check --model` (entry-point group `framework.models`)."""

    names: Sequence[str]

    def validate(self, model: str, operation: Operation) -> None:
        """Raises `UsageError` for an operation that the model has no word for."""

    def kernel(self, model: str, budget_s: float) -> Kernel:
        """Decides one key."""


def find_histories(paths: Iterable[Path]) -> list[Path]:
    """The history files at and below `paths`, each once, in order. Raises `UsageError`."""
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path}: no such file or folder")
        if path.is_dir():
            below = sorted(file for file in path.rglob("*") if _is_history(file))
            if not below:
                raise UsageError(f"{path}: holds no history ({' or '.join(SUFFIXES)})")
            found += below
        elif _is_history(path):
            found.append(path)
        else:
            raise UsageError(f"{path}: not a history; its name must end in {', '.join(SUFFIXES)}")
    return list(dict.fromkeys(found))


def models() -> ModelSet:
    found: ModelSet = registry.load("models", "builtin")
    return found


def need_model(model: str) -> None:
    """Raises `UsageError` if there is no such model."""
    known = models().names
    if model not in known:
        raise UsageError(f"unknown model: {model!r} (known: {', '.join(known)})")


def read_histories(files: Sequence[Path], model: str) -> list[History]:
    """The histories, all of whose operations the model knows. Raises `UsageError`."""
    known = models()
    need_model(model)
    histories = [read_history(file) for file in files]
    for history in histories:
        for operation in history.operations:
            try:
                known.validate(model, operation)
            except UsageError as error:
                raise UsageError(f"{history.path}: index {operation.op}: {error}") from None
    return histories


def check_histories(
    spark: Any, histories: Sequence[History], model: str, budget_s: float = DEFAULT_BUDGET_S
) -> list[RunResult]:
    """All keys of all histories in one job; a result for each, in the same order."""
    began = monotonic()
    columns = Columns(OPERATIONS)
    for number, history in enumerate(histories):
        for operation in history.operations:
            add_operation(columns, str(number), operation)
    rows = keyed(
        spark.createDataFrame(columns.table()),
        checker=model,
        by=["key"],
        order=["op"],
        kernel=models().kernel(model, budget_s),
    ).collect()
    by_file: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_file.setdefault(row["run"], []).append(row.asDict())
    timings = {"check_s": round(monotonic() - began, 3)}
    return [
        run_result(
            str(history.path),
            history.path,
            [
                checker_result(
                    model, f"linearizable as a {model}, key by key", by_file.get(str(number), [])
                )
            ],
            operations=history.operations,
            notes=history.notes,
            timings=timings,
        )
        for number, history in enumerate(histories)
    ]


def _is_history(path: Path) -> bool:
    return path.is_file() and path.name.endswith(SUFFIXES)
