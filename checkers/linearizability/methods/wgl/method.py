"""The method "wgl": Wing & Gong's search with Lowe's memory, for any model but queues.

It wins where an order is easy to find and there are too many to look at all of them: histories
that are linearizable and have many pending operations. Two searches take turns: one is exact, the
other does not ask how many pending operations were used on the way to a place that it knows, and
proves only that there is an order.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.kinds import FOREVER
from checkers.linearizability.arrays.records import bytes_of
from checkers.linearizability.arrays.steps import answered, no_steps, nothing_wanted
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import EncodedHistory, Ints
from checkers.linearizability.methods.jit_antichain.counts import only_the_empty, with_more_nodes
from checkers.linearizability.methods.jit_antichain.input import (
    Input,
    read_in,
    searchable,
)
from checkers.linearizability.methods.wgl.kernel import (
    EXHAUSTED,
    FOUND_ORDER,
    FRAME,
    MET,
    NEEDS_COUNTS,
    NEEDS_FRAMES,
    NEEDS_MEMORY,
    NEEDS_STEP,
    PAUSED,
    REGISTERS,
    Place,
    explore,
    moved,
    slots,
)
from framework.compiled import working_s
from framework.verdict import Verdict

METHOD: Final = "wgl"
_SLICE: Final = 50_000
_NEEDS_A_SLICE: Final = 256


def wgl(encoded: EncodedHistory, budget: Budget) -> Decision | None:
    """Decides one key of a cell or of a model with `Transitions`; None for queues."""
    if not searchable(encoded):
        return None
    began = working_s()
    given = read_in(encoded)
    searches = [_Search(encoded, given, thrifty=False)]
    if len(given.class_row):
        searches.insert(0, _Search(encoded, given, thrifty=True))
    while searches:
        for search in list(searches):
            status = search.slice(_SLICE)
            if status == FOUND_ORDER:
                return Decision(Verdict.VALID, METHOD, search.order)
            if status == EXHAUSTED and not search.thrifty:
                return search.refuted()
            if status == EXHAUSTED:
                searches.remove(search)
            what = ""
            if budget.left_s <= 0:
                what = "time"
            elif sum(each.bytes for each in searches) > budget.max_bytes:
                what = "memory"
            if what:
                places = sum(int(each.place.reg.remembered) for each in searches)
                note = (
                    f"{METHOD}: {what} ran out after {working_s() - began:.1f} s, {places:,} places"
                )
                return Decision(Verdict.UNKNOWN, METHOD, note=note)
    raise AssertionError("the exact search ends with a decision")


def _nothing_met(room: int, words: int) -> tuple[NDArray[np.void], Ints]:
    memory = np.zeros(room, MET)
    memory["passed"] = -1
    return memory, np.zeros((room, words - 1), np.int64)


class _Search:
    def __init__(self, encoded: EncodedHistory, given: Input, *, thrifty: bool) -> None:
        self.encoded = encoded
        self.given = given
        self.thrifty = thrifty
        ops = given.ops
        completed = np.flatnonzero(ops["ret"] != FOREVER)
        returns = completed[np.argsort(ops["ret"][completed], kind="stable")]
        words = (max(1, int(slots(ops, returns))) + 63) // 64
        classes = len(given.class_row)
        depth = max(1, (max(classes, 1) - 1).bit_length())
        reg = np.zeros(1, REGISTERS)[0]
        reg.value, reg.entering, reg.thrifty = encoded.initial, 1, thrifty
        reg.nodes, reg.depth = 1, depth
        after = np.zeros(len(ops) + 1, np.int64)
        before = np.zeros(len(ops) + 1, np.int64)
        listed = np.concatenate([[0], completed + 1])
        after[listed] = np.roll(listed, -1)
        before[listed] = np.roll(listed, 1)
        nodes, found = only_the_empty(64)
        memory, memory_masks = _nothing_met(256, words)
        self.place = Place(
            reg=reg,
            ops=ops,
            returns=returns,
            after=after,
            before=before,
            done=np.zeros(len(ops), np.int64),
            mask=np.zeros(words, np.int64),
            order=np.zeros(len(ops) + 1, np.int32),
            frames=np.zeros(64, FRAME),
            masks=np.zeros((64, words), np.int64),
            memory=memory,
            memory_masks=memory_masks,
            class_row=given.class_row,
            member_start=given.member_start,
            members=given.members,
            nodes=nodes,
            found=found,
            scratch=np.zeros(4 * depth + 8, np.int64),
            steps=no_steps(64),
            wanted=nothing_wanted(1),
        )
        self.steps_made = 0

    def slice(self, work: int) -> int:
        """About so many steps: FOUND_ORDER, EXHAUSTED or PAUSED."""
        for _ in range(_NEEDS_A_SLICE):
            place = self.place
            status = int(explore(place, work))
            if status == NEEDS_FRAMES:
                self.place = place._replace(
                    frames=np.concatenate([place.frames] * 2),
                    masks=np.concatenate([place.masks] * 2),
                )
            elif status == NEEDS_MEMORY:
                memory, memory_masks = _nothing_met(2 * len(place.memory), len(place.mask))
                moved(place.memory, place.memory_masks, memory, memory_masks)
                self.place = place._replace(memory=memory, memory_masks=memory_masks)
            elif status == NEEDS_COUNTS:
                nodes, found = with_more_nodes(place.nodes, int(place.reg.nodes))
                self.place = place._replace(nodes=nodes, found=found)
            elif status == NEEDS_STEP:
                steps, self.steps_made, _ = answered(
                    place.steps, place.wanted, self.steps_made, self.encoded
                )
                if steps is not place.steps:
                    self.place = place._replace(steps=steps)
            else:
                return status
        return PAUSED

    @property
    def bytes(self) -> int:
        return bytes_of(self.place)

    @property
    def order(self) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        order = self.place.order[: self.place.reg.order].astype(np.int64)
        return np.where(order < 0, -1 - order, order)

    def refuted(self) -> Decision:
        """All was tried; nothing got past the deepest place."""
        ops, deepest = self.given.ops, int(self.place.reg.deepest)
        culprit = int(self.place.returns[deepest])
        at = ops["ret"][culprit]
        near = (ops["call"] < at) & (ops["ret"] >= at) & (ops["ret"] != FOREVER)
        return Decision(
            Verdict.INVALID,
            METHOD,
            culprit=culprit,
            involved=np.flatnonzero(near).tolist(),
        )
