"""Cells whose values repeat: what can be refuted without a search, in one sweep.

Two facts, of which every legal order respects both. An operation *shows* value u if the state is
u at its effect or just after it: a completed read, write, cas or change. A mutation *makes* v.

1. Let one that shows u return before one begins that needs v. Then something makes v between:
   it returns after the former's call, if ever. So v is possible at an event iff, of all that was
   invoked and makes v, the last return is after the last call of what has returned and shows
   another value. This takes mutations as if they could take effect as often as they like; a cas or
   change makes its value only from when the one that it needs is possible.
2. Let several such pairs, each with its own value besides v, follow each other, so that each time
   from the former's call to the latter's return is apart from the others. Then each needs a
   mutation of its own. In order, each is given the one at hand that returns first: that serves all
   pairs if anything does (Glover, Naval Research Logistics Quarterly 14, 1967).

What fails one of these is refuted, at the earliest completion at which it can be seen in this way.
What fails none may still be wrong: None, never VALID. O(n log c), whatever the number of values.
"""

from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.event_order import in_order
from checkers.linearizability.arrays.heap import pop, push
from checkers.linearizability.arrays.kinds import CAS, CHANGE, DIFFERS, READ, WRITE
from checkers.linearizability.arrays.numbering import compact, size_of
from checkers.linearizability.arrays.records import record
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import NEVER, Codes, EncodedHistory, Ints
from framework.compiled import compiled
from framework.verdict import Verdict

METHOD: Final = "interval refuter"


_BEFORE: Final = -2
"""Before the initial value, which was made at event -1."""


def interval_refuter(encoded: EncodedHistory, budget: Budget) -> Decision | None:
    """Kinds READ to CHANGE. INVALID with the clause in the note, or None."""
    if len(encoded) and int(encoded.kind.max()) > CHANGE:
        return None
    numbered = compact(encoded)
    sweep, culprit = _swept(numbered)
    if culprit < 0:
        return None
    known = np.flatnonzero(encoded.call < encoded.ret[culprit])
    involved = _involved(numbered, sweep, culprit)
    if not _is_refuted(numbered, involved):
        involved = known
    note = "too few writes" if sweep.latest["short"][0] else "a value that was not there"
    return Decision(Verdict.INVALID, METHOD, culprit=culprit, involved=involved.tolist(), note=note)


def _involved(encoded: EncodedHistory, sweep: "Sweep", culprit: int) -> Ints:
    """What shows it, most often alone."""
    value = encoded.a[culprit]
    known = (encoded.call < encoded.ret[culprit]) & (encoded.kind >= WRITE)
    if sweep.latest["short"][0]:
        rows = _ran_short(encoded, sweep, np.flatnonzero(known & (encoded.b == value)))
    else:
        by_value = encoded.kind[culprit] in (READ, CAS)
        last = sweep.since[culprit] if by_value else sweep.latest["shown_row"][0, 0]
        makers = np.flatnonzero(known & ((encoded.b == value) == by_value))
        latest = makers[np.argsort(encoded.ret[makers])[-1:]]
        barred = makers[(encoded.kind[makers] != WRITE) & ~sweep.met[makers]]
        rows = np.concatenate(([culprit, last], latest, barred, sweep.since[barred]))
    rows = np.unique(rows[rows >= 0])
    # What was read was also written.
    needed = set(encoded.a[rows[encoded.kind[rows] != WRITE]].tolist())
    for value in needed - set(encoded.b[rows].tolist()):
        rows = np.append(rows, np.flatnonzero((encoded.kind >= WRITE) & (encoded.b == value))[:1])
    return np.unique(rows[encoded.call[rows] < encoded.ret[culprit]]).astype(np.int64)


def _ran_short(encoded: EncodedHistory, sweep: "Sweep", makers: Ints) -> Ints:
    """The pairs that need more mutations than there are for them, and these: from the last pair
    on to those whose mutations it could have had instead, and so on."""
    value = encoded.a[sweep.latter[sweep.latest["pairs"][0] - 1]]
    pairs = np.arange(sweep.latest["pairs"][0])
    pairs = pairs[encoded.a[sweep.latter[pairs]] == value]
    former, latter = sweep.former[pairs], sweep.latter[pairs]
    # The pairs are apart and in order, so that those that a mutation fits are neighbours.
    first = np.searchsorted(encoded.ret[latter], encoded.call[makers])
    end = np.searchsorted(encoded.call[former], encoded.ret[makers])
    serves = np.searchsorted(pairs, sweep.serves[makers])
    serves[sweep.serves[makers] < 0] = -1
    short = np.zeros(len(pairs), np.bool_)
    short[-1] = True
    fits = np.zeros(len(makers), np.bool_)
    while True:
        before = np.concatenate(([0], np.cumsum(short)))
        fits_now = before[end] > before[first]
        if (fits_now == fits).all():
            return np.concatenate((former[short], latter[short], makers[fits]))
        fits = fits_now
        short[serves[fits & (serves >= 0)]] = True


