"""One run of the frontier: room made as it is needed, and places to go back to."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.coded import Codes, Coded, Ints
from checkers.linearizability.compiled import compiled
from checkers.linearizability.decision import Budget
from checkers.linearizability.frontier_input import FOREVER, Input
from checkers.linearizability.frontier_kernel import advance, open_row
from checkers.linearizability.frontier_counts import with_more_room
from checkers.linearizability.frontier_space import (
    CHANGERS,
    CONFIGS,
    EXPANDING,
    FOUND,
    FREE,
    LEVEL,
    LOOKS,
    NEEDS_COUNTS,
    NEEDS_ROWS,
    NEEDS_STEPS,
    NEEDS_TRAIL,
    NEEDS_WORDS,
    NEXT_ROW,
    OPEN,
    OPEN_CHANGES,
    PAUSED,
    SIDE,
    SLOTS,
    STAMP,
    TAIL,
    TRAIL,
    TRUNCATED,
    WORK,
    Space,
    bytes_of,
    new_space,
    with_more_rows,
    with_more_trail,
    with_more_values,
    with_more_words,
)
from checkers.linearizability.frontier_steps import answered

_SLICE: Final = 50_000
_FIRST_ROWS: Final = 256
OUT_OF_BUDGET: Final = -1
"""Comes back from `Run.go` when time or memory ran out."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The frontier before a return, without what can be made again from it."""

    reg: Ints
    val: Codes
    sat: NDArray[np.uint64]
    use: NDArray[np.uint64]
    used: Codes
    trail: Codes
    opened: Codes
    slots: Codes
    free: Codes
    supply: Ints
    called: Codes

    @property
    def level(self) -> int:
        return int(self.reg[LEVEL])

    @property
    def truncated(self) -> bool:
        return bool(self.reg[TRUNCATED])


