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

from typing import Final

import numpy as np

from checkers.linearizability.coded import NEVER, Coded, CodedKeys, Kind
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.narrow.kernel import ORDERED, REFUTED, statuses
from framework.verdict import Verdict

METHOD: Final = "narrow"

UNBOUNDED: Final = int(NEVER)
_STEPS_A_SECOND: Final = 5e5
"""Configurations that are looked at, about, where there are many."""
_ORDERED: Final = Decision(Verdict.VALID, METHOD)
"""The same for all keys: there may be many."""


def narrow(coded: Coded, budget: Budget) -> Decision | None:
    """None: another kind of object, too wide, not to be told without its pending operations, or
    not within the budget."""
    if not len(coded) or coded.kind.max() > Kind.CHANGE:
        return None
    return narrow_keys(CodedKeys.of([coded]), int(max(0.0, budget.left_s) * _STEPS_A_SECOND))[0]


def narrow_keys(keys: CodedKeys, most: int = UNBOUNDED) -> list[Decision | None]:
    """`narrow` of each key, in one call; they must be cells, and none without operations. A key
    that would look at more than `most` configurations is left."""
    if not len(keys):
        return []
    status, culprit = statuses(
        keys.call, keys.ret, keys.kind, keys.a, keys.b, keys.starts, keys.initial, most
    )
    decisions = [_ORDERED if each == ORDERED else None for each in status.tolist()]
    for number in np.flatnonzero(status == REFUTED).tolist():
        row = int(culprit[number] - keys.starts[number])
        decisions[number] = _refuted(keys[number], row)
    return decisions


def _refuted(coded: Coded, row: int) -> Decision:
    """With the operations that were open together with the one that nothing explains."""
    beside = np.flatnonzero((coded.call < coded.ret[row]) & (coded.ret >= coded.call[row]))
    involved = [int(each) for each in beside]
    return Decision(Verdict.INVALID, METHOD, culprit=row, involved=involved)