class Latest(Protocol):
    """In the fields of two: at 0 what holds, at 1 the same of any other value."""

    shown: Ints
    """The value shown with the latest call,"""
    shown_call: Ints
    shown_row: Ints
    made: Ints
    """The value with the last return of what makes it,"""
    made_ret: Ints
    waiting: int
    """How many wait for any other value than one,"""
    waited: int
    """and this; -1: they differ in it."""
    pairs: int
    """So far."""
    short: int
    """Whether mutations ran short."""


_LATEST: Final = record(Latest, shown=2, shown_call=2, shown_row=2, made=2, made_ret=2)


class Sweep(NamedTuple):
    """What is known at an event.

    By row: what showed another value before this was invoked and was invoked last (-1: nothing);
    whether its needs were met; the next that waits for the same value; the number of the pair that
    it, a mutation, serves (-1: none). By value: the last return of what makes it; the last call of
    a failed cas that saw something else, and the row; the end of the last pair; who waits for it;
    its mutations at hand, a heap from offsets[value] of sizes[value]. By pair: former, latter.
    """

    since: Codes
    met: NDArray[np.bool_]
    following: Codes
    serves: Codes
    made: Ints
    differs: Ints
    differs_row: Codes
    paired: Ints
    waiting: Codes
    offsets: Codes
    sizes: Codes
    heap: Codes
    former: Codes
    latter: Codes
    others: Codes
    stack: Codes
    latest: NDArray[np.void]
    """(1,): a `Latest`."""


def _swept(encoded: EncodedHistory) -> tuple[Sweep, int]:
    completed = np.flatnonzero(encoded.ret != NEVER)
    returns = completed[in_order(encoded.ret[completed], len(encoded))]
    arrays = (encoded.call, encoded.ret, encoded.kind, encoded.a, encoded.b)
    fields, culprit = _sweep(*arrays, encoded.initial, size_of(encoded), returns)
    return fields, culprit


@compiled
def _new_sweep(kind: NDArray[np.int8], a: Codes, b: Codes, initial: int, size: int) -> Sweep:
    n = len(kind)
    offsets = np.zeros(size + 1, np.int32)
    for row in range(n):
        if kind[row] >= WRITE:
            offsets[b[row] + 1] += 1
    for value in range(size):
        offsets[value + 1] += offsets[value]
    sweep = Sweep(
        np.full(n, -1, np.int32),
        np.zeros(n, np.bool_),
        np.full(n, -1, np.int32),
        np.full(n, -1, np.int32),
        np.full(size, _BEFORE, np.int64),
        np.full(size, _BEFORE, np.int64),
        np.full(size, -1, np.int32),
        np.full(size, _BEFORE, np.int64),
        np.full(size, -1, np.int32),
        offsets,
        np.zeros(size, np.int32),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(n + 1, np.int32),
        np.zeros(1, _LATEST),
    )
    sweep.made[initial] = -1
    latest: Latest = sweep.latest[0]
    latest.shown[0], latest.shown[1] = initial, _BEFORE
    latest.shown_call[0], latest.shown_call[1] = -1, _BEFORE
    latest.shown_row[:] = -1
    latest.made[0], latest.made[1] = initial, _BEFORE
    latest.made_ret[0], latest.made_ret[1] = -1, _BEFORE
    return sweep


@compiled
def _shown_last(latest: Latest, differs: Ints, differs_row: Codes, value: int) -> tuple[int, int]:
    """The latest call of what has returned and shows that `value` was not there; the row."""
    at = 0 if latest.shown[0] != value else 1
    if differs[value] > latest.shown_call[at]:
        return differs[value], differs_row[value]
    return latest.shown_call[at], latest.shown_row[at]


@compiled
def _is_another_possible(latest: Latest, value: int) -> bool:
    """Whether some value but this one is. Perhaps not quite all that is said of it is used."""
    if latest.shown[0] != value:
        return True
    at = 0 if latest.made[0] != value else 1
    return bool(latest.made_ret[at] > latest.shown_call[0])


