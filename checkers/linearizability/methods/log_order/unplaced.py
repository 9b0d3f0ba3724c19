"""Operations that change something, and that the log does not name.

A pending one took effect only if something shows it: a value that nobody else made, or an
operation of the log that its predecessor does not allow. Where it did is a guess; so what is found
here is an order that explains the history, or nothing.

What is open is no set of slots (`arrays/open.py`): there is one configuration only, and pending
operations stay open for ever. So those without a place are lists, by the value that they make.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.events import events
from checkers.linearizability.arrays.kinds import CAS, READ, WRITE
from checkers.linearizability.arrays.replay import allows
from checkers.linearizability.encoded import NEVER, Codes, EncodedHistory, Ints, Kind
from framework.compiled import compiled

_IN_LOG, _LOOKS, _FLOATS, _IDLE = 0, 1, 2, 3
_LONGEST: Final = 8
"""Floating operations in a row that are looked for."""
_NONE: Final = -1


def cell_order(encoded: EncodedHistory, log: Ints, looking: Ints, floating: Ints) -> Ints | None:
    """A legal order along the log, with those floating operations in it that something shows.

    What only looks comes as early as it can. Before the log goes on, a floating operation comes
    if somebody who waits wants its value, everybody who wants it is there by now, and the log can
    go on after it. Else floating ones come where nothing else can.
    """
    role = np.full(len(encoded), _IDLE, np.int8)
    role[log], role[looking], role[floating] = _IN_LOG, _LOOKS, _FLOATS
    size = int(max(encoded.a.max(), encoded.b.max(), encoded.initial)) + 1
    if size > 4 * len(encoded) + 64:
        return None
    changes = encoded.b[log]
    made = np.bincount(changes[changes >= 0], minlength=size)
    made[encoded.initial] += 1
    order, count = _walk(
        events(encoded.call, encoded.ret),
        log,
        role,
        encoded.kind,
        encoded.a,
        encoded.b,
        encoded.initial,
        made,
    )
    return order[:count] if count else None


@compiled
def _first_of_chain(
    value: int,
    state: int,
    head: Codes,
    then: Codes,
    kind: NDArray[np.int8],
    a: Codes,
) -> int:
    """The floating operation to begin with if the value is wanted: its maker, or the maker of
    what that replaces. -1: there is none."""
    for _ in range(_LONGEST):
        row = head[value]
        if row < 0:
            return _NONE
        fit = int(row)
        for _ in range(_LONGEST):
            if fit < 0 or allows(kind[fit], a[fit], state):
                break
            fit = then[fit]
        if fit >= 0 and allows(kind[fit], a[fit], state):
            return fit
        if kind[row] != CAS:
            return _NONE
        value = a[row]
    return _NONE


@compiled
def _any(
    state: int,
    goes: int,
    spare: Codes,
    spares: int,
    done: NDArray[np.bool_],
    kind: NDArray[np.int8],
    a: Codes,
    b: Codes,
) -> int:
    """Some floating operation whose value nobody reads, that changes the state, and after which
    the log can go on."""
    looked = 0
    for index in range(spares - 1, -1, -1):
        row = int(spare[index])
        if done[row]:
            continue
        looked += 1
        if looked > 8 * _LONGEST:
            break
        if b[row] == state or not allows(kind[row], a[row], state):
            continue
        if goes < 0 or allows(kind[goes], a[goes], b[row]):
            return row
    return _NONE


@compiled
def _later(
    value: int,
    state: int,
    at: int,
    log: Ints,
    called: NDArray[np.bool_],
    kind: NDArray[np.int8],
    a: Codes,
    b: Codes,
    absent: Codes,
    made: Ints,
) -> bool:
    """Whether the log can go on now to where its next operation follows on a value, and all who
    read what is replaced are there."""
    while at < len(log) and called[log[at]] and allows(kind[log[at]], a[log[at]], state):
        if kind[log[at]] >= WRITE:
            state = b[log[at]]
        at += 1
        if absent[state] > 0 and made[state] <= 1:
            continue
        if at == len(log) or allows(kind[log[at]], a[log[at]], value):
            return True
    return False


@compiled
def _wanted(
    waiting: Codes,
    due: int,
    state: int,
    at: int,
    log: Ints,
    called: NDArray[np.bool_],
    kind: NDArray[np.int8],
    a: Codes,
    b: Codes,
    absent: Codes,
    made: Ints,
    is_needed: NDArray[np.bool_],
    head: Codes,
    then: Codes,
) -> int:
    """A floating operation whose value somebody waits for, if it should come now."""
    if absent[state] > 0 and made[state] <= 1:
        return _NONE
    goes = log[at] if at < len(log) else _NONE
    for row in waiting:
        value = a[row]
        maker = head[value]
        if kind[row] != READ or maker < 0 or made[value] > 0:
            continue
        if is_needed[value] and (goes < 0 or kind[goes] == WRITE or a[goes] != value):
            continue
        if goes >= 0 and not allows(kind[goes], a[goes], value):
            continue
        now_or_never = kind[maker] == CAS and a[maker] == state
        if absent[value] > 0 and not now_or_never:
            if row != due:
                continue
            if _later(value, state, at, log, called, kind, a, b, absent, made):
                continue
        chosen = _first_of_chain(value, state, head, then, kind, a)
        if chosen >= 0:
            return chosen
    return _NONE


@compiled
def _walk(
    events: Codes,
    log: Ints,
    role: NDArray[np.int8],
    kind: NDArray[np.int8],
    a: Codes,
    b: Codes,
    initial: int,
    made: Ints,
) -> tuple[Ints, int]:
    """The order and its length; 0 if it got stuck. `made`: how often the log makes a value."""
    size = len(made)
    order = np.empty(len(kind), np.int64)
    called = np.zeros(len(kind), np.bool_)
    done = np.zeros(len(kind), np.bool_)
    head = np.full(size, -1, np.int32)
    tail = np.full(size, -1, np.int32)
    then = np.full(len(kind), -1, np.int32)
    absent, is_needed = _readers(log, role, kind, a, made)
    is_spare = absent == 0
    spare = np.empty(len(kind), np.int32)
    waiting = np.empty(len(kind), np.int32)
    waits, spares, count, at, next_in_log, state = 0, 0, 0, 0, 0, initial
    is_new = True
    while True:
        while at < len(events):
            row = events[at] >> 1
            if events[at] & 1:
                if not done[row] and role[row] != _IDLE:
                    break
            elif role[row] == _LOOKS:
                waiting[waits] = row
                waits += 1
                is_new = True
                if kind[row] == READ:
                    absent[a[row]] -= 1
            elif role[row] == _FLOATS:
                _link(row, b[row], head, tail, then)
                if is_spare[b[row]]:
                    spare[spares] = row
                    spares += 1
            called[row] = True
            at += 1
        due = events[at] >> 1 if at < len(events) else _NONE
        if due < 0 and next_in_log == len(log):
            return order, count
        if is_new:
            kept = 0
            for index in range(waits):
                row = waiting[index]
                if allows(kind[row], a[row], state):
                    order[count], done[row] = row, True
                    count += 1
                else:
                    waiting[kept] = row
                    kept += 1
            is_new = False
            if kept < waits:
                waits = kept
                continue
        goes = log[next_in_log] if next_in_log < len(log) else _NONE
        chosen = _wanted(
            waiting[:waits],
            due,
            state,
            next_in_log,
            log,
            called,
            kind,
            a,
            b,
            absent,
            made,
            is_needed,
            head,
            then,
        )
        if chosen < 0 and goes >= 0:
            if not allows(kind[goes], a[goes], state):
                if kind[goes] in (READ, CAS):
                    chosen = _first_of_chain(a[goes], state, head, then, kind, a)
                else:
                    chosen = _any(state, goes, spare, spares, done, kind, a, b)
            elif called[goes]:
                chosen = goes
        if chosen < 0 and due >= 0:
            if role[due] == _FLOATS and allows(kind[due], a[due], state):
                chosen = due
            elif role[due] == _LOOKS and kind[due] == READ:
                chosen = _first_of_chain(a[due], state, head, then, kind, a)
            elif role[due] == _LOOKS:
                chosen = _any(state, goes, spare, spares, done, kind, a, b)
        if chosen < 0:
            return order, 0
        order[count], done[chosen] = chosen, True
        count += 1
        if role[chosen] == _IN_LOG:
            next_in_log += 1
        else:
            _unlink(chosen, b[chosen], head, tail, then)
        if kind[chosen] >= WRITE and b[chosen] != state:
            state, is_new = b[chosen], True


@compiled
def _readers(
    log: Ints, role: NDArray[np.int8], kind: NDArray[np.int8], a: Codes, made: Ints
) -> tuple[Codes, NDArray[np.bool_]]:
    """By value: how many without a place read it; whether the log needs it of somebody else."""
    absent = np.zeros(len(made), np.int32)
    is_needed = np.zeros(len(made), np.bool_)
    for row in range(len(kind)):
        if role[row] == _LOOKS and kind[row] == READ:
            absent[a[row]] += 1
    for row in log:
        if kind[row] in (READ, CAS) and made[a[row]] == 0:
            is_needed[a[row]] = True
    return absent, is_needed


@compiled
def _link(row: int, value: int, head: Codes, tail: Codes, then: Codes) -> None:
    """Puts a floating operation at the end of the list of those that make its value."""
    if head[value] < 0:
        head[value] = row
    else:
        then[tail[value]] = row
    tail[value] = row


@compiled
def _unlink(row: int, value: int, head: Codes, tail: Codes, then: Codes) -> None:
    """Takes a floating operation out of the list of those that make its value."""
    before, now = -1, head[value]
    while now != row:
        before, now = now, then[now]
    if before < 0:
        head[value] = then[row]
    else:
        then[before] = then[row]
    if tail[value] == row:
        tail[value] = before


def into_queue(encoded: EncodedHistory, log: Ints, floating: Ints) -> Ints | None:
    """The log's operations with some of the floating ones among them; None: no idea. A proposal:
    the caller checks it.

    Each as late as the order of the dequeues allows: an enqueue before that of the next value
    that was dequeued, and before its own dequeue; a take before the next dequeue of a later value.
    """
    if np.any(encoded.ret[floating] != NEVER):
        return None
    kind = encoded.kind[log]
    enqueued = {int(encoded.b[log[at]]): int(at) for at in np.flatnonzero(kind == Kind.ENQUEUE)}
    dequeued = {int(encoded.a[log[at]]): int(at) for at in np.flatnonzero(kind == Kind.DEQUEUE)}
    inserted: list[tuple[int, int]] = []
    makers = {int(encoded.b[row]): int(row) for row in floating if encoded.b[row] >= 0}
    next_in = len(log)
    for value, out in sorted(dequeued.items(), key=lambda each: -each[1]):
        if value in enqueued:
            next_in = enqueued[value]
        elif value in makers:
            next_in = min(next_in, out)
            inserted.append((next_in, makers[value]))
    inserted.reverse()
    takes = iter(floating[encoded.kind[floating] == Kind.TAKE].tolist())
    next_out = len(log)
    needs: list[int] = []
    for value, _ in sorted(enqueued.items(), key=lambda each: -each[1]):
        next_out = min(next_out, dequeued.get(value, next_out))
        if value not in dequeued and next_out < len(log):
            needs.append(next_out)
    for slot in reversed(needs):
        row = next(takes, None)
        if row is None:
            return None
        inserted.append((slot, row))
    inserted.sort(key=lambda each: each[0])
    return np.insert(log, [slot for slot, _ in inserted], [row for _, row in inserted])
