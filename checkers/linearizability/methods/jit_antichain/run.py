"""One run of the antichain: room made as it is needed, and places to go back to."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from checkers.linearizability.arrays.kinds import FOREVER
from checkers.linearizability.decision import Budget
from checkers.linearizability.encoded import Codes, EncodedHistory, Ints
from checkers.linearizability.methods.jit_antichain.counts import with_more_nodes
from checkers.linearizability.methods.jit_antichain.input import (
    Input,
)
from checkers.linearizability.methods.jit_antichain.kernel import advance
from checkers.linearizability.methods.jit_antichain.open import open_row
from checkers.linearizability.methods.jit_antichain.space import (
    C_SAT,
    C_TRAIL,
    C_VAL,
    CHANGERS,
    CONFIGS,
    EXPANDING,
    FOUND,
    FREE,
    HAS_STEPS,
    L_FREE,
    L_OPEN,
    LEVEL,
    LOOKS,
    NEEDS_COUNTS,
    NEEDS_ROWS,
    NEEDS_STEPS,
    NEEDS_TRAIL,
    NEEDS_WORDS,
    NEXT_ROW,
    NODES,
    OPEN,
    OPEN_CHANGES,
    PAUSED,
    SCRATCH,
    SIDE,
    STAMP,
    STEPS_MADE,
    STEPS_WANTED,
    TAIL,
    TRAIL,
    TRUNCATED,
    V_CAS,
    V_MASKS,
    WORK,
    Space,
    bytes_of,
    new_space,
    with_more_rows,
    with_more_trail,
    with_more_values,
    with_more_words,
    words_of,
)
from checkers.linearizability.methods.jit_antichain.steps import answered
from framework.compiled import compiled

_SLICE: Final = 5_000
_NEEDS_A_SLICE: Final = 256
_CHECKPOINTS: Final = 96
_FIRST_ROWS: Final = 128
OUT_OF_BUDGET: Final = -1
"""Comes back from `Run.go` when time or memory ran out."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The frontier before a return, without what can be made again from it."""

    reg: Ints
    conf: Ints
    opened: Ints
    slots: Ints
    free: Ints
    classes: Ints

    @property
    def level(self) -> int:
        return int(self.reg[LEVEL])

    @property
    def truncated(self) -> bool:
        return bool(self.reg[TRUNCATED])


