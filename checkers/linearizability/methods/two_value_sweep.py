"""A cell that only ever flips between two values: an element of a set, a name that may exist.

Every mutation is a cas x -> y or y -> x: creating what must be absent, deleting what must be
present. Observations say on which side the cell is. One sweep over the events decides, lazily:
nothing flips before an operation returns that cannot have its result otherwise. Then

- an observation whose side was not up at any time since its call needs one flip;
- a cas needs one flip, its own, if the cell is on its side; else another's before that.

Another's is the open cas in the needed direction that returns first; a pending one if there is no
other. If there is none, no order exists.

Why that is exact. Two open cas of one direction are interchangeable from now on but for their
deadlines: where an order uses the one that returns later (or never) first, swapping the two, or
putting the later one in where the other is left, gives an order too. So let any legal order be
given, with its effects in time, and say that by a moment it has applied what the sweep has applied
and then further flips s, all by cas that are open (the sweep has applied all that returned), such
that what it has satisfied is satisfied by what the sweep saw plus s. An event at which the sweep
must flip finds s beginning with a flip in that direction: an observation that s satisfied was not
satisfied before s; a cas that was applied is in s, first or after a flip the other way. By the
swap it is the very cas that the sweep takes, and the rest of s remains. So whenever the sweep
finds no cas, there was no legal order. Applying less than another order never bars what that does
next: it can be caught up with at any moment.

An operation on other values is never possible (a read, a completed cas) or always (a failed cas).
O(n log c) for c open operations.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.event_order import in_order
from checkers.linearizability.arrays.heap import pop, push
from checkers.linearizability.arrays.kinds import CAS, DIFFERS, FOREVER, READ
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import NEVER, Codes, EncodedHistory, Ints
from framework.compiled import compiled
from framework.verdict import Verdict

METHOD: Final = "two value sweep"


_NEITHER: Final = 2
"""The side of what can never be; `_ALWAYS`: of what always is."""
_ALWAYS: Final = 3


def two_value_sweep(encoded: EncodedHistory, budget: Budget) -> Decision | None:
    """Kinds READ, DIFFERS, CAS; None for others, or if the cas have values besides the initial one
    and one more. Decides all it takes on. VALID has an order; the culprit is the earliest."""
    found, other = _other_side(encoded.kind, encoded.a, encoded.b, encoded.initial)
    if not found:
        return None
    culprit, order = _swept(encoded, other)
    if culprit < 0:
        return Decision(Verdict.VALID, METHOD, order.astype(np.int64))
    involved = _involved(encoded, other, culprit, order)
    return Decision(Verdict.INVALID, METHOD, culprit=culprit, involved=involved.tolist())


def _swept(encoded: EncodedHistory, other: int) -> tuple[int, Codes]:
    sides = _sides(encoded.kind, encoded.a, encoded.b, encoded.initial, other)
    completed = np.flatnonzero(encoded.ret != NEVER)
    returns = completed[in_order(encoded.ret[completed], len(encoded))]
    is_cas = (encoded.kind == CAS) & (encoded.a != encoded.b)
    return _sweep(encoded.call, encoded.ret, is_cas, sides, returns)


def _involved(encoded: EncodedHistory, other: int, culprit: int, order: Codes) -> Ints:
    """What alone has no order: preferably the last flips and what was open then. They must have
    begun with the initial value."""
    known: Ints = np.flatnonzero(encoded.call < encoded.ret[culprit])
    cas = order[(encoded.kind[order] == CAS) & (encoded.a[order] != encoded.b[order])]
    back = 2 + len(cas) % 2
    while back < len(cas):
        late: Ints = known[encoded.ret[known] > encoded.call[cas[-back]]]
        cas_only: Ints = late[(encoded.kind[late] == CAS) | (late == culprit)]
        for rows in (cas_only, late):
            if _swept(encoded.take(rows), other)[0] >= 0:
                return rows
        back = 2 * back - len(cas) % 2
    return known


@compiled
def _other_side(kind: NDArray[np.int8], a: Codes, b: Codes, initial: int) -> tuple[bool, int]:
    """Whether every mutation is a cas between two values, the initial one among them, and the
    second one (-1: there is none)."""
    other = -1
    for row in range(len(kind)):
        if kind[row] not in (READ, DIFFERS, CAS):
            return False, -1
        if kind[row] == CAS:
            for value in (a[row], b[row]):
                if other < 0 and value != initial:
                    other = value
                if value not in (initial, other):
                    return False, -1
    return True, other


@compiled
def _sides(
    kind: NDArray[np.int8], a: Codes, b: Codes, initial: int, other: int
) -> NDArray[np.int8]:
    """The side that each operation needs: 0 is the initial value's."""
    sides = np.empty(len(kind), np.int8)
    for row in range(len(kind)):
        if kind[row] == DIFFERS:
            sides[row] = _ALWAYS
            if a[row] == initial:
                sides[row] = 1 if other >= 0 else _NEITHER
            elif a[row] == other:
                sides[row] = 0
        elif a[row] == initial:
            sides[row] = 0
        else:
            sides[row] = 1 if a[row] == other else _NEITHER
    return sides