class Run:
    """A frontier over one history. `account` says by class where uses of pending operations are
    counted (-1: nowhere, they are endless)."""

    def __init__(self, coded: Coded, given: Input, account: Codes) -> None:
        self.coded = coded
        self.given = given
        self.initial = int(coded.initial)
        self.since = -1
        accounts = int(account.max(initial=-1)) + 1
        self.space: Space = new_space(given, account, accounts, _FIRST_ROWS, 1)
        self.space.val[0, 0] = coded.initial
        self.space.reg[CONFIGS] = 1
        self.checkpoints: list[Checkpoint] = []

    def begin_after(self, since: int, values: Ints) -> None:
        """Begins after an event, with whatever may be: any of the values, or another one (-1);
        everything that is open then satisfied, nothing used. No true configuration is better."""
        open_then = np.flatnonzero((self.given.call <= since) & (self.given.ret > since))
        completed = int((self.given.ret[open_then] != FOREVER).sum())
        while 64 * self.space.sat.shape[2] < completed + 64:
            self.space = with_more_words(self.space)
        while self.space.val.shape[1] < len(values) + 2:
            self.space = with_more_rows(self.space)
        space = self.space
        self.since = since
        for row in open_then.tolist():
            open_row(self.given, space, row)
        count = len(values)
        space.val[0, :count] = values
        slots = space.slot[open_then[self.given.ret[open_then] != FOREVER]].tolist()
        for slot in slots:
            space.sat[0, :count, slot >> 6] |= np.uint64(1 << (slot & 63))
        space.reg[CONFIGS] = count
        space.reg[NEXT_ROW] = int(np.searchsorted(self.given.call, since, side="right"))

    def go(self, budget: Budget, width: int, stop_time: int = FOREVER, max_rows: int = 1 << 22) -> int:
        """SURVIVED, DIED, PAUSED before the first return after `stop_time`, or OUT_OF_BUDGET."""
        while True:
            status = self.slice(width, stop_time)
            if status != PAUSED:
                return status
            if self.at_stop(stop_time):
                return PAUSED
            if budget.left_s <= 0 or bytes_of(self.space) > budget.max_bytes:
                return OUT_OF_BUDGET
            if self.space.val.shape[1] > max_rows:
                return OUT_OF_BUDGET

    def slice(self, width: int, stop_time: int = FOREVER, work: int = _SLICE) -> int:
        """About so much work: SURVIVED, DIED or PAUSED."""
        while True:
            status = int(advance(self.given, self.space, width, stop_time, work))
            if status == NEEDS_ROWS:
                self.space = with_more_rows(self.space)
            elif status == NEEDS_TRAIL:
                self._make_trail()
            elif status == NEEDS_COUNTS:
                self.space = self.space._replace(counts=with_more_room(self.space.counts))
            elif status == NEEDS_WORDS:
                self.space = with_more_words(self.space)
            elif status == NEEDS_STEPS:
                steps, greatest = answered(self.space.steps, self.coded)
                self.space = self.space._replace(steps=steps)
                if greatest + 2 > self.space.first.shape[1]:
                    self.space = with_more_values(self.space, greatest)
            else:
                return status

    def at_stop(self, stop_time: int) -> bool:
        reg = self.space.reg
        if reg[EXPANDING] or not reg[OPEN]:
            return False
        return bool(self.given.ret[self.space.opened[reg[OPEN] - 1]] > stop_time)

    @property
    def truncated(self) -> bool:
        return bool(self.space.reg[TRUNCATED])

    @property
    def level(self) -> int:
        return int(self.space.reg[LEVEL])

    @property
    def work(self) -> int:
        return int(self.space.reg[WORK])

    @property
    def returning(self) -> int:
        """The row that returns next: after a death, the one that nothing explains."""
        return int(self.space.opened[self.space.reg[OPEN] - 1])

    @property
    def trails(self) -> Codes:
        """Of the configurations of this level."""
        side, count = self.space.reg[SIDE], self.space.reg[CONFIGS]
        return self.space.trail[side, :count]

    def save(self) -> None:
        """Makes a checkpoint, between levels only."""
        space = self.space
        if space.reg[EXPANDING]:
            return
        side, count, opened = space.reg[SIDE], space.reg[CONFIGS], space.reg[OPEN]
        self.checkpoints.append(
            Checkpoint(
                space.reg.copy(),
                space.val[side, :count].copy(),
                space.sat[side, :count].copy(),
                space.use[side, :count].copy(),
                space.used[side, :count].copy(),
                space.trail[side, :count].copy(),
                space.opened[:opened].copy(),
                space.slot[space.opened[:opened]].copy(),
                space.free[: space.reg[FREE]].copy(),
                space.supply.copy(),
                space.called.copy(),
            )
        )

    def go_back(self, to: Checkpoint) -> None:
        """To a checkpoint; the later ones are forgotten."""
        self.checkpoints = [each for each in self.checkpoints if each.level <= to.level]
        space = self.space
        _forget_open(self.given, space)
        kept = {at: int(space.reg[at]) for at in (TRAIL, STAMP, WORK)}
        space.reg[:] = to.reg
        for at, number in kept.items():
            space.reg[at] = number
        for at in (OPEN, CHANGERS, LOOKS, OPEN_CHANGES, EXPANDING, SIDE):
            space.reg[at] = 0
        count, words = len(to.val), to.sat.shape[1]
        for name in ("sat", "use"):
            getattr(space, name)[0, :count] = 0
            getattr(space, name)[0, :count, :words] = getattr(to, name)
        for name in ("val", "used", "trail"):
            getattr(space, name)[0, :count] = getattr(to, name)
        space.supply[:] = to.supply
        space.called[:] = to.called
        slots_now = int(space.reg[SLOTS])
        for row, slot in sorted(zip(to.opened.tolist(), to.slots.tolist(), strict=True)):
            space.free[0] = slot
            space.reg[FREE] = 1
            open_row(self.given, space, row)
        space.reg[SLOTS] = slots_now
        space.free[: len(to.free)] = to.free
        space.reg[FREE] = len(to.free)

    def _make_trail(self) -> None:
        """Room for trails: of those that led nowhere, or more."""
        space = self.space
        side = int(space.reg[SIDE])
        busy = bool(space.reg[EXPANDING])
        now = int(space.reg[TAIL] if busy else space.reg[CONFIGS])
        parts = [space.trail[side, :now]]
        if busy:
            parts.append(space.trail[1 - side, : space.reg[FOUND]])
        parts += [each.trail for each in self.checkpoints]
        roots = np.concatenate(parts)
        space.reg[TRAIL] = _compacted(space.up, space.put, int(space.reg[TRAIL]), roots)
        at = 0
        for part in parts:
            part[:] = roots[at : at + len(part)]
            at += len(part)
        if 2 * space.reg[TRAIL] > len(space.up):
            self.space = with_more_trail(space)


@compiled
def _compacted(up: Codes, put: Codes, count: int, roots: Codes) -> int:
    """Only what the roots need is kept; they are renumbered. How much that is."""
    number = np.full(count, -1, np.int32)
    for root in roots:
        if root >= 0:
            number[root] = 0
    for at in range(count - 1, -1, -1):
        if number[at] >= 0 and up[at] >= 0:
            number[up[at]] = 0
    kept = 0
    for at in range(count):
        if number[at] >= 0:
            up[kept] = number[up[at]] if up[at] >= 0 else -1
            put[kept] = put[at]
            number[at] = kept
            kept += 1
    for at in range(len(roots)):
        if roots[at] >= 0:
            roots[at] = number[roots[at]]
    return kept


@compiled
def _forget_open(given: Input, space: Space) -> None:
    """Nothing is open."""
    for each in range(space.reg[OPEN]):
        row = space.opened[each]
        value = given.a[row] + 1
        if not given.has_steps and value < len(space.readers):
            space.readers[value, :] = 0
            space.differs[value, :] = 0
            space.cas_from[value] = 0
    space.all_differs[:] = 0
    space.writes[:] = 0