class Run:
    """A frontier over one history. `account` says by class where uses of pending operations are
    counted (-1: nowhere, they are endless)."""

    def __init__(self, encoded: EncodedHistory, given: Input, account: Codes) -> None:
        self.encoded = encoded
        self.given = given
        self.since = -1
        self.space: Space = new_space(given, account, _FIRST_ROWS)
        self.space.conf[0, 0, C_VAL] = encoded.initial
        self.space.conf[0, 0, C_TRAIL] = -1
        self.space.reg[CONFIGS] = 1
        self.starts = np.array([encoded.initial], np.int64)
        self.checkpoints: list[Checkpoint] = []

    def begin_after(self, since: int, values: Ints) -> None:
        """Begins after an event, with whatever may be: any of the values, or another one (-1);
        everything that is open then satisfied, nothing used. No true configuration is better."""
        ops = self.given.ops
        open_then = np.flatnonzero((ops["call"] <= since) & (ops["ret"] > since))
        completed = open_then[ops["ret"][open_then] != FOREVER]
        while self.space.lists.shape[1] < len(completed) + 8:
            self.space = with_more_words(self.space)
        while self.space.conf.shape[1] < len(values) + 2:
            self.space = with_more_rows(self.space)
        self.since, self.starts = since, values
        for row in open_then.tolist():
            self._open(row)
        conf = self.space.conf
        conf[0, : len(values), C_VAL] = values
        conf[0, : len(values), C_TRAIL] = -2 - np.arange(len(values))
        for slot in ops["slot"][completed].tolist():
            conf[0, : len(values), C_SAT + (slot >> 6)] |= _BITS[slot & 63]
        self.space.reg[CONFIGS] = len(values)
        self.space.reg[NEXT_ROW] = int(np.searchsorted(ops["call"], since, side="right"))

    def _open(self, row: int) -> None:
        space = self.space
        open_row(space.reg, space.ops, space.vals, space.classes, space.lists, space.masks, row)

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
            status = int(advance(self.space, width, stop_time, stop_work - self.work))
            if status == NEEDS_ROWS:
                self.space = with_more_rows(self.space)
            elif status == NEEDS_TRAIL:
                self._make_trail()
            elif status == NEEDS_COUNTS:
                kids, found = with_more_nodes(self.space.kids, int(self.space.reg[NODES]))
                self.space = self.space._replace(kids=kids, found=found)
            elif status == NEEDS_WORDS:
                self.space = with_more_words(self.space)
            elif status == NEEDS_STEPS:
                self._ask()
            else:
                return status
        return PAUSED

    def _ask(self) -> None:
        reg = self.space.reg
        wanted = self.space.wanted[: reg[STEPS_WANTED]]
        steps, made, greatest = answered(
            self.space.steps, wanted, int(reg[STEPS_MADE]), self.encoded
        )
        reg[STEPS_MADE], reg[STEPS_WANTED] = made, 0
        self.space = self.space._replace(steps=steps)
        if greatest + 2 > len(self.space.vals):
            self.space = with_more_values(self.space, greatest)

    def at_stop(self, stop_time: int) -> bool:
        reg = self.space.reg
        if reg[EXPANDING] or not reg[OPEN]:
            return False
        return bool(self.given.ops["ret"][self.returning] > stop_time)

    @property
    def bytes(self) -> int:
        return bytes_of(self.space)

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
    def next_row(self) -> int:
        return int(self.space.reg[NEXT_ROW])

    @property
    def opened(self) -> Ints:
        """The rows that are open, the last to return first."""
        return self.space.lists[L_OPEN, : self.space.reg[OPEN]]

    @property
    def returning(self) -> int:
        """The row that returns next: after a death, the one that nothing explains."""
        return int(self.opened[-1])

    @property
    def trails(self) -> Ints:
        """Of the configurations of this level."""
        side, count = self.space.reg[SIDE], self.space.reg[CONFIGS]
        return self.space.conf[side, :count, C_TRAIL]

    def returned(self, level: int) -> int:
        """Which row returned at a level."""
        return int(self.given.ops["level_row"][level])

    def save(self) -> None:
        """Makes a checkpoint, between levels only. Of the older ones every other goes when they
        are many."""
        space, reg = self.space, self.space.reg
        if reg[EXPANDING]:
            return
        opened = self.opened.copy()
        self.checkpoints.append(
            Checkpoint(
                reg[:SCRATCH].copy(),
                space.conf[reg[SIDE], : reg[CONFIGS]].copy(),
                opened,
                self.given.ops["slot"][opened],
                space.lists[L_FREE, : reg[FREE]].copy(),
                space.classes.copy(),
            )
        )
        if len(self.checkpoints) > _CHECKPOINTS:
            self.checkpoints[: _CHECKPOINTS // 2] = self.checkpoints[: _CHECKPOINTS // 2 : 2]

    def go_back(self, to: Checkpoint) -> None:
        """To a checkpoint; the later ones are forgotten."""
        self.checkpoints = [each for each in self.checkpoints if each.level <= to.level]
        space, reg = self.space, self.space.reg
        self._forget_open()
        kept = {at: int(reg[at]) for at in (TRAIL, STAMP, WORK, NODES, STEPS_MADE)}
        reg[:SCRATCH] = to.reg
        for at, number in kept.items():
            reg[at] = number
        for at in (OPEN, CHANGERS, LOOKS, OPEN_CHANGES, EXPANDING, SIDE):
            reg[at] = 0
        words, before = words_of(space), (to.conf.shape[1] - C_SAT) // 2
        conf = space.conf[0, : len(to.conf)]
        conf[:, C_SAT:] = 0
        conf[:, : C_SAT + before] = to.conf[:, : C_SAT + before]
        conf[:, C_SAT + words : C_SAT + words + before] = to.conf[:, C_SAT + before :]
        space.classes[:] = to.classes
        for row, slot in sorted(zip(to.opened.tolist(), to.slots.tolist(), strict=True)):
            space.lists[L_FREE, 0], reg[FREE] = slot, 1
            self._open(row)
        space.lists[L_FREE, : len(to.free)] = to.free
        reg[FREE] = len(to.free)

    def _forget_open(self) -> None:
        """Nothing is open."""
        space = self.space
        if not space.reg[HAS_STEPS]:
            values = self.given.ops["a"][self.opened] + 1
            space.vals[values, V_CAS] = 0
            space.vals[values, V_MASKS:] = 0
        space.masks[:] = 0

    def _make_trail(self) -> None:
        """Room for trails: of those that led nowhere, or more."""
        space, reg = self.space, self.space.reg
        side, busy = int(reg[SIDE]), bool(reg[EXPANDING])
        parts = [space.conf[side, : reg[TAIL] if busy else reg[CONFIGS], C_TRAIL]]
        if busy:
            parts.append(space.conf[1 - side, : reg[FOUND], C_TRAIL])
        parts += [each.conf[:, C_TRAIL] for each in self.checkpoints]
        roots = np.concatenate(parts)
        reg[TRAIL] = _compacted(space.trails, int(reg[TRAIL]), roots)
        at = 0
        for part in parts:
            part[:] = roots[at : at + len(part)]
            at += len(part)
        if 2 * reg[TRAIL] > len(space.trails):
            self.space = with_more_trail(space)


_BITS: Final = np.left_shift(np.int64(1), np.arange(64, dtype=np.int64))


@compiled
def _compacted(trails: Codes, count: int, roots: Ints) -> int:
    """Only what the roots need is kept; they are renumbered. How much that is."""
    number = np.full(count, -1, np.int32)
    for root in roots:
        if root >= 0:
            number[root] = 0
    for at in range(count - 1, -1, -1):
        if number[at] >= 0 and trails[at, 0] >= 0:
            number[trails[at, 0]] = 0
    kept = 0
    for at in range(count):
        if number[at] >= 0:
            before = trails[at, 0]
            trails[kept, 0] = number[before] if before >= 0 else before
            trails[kept, 1] = trails[at, 1]
            number[at] = kept
            kept += 1
    for at in range(len(roots)):
        if roots[at] >= 0:
            roots[at] = number[roots[at]]
    return kept