class Sweep(NamedTuple):
    """By side, the open cas from there: completed ones as a heap (both in one array), and pending
    ones. Their numbers are counts[side] and counts[2 + side]; counts[4] is the side that is up,
    counts[5] the length of the order, counts[6] how many wait for the other side."""

    heap: Codes
    pending: Codes
    waiting: Codes
    done: NDArray[np.bool_]
    order: Codes
    counts: Ints


@compiled
def _sweep(
    call: Ints,
    ret: Ints,
    is_cas: NDArray[np.bool_],
    sides: NDArray[np.int8],
    returns: Ints,
) -> tuple[int, Codes]:
    """The culprit, or -1, and the order until there. `returns`: the completed rows, by returns."""
    n = len(call)
    sweep = Sweep(
        np.empty(2 * n, np.int32),
        np.empty((2, n), np.int32),
        np.empty(n, np.int32),
        np.zeros(n, np.bool_),
        np.empty(n, np.int32),
        np.zeros(7, np.int64),
    )
    counts = sweep.counts
    begun = 0
    for row in returns:
        while begun < n and call[begun] < ret[row]:
            _begin(sweep, ret, is_cas, sides, begun)
            begun += 1
        if sweep.done[row]:
            continue
        if sides[row] == _NEITHER:
            return row, sweep.order[: counts[5]]
        if sides[row] != counts[4]:
            other = _other(sweep, ret)
            if other < 0:
                return row, sweep.order[: counts[5]]
            _flip(sweep, other)
        if is_cas[row]:
            _flip(sweep, row)
    return -1, sweep.order[: counts[5]]


@compiled
def _begin(
    sweep: Sweep, ret: Ints, is_cas: NDArray[np.bool_], sides: NDArray[np.int8], row: int
) -> None:
    """An invocation."""
    counts = sweep.counts
    side = int(sides[row])
    if side == _NEITHER:
        return
    if is_cas[row]:
        if ret[row] == FOREVER:
            sweep.pending[side, counts[2 + side]] = row
            counts[2 + side] += 1
        else:
            push(sweep.heap, side * len(ret), counts[side], ret, row)
            counts[side] += 1
    elif ret[row] != FOREVER:
        if side in (_ALWAYS, counts[4]):
            sweep.done[row] = True
            sweep.order[counts[5]] = row
            counts[5] += 1
        else:
            sweep.waiting[counts[6]] = row
            counts[6] += 1


@compiled
def _other(sweep: Sweep, ret: Ints) -> int:
    """The cas that flips the side that is up. -1: none is open."""
    counts = sweep.counts
    side = counts[4]
    while counts[side]:
        first = pop(sweep.heap, side * len(ret), counts[side], ret)
        counts[side] -= 1
        if not sweep.done[first]:
            return first
    if counts[2 + side]:
        counts[2 + side] -= 1
        pending: int = sweep.pending[side, counts[2 + side]]
        return pending
    return -1


@compiled
def _flip(sweep: Sweep, row: int) -> None:
    """A cas takes effect, and after it all that waited for the side that comes up."""
    counts = sweep.counts
    sweep.done[row] = True
    sweep.order[counts[5]] = row
    counts[5] += 1
    for at in range(counts[6]):
        sweep.done[sweep.waiting[at]] = True
        sweep.order[counts[5]] = sweep.waiting[at]
        counts[5] += 1
    counts[6] = 0
    counts[4] = 1 - counts[4]
