"""The kernel of "jit bitset": walks over the events of each key with a set of configurations."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.bits import trailing_zeros
from checkers.linearizability.arrays.kinds import CHANGE, DIFFERS, FOREVER, READ, WRITE
from checkers.linearizability.encoded import Codes, Ints
from checkers.linearizability.methods.jit_bitset.pending import (
    IDLE,
    KEPT,
    NOW,
    PENDING,
    USED,
    WANTED,
    Past,
    Pending,
    give_up,
    go_back,
    is_made,
    one_that_helps,
    save,
)
from checkers.linearizability.methods.jit_bitset.sets import (
    ANY,
    BLOCK,
    FEW,
    HAS,
    IN_WORD,
    LANES,
    NO_LANE,
    NOWHERE,
    OPEN,
    SLOTS,
    ZERO,
    Open,
    Words,
    inlined,
    observe_all,
    reached,
    reached_wide,
    some_lack,
    take_out,
)
from checkers.linearizability.methods.jit_bitset.slots import (
    NO_RETURN,
    clear,
    lane_for,
    lanes_used,
    start,
)
from framework.compiled import compiled

ORDERED, REFUTED, UNDECIDED = 0, 1, 2
_AGAIN, _DEAD, _TURN, _PAUSE = 3, 4, 5, 6

_EXACT: Final = 1_000
_EXACT_AN_OPERATION: Final = 4
"""Words that are looked at with all pending operations in slots: other methods refute, too."""
_EVERY: Final = 32
"""Returns between two snapshots."""


def statuses(
    call: Ints,
    ret: Ints,
    kind: NDArray[np.int8],
    a: Codes,
    b: Codes,
    starts: Ints,
    initial: Ints,
    most: int,
) -> tuple[NDArray[np.int8], Ints]:
    """For each key, whose rows are from `starts[k]` up to `starts[k + 1]`: ORDERED, REFUTED or
    UNDECIDED, and the row at whose return no configuration is left (-1: none). `most`: returns of
    a key that are looked at, each as often as its set has words."""
    keys = len(starts) - 1
    status = np.empty(keys, np.int8)
    culprit = np.full(keys, -1, np.int64)
    values = 1 + max(int(initial.max()), int(a.max()), int(b.max()))
    lane_of = np.full(values + 1, NO_LANE, np.int64)
    lane_of[-1] = ANY  # -1 is what a write needs
    _all(call, ret, kind, a, b, starts, initial, most, lane_of, status, culprit)
    return status, culprit


@compiled
def _all(
    call: Ints,
    ret: Ints,
    kind: NDArray[np.int8],
    a: Codes,
    b: Codes,
    starts: Ints,
    initial: Ints,
    most: int,
    lane_of: Ints,
    status: NDArray[np.int8],
    culprit: Ints,
) -> None:
    sets = np.zeros(BLOCK << (SLOTS - IN_WORD), np.uint64)
    past_sets = np.empty((KEPT, len(sets)), np.uint64)
    past = np.zeros(KEPT + 1, OPEN)
    slots: Open = past[NOW]
    longest = 0
    for key in range(len(starts) - 1):
        longest = max(longest, starts[key + 1] - starts[key])
    pending = np.zeros(longest + 1, PENDING)
    for key in range(len(starts) - 1):
        begin, end = starts[key], starts[key + 1]
        how = _AGAIN
        for exact in (False, True):
            if how == _AGAIN:
                words = min(most, _EXACT + _EXACT_AN_OPERATION * (end - begin)) if exact else most
                start(sets, slots, lane_of, begin, initial[key], words)
                how = _follow(
                    call, ret, kind, a, b, begin, end, initial[key], exact, lane_of, sets,
                    past_sets, past, pending,
                )  # fmt: skip
                clear(sets, slots, lane_of)
        status[key] = how
        culprit[key] = slots.row[slots.last] if how == REFUTED else -1


@compiled
def _follow(
    call: Ints,
    ret: Ints,
    kind: NDArray[np.int8],
    a: Codes,
    b: Codes,
    begin: int,
    end: int,
    initial: int,
    exact: bool,
    lane_of: Ints,
    sets: Words,
    past_sets: Words,
    past: Past,
    pending: Pending,
) -> int:
    """One key. `exact`: pending operations have slots; else they are thought of where no
    configuration is left without them, and _AGAIN says that it did not help."""
    wide = False
    slots: Open = past[NOW]
    kept = wanted = deaths = farthest = called = 0
    while True:
        if wide:
            how = _walk_wide(
                call, ret, kind, a, b, begin, end, exact, lane_of, sets, slots, pending
            )
        else:
            how = _walk_few(call, ret, kind, a, b, begin, end, exact, lane_of, sets, slots, pending)
        called = max(called, slots.waiting)
        if how == _TURN:
            wide = not wide
        elif how == _PAUSE:
            if slots.optional and slots.returns > farthest:
                give_up(begin, sets, slots, pending)
            save(sets, past_sets, past, kept % KEPT)
            kept += 1
        elif how == _DEAD and slots.waiting > 0 and not exact:
            how = _AGAIN
            deaths += 1
            row = one_that_helps(kind, a, b, begin, slots, pending)
            if row < 0 and not is_made(kind, a, b, begin, initial, slots):
                how = REFUTED
            if row < 0 or deaths > 4 * slots.waiting + 16 or wanted == len(pending):
                break
            farthest = max(farthest, slots.returns)
            pending[wanted].ever = row
            pending[row - begin].end = NO_RETURN
            wanted += 1
            kept = go_back(
                row, kind, a, b, begin, lane_of, sets, past_sets, past, kept, pending, wanted,
            )  # fmt: skip
            if kept == 0:
                break
            wide = True
        else:
            break
    for each in range(called):
        pending[pending[each].called - begin].mark = IDLE
    return REFUTED if how == _DEAD else how


@compiled
def _walk_few(
    call: Ints, ret: Ints, kind: NDArray[np.int8], a: Codes, b: Codes, begin: int, end: int,
    exact: bool, lane_of: Ints, sets: Words, slots: Open, pending: Pending,
) -> int:  # fmt: skip
    return _walk(call, ret, kind, a, b, begin, end, exact, lane_of, sets, slots, pending, False)


@compiled
def _walk_wide(
    call: Ints, ret: Ints, kind: NDArray[np.int8], a: Codes, b: Codes, begin: int, end: int,
    exact: bool, lane_of: Ints, sets: Words, slots: Open, pending: Pending,
) -> int:  # fmt: skip
    return _walk(call, ret, kind, a, b, begin, end, exact, lane_of, sets, slots, pending, True)


@inlined
def _walk(
    call: Ints, ret: Ints, kind: NDArray[np.int8], a: Codes, b: Codes, begin: int, end: int,
    exact: bool, lane_of: Ints, sets: Words, slots: Open, pending: Pending, wide: bool,
) -> int:  # fmt: skip
    """Events, from where `slots` says up to what has to be seen to. `wide`: more than a word, or
    more than a few lanes."""
    row, due = slots.at, slots.next
    taken, mutators, denying = slots.taken, slots.mutators, slots.denying
    changes, optional = slots.changes, slots.optional
    waiting, returns, spare = slots.waiting, slots.returns, slots.spare
    lanes = lanes_used(sets, slots, FEW) if wide else FEW
    how = ORDERED
    while row < end or due < NO_RETURN:
        if row < end and call[row] << 4 < due:
            never = ret[row] == FOREVER
            if never and kind[row] < WRITE:
                row += 1
                continue
            if never and not exact:
                pending[waiting].called = row
                waiting += 1
                if pending[row - begin].mark != WANTED:
                    row += 1
                    if waiting == 1:
                        how = _PAUSE
                        break
                    continue
            slot = trailing_zeros(~taken)
            if slot >= (SLOTS if wide else IN_WORD):
                how = UNDECIDED if wide else _TURN
                break
            bit = 1 << slot
            what = kind[row]
            needs = np.int64(-1) if what == WRITE else np.int64(a[row])
            source = lane_of[needs]
            slots.row[slot] = row
            slots.needs[slot], slots.source[slot] = needs, source
            target = NOWHERE
            reads = np.int64(0)
            if what >= WRITE:
                target = lane_of[b[row]]
                if target == NO_LANE:
                    target = lane_for(
                        b[row], LANES if wide else FEW, lane_of, sets, slots, taken | bit,
                        mutators | bit, denying,
                    )  # fmt: skip
                    if target == NO_LANE:
                        how = UNDECIDED if wide else _TURN
                        break
                    if wide and target >= FEW:
                        lanes = LANES
                mutators |= bit
                slots.led_to[target] += 1
            elif what == READ:
                reads = bit
            slots.target[slot] = target
            taken |= bit
            if wide:
                if reads:
                    observe_all(sets, taken >> IN_WORD, source, slot)
            else:
                sets[source] <<= np.uint64(reads)
            slots.holds[source] |= reads
            if never:
                optional |= bit
            else:
                slots.due[slot] = ret[row] << 4 | slot
                due = min(due, slots.due[slot])
            if what == DIFFERS:
                denying |= bit
                _deny(sets, slots, taken >> IN_WORD, source, slot)
            elif what == CHANGE:
                changes |= bit
            row += 1
            continue
        last = due & 15
        bit = 1 << last
        high = taken >> IN_WORD
        spare -= 1 + high
        if wide:
            alive = not some_lack(sets, high, lanes, last) or reached_wide(
                sets, slots, last, mutators, changes, high, lanes
            )
            take_out(sets, high, lanes, last)
        else:
            lacking = ZERO
            for lane in range(FEW):
                lacking |= sets[lane] & ~HAS[last]
            alive = lacking == ZERO or reached(sets, slots, last, mutators, changes)
            for lane in range(FEW):
                sets[lane] >>= np.uint64(bit)
        if not alive:
            slots.last = last
            how = _DEAD
            break
        returns += 1
        taken &= ~bit
        mutators &= ~bit
        changes &= ~bit
        slots.due[last] = NO_RETURN
        due = NO_RETURN
        for slot in range(SLOTS if wide else IN_WORD):
            due = min(due, slots.due[slot])
        slots.holds[slots.source[last]] &= ~bit
        slots.led_to[slots.target[last]] -= 1
        if denying & bit:
            denying &= ~bit
            for lane in range(LANES):
                slots.holds[lane] &= ~bit
        if optional:
            used = _used_up(sets, slots, taken >> IN_WORD, lanes, optional, begin, pending, returns)
            optional &= ~used
            taken &= ~used
            mutators &= ~used
            changes &= ~used
        if spare < 0:
            how = UNDECIDED
            break
        if waiting > 0 and returns % _EVERY == 0:
            how = _PAUSE
            break
        if wide and taken >> IN_WORD == 0:
            slots.taken = taken
            lanes = lanes_used(sets, slots, FEW)
            if lanes == FEW:
                how = _TURN
                break
    slots.at, slots.next = row, due
    slots.taken, slots.mutators, slots.denying = taken, mutators, denying
    slots.changes, slots.optional = changes, optional
    slots.waiting, slots.returns, slots.spare = waiting, returns, spare
    return how


@compiled
def _deny(sets: Words, slots: Open, high: int, source: int, slot: int) -> None:
    """What an open operation saw holds wherever the value is not that of a lane."""
    for lane in range(LANES):
        if lane != source:
            observe_all(sets, high, lane, slot)
            slots.holds[lane] |= np.int64(1) << slot


@compiled
def _used_up(
    sets: Words, slots: Open, high: int, lanes: int, optional: int, begin: int, pending: Pending,
    returns: int,
) -> int:  # fmt: skip
    """The slots of pending operations that all configurations have; they are free then."""
    used = np.int64(0)
    while optional:
        slot = trailing_zeros(optional)
        optional &= optional - 1
        if not some_lack(sets, high, lanes, slot):
            take_out(sets, high, lanes, slot)
            used |= np.int64(1) << slot
            slots.led_to[slots.target[slot]] -= 1
            pending[slots.row[slot] - begin].mark = USED
            pending[slots.row[slot] - begin].end = returns
    return int(used)
