"""A set that only grows and is read whole (Jepsen's `set` workload): decided exactly, no search.

`add x` puts x in, for good; `read` shows all elements. Linearizable iff

1. every element that a read shows was added by somebody;
2. the contents of the reads are a chain under inclusion;
3. the chain agrees with real time.

Why: given 2, there is one order of contents S1 < S2 < ... A read of Si belongs to block 2i - 1; the
adds of what Si has and the one before has not to block 2i - 2; those of elements that no read
shows to the last block. Any linearization has the blocks in this order, and within a block all
orders are legal, so that only real time remains: no operation may return before one of an earlier
block is invoked. That is a running maximum over blocks.

Several adds of one element: it appears once, not before the first of them is invoked, and not
after the first of them returned; the others change nothing, wherever they come after. So they are
one add, with the earliest call and the earliest return. A pending add is one whose return is
`NEVER`: it is kept iff its element was seen. Adds that surely failed are not adds.

Cost: the total size of the reads, and sorting the reads by size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from checkers.linearizability.encoded import NEVER, Codes, Ints
from framework.compiled import compiled
from framework.verdict import Verdict

METHOD: Final = "grow-only set"
_NONE: Final = -1


@dataclass(frozen=True, slots=True)
class SetHistory:
    """The operations on one set. `call` and `ret` are indices of history events, all distinct but
    for `NEVER`; elements are numbered from 0. Rows rise with their calls."""

    add_call: Ints
    add_ret: Ints
    """`NEVER`: pending."""
    add_element: Codes
    read_call: Ints
    read_ret: Ints
    """Completed reads only: others say nothing."""
    offsets: Ints
    """Read i shows `elements[offsets[i]:offsets[i + 1]]`; one offset more than reads."""
    elements: Codes
    values: Sequence[str] = ()
    """The JSON text of each element, by number."""

    def shown(self, read: int) -> Codes:
        """The elements of a read, rising, each once."""
        return np.unique(self.elements[self.offsets[read] : self.offsets[read + 1]])


class Anomaly(StrEnum):
    """Why a history of a set is not linearizable."""

    PHANTOM = "an element that nobody added"
    EARLY = "an element that was shown before its add was invoked"
    NO_CHAIN = "two reads, each with an element that the other lacks"
    LOST = "an added element that no later read shows"
    STALE = "an added element that a later read lacks, though another shows it"
    VANISHED = "an element that was shown, and then was not"
    DISORDER = "an element, but not the one that was added before its add was invoked"


@dataclass(frozen=True, slots=True)
class SetDecision:
    """The verdict. `adds` and `reads` are rows of the `SetHistory`; the last of the reads is the
    one that should not be."""

    verdict: Verdict
    anomaly: Anomaly | None = None
    elements: tuple[int, ...] = ()
    """The numbers of the elements that show it."""
    adds: tuple[int, ...] = ()
    reads: tuple[int, ...] = ()


def grow_only(history: SetHistory) -> SetDecision:
    """VALID or INVALID, always."""
    adds = _appearances(history)
    phantoms = np.flatnonzero(adds.call[history.elements] == NEVER)
    if len(phantoms):
        read = int(np.searchsorted(history.offsets, phantoms[0], side="right")) - 1
        element = int(history.elements[phantoms[0]])
        return SetDecision(Verdict.INVALID, Anomaly.PHANTOM, (element,), (), (read,))
    sizes, _ = _distinct(history.offsets, history.elements, len(adds.call))
    by_size = np.argsort(sizes, kind="stable")
    chain = _chain(by_size, sizes, history.offsets, history.elements, len(adds.call))
    level, first_level, first_read, broken = chain
    if broken != _NONE:
        return _no_chain(history, adds, int(broken), first_read)
    clash = _clash(history, adds, level, first_level)
    if clash is None:
        return SetDecision(Verdict.VALID)
    return _explained(history, adds, first_read, *clash)


@dataclass(frozen=True, slots=True)
class _Appearances:
    """By element: its first call and first return among adds, and whose they are."""

    call: Ints
    ret: Ints
    caller: Ints
    returner: Ints


def _appearances(history: SetHistory) -> _Appearances:
    element = history.add_element
    size = max(_above(element), _above(history.elements))
    call, ret = np.full(size, NEVER), np.full(size, NEVER)
    caller, returner = np.full(size, _NONE), np.full(size, _NONE)
    latest_first = np.argsort(-history.add_call, kind="stable")
    call[element[latest_first]] = history.add_call[latest_first]
    caller[element[latest_first]] = latest_first
    latest_first = np.argsort(-history.add_ret, kind="stable")
    ret[element[latest_first]] = history.add_ret[latest_first]
    returner[element[latest_first]] = latest_first
    return _Appearances(call, ret, caller, returner)


def _above(numbers: Codes) -> int:
    return int(numbers.max()) + 1 if len(numbers) else 0


@compiled
def _distinct(offsets: Ints, elements: Codes, size: int) -> tuple[Ints, Codes]:
    """How many different elements each read shows; how often an element is repeated in a read."""
    sizes = np.zeros(len(offsets) - 1, np.int64)
    repeated = np.zeros(size, np.int32)
    shown_by = np.full(size, -1, np.int64)
    for read in range(len(sizes)):
        for at in range(offsets[read], offsets[read + 1]):
            if shown_by[elements[at]] == read:
                repeated[elements[at]] += 1
            else:
                shown_by[elements[at]] = read
                sizes[read] += 1
    return sizes, repeated


@compiled
def _chain(
    by_size: Ints, sizes: Ints, offsets: Ints, elements: Codes, size: int
) -> tuple[Ints, Ints, Ints, int]:
    """Reads by size: each must show all that was shown before.

    Gives the level of each read, from 0; by element the first level that shows it and a read
    there (-1: none); and the first read that lacks something (-1: none).
    """
    level = np.zeros(len(sizes), np.int64)
    first_level = np.full(size, -1, np.int64)
    first_read = np.full(size, -1, np.int64)
    seen, now = 0, -1
    last_size = -1
    for read in by_size:
        if sizes[read] != last_size:
            last_size = sizes[read]
            now += 1
        level[read] = now
        for at in range(offsets[read], offsets[read + 1]):
            if first_level[elements[at]] < 0:
                first_level[elements[at]] = now
                first_read[elements[at]] = read
                seen += 1
        if seen != sizes[read]:
            return level, first_level, first_read, read
    return level, first_level, first_read, -1


def _no_chain(
    history: SetHistory, adds: _Appearances, broken: int, first_read: Ints
) -> SetDecision:
    """The read shows no fewer elements than any before, and lacks one of them."""
    shown = history.shown(broken)
    seen = np.flatnonzero((first_read != _NONE) & (first_read != broken))
    lacking = int(np.setdiff1d(seen, shown)[0])
    anomaly, reads = _lacking(history, lacking, broken, int(adds.ret[lacking]))
    late = bool(adds.ret[lacking] < history.read_call[broken])
    if late or anomaly is Anomaly.VANISHED:
        add = int((adds.returner if late else adds.caller)[lacking])
        return SetDecision(Verdict.INVALID, anomaly, (lacking,), (add,), reads)
    other = int(first_read[lacking])
    only_here = int(np.setdiff1d(shown, history.shown(other))[0])
    elements = (lacking, only_here)
    callers = tuple(sorted(int(adds.caller[each]) for each in elements))
    return SetDecision(Verdict.INVALID, Anomaly.NO_CHAIN, elements, callers, (other, broken))


_Side = tuple[bool, int]
"""Whether it is a read, and its row; or an element."""


def _clash(
    history: SetHistory, adds: _Appearances, level: Ints, first_level: Ints
) -> tuple[_Side, _Side] | None:
    """What belongs earlier but was invoked later, and what belongs later but returned earlier."""
    levels = int(level.max()) + 1 if len(level) else 0
    present = np.flatnonzero((first_level != _NONE) | (adds.ret != NEVER))
    blocks = np.where(first_level[present] == _NONE, 2 * levels, 2 * first_level[present])
    block = np.concatenate((blocks, 2 * level + 1))
    call = np.concatenate((adds.call[present], history.read_call))
    ret = np.concatenate((adds.ret[present], history.read_ret))
    order = np.argsort(block, kind="stable")
    starts = np.searchsorted(block[order], np.arange(2 * levels + 2))
    latest = np.maximum.accumulate(call[order])
    begins = starts[block[order]]
    wrong = np.flatnonzero((begins > 0) & (ret[order] < latest[begins - 1]))
    if not len(wrong):
        return None
    at = int(wrong[np.argmin(ret[order][wrong])])
    before = order[: begins[at]]
    sides = int(before[np.argmax(call[before])]), int(order[at])
    count = len(present)
    one, other = (
        (side >= count, side - count if side >= count else int(present[side])) for side in sides
    )
    return one, other


def _explained(
    history: SetHistory, adds: _Appearances, first_read: Ints, belongs: _Side, returned: _Side
) -> SetDecision:
    """`belongs` belongs before `returned`, and was invoked after its return."""
    (reads_before, before), (reads_after, after) = belongs, returned
    if reads_before and reads_after:
        element = int(np.setdiff1d(history.shown(after), history.shown(before))[0])
        reads: tuple[int, ...] = (after, before)
        anomaly = Anomaly.VANISHED
    elif reads_before:
        element = after
        anomaly, reads = _lacking(history, element, before, int(adds.ret[element]))
    elif reads_after:
        element, anomaly, reads = before, Anomaly.EARLY, (after,)
    else:
        callers = int(adds.returner[after]), int(adds.caller[before])
        witness = (int(first_read[before]),)
        return SetDecision(
            Verdict.INVALID, Anomaly.DISORDER, (after, before), tuple(sorted(callers)), witness
        )
    lacks = reads_before and not reads_after
    add = int((adds.returner if lacks else adds.caller)[element])
    return SetDecision(Verdict.INVALID, anomaly, (element,), (add,), reads)


def _lacking(
    history: SetHistory, element: int, read: int, added: int
) -> tuple[Anomaly, tuple[int, ...]]:
    """A read lacks what it should have, be it because another had it before, be it because its
    add had returned: what others have."""
    positions = np.flatnonzero(history.elements == element)
    shows = np.searchsorted(history.offsets, positions, side="right") - 1
    earlier = shows[history.read_ret[shows] < history.read_call[read]]
    if len(earlier):
        return Anomaly.VANISHED, (int(earlier[0]), read)
    later = shows[history.read_ret[shows] > added]
    if len(later):
        return Anomaly.STALE, (int(later[0]), read)
    return Anomaly.LOST, (read,)


@dataclass(frozen=True, slots=True)
class SetFigures:
    """What Jepsen's set checkers count, in elements. The last read: the one invoked last."""

    attempted: int
    acknowledged: int
    """Some add of it returned."""
    stable: int
    """Acknowledged and in the last read."""
    lost: Codes
    """Acknowledged before the last read was invoked, and not in it."""
    never_read: Codes
    """Acknowledged, and in no read at all."""
    recovered: Codes
    """Never acknowledged, and in the last read."""
    unexpected: Codes
    """In some read, and added by nobody."""
    repeated: Codes
    """Twice or more in one read."""


def figures(history: SetHistory) -> SetFigures:
    """Counts of a whole history, valid or not."""
    adds = _appearances(history)
    size = len(adds.call)
    attempted, acknowledged = adds.call != NEVER, adds.ret != NEVER
    shown, final = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    shown[history.elements] = True
    last_call = NEVER
    if len(history.read_call):
        last = int(np.argmax(history.read_call))
        last_call = int(history.read_call[last])
        final[history.shown(last)] = True
    _, repeated = _distinct(history.offsets, history.elements, size)
    due = acknowledged & (adds.ret < last_call) if len(history.read_call) else final
    return SetFigures(
        attempted=int(attempted.sum()),
        acknowledged=int(acknowledged.sum()),
        stable=int((acknowledged & final).sum()),
        lost=_numbers(due & ~final),
        never_read=_numbers(acknowledged & ~shown),
        recovered=_numbers(attempted & ~acknowledged & final),
        unexpected=_numbers(shown & ~attempted),
        repeated=_numbers(repeated > 0),
    )


def _numbers(chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Codes:
    return np.flatnonzero(chosen).astype(np.int32)
