"""Failed cas that no order satisfies, though the values alone have an order.

Value v is surely in force from the first return among its operations and later ones of its chain
until the last call among its operations and earlier ones, the call of the cas that replaces it
included. A failed cas of v inside that is refuted. So is one that was called after that first
return if v ends its chain and no other value can come before the failed cas returns: each other
chain was invoked too late, or has to be before v's; and nothing pending is left.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.kinds import CAS, DIFFERS, FOREVER, READ, WRITE
from checkers.linearizability.encoded import Codes, Ints
from framework.compiled import compiled

_RIVALS: Final = 64
REFUTED: Final = "a compare-and-set that failed on a value that was there all the time"


@compiled
def without_place(
    call: Ints,
    ret: Ints,
    kind: NDArray[np.int8],
    a: Codes,
    b: Codes,
    writer: Codes,
    replaced: Codes,
    first_read: Codes,
    last_call: Ints,
    latest: Ints,
    root: Codes,
    returns: Ints,
) -> Codes:
    """The rows that show it, of the one that returned first: the failed cas, the operations that
    held the value in force, and the writes that cannot have come between. Empty: there is none.
    `returns`: the first returns of all chains, rising."""
    begun = call[writer[root[1:]]]
    spare, spare_cas = _spare(call, ret, kind, a, b, last_call)
    worst, alone = -1, False
    for row in range(len(call)):
        value = a[row]
        if kind[row] != DIFFERS or ret[row] == FOREVER or last_call[value] == -2:
            continue
        if latest[value] > call[row] or (worst >= 0 and ret[worst] < ret[row]):
            continue
        next_write = replaced[value]
        held_until = last_call[value]
        if next_write >= 0:
            held_until = max(held_until, call[next_write])
        if ret[row] < held_until:
            worst, alone = row, False
        elif next_write < 0 and min(spare, spare_cas[value]) > ret[row]:
            # Chains that began before it returned, but for those that come before this one.
            first, own = latest[value], value
            while own != root[0] and kind[writer[own]] == CAS:
                own = a[writer[own]]
                first = latest[own]
            others = np.searchsorted(begun, ret[row]) - np.searchsorted(returns, held_until)
            if own != root[0]:
                others -= 1
                if first < held_until:
                    others += 1
            if held_until > -1:
                others += 1
            if others == 0:
                worst, alone = row, True
    if worst < 0:
        return np.empty(0, np.int32)
    return _evidence(call, ret, kind, a, b, writer, replaced, first_read, root, worst, alone)


@compiled
def _spare(
    call: Ints, ret: Ints, kind: NDArray[np.int8], a: Codes, b: Codes, last_call: Ints
) -> tuple[int, Ints]:
    """The first calls of the pending operations that nobody observed: of a write; and by value,
    of a cas that would replace it."""
    spare = FOREVER
    spare_cas = np.full(len(last_call), FOREVER, np.int64)
    for row in range(len(call) - 1, -1, -1):
        if ret[row] == FOREVER and kind[row] >= WRITE and last_call[b[row]] == -2:
            if kind[row] == WRITE:
                spare = call[row]
            else:
                spare_cas[a[row]] = call[row]
    return spare, spare_cas


@compiled
def _evidence(
    call: Ints,
    ret: Ints,
    kind: NDArray[np.int8],
    a: Codes,
    b: Codes,
    writer: Codes,
    replaced: Codes,
    first_read: Codes,
    root: Codes,
    failed: int,
    alone: bool,
) -> Codes:
    """Rows, or -1, that show that a failed cas is refuted."""
    value = a[failed]
    first, at = -1, value
    while True:
        for row in (writer[at], first_read[at]):
            if row >= 0 and (first < 0 or ret[row] < ret[first]):
                first = row
        if replaced[at] < 0:
            break
        at = b[replaced[at]]
    last = replaced[value]
    for row in range(len(call)):
        reads = kind[row] == READ and ret[row] != FOREVER and a[row] == value
        if reads and (last < 0 or call[row] > call[last]):
            last = row
    begun = -1 if writer[value] < 0 else call[writer[value]]
    rows = np.empty(3 + _RIVALS, np.int32)
    rows[0], rows[1], rows[2] = failed, first, last
    count = 3
    if alone:
        for row in range(len(call) - 1, -1, -1):
            if count == len(rows) or (call[row] < begun and ret[row] < begun):
                break
            if kind[row] >= WRITE and call[row] < ret[failed] and ret[row] > begun:
                rows[count] = row
                count += 1
    return rows[:count]


@compiled
def with_links(
    ret: Ints,
    kind: NDArray[np.int8],
    a: Codes,
    b: Codes,
    initial: int,
    writer: Codes,
    replaced: Codes,
    first_read: Codes,
    rows: Codes,
) -> Codes:
    """The rows with those that make them comparable: who wrote their values, the cas that join
    two of these, and who observed what is pending."""
    wanted = np.zeros(len(ret), np.bool_)
    shown = np.zeros(len(writer), np.bool_)
    for row in rows:
        if row < 0:
            continue
        wanted[row] = True
        if kind[row] != WRITE:
            shown[a[row]] = True
        if kind[row] >= WRITE:
            shown[b[row]] = True
    for value in np.flatnonzero(shown):
        if writer[value] >= 0:
            wanted[writer[value]] = True
        at = value
        for _ in range(len(ret)):
            if at == initial or writer[at] < 0 or kind[writer[at]] == WRITE:
                break
            at = a[writer[at]]
            if shown[at]:
                between = value
                while between != at:
                    wanted[writer[between]] = True
                    between = a[writer[between]]
                break
    for row in np.flatnonzero(wanted):
        at = row
        while ret[at] == FOREVER and kind[at] >= WRITE:
            observer = first_read[b[at]] if first_read[b[at]] >= 0 else replaced[b[at]]
            if observer < 0 or wanted[observer]:
                break
            wanted[observer] = True
            at = observer
    return np.flatnonzero(wanted).astype(np.int32)
