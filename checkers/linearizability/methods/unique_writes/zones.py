"""The zones of values that are written once each: what real time says of their order.

With unique values it is known who wrote what somebody saw. A value's write and its reads form a
block; a cas a -> b puts the block of b directly after that of a, so blocks join into chains whose
inner order is fixed. Let f be a chain's first return and m its last invocation. One chain must
come before another if f1 < m2; two chains exclude each other iff f1 < m2 and f2 < m1, and longer
cycles always contain such a pair (Gibbons & Korach, SIAM J. Comput. 26(4), 1997; zones as in Golab,
Li & Shah, PODC 2011). So forward zones [f, m] may not overlap, and no backward zone [m, f] may lie
in a forward one. The initial value is a block whose write returned before everything.

A pending operation took effect if its value was seen, directly or through a cas that took effect.
Else it is left out here, which changes nothing but for failed cas (`order`).

Linear: values are numbers, so that arrays are the maps; and m is an invocation, so that the order
of the rows is the order of the m.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.kinds import CAS, DIFFERS, FOREVER, READ, WRITE
from checkers.linearizability.encoded import Codes, Ints
from framework.compiled import compiled

FINE: Final = 0
NOT_UNIQUE: Final = 1
UNWRITTEN: Final = 2
TWICE: Final = 3
CYCLE: Final = 4
AGAINST_TIME: Final = 5
CLASH: Final = 6
CLAUSES: Final = {
    UNWRITTEN: "a value that nobody had written",
    TWICE: "one value replaced by two compare-and-sets",
    CYCLE: "compare-and-sets in a cycle",
    AGAINST_TIME: "a value's operations against real time",
    CLASH: "two values that would each have to come before the other",
}


class Zones(NamedTuple):
    """Evidence: rows, or -1. By value: the row that wrote it, the row of the cas that replaced it,
    its completed read that returned first (-1: none), and the last call of its chain up to its last
    read (-2: not in force). By chain, 0 being the initial value's: its first value, f, m."""

    status: int
    evidence: Codes
    failed_cas: int
    writer: Codes
    replaced: Codes
    first_read: Codes
    last_call: Ints
    root: Codes
    first_return: Ints
    chain_last_call: Ints


@compiled
def zones(
    call: Ints, ret: Ints, kind: NDArray[np.int8], a: Codes, b: Codes, initial: int, size: int
) -> tuple[int, Codes, int, Codes, Codes, Codes, Ints, Codes, Ints, Ints]:
    """The fields of `Zones`. `size`: all values are below it. With a status other than FINE only
    the evidence is whole."""
    writer = np.full(size, -1, np.int32)
    replaced = np.full(size, -1, np.int32)
    first_read = np.full(size, -1, np.int32)
    last_read = np.full(size, -1, np.int32)
    last_call = np.full(size, -2, np.int64)
    root = np.empty(0, np.int32)
    first_return = np.empty(0, np.int64)
    chain_last_call = np.empty(0, np.int64)
    evidence = np.empty(0, np.int32)
    written, failed_cas = _writers(kind, b, ret, initial, writer)
    if written < 0:
        status = NOT_UNIQUE
    else:
        kept = np.zeros(size, np.bool_)
        status, evidence, count = _blocks(
            ret, kind, a, b, initial, writer, kept, replaced, first_read, last_read
        )
        if status == FINE:
            root = np.empty(written + 1, np.int32)
            first_return = np.empty(written + 1, np.int64)
            chain_last_call = np.empty(written + 1, np.int64)
            status, evidence, chains = _chains(
                call,
                ret,
                kind,
                b,
                initial,
                count,
                kept,
                writer,
                replaced,
                first_read,
                last_read,
                last_call,
                root,
                first_return,
                chain_last_call,
            )
            root = root[:chains]
            first_return = first_return[:chains]
            chain_last_call = chain_last_call[:chains]
    return (
        status,
        evidence,
        failed_cas,
        writer,
        replaced,
        first_read,
        last_call,
        root,
        first_return,
        chain_last_call,
    )


@compiled
def _writers(
    kind: NDArray[np.int8], b: Codes, ret: Ints, initial: int, writer: Codes
) -> tuple[int, int]:
    """How many writes there are (-1: some value is written twice, or a kind is foreign), and how
    many completed failed cas."""
    writes, failed_cas = 0, 0
    for row in range(len(kind)):
        what = kind[row]
        if what in (WRITE, CAS):
            value = b[row]
            if value == initial or writer[value] >= 0:
                return -1, 0
            writer[value] = row
            if what == WRITE:
                writes += 1
        elif what == DIFFERS:
            if ret[row] != FOREVER:
                failed_cas += 1
        elif what != READ:
            return -1, 0
    return writes, failed_cas


