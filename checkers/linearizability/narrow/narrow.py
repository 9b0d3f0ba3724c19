"""The method "narrow": cells with few operations open at once, many keys in one call.

Breadth-first over completions, as `frontier`, with a configuration in two machine words: the value,
and which of the open operations (at most 63) have taken effect. At a return whose operation has
not, open mutations are put in every order until it has (just in time: Lowe 2017); observers are
satisfied as soon as the value allows. Of configurations with the same value and the same mutations
done one that satisfied no less is kept. A key whose set grows past a width is left to the methods
that can be wide.

Exact without pending operations. They are left out here: an order without them is an order, so
VALID stands; that there is none says nothing when there were any.

Cost: operations times the configurations kept; clients that take turns leave about one of them,
five clients about four. Nothing is prepared: calls rise, and returns wait in a short sorted list.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.coded import NEVER, Coded, Kind
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.narrow.kernel import ORDERED, REFUTED, statuses
from framework.verdict import Verdict

METHOD: Final = "narrow"

UNBOUNDED: Final = int(NEVER)
_STEPS_A_SECOND: Final = 5e5
"""Configurations that are looked at, about, where there are many."""


def narrow(coded: Coded, budget: Budget) -> Decision | None:
    """None: another kind of object, too wide, not to be told without its pending operations, or
    not within the budget."""
    return narrow_keys([coded], int(max(0.0, budget.left_s) * _STEPS_A_SECOND))[0]


def narrow_keys(keys: Sequence[Coded], most: int = UNBOUNDED) -> list[Decision | None]:
    """`narrow` of each key, in one call: what a key costs beside its operations is then little.
    A key that would look at more than `most` configurations is left."""
    decisions: list[Decision | None] = [None] * len(keys)
    cells = [
        number for number, each in enumerate(keys) if len(each) and each.kind.max() <= Kind.CHANGE
    ]
    if not cells:
        return decisions
    coded = [keys[number] for number in cells]
    starts = np.cumsum([0, *map(len, coded)])
    initial = np.array([each.initial for each in coded], dtype=np.int64)
    call, ret, kind, a, b = (
        _joined(columns) for columns in zip(*map(_columns, coded), strict=True)
    )
    status, culprit = statuses(call, ret, kind, a, b, starts, initial, most)
    for place, number in enumerate(cells):
        if status[place] == ORDERED:
            decisions[number] = Decision(Verdict.VALID, METHOD)
        elif status[place] == REFUTED:
            decisions[number] = _refuted(coded[place], int(culprit[place] - starts[place]))
    return decisions


def _columns(coded: Coded) -> tuple[NDArray[Any], ...]:
    return coded.call, coded.ret, coded.kind, coded.a, coded.b


def _joined(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.ascontiguousarray(columns[0]) if len(columns) == 1 else np.concatenate(columns)


def _refuted(coded: Coded, row: int) -> Decision:
    """With the operations that were open together with the one that nothing explains."""
    beside = np.flatnonzero((coded.call < coded.ret[row]) & (coded.ret >= coded.call[row]))
    involved = [int(each) for each in beside]
    return Decision(Verdict.INVALID, METHOD, culprit=row, involved=involved)
