"""The method "jit bitset": cells with few operations open at once, many keys in one call.

Breadth-first over completions, as `jit_antichain`: all configurations that are possible so far,
each the value and which of the open operations have taken effect. Where an operation returns that
has not taken effect in some of them, open mutations take effect there in every order until it has
(just in time: Lowe 2017); observers do as soon as the value allows, which takes nothing from
anybody. The sets are bits, so that one shift lets an operation take effect in all configurations of
a value (`sets.py`), and no configuration has to be dropped for another.

Pending operations are left out at first, and come in where no configuration is left without
(`pending.py`). If that leads nowhere, the key is walked again with all of them as operations that
may stay open for ever; that is exact, too. What needs more than 12 open at once, or more than 16
values, is left to the methods that can be wide.

Cost: some 60 ns an operation up to six open at once, about twice that for every further two,
however many configurations there are. Nothing is prepared: calls rise, and the next return is the
least of the open ones.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import NEVER, EncodedHistory, EncodedKeys, Kind
from checkers.linearizability.methods.jit_bitset.greedy import FEW, SHORT, TINY, easily_ordered
from checkers.linearizability.methods.jit_bitset.kernel import ORDERED, REFUTED, statuses
from framework.verdict import Verdict

METHOD: Final = "jit bitset"

UNBOUNDED: Final = int(NEVER)
_STEPS_A_SECOND: Final = 5e5
"""Words of sets that are looked at, at least."""
_ORDERED: Final = Decision(Verdict.VALID, METHOD)
"""The same for all keys: there may be many."""


def jit_bitset(encoded: EncodedHistory, budget: Budget) -> Decision | None:
    """None: another kind of object, too wide, with or without its pending operations, or not within
    the budget."""
    if not len(encoded) or encoded.kind.max() > Kind.CHANGE:
        return None
    return jit_bitset_keys(
        EncodedKeys.of([encoded]), int(max(0.0, budget.left_s) * _STEPS_A_SECOND)
    )[0]


def jit_bitset_keys(
    keys: EncodedKeys, most: int = UNBOUNDED, tiny: int | None = None
) -> list[Decision | None]:
    """`jit_bitset` of each key, in one call; they must be cells, and none without operations. A key
    that would look at more than `most` words of sets is left. Those of up to `tiny` operations are
    looked at without sets first; None: where that pays."""
    if tiny is None:
        tiny = SHORT if len(keys.call) <= FEW else TINY
    decisions: list[Decision | None] = [_ORDERED] * len(keys)
    left = np.flatnonzero(~_easy(keys, tiny))
    if not len(left):
        return decisions
    rest = keys.only(left)
    status, culprit = statuses(
        rest.call, rest.ret, rest.kind, rest.a, rest.b, rest.starts, rest.initial, most
    )
    for at in np.flatnonzero(status != ORDERED).tolist():
        number = int(left[at])
        decisions[number] = None
        if status[at] == REFUTED:
            decisions[number] = _refuted(keys[number], int(culprit[at] - rest.starts[at]))
    return decisions


def _easy(keys: EncodedKeys, tiny: int) -> NDArray[np.bool_]:
    if not len(keys) or int(np.diff(keys.starts).min()) > tiny:
        return np.zeros(len(keys), np.bool_)
    return easily_ordered(
        keys.call, keys.ret, keys.kind, keys.a, keys.b, keys.starts, keys.initial, tiny
    )


def _refuted(encoded: EncodedHistory, row: int) -> Decision:
    """With the operations that were open together with the one that nothing explains."""
    beside = np.flatnonzero((encoded.call < encoded.ret[row]) & (encoded.ret >= encoded.call[row]))
    involved = [int(each) for each in beside]
    return Decision(Verdict.INVALID, METHOD, culprit=row, involved=involved)