@compiled
def _rows(one: int, other: int, third: int, fourth: int) -> Codes:
    rows = np.empty(4, np.int32)
    rows[0], rows[1], rows[2], rows[3] = one, other, third, fourth
    return rows


@compiled
def _blocks(
    ret: Ints,
    kind: NDArray[np.int8],
    a: Codes,
    b: Codes,
    initial: int,
    writer: Codes,
    kept: NDArray[np.bool_],
    replaced: Codes,
    first_read: Codes,
    last_read: Codes,
) -> tuple[int, Codes, int]:
    """Finds the values that were in force, and counts them; their first and last reads."""
    count = 0
    for row in range(len(ret)):
        what = kind[row]
        if ret[row] == FOREVER or what == DIFFERS:
            continue
        value = a[row] if what == READ else b[row]
        if what == READ:
            last_read[value] = row
            if first_read[value] < 0 or ret[row] < ret[first_read[value]]:
                first_read[value] = row
        seeker = row
        while value != initial and not kept[value]:
            source = writer[value]
            if source < 0:
                return UNWRITTEN, _rows(seeker, -1, -1, -1), 0
            kept[value] = True
            count += 1
            if kind[source] == WRITE:
                break
            before = a[source]
            if replaced[before] >= 0:
                return TWICE, _rows(replaced[before], source, -1, -1), 0
            replaced[before] = source
            value, seeker = before, source
    return FINE, np.empty(0, np.int32), count


@compiled
def _chains(
    call: Ints,
    ret: Ints,
    kind: NDArray[np.int8],
    b: Codes,
    initial: int,
    count: int,
    kept: NDArray[np.bool_],
    writer: Codes,
    replaced: Codes,
    first_read: Codes,
    last_read: Codes,
    last_call: Ints,
    root: Codes,
    first_return: Ints,
    chain_last_call: Ints,
) -> tuple[int, Codes, int]:
    """Lays the blocks in chains and compares these. `count`: values in force, not counting the
    initial one."""
    n = len(call)
    ends_at = np.full(n, -1, np.int32)
    first_row = np.full(len(root), -1, np.int32)
    chains, met = 0, 0
    for row in range(-1, n):
        if row >= 0 and (kind[row] != WRITE or not kept[b[row]]):
            continue
        value = initial if row < 0 else b[row]
        first = -1 if row < 0 else FOREVER
        early, late, last = -1, -1, -1
        root[chains] = value
        while True:
            source = writer[value]
            if source >= 0:
                met += 1
                if ret[source] < last:
                    return AGAINST_TIME, _rows(late, source, -1, -1), 0
                if call[source] > last:
                    last, late = call[source], source
                if ret[source] < first:
                    first, early = ret[source], source
            read = first_read[value]
            if read >= 0:
                if ret[read] < last:
                    return AGAINST_TIME, _rows(late, read, source, -1), 0
                if ret[read] < first:
                    first, early = ret[read], read
                read = last_read[value]
                if call[read] > last:
                    last, late = call[read], read
            last_call[value] = last
            after = replaced[value]
            if after < 0:
                break
            value = b[after]
        first_return[chains], chain_last_call[chains] = first, last
        first_row[chains] = early
        if late >= 0:
            ends_at[late] = chains
        chains += 1
    if met < count:
        return CYCLE, _cycle(b, kept, replaced, last_call), 0
    return _compared(call, ends_at, first_row, first_return, chain_last_call, chains)


@compiled
def _cycle(b: Codes, kept: NDArray[np.bool_], replaced: Codes, last_call: Ints) -> Codes:
    start = 0
    while not kept[start] or last_call[start] != -2:
        start += 1
    rows = np.empty(len(kept), np.int32)
    value, count = start, 0
    while count == 0 or value != start:
        rows[count] = replaced[value]
        value = b[replaced[value]]
        count += 1
    return rows[:count]


@compiled
def _compared(
    call: Ints, ends_at: Codes, first_row: Codes, first: Ints, last: Ints, chains: int
) -> tuple[int, Codes, int]:
    """From the last m to the first: a zone can clash with the next forward one only."""
    forward, forward_row = -1, -1
    for row in range(len(call) - 1, -1, -1):
        chain = ends_at[row]
        if chain < 0:
            continue
        if forward >= 0 and first[forward] < last[chain] and first[chain] < last[forward]:
            rows = _rows(first_row[chain], row, first_row[forward], forward_row)
            return CLASH, rows, 0
        if first[chain] < last[chain]:
            forward, forward_row = chain, row
    return FINE, np.empty(0, np.int32), chains
