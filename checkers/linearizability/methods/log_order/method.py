"""Does the system's own log explain the history? A scan along the order that the log names.

`EncodedHistory.place` says where the log has an operation. So the order of those is given, and
three things remain to be seen:

1. Real time. No operation may have returned before one that the log has earlier was invoked: a
   running maximum of calls, compared with each return.
2. Results. Replayed in the log's order, each operation must fit the state before it.
3. Operations without a place that see but do not change, reads mostly. Slot j is what lies between
   the j-th operation of the log and the next. A read must be in a slot whose state it saw; not
   before those of the log that returned before it was invoked, nor after those that were invoked
   after its return; and not before a read that returned before it was invoked. The lowest slot that
   fits is the best for each, and for those that come after it, so that taking reads in the order
   of their calls and giving each the lowest is exact.

Operations that change something and have no place: those that are pending may be left out, so an
order without them decides VALID. Where it fails, and for those that completed, `unplaced.py`
guesses places, and an order that it finds is legal. If it finds none, the answer is None, unless
they could not have mattered: the log's order contradicts real time by itself, or the contradiction
was complete before any of them was invoked.

An operation that only sees, but has a place, saw what the log had up to that place. Two
changes with the same place: None, as the log's order is not known.

VALID has the order. INVALID is about *this* order: if another method finds another order that
explains the results, it is the log that lies. Cost O(n), and O(n C) where reads wait for a state,
C operations being open at a time.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.events import events
from checkers.linearizability.arrays.replay import replayed
from checkers.linearizability.arrays.steps import no_steps
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import NEVER, NOWHERE, Codes, EncodedHistory, Ints, Kind
from checkers.linearizability.methods.log_order.model import log_order_of_model
from checkers.linearizability.methods.log_order.unplaced import cell_order, into_queue
from framework.compiled import compiled
from framework.verdict import Verdict

METHOD: Final = "log order"

_SEES: Final = (Kind.READ, Kind.DIFFERS, Kind.LOOK, Kind.EMPTY)
_NO_FIT: Final = -1
Mask = NDArray[np.bool_]


def log_order(encoded: EncodedHistory, budget: Budget) -> Decision | None:
    """VALID with an order, INVALID, or None: no places, or they do not tell enough."""
    if encoded.place is None or not len(encoded):
        return None
    placed = encoded.place != NOWHERE
    sees = np.isin(encoded.kind, _SEES)
    log = _log(encoded, encoded.place, placed, sees)
    if log is None:
        return None
    late = _against_time(encoded, log)
    if late is not None:
        return Decision(Verdict.INVALID, METHOD, None, late[0], sorted(late))
    floating = np.flatnonzero(~placed & ~sees)
    looking = np.flatnonzero(~placed & sees & (encoded.ret != NEVER))
    if encoded.transitions is not None:
        return log_order_of_model(METHOD, encoded, log, looking, floating, budget)
    must = floating[encoded.ret[floating] != NEVER]
    found = _explained(encoded, log, looking)
    if not len(must) and found.verdict is Verdict.VALID:
        return found
    if len(floating) and (order := _with_unplaced(encoded, log, looking, floating)) is not None:
        return Decision(Verdict.VALID, METHOD, order)
    if len(must) or _could_matter(encoded, floating, found):
        return None
    return found


def _log(encoded: EncodedHistory, place: Ints, placed: Mask, sees: Mask) -> Ints | None:
    """The rows with a place, in the log's order; None if it has none, or two changes at one."""
    rows = np.flatnonzero(placed)
    order: Ints = rows[np.lexsort((sees[rows], place[rows]))]
    changes = place[order[~sees[order]]]
    return order if len(rows) and (np.diff(changes) > 0).all() else None


def _against_time(encoded: EncodedHistory, log: Ints) -> tuple[int, int] | None:
    """An operation that returned too early, and the one before it in the log, invoked later."""
    latest = np.maximum.accumulate(encoded.call[log])
    wrong = np.flatnonzero(encoded.ret[log[1:]] < latest[:-1]) + 1
    if not len(wrong):
        return None
    at = int(wrong[np.argmin(encoded.ret[log[wrong]])])
    return int(log[at]), int(log[np.argmax(encoded.call[log[:at]])])


def _with_unplaced(
    encoded: EncodedHistory, log: Ints, looking: Ints, floating: Ints
) -> Ints | None:
    """An order that explains the history with some of the floating operations in it."""
    if int(encoded.kind.max()) < Kind.ENQUEUE:
        return cell_order(encoded, log, looking, floating)
    again = into_queue(encoded, log, floating)
    if again is None or _against_time(encoded, again) is not None:
        return None
    return _explained(encoded, again, looking).order


