"""What runs on Spark's workers: tables of operations in, a row of outcome for each key out."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa

from checkers.linearizability.decide import DISAGREEMENT, Decided, decide, decide_small
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import EncodedHistory
from checkers.linearizability.encoding.encode import Keyed, encode_keys, malformed
from checkers.linearizability.encoding.models import MODELS
from checkers.linearizability.evidence.explain import explain
from framework.checking.columns import Columns
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


COLUMNS: Final = (
    *("index", "end", "process", "f", "key", "value", "type", "result"),
    *("error_code", "ext"),
)
"""What is read of operations, beside their runs: to decide keys, and to tell of them in words."""

Judge: TypeAlias = Callable[[pa.Table, Keyed, Decision | None], Outcome]
"""Of one key of a table, perhaps decided already."""
Name: TypeAlias = tuple[str, str]
"""(run, key)."""


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


def outcomes(
    table: pa.Table, *, model: str, checker: str, judge: Judge, apart: Collection[Name] = ()
) -> pa.Table:
    """`OUTCOME_ARROW` for every key. One that cannot be judged is UNKNOWN, and that key alone.
    Keys `apart` are judged even where there is an order: that is not all that is asked of them."""
    made = Columns(OUTCOME_ARROW)
    try:
        keys = encode_keys(model, table)
        counts = np.diff(keys.starts)
        for number, decision in enumerate(decide_small(keys.encoded)):
            run, key = name = keys.names[number]
            if decision is not None and decision.verdict is Verdict.VALID and name not in apart:
                outcome = _decided_outcome(int(counts[number]), int(keys.seen[number]), decision)
            else:
                outcome = _safely(judge, table, keys[number], decision)
            made.add(*outcome_row(run, checker, unquoted(key), outcome).values())
    except Exception as error:  # of a table that holds what no history can
        made = Columns(OUTCOME_ARROW)
        for run, key in sorted(set(_names(table))):
            made.add(*outcome_row(run, checker, unquoted(key), failed(error)).values())
    return made.table()


def judge_key(
    model: str,
    table: pa.Table,
    key: Keyed,
    known: Decision | None = None,
    *,
    budget_s: float,
    patience: Patience | None = None,
) -> Outcome:
    """One key, unless it is decided already. `seen` counts the operations that saw something."""
    if key.is_malformed:
        found = malformed(model, table.take(pa.array(key.rows)))
        note = "malformed" if found is None else f"index {found[0]}: {found[1]}"
        return Outcome(verdict=Verdict.UNKNOWN, seen=key.seen, note=note)
    decided = Decided(known) if known is not None else decide(key.encoded, Budget(budget_s))
    decision = decided.decision
    if decided.disagrees:
        return _disagreement(key, decided)
    if decision.verdict is Verdict.INVALID:
        finding = _explained(model, table, key, decision, patience or Patience())
        return judged(key.seen, [finding], _figures(len(key.rows), decision))
    return _decided_outcome(len(key.rows), key.seen, decision)


def _decided_outcome(operations: int, seen: int, decision: Decision) -> Outcome:
    """VALID also where nothing was seen: a whole history of that is UNKNOWN, one such key is in
    order."""
    figures = _figures(operations, decision)
    return Outcome(verdict=decision.verdict, seen=seen, figures=figures, note=decision.note)


def _figures(operations: int, decision: Decision) -> Mapping[str, float]:
    return {"operations": operations, f"method: {decision.method}": 1}


def _explained(
    model: str, table: pa.Table, key: Keyed, decision: Decision, patience: Patience
) -> Finding:
    operations = table.take(pa.array(key.rows))
    began = monotonic()
    budget = Budget(max(0.0, min(EXPLAIN_S, patience.left_s)))
    found = explain(operations, key.encoded, decision, budget, model=model, decide=_decision)
    patience.left_s -= monotonic() - began
    return found


def _decision(encoded: EncodedHistory, budget: Budget) -> Decision:
    return decide(encoded, budget).decision


def _disagreement(key: Keyed, decided: Decided) -> Outcome:
    """The system's own log and a search that knows nothing of it say different things.

    Where the log's order does not explain what another order does, the key is linearizable, and
    the log is not what the clients saw. The other way round one of the methods is wrong.
    """
    assert decided.along is not None
    along, search = decided.along, decided.decision
    figures = {**_figures(len(key.rows), search), DISAGREEMENT: 1}
    if search.verdict is Verdict.INVALID:
        note = f"{search.method} says INVALID, {along.method} has an order: one of them is wrong"
        return Outcome(verdict=Verdict.UNKNOWN, seen=key.seen, figures=figures, note=note)
    rows = [along.culprit, *(row for row in along.involved if row != along.culprit)]
    indices = [int(key.encoded.call[row]) for row in rows if row >= 0]
    named = ", ".join(map(str, indices))
    message = (
        f"some order explains all operations ({search.method}), but not the order of the "
        f"system's own log: {along.note or 'see the operations'} (index {named})"
    )
    finding = Finding(message=message, operations=indices)
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


def _names(table: pa.Table) -> Iterable[Name]:
    return zip(table["run"].to_pylist(), table["key"].to_pylist(), strict=True)


def _safely(judge: Judge, table: pa.Table, key: Keyed, known: Decision | None) -> Outcome:
    try:
        return judge(table, key, known)
    except Exception as error:
        return failed(error)
