"""The method "frontier": breadth-first over completions, for any model but queues.

One engine (`frontier_kernel`), used in two ways:

- Forward, with a width: at most so many configurations a level. If one is left at the end, the
  history is linearizable, truncated or not, and its trail becomes a witness, which is replayed. If
  none is left and none was ever left out, it is not. If some were left out, it goes back to a
  checkpoint and on from there with a greater width.
- Where the forward run came to an end, a proof is sought that no order gets past: a run over a
  window around that place, begun with everything possible (any value, all that is open satisfied,
  no pending operation used) and never truncated. It over-approximates, so if it dies the history
  is not linearizable. Pending operations are endless there at first. If an order through the
  window uses some more often than there are, those are counted and the window is tried again
  (counterexample-guided refinement): first by the value that they lead to, then each class.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Final

import numpy as np

from checkers.linearizability.coded import Codes, Coded, Ints
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.frontier_input import DIFFERS, FOREVER, Input, read_in, searchable
from checkers.linearizability.frontier_run import OUT_OF_BUDGET, Checkpoint, Run
from checkers.linearizability.frontier_space import (
    CONFIGS,
    DIED,
    EXPANDING,
    NEXT_ROW,
    OPEN,
    PAUSED,
    SIDE,
    SURVIVED,
)
from checkers.linearizability.frontier_witness import puts_of, replayed
from framework.verdict import Verdict

METHOD: Final = "frontier"
_WIDE: Final = 512
_NARROW: Final = 24
_FREE_WORK: Final = 2_000_000
_WORK_A_LEVEL: Final = 24
_CHECKPOINTS: Final = 48
_FIRST_WINDOW: Final = 32
_FIRST_SLICE_S: Final = 0.25
_WINDOW_ROWS: Final = 1 << 13


def frontier(coded: Coded, budget: Budget) -> Decision | None:
    """Decides one key of a cell or of a model with `Transitions`; None for queues."""
    if not searchable(coded):
        return None
    return _Search(coded, budget).decide()


@dataclass(frozen=True, slots=True)
class LastState:
    """A configuration that was possible just before no order was left."""

    state: int
    """The number of the value or of the model's state."""
    order: Ints
    """Rows, an order that leads there: everything that had returned, and what was put before its
    return."""


@dataclass(frozen=True, slots=True)
class LastStates:
    culprit: int
    """The row whose return no order explains."""
    states: Sequence[LastState]


def last_states(coded: Coded, budget: Budget) -> LastStates | None:
    """What was possible just before the first return that no order explains. None: every return
    has an order, or the budget ran out. For small histories: nothing is left out here."""
    if not searchable(coded):
        return None
    given = read_in(coded)
    run = Run(coded, given, np.arange(len(given.class_row), dtype=np.int32))
    if run.go(budget, 1 << 30) != DIED:
        return None
    found = []
    for trail in run.trails.tolist():
        order, state = _order_to(run, trail, int(given.ret[run.returning]) - 1)
        found.append(LastState(state, order))
    return LastStates(run.returning, found)


def _order_to(run: Run, trail: int, until: int) -> tuple[Ints, int]:
    """The rows that a trail put before the first return after `until`, and the state then."""
    space = run.space
    puts = puts_of(space.up, space.put, trail)
    order, filled, _, _, state = replayed(
        run.given, space.steps, puts, run.initial, run.since, until
    )
    return order[:filled].astype(np.int64), int(state)


class _Search:
    def __init__(self, coded: Coded, budget: Budget) -> None:
        self.coded = coded
        self.budget = budget
        self.given: Input = read_in(coded)
        self.classes = len(self.given.class_row)
        self.began = monotonic()
        self.deaths: list[int] = []
        self.window = 0

    def decide(self) -> Decision:
        run = Run(self.coded, self.given, np.arange(self.classes, dtype=np.int32))
        rounds = 0
        status = self._forward(run, self.budget)
        while status == DIED and run.truncated:
            self.deaths.append(run.level)
            if self.deaths[-1] == max(self.deaths):
                pass
            slice_s = _FIRST_SLICE_S * 2**rounds
            refuted = self._refute(run, self.budget.slice(slice_s))
            if refuted is not None:
                return refuted
            if self.budget.left_s <= 0:
                break
            rounds += 1
            status = self._widened(run, rounds, self.budget.slice(slice_s))
        if status == DIED:
            return self._invalid(run) if not run.truncated else self._unknown(run)
        if status == SURVIVED:
            return self._valid(run)
        return self._unknown(run)

    def _forward(self, run: Run, budget: Budget) -> int:
        """To the end, as wide as work allows."""
        every = max(256, len(self.coded) // _CHECKPOINTS)
        row = int(run.space.reg[NEXT_ROW])
        while True:
            run.save()
            row += every
            stop_time = int(self.given.call[row]) if row < len(self.coded) else FOREVER
            status = PAUSED
            while status == PAUSED and not run.at_stop(stop_time):
                credit = _FREE_WORK + _WORK_A_LEVEL * run.level - run.work
                status = run.go(budget, _WIDE if credit > 0 else _NARROW, stop_time)
            if status != PAUSED:
                return status

    def _widened(self, run: Run, rounds: int, budget: Budget) -> int:
        """Past the place of the last death with a greater width, then on as before."""
        died = run.level
        back = run.checkpoints[max(0, len(run.checkpoints) - rounds)]
        run.go_back(back)
        width = _WIDE * 4**rounds
        past = died + 64 * rounds
        while run.level < past:
            status = run.slice(width)
            if status != PAUSED:
                return status
            if budget.left_s <= 0:
                return DIED
        return self._forward(run, self.budget)

    def _refute(self, run: Run, budget: Budget) -> Decision | None:
        return None

    def _valid(self, run: Run) -> Decision:
        space = run.space
        puts = puts_of(space.up, space.put, int(run.trails[0]))
        order, filled, stuck, over, _ = replayed(
            self.given, space.steps, puts, run.initial, run.since, FOREVER
        )
        assert stuck < 0 and not over.any(), "a trail that is not an order"
        return Decision(Verdict.VALID, METHOD, order[:filled].astype(np.int64))

    def _invalid(self, run: Run) -> Decision:
        """The frontier died: what was open then, and the last that was put."""
        space, culprit = run.space, run.returning
        put = puts_of(space.up, space.put, int(run.trails[0]))[-3:]
        rows = {int(row) if row >= 0 else int(self.given.class_row[-1 - row]) for row in put}
        rows |= {int(row) for row in space.opened[: space.reg[OPEN]]}
        return Decision(Verdict.INVALID, METHOD, culprit=culprit, involved=sorted(rows))

    def _unknown(self, run: Run) -> Decision:
        spent = monotonic() - self.began
        note = f"{METHOD} {spent:.1f} s, {run.work:,} configurations"
        return Decision(Verdict.UNKNOWN, METHOD, note=note)