@compiled
def _make(sweep: Sweep, ret: Ints, kind: NDArray[np.int8], a: Codes, b: Codes, first: int) -> None:
    """From now on a mutation may take effect, and what that makes possible."""
    latest: Latest = sweep.latest[0]
    sweep.stack[0] = first
    count = 1
    while count:
        count -= 1
        row = sweep.stack[count]
        value = b[row]
        push(sweep.heap, sweep.offsets[value], sweep.sizes[value], ret, row)
        sweep.sizes[value] += 1
        sweep.made[value] = max(sweep.made[value], ret[row])
        if latest.made[0] == value:
            latest.made_ret[0] = max(latest.made_ret[0], ret[row])
        elif ret[row] > latest.made_ret[0]:
            latest.made[1], latest.made_ret[1] = latest.made[0], latest.made_ret[0]
            latest.made[0], latest.made_ret[0] = value, ret[row]
        elif ret[row] > latest.made_ret[1]:
            latest.made[1], latest.made_ret[1] = value, ret[row]
        other = sweep.waiting[value]
        sweep.waiting[value] = -1
        while other >= 0:
            sweep.met[other] = True
            if kind[other] == CAS and b[other] != value:
                sweep.stack[count] = other
                count += 1
            other = sweep.following[other]
        if latest.waiting and latest.waited != value:
            left = 0
            for at in range(latest.waiting):
                other = sweep.others[at]
                if a[other] == value:
                    sweep.others[left] = other
                    left += 1
                    continue
                sweep.met[other] = True
                if kind[other] == CHANGE:
                    sweep.stack[count] = other
                    count += 1
            latest.waiting = left


@compiled
def _wait(sweep: Sweep, kind: NDArray[np.int8], value: int, row: int) -> None:
    """Until what the operation needs is possible."""
    latest: Latest = sweep.latest[0]
    if kind[row] in (READ, CAS):
        sweep.following[row] = sweep.waiting[value]
        sweep.waiting[value] = row
    else:
        alike = latest.waiting == 0 or latest.waited == value
        latest.waited = value if alike else -1
        sweep.others[latest.waiting] = row
        latest.waiting += 1


@compiled
def _show(latest: Latest, call: Ints, row: int, value: int) -> None:
    """A completion."""
    at = -1
    if latest.shown[0] == value:
        if call[row] > latest.shown_call[0]:
            at = 0
    elif call[row] > latest.shown_call[0]:
        latest.shown[1], latest.shown_call[1] = latest.shown[0], latest.shown_call[0]
        latest.shown_row[1] = latest.shown_row[0]
        at = 0
    elif call[row] > latest.shown_call[1]:
        at = 1
    if at >= 0:
        latest.shown[at], latest.shown_call[at], latest.shown_row[at] = value, call[row], row


@compiled
def _pair(sweep: Sweep, ret: Ints, begins: int, value: int, row: int) -> bool:
    """Gives a mutation to the pair that begins at an event and ends with this completion. False:
    there is none left for it."""
    latest: Latest = sweep.latest[0]
    sweep.paired[value] = ret[row]
    number = latest.pairs
    sweep.former[number], sweep.latter[number] = sweep.since[row], row
    latest.pairs += 1
    while sweep.sizes[value]:
        mutation = pop(sweep.heap, sweep.offsets[value], sweep.sizes[value], ret)
        sweep.sizes[value] -= 1
        if ret[mutation] > begins:
            sweep.serves[mutation] = number
            return True
    latest.short = 1
    return False


@compiled
def _sweep(
    call: Ints,
    ret: Ints,
    kind: NDArray[np.int8],
    a: Codes,
    b: Codes,
    initial: int,
    size: int,
    returns: Ints,
) -> tuple[Sweep, int]:
    """`returns`: the completed rows by their returns. The culprit, or -1."""
    sweep = _new_sweep(kind, a, b, initial, size)
    latest, since, met, made = sweep.latest[0], sweep.since, sweep.met, sweep.made
    differs, differs_row, paired = sweep.differs, sweep.differs_row, sweep.paired
    begun = 0
    for row in returns:
        while begun < len(call) and call[begun] < ret[row]:
            what, value = kind[begun], a[begun]
            if what == WRITE:
                met[begun] = True
            elif what in (READ, CAS):
                last, since[begun] = _shown_last(latest, differs, differs_row, value)
                met[begun] = made[value] > last
            else:
                met[begun] = _is_another_possible(latest, value)
            if not met[begun]:
                _wait(sweep, kind, value, begun)
            elif what in (WRITE, CHANGE) or (what == CAS and value != b[begun]):
                _make(sweep, ret, kind, a, b, begun)
            begun += 1
        if not met[row]:
            return sweep, row
        what, value, former = kind[row], a[row], since[row]
        is_pair = former >= 0 and call[former] > paired[value]
        if is_pair and not _pair(sweep, ret, call[former], value, row):
            return sweep, row
        if what != DIFFERS:
            _show(latest, call, row, value if what == READ else b[row])
        elif call[row] > differs[value]:
            differs[value], differs_row[value] = call[row], row
    return sweep, -1


def _is_refuted(encoded: EncodedHistory, rows: Ints) -> bool:
    return _swept(compact(encoded.take(rows)))[1] >= 0
