"""What runs on Spark's workers: tables of operations in, a row of outcome for each key out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Final, TypeAlias

import pyarrow as pa

from checkers.linearizability.coded import Coded
from checkers.linearizability.decide import DISAGREEMENT, Decided, decide, decide_small
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoding.encode import Keyed, encode_keys, malformed
from checkers.linearizability.encoding.models import MODELS
from checkers.linearizability.evidence.explain import explain
from framework.checking.keyed import (
    OUTCOME_ARROW,
    Outcome,
    failed,
    judged,
    outcome_row,
    unquoted,
)
from framework.plugins.checker import Finding
from framework.verdict import Verdict

EXPLAIN_S: Final = 10.0
"""What an explanation may cost beside the verdict."""
EXPLAIN_ALL_S: Final = 120.0
"""What those of one table may cost in all: a brake, for thousands of broken keys. After that they
are short."""


Judge: TypeAlias = Callable[[pa.Table, Keyed, Decided | None], Outcome]
"""Of one key of a table, perhaps decided already."""


@dataclass(slots=True)
class Patience:
    """The time that is left for explanations."""

    left_s: float = EXPLAIN_ALL_S


def judge_block(table: pa.Table, *, model: str, budget_s: float) -> pa.Table:
    """Linearizability of every key of every run in a table, which has columns as in
    `framework.checking.runs.OPERATIONS`; rows may come in any order. Returns `OUTCOME_ARROW`.
    """
    judge = partial(judge_key, model, budget_s=budget_s, patience=Patience())
    return outcomes(table, model=model, checker=model, judge=judge)


def outcomes(table: pa.Table, *, model: str, checker: str, judge: Judge) -> pa.Table:
    """`OUTCOME_ARROW` for every key. One that cannot be judged is UNKNOWN, and that key alone."""
    try:
        keys = list(encode_keys(model, table))
        small = decide_small([_judgeable(key) for key in keys])
        rows = [
            outcome_row(key.run, checker, unquoted(key.key), _safely(judge, table, key, decided))
            for key, decided in zip(keys, small, strict=True)
        ]
    except Exception as error:  # of a table that holds what no history can
        rows = [
            outcome_row(run, checker, unquoted(key), failed(error))
            for run, key in sorted(set(_names(table)))
        ]
    return pa.Table.from_pylist(rows, schema=OUTCOME_ARROW)


def _judgeable(key: Keyed) -> Coded:
    return key.coded.take(key.rows[:0]) if key.is_malformed else key.coded


def judge_key(
    model: str,
    table: pa.Table,
    key: Keyed,
    decided: Decided | None = None,
    *,
    budget_s: float,
    patience: Patience | None = None,
) -> Outcome:
    """One key, unless it is decided already. `seen` counts the operations that completed."""
    if key.is_malformed:
        found = malformed(model, table.take(pa.array(key.rows)))
        note = "malformed" if found is None else f"index {found[0]}: {found[1]}"
        return Outcome(verdict=Verdict.UNKNOWN, seen=key.seen, note=note)
    decided = decided or decide(key.coded, Budget(budget_s))
    figures: Mapping[str, float] = {
        "operations": len(key.rows),
        f"method: {decided.decision.method}": 1,
    }
    if decided.disagrees:
        return _disagreement(key, decided, figures)
    if decided.decision.verdict is Verdict.INVALID:
        return judged(
            key.seen, [_explained(model, table, key, decided, patience or Patience())], figures
        )
    # VALID also where all is pending: a whole history of that is UNKNOWN, one such key is in order.
    return Outcome(
        verdict=decided.decision.verdict,
        seen=key.seen,
        figures=figures,
        note=decided.decision.note,
    )


def _explained(
    model: str, table: pa.Table, key: Keyed, decided: Decided, patience: Patience
) -> Finding:
    operations = table.take(pa.array(key.rows))
    began = monotonic()
    budget = Budget(max(0.0, min(EXPLAIN_S, patience.left_s)))
    found = explain(operations, key.coded, decided.decision, budget, model=model, decide=_decision)
    patience.left_s -= monotonic() - began
    return found


def _decision(coded: Coded, budget: Budget) -> Decision:
    return decide(coded, budget).decision


def _disagreement(key: Keyed, decided: Decided, figures: Mapping[str, float]) -> Outcome:
    """The system's own log and a search that knows nothing of it say different things.

    Where the log's order does not explain what another order does, the key is linearizable, and
    the log is not what the clients saw. The other way round one of the methods is wrong.
    """
    assert decided.along is not None
    along, search = decided.along, decided.decision
    figures = {**figures, DISAGREEMENT: 1}
    if search.verdict is Verdict.INVALID:
        note = f"{search.method} says INVALID, {along.method} has an order: one of them is wrong"
        return Outcome(verdict=Verdict.UNKNOWN, seen=key.seen, figures=figures, note=note)
    rows = [along.culprit, *(row for row in along.involved if row != along.culprit)]
    ops = [int(key.coded.call[row]) for row in rows if row >= 0]
    message = (
        f"some order explains all operations ({search.method}), but not the order of the "
        f"system's own log: {along.note or 'see the operations'} (index {', '.join(map(str, ops))})"
    )
    finding = Finding(message=message, operations=ops)
    return Outcome(
        verdict=Verdict.VALID, seen=key.seen, figures=figures, findings=[finding], note=message
    )


class Models:
    """What `check --model` needs to know of the models (`framework.checking.foreign.Models`)."""

    names: Sequence[str] = tuple(MODELS)

    def malformed(self, model: str, table: pa.Table) -> tuple[int, str] | None:
        """The first operation (its index) that the model has no word for, and what is wrong."""
        return malformed(model, table)

    def block(self, model: str, budget_s: float) -> Callable[[pa.Table], pa.Table]:
        """Decides every key of a table; `OUTCOME_ARROW`."""
        return partial(judge_block, model=model, budget_s=budget_s)


def _names(table: pa.Table) -> Iterable[tuple[str, str]]:
    return zip(table["run"].to_pylist(), table["key"].to_pylist(), strict=True)


def _safely(judge: Judge, table: pa.Table, key: Keyed, decided: Decided | None) -> Outcome:
    try:
        return judge(table, key, decided)
    except Exception as error:
        return failed(error)
