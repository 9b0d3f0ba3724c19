"""One run of the antichain: room made as it is needed, and places to go back to."""

from copy import copy
from dataclasses import dataclass
from typing import Final

import numpy as np

from checkers.linearizability.arrays.kinds import FOREVER
from checkers.linearizability.arrays.records import bytes_of
from checkers.linearizability.arrays.steps import answered
from checkers.linearizability.arrays.trails import Trails
from checkers.linearizability.decision import Budget
from checkers.linearizability.encoded import Codes, EncodedHistory, Ints
from checkers.linearizability.methods.jit_antichain.counts import with_more_nodes
from checkers.linearizability.methods.jit_antichain.input import Input
from checkers.linearizability.methods.jit_antichain.kernel import advance
from checkers.linearizability.methods.jit_antichain.open import forget_open, open_row
from checkers.linearizability.methods.jit_antichain.space import (
    NEEDS_COUNTS,
    NEEDS_ROWS,
    NEEDS_STEPS,
    NEEDS_TRAIL,
    NEEDS_WORDS,
    PAUSED,
    Records,
    Registers,
    Space,
    new_space,
    with_more_rows,
    with_more_trail,
    with_more_values,
    with_more_words,
)
from framework.compiled import compiled

_SLICE: Final = 5_000
_NEEDS_A_SLICE: Final = 256
_CHECKPOINTS: Final = 96
_FIRST_ROWS: Final = 128
_KEPT: Final = ("trail", "stamp", "work", "nodes")
"""What stays as it is where a run goes back."""
OUT_OF_BUDGET: Final = -1
"""Comes back from `Run.go` when time or memory ran out."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The frontier before a return, without what can be made again from it."""

    reg: Registers
    conf: Records
    satisfied: Ints
    used: Ints
    opened: Ints
    slots: Ints
    classes: Records

    @property
    def level(self) -> int:
        return self.reg.level