def _could_matter(encoded: EncodedHistory, floating: Ints, found: Decision) -> bool:
    """Whether any of them was invoked before all was over that shows the violation."""
    last = int(encoded.ret[list(found.involved)].max())
    return bool(np.any(encoded.call[floating] < last))


def _explained(encoded: EncodedHistory, log: Ints, looking: Ints) -> Decision:
    """VALID with an order, or the first that does not fit: of the log, or without a place."""
    states, misfit = replayed(encoded.kind, encoded.a, encoded.b, encoded.initial, no_steps(1), log)
    if misfit >= 0:
        return _unfit(encoded, int(log[misfit]), _behind(encoded, log[:misfit]))
    kind = encoded.kind[looking]
    wanted = np.where(kind == Kind.EMPTY, 0, encoded.a[looking]).astype(np.int32)
    call, ret = encoded.call[looking], encoded.ret[looking]
    slots, bad = _slots(
        np.minimum.accumulate(encoded.ret[log][::-1])[::-1].copy(),
        np.maximum.accumulate(encoded.call[log]),
        states,
        events(call, ret),
        call,
        ret,
        wanted,
        kind == Kind.DIFFERS,
    )
    if bad == _NO_FIT:
        return Decision(Verdict.VALID, METHOD, _merged(log, looking, slots))
    row = int(looking[bad])
    near = _around(encoded, log, looking, slots, int(bad))
    return _unfit(encoded, row, near)


def _unfit(encoded: EncodedHistory, row: int, others: list[int]) -> Decision:
    return Decision(Verdict.INVALID, METHOD, None, row, sorted({row, *others}))


def _behind(encoded: EncodedHistory, log: Ints) -> list[int]:
    """What made the state after some operations of the log."""
    kind = encoded.kind[log]
    makers: Ints = log[~np.isin(kind, _SEES)][-1:]
    if int(encoded.kind.max()) >= Kind.ENQUEUE:
        out = int(np.sum((kind == Kind.DEQUEUE) | (kind == Kind.TAKE)))
        makers = log[kind == Kind.ENQUEUE][out : out + 1]
    return [int(each) for each in makers]


@compiled
def _slots(
    first_return: Ints,
    last_call: Ints,
    state: Ints,
    order: Codes,
    call: Ints,
    ret: Ints,
    wanted: Codes,
    differs: Mask,
) -> tuple[Ints, int]:
    """The lowest slot of each; the first for which there is none, or -1.

    `first_return`: of the log's operations from each on; `last_call`: up to each.
    """
    slots = np.full(len(call), -1, np.int64)
    log, reads = 0, 0
    for event in order:
        row = event >> 1
        if event & 1:
            reads = max(reads, slots[row])
            continue
        while log < len(first_return) and first_return[log] < call[row]:
            log += 1
        slot = max(log, reads)
        while (state[slot] == wanted[row]) == differs[row]:
            slot += 1
            if slot == len(state) or last_call[slot - 1] > ret[row]:
                return slots, row
        slots[row] = slot
    return slots, -1


def _merged(log: Ints, looking: Ints, slots: Ints) -> Ints:
    """The log's operations, and the others in their slots, by their calls."""
    where = np.concatenate((np.arange(1, len(log) + 1) * 2 - 1, slots * 2))
    order: Ints = np.concatenate((log, looking))[np.argsort(where, kind="stable")]
    return order


def _around(encoded: EncodedHistory, log: Ints, looking: Ints, slots: Ints, bad: int) -> list[int]:
    """What bounds the slots of a read from both sides, and what made the state of the lowest."""
    call, ret = encoded.call[looking[bad]], encoded.ret[looking[bad]]
    before = np.flatnonzero(encoded.ret[log] < call)[-1:]
    after = np.flatnonzero(encoded.call[log] > ret)[:1]
    reads = np.flatnonzero((encoded.ret[looking] < call) & (slots >= 0))
    best = reads[np.argmax(slots[reads])] if len(reads) else -1
    low = max([0, *(before + 1).tolist(), int(slots[best]) if best >= 0 else 0])
    makers = np.flatnonzero(~np.isin(encoded.kind[log[:low]], _SEES))[-1:]
    near = [int(log[at]) for at in (*before, *after, *makers)]
    return [*near, int(looking[best])] if best >= 0 else near
