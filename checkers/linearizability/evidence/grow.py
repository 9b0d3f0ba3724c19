"""Growing a set of operations until it is refuted, by what its own orders overlook.

As long as a set has an order, that order says what a cell's value could be at what time. Completed
operations that do not fit in there are what has to be added (refinement by counterexamples, Clarke
et al. 2000). That leads to those that matter, however far apart they are.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final

import numpy as np

from checkers.linearizability.decision import Budget
from checkers.linearizability.encoded import EncodedHistory, Ints
from checkers.linearizability.evidence.relaxed import Relaxing
from checkers.linearizability.evidence.small_search import CAS, CHANGE, DIFFERS, READ, WRITE, Move

MOST_GROWN: Final = 400
_AT_ONCE: Final = 8
_NEVER: Final = float("inf")


def grown(
    relaxing: Relaxing, seed: Ints, among: Ints, max_steps: int, budget: Budget
) -> Ints | None:
    """A refuted set: `seed`, and what had to be added of `among` (rows in the order of their
    returns; the latest first). None: there is nothing to add, or it has grown too large. For
    cells. Raises `TooMuch`."""
    members = np.unique(seed)
    while len(members) <= MOST_GROWN and budget.left_s > 0:
        search = relaxing.search(members, max_steps, budget)
        if search.refuted is not None:
            return members
        added = overlooked(relaxing.encoded, search.order, among)[-_AT_ONCE:]
        if not added:
            return None
        members = np.union1d(members, added)
    return None


def overlooked(encoded: EncodedHistory, order: Sequence[Move], rows: Ints) -> list[int]:
    """The operations of `rows` that fit nowhere into the order. Of those that fit perhaps not
    all do at once."""
    placed = {move.row for move in order}
    states = [encoded.initial]
    begins, ends = [-1], [_NEVER]
    for move in order:
        changes = int(encoded.kind[move.row]) in (WRITE, CAS, CHANGE)
        states.append(int(encoded.b[move.row]) if changes else states[-1])
        begins.append(max(begins[-1], move.call))
    for move in reversed(order):
        ends.append(min(ends[-1], move.ret))
    ends.reverse()
    # Before these places, and at the end, a write may take effect that nobody sees.
    hidden = [move.kind == WRITE for move in order] + [True]
    found = []
    for row in rows.tolist():
        first, last = bisect_right(ends, encoded.call[row]), bisect_left(begins, encoded.ret[row])
        places = range(first, last)
        if row not in placed and not any(
            _fits(encoded, row, states[place], hidden[place]) for place in places
        ):
            found.append(row)
    return found


def _fits(encoded: EncodedHistory, row: int, state: int, is_hidden: bool) -> bool:
    kind, a, b = int(encoded.kind[row]), int(encoded.a[row]), int(encoded.b[row])
    if kind == READ:
        return state == a
    if kind == DIFFERS:
        return state != a
    if kind == CAS:
        return state == a and (is_hidden or a == b)
    if kind == CHANGE:
        return state != a and is_hidden
    return is_hidden or state == b
