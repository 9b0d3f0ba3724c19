"""FIFO queues whose every value is enqueued once: decided exactly by one sweep, O(n).

Write x.e and x.d for the enqueue and the dequeue of a value; a value that nobody dequeues has its
dequeue at infinity. A history whose dequeues all returned is linearizable iff it has none of four
patterns (Henzinger, Sezgin, Vafeiadis, CONCUR 2013; pending operations are our addition):

1. x.d without x.e, or returned before x.e was invoked;
2. two dequeues of x;
3. x.e returned before y.e was invoked, and y.d before x.d was;
4. an empty dequeue during which, at each moment, some value was surely inside: its enqueue had
   returned, its dequeue was not yet invoked.

Pending enqueues are kept iff dequeued, pending dequeues of an empty queue are left out: to take an
operation without trace, or an enqueue with the dequeue that got it, out of a legal order leaves a
legal order.

A `TAKE`, a dequeue whose result nobody knows, may get any of the values that nobody is known to
have got; call those that were surely enqueued *loose*. A take invoked at t makes a loose value's
dequeue the interval from t to infinity, so it mends patterns 3 and 4 exactly at moments after t,
and harms nothing. What asks for takes are deadlines:

- a dequeue y.d that returned at D: each loose value enqueued before y.e was invoked needs a take
  from before D;
- an empty dequeue that takes effect at a moment p, which must be one when nothing else is surely
  inside: each loose value enqueued before p needs a take from before p.

Both name a *prefix* of the loose values in the order of their enqueues' returns. Hence, by Hall's
theorem, distinct takes exist iff for every deadline D the longest prefix with a deadline up to D
has no more values than takes were invoked before D. As this is a condition on each deadline alone,
the moments p of several empty dequeues can be chosen apart, and the question has an exact answer
without search. Values left over have no deadline, and neither has any loose value after them, so
that leaving them breaks no order.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.events import events
from checkers.linearizability.arrays.kinds import DEQUEUE, EMPTY, ENQUEUE, TAKE
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import NEVER, Codes, EncodedHistory, Ints
from framework.compiled import compiled
from framework.verdict import Verdict

METHOD: Final = "fifo queue"


_FINE, _ENQUEUED_TWICE, _UNKNOWN_VALUE, _DEQUEUED_TWICE = 0, 1, 2, 3
_EARLY, _OVERTAKEN, _STUCK, _NOT_EMPTY = 4, 5, 6, 7


def fifo(encoded: EncodedHistory, budget: Budget) -> Decision | None:
    """VALID or INVALID; None if it is no queue, or a value is enqueued twice. No search, so the
    budget is not asked."""
    kind = encoded.kind
    if not len(encoded):
        return Decision(Verdict.VALID, METHOD)
    if int(kind.min()) < ENQUEUE or int(kind.max()) > TAKE:
        return None
    pending = encoded.ret == NEVER
    if np.any((kind == TAKE) & ~pending) or np.any((kind == DEQUEUE) & pending):
        return None
    a, b, size = _dense(encoded.a, encoded.b)
    enqueue, dequeue, found, row, other = _matched(kind, a, b, size)
    if found == _ENQUEUED_TWICE:
        return None
    queue = _Queue(encoded, a, b, enqueue, dequeue)
    if found == _FINE:
        order = events(encoded.call, encoded.ret)
        found, row, other = _sweep(order, encoded.call, encoded.ret, kind, a, b, enqueue, dequeue)
    if found == _FINE:
        return Decision(Verdict.VALID, METHOD)
    return Decision(Verdict.INVALID, METHOD, None, int(row), queue.involved(found, row, other))


def _dense(a: Codes, b: Codes) -> tuple[Codes, Codes, int]:
    """The same values, by numbers below a size that is in proportion to the operations."""
    size = int(max(a.max(), b.max())) + 1
    if size <= 4 * len(a) + 64:
        return a, b, max(size, 0)
    known, numbers = np.unique(np.concatenate((a, b)), return_inverse=True)
    dense: Codes = numbers.reshape(-1).astype(np.int32)
    return dense[: len(a)], dense[len(a) :], len(known)


@compiled
def _matched(
    kind: NDArray[np.int8], a: Codes, b: Codes, size: int
) -> tuple[Codes, Codes, int, int, int]:
    """Who enqueued and who dequeued each value (-1: nobody); what is wrong, with two rows."""
    enqueue = np.full(size, -1, np.int32)
    dequeue = np.full(size, -1, np.int32)
    found, one, other = 0, -1, -1
    for row in range(len(kind)):
        if kind[row] == ENQUEUE:
            if enqueue[b[row]] >= 0:
                return enqueue, dequeue, _ENQUEUED_TWICE, row, enqueue[b[row]]
            enqueue[b[row]] = row
        elif kind[row] == DEQUEUE:
            if dequeue[a[row]] >= 0 and found == _FINE:
                found, one, other = _DEQUEUED_TWICE, row, dequeue[a[row]]
            dequeue[a[row]] = row
    if found == _FINE:
        for row in range(len(kind)):
            if kind[row] == DEQUEUE and enqueue[a[row]] < 0:
                return enqueue, dequeue, _UNKNOWN_VALUE, row, row
    return enqueue, dequeue, found, one, other


@compiled
def _sweep(
    order: Codes,
    call: Ints,
    ret: Ints,
    kind: NDArray[np.int8],
    a: Codes,
    b: Codes,
    enqueue: Codes,
    dequeue: Codes,
) -> tuple[int, int, int]:
    """The first return that shows a pattern: which, its row, and for `_OVERTAKEN` the dequeue
    that should have come first."""
    last_dequeue = np.empty(len(call), np.int32)
    """By enqueue: of the values enqueued before, the dequeue that was invoked last."""
    loose_before = np.empty(len(call), np.int32)
    """By enqueue: how many loose values were enqueued before."""
    inside, loose, takes, last, possible = 0, 0, 0, -1, call[order[0] >> 1] - 1
    for event in order:
        row = event >> 1
        what = kind[row]
        if event & 1 == 0:
            now = call[row]
            if what == ENQUEUE:
                last_dequeue[row] = last
                loose_before[row] = loose
            elif what == DEQUEUE:
                if ret[enqueue[a[row]]] < now:
                    inside -= 1
            elif what == TAKE:
                takes += 1
        else:
            now = ret[row]
            if what == ENQUEUE:
                got = dequeue[b[row]]
                if got < 0:
                    loose += 1
                else:
                    last = max(last, got)
                    if call[got] > now:
                        inside += 1
            elif what == DEQUEUE:
                put = enqueue[a[row]]
                if call[put] > now:
                    return _EARLY, row, put
                slow = last_dequeue[put]
                if slow >= 0 and call[slow] > now:
                    return _OVERTAKEN, row, slow
                if loose_before[put] > takes:
                    return _STUCK, row, put
            elif what == EMPTY and possible < call[row]:
                return _NOT_EMPTY, row, row
        if inside == 0 and loose <= takes:
            possible = now
    return _FINE, -1, -1


class _Queue:
    """Finds the operations that show a violation."""

    def __init__(
        self, encoded: EncodedHistory, a: Codes, b: Codes, enqueue: Codes, dequeue: Codes
    ) -> None:
        self._encoded = encoded
        self._a, self._b = a, b
        self._enqueue, self._dequeue = enqueue, dequeue

    def involved(self, found: int, row: int, other: int) -> list[int]:
        """The rows of the operations, rising."""
        if found == _NOT_EMPTY:
            rows = [row, *self._cover(row)]
        else:
            put = self._enqueue[self._a[row]]
            rows = [row, other] if put < 0 else [row, other, put]
        if found == _OVERTAKEN:
            rows.append(self._enqueue[self._a[other]])
        elif found == _STUCK:
            rows += self._too_many(int(self._encoded.ret[row]))
        return sorted({int(each) for each in rows})

    def _loose(self) -> Ints:
        """The enqueues of loose values, by their returns."""
        encoded = self._encoded
        rows = np.flatnonzero((encoded.kind == ENQUEUE) & (encoded.ret != NEVER))
        rows = rows[self._dequeue[self._b[rows]] < 0]
        return rows[np.argsort(encoded.ret[rows], kind="stable")]

    def _too_many(self, before: int) -> list[int]:
        """All takes invoked before a moment, and one loose enqueue more, the first ones."""
        encoded = self._encoded
        takes = np.flatnonzero((encoded.kind == TAKE) & (encoded.call < before))
        return [*takes, *self._loose()[: len(takes) + 1]]

    def _cover(self, empty: int) -> list[int]:
        """Operations that leave an empty dequeue no moment: few, not the fewest."""
        encoded = self._encoded
        now, end = int(encoded.call[empty]), int(encoded.ret[empty])
        enqueues = self._enqueue[(self._enqueue >= 0) & (self._dequeue >= 0)]
        dequeues = self._dequeue[self._b[enqueues]]
        since, until = encoded.ret[enqueues], encoded.call[dequeues]
        over = np.flatnonzero((since < until) & (since < end) & (until > now))
        rows: list[int] = []
        surplus = False
        while now < end:
            inside = over[since[over] <= now]
            best = int(inside[np.argmax(until[inside])]) if len(inside) else -1
            if best >= 0 and until[best] > now:
                rows += [int(enqueues[best]), int(dequeues[best])]
                now = int(until[best])
            else:
                surplus = True
                later = since[over[since[over] > now]]
                now = int(later.min()) if len(later) else end
        return rows + (self._too_many(end) if surplus else [])