class Run:
    """A frontier over one history. `account` says by class where uses of pending operations are
    counted (-1: nowhere, they are endless)."""

    def __init__(self, encoded: EncodedHistory, given: Input, account: Codes) -> None:
        self.encoded = encoded
        self.given = given
        self.since = -1
        self.space: Space = new_space(given, account, _FIRST_ROWS)
        self.space.conf[0, 0].value = encoded.initial
        self.space.conf[0, 0].trail = -1
        self.space.reg.configs = 1
        self.starts = np.array([encoded.initial], np.int64)
        self.steps_made = 0
        self.checkpoints: list[Checkpoint] = []

    def begin_after(self, since: int, values: Ints) -> None:
        """Begins after an event, with whatever may be: any of the values, or another one (-1);
        everything that is open then satisfied, nothing used. No true configuration is better."""
        ops = self.given.ops
        open_then = np.flatnonzero((ops["call"] <= since) & (ops["ret"] > since))
        completed = open_then[ops["ret"][open_then] != FOREVER]
        while len(self.space.slots) < len(completed) + 8:
            self.space = with_more_words(self.space)
        while self.space.conf.shape[1] < len(values) + 2:
            self.space = with_more_rows(self.space)
        self.since, self.starts = since, values
        for row in open_then.tolist():
            self._open(row)
        self.space.conf["value"][0, : len(values)] = values
        self.space.conf["trail"][0, : len(values)] = -2 - np.arange(len(values))
        for slot in ops["slot"][completed].tolist():
            self.space.satisfied[0, : len(values), slot >> 6] |= _BITS[slot & 63]
        self.space.reg.configs = len(values)
        self.space.reg.next_row = int(np.searchsorted(ops["call"], since, side="right"))

    def _open(self, row: int, slot: int = -1) -> None:
        space = self.space
        open_row(
            space.reg, space.ops, space.classes, space.masks, space.slots, space.opened,
            space.changers, space.looks, row, slot,
        )  # fmt: skip

    def go(
        self, budget: Budget, width: int, stop_time: int = FOREVER, max_rows: int = 1 << 22
    ) -> int:
        """SURVIVED, DIED, PAUSED before the first return after `stop_time`, or OUT_OF_BUDGET:
        out of time, of memory, or of `max_rows`."""
        while True:
            status = self.slice(width, stop_time)
            if status != PAUSED or self.at_stop(stop_time):
                return status
            if budget.left_s <= 0 or self.bytes > budget.max_bytes:
                return OUT_OF_BUDGET
            if self.space.conf.shape[1] > max_rows:
                return OUT_OF_BUDGET

    def slice(self, width: int, stop_time: int = FOREVER, work: int = _SLICE) -> int:
        """About so much work: SURVIVED, DIED or PAUSED."""
        stop_work = self.work + work
        for _ in range(_NEEDS_A_SLICE):
            status = int(advance(self.space, width, stop_time, stop_work))
            if status == NEEDS_ROWS:
                self.space = with_more_rows(self.space)
            elif status == NEEDS_TRAIL:
                self._make_trail()
            elif status == NEEDS_COUNTS:
                nodes, found = with_more_nodes(self.space.nodes, int(self.space.reg.nodes))
                self.space = self.space._replace(nodes=nodes, found=found)
            elif status == NEEDS_WORDS:
                self.space = with_more_words(self.space)
            elif status == NEEDS_STEPS:
                self._ask()
            else:
                return status
        return PAUSED

    def _ask(self) -> None:
        space = self.space
        wanted = space.wanted[: space.reg.steps_wanted]
        steps, self.steps_made, greatest = answered(
            space.steps, wanted, self.steps_made, self.encoded
        )
        if steps is not space.steps:
            self.space = space._replace(steps=steps)
        if greatest + 2 > len(space.vals):
            self.space = with_more_values(self.space, greatest)

    def at_stop(self, stop_time: int) -> bool:
        reg = self.space.reg
        if reg.expanding or not reg.open:
            return False
        return bool(self.given.ops["ret"][self.returning] > stop_time)

    @property
    def bytes(self) -> int:
        return bytes_of(self.space)

    @property
    def truncated(self) -> bool:
        return bool(self.space.reg.truncated)

    @property
    def level(self) -> int:
        return int(self.space.reg.level)

    @property
    def work(self) -> int:
        return int(self.space.reg.work)

    @property
    def next_row(self) -> int:
        return int(self.space.reg.next_row)

    @property
    def opened(self) -> Ints:
        """The rows that are open, the last to return first."""
        return self.space.opened[: self.space.reg.open]

    @property
    def returning(self) -> int:
        """The row that returns next: after a death, the one that nothing explains."""
        return int(self.opened[-1])

    @property
    def trails(self) -> Ints:
        """Of the configurations of this level."""
        side, count = self.space.reg.side, self.space.reg.configs
        trails: Ints = self.space.conf["trail"][side, :count]
        return trails

    def returned(self, level: int) -> int:
        """Which row returned at a level."""
        return int(self.given.ops["level_row"][level])

    def save(self) -> None:
        """Makes a checkpoint, between levels only. Of the older ones every other goes when they
        are many."""
        space, reg = self.space, self.space.reg
        if reg.expanding:
            return
        opened, level = self.opened.copy(), (reg.side, slice(reg.configs))
        self.checkpoints.append(
            Checkpoint(
                copy(reg),
                space.conf[level].copy(),
                space.satisfied[level].copy(),
                space.used[level].copy(),
                opened,
                self.given.ops["slot"][opened],
                space.classes.copy(),
            )
        )
        if len(self.checkpoints) > _CHECKPOINTS:
            self.checkpoints[: _CHECKPOINTS // 2] = self.checkpoints[: _CHECKPOINTS // 2 : 2]

    def go_back(self, to: Checkpoint) -> None:
        """To a checkpoint; the later ones are forgotten."""
        self.checkpoints = [each for each in self.checkpoints if each.level <= to.level]
        space, reg = self.space, self.space.reg
        forget_open(space)
        for name in Registers.__annotations__:
            if name not in _KEPT:
                setattr(reg, name, getattr(to.reg, name))
        reg.expanding = reg.side = reg.open = reg.changers = reg.looks = 0
        count, words = to.satisfied.shape
        space.conf[0, :count] = to.conf
        for bits, before in ((space.satisfied, to.satisfied), (space.used, to.used)):
            bits[0, :count] = 0
            bits[0, :count, :words] = before
        space.classes[:] = to.classes
        for row, slot in sorted(zip(to.opened.tolist(), to.slots.tolist(), strict=True)):
            self._open(row, slot)

    def _make_trail(self) -> None:
        """Room for trails: of those that led nowhere, or more."""
        space, reg = self.space, self.space.reg
        side, busy = int(reg.side), bool(reg.expanding)
        trails = space.conf["trail"]
        parts = [trails[side, : reg.tail if busy else reg.configs]]
        if busy:
            parts.append(trails[1 - side, : reg.found])
        parts += [each.conf["trail"] for each in self.checkpoints]
        roots = np.concatenate(parts)
        reg.trail = _compacted(space.trails, int(reg.trail), roots)
        at = 0
        for part in parts:
            part[:] = roots[at : at + len(part)]
            at += len(part)
        if 2 * reg.trail > len(space.trails):
            self.space = with_more_trail(space)


_BITS: Final = np.left_shift(np.int64(1), np.arange(64, dtype=np.int64))


@compiled
def _compacted(trails: Trails, count: int, roots: Ints) -> int:
    """Only what the roots need is kept; they are renumbered. How much that is."""
    number = np.full(count, -1, np.int32)
    for root in roots:
        if root >= 0:
            number[root] = 0
    for at in range(count - 1, -1, -1):
        if number[at] >= 0 and trails[at].before >= 0:
            number[trails[at].before] = 0
    kept = 0
    for at in range(count):
        if number[at] >= 0:
            before = trails[at].before
            trails[kept].before = number[before] if before >= 0 else before
            trails[kept].added = trails[at].added
            number[at] = kept
            kept += 1
    for at in range(len(roots)):
        if roots[at] >= 0:
            roots[at] = number[roots[at]]
    return kept
