"""Forward with few configurations; where none is left, back a little and on with more.

Where much is open at once, two or three configurations come far: most histories leave much room,
and a dead end has its cause a few returns before it. So the width is small, there are checkpoints
all along, and at a death it goes back to one of them and on with more, until it is past that
place. Attempts in turns are short and ever wider, and only somewhat wider from ever farther away:
what is missing may be a choice among many just before, or something that was spent long ago.
Deaths that follow each other closely make it wider for good, calm makes it narrow again.
"""

from typing import Final

from checkers.linearizability.arrays.kinds import FOREVER
from checkers.linearizability.decision import Budget
from checkers.linearizability.methods.jit_antichain.run import OUT_OF_BUDGET, Run
from checkers.linearizability.methods.jit_antichain.space import DIED, PAUSED

STUCK: Final = -2
"""Comes back from `Forward.go` where more attempts, or a proof that none can help, are needed."""
_LEAST: Final = 2
_MOST: Final = 64
_STRIDE_ROWS: Final = 64
"""From checkpoint to checkpoint."""
_NEAR: Final = 16
_FAR: Final = 32
"""Returns that attempts go back: doubled by every second one, and fourfold."""
_PAST: Final = 64
"""Returns after the place of a death where it is got over."""
_CALM: Final = 500
"""After so many returns without a death the width is halved."""
_CHEAP: Final = 6
"""Attempts before it says that it is stuck."""
_HALVES: Final = 12
"""From then on attempts grow no more."""
_SLICE: Final = 2_000


class Forward:
    """`died_at`, `died_before`: the last return that it did not get past, and the next row to
    come there; -1 and 0 at first."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.width = _LEAST
        self.attempts = 0
        self.died_at, self.died_before = -1, 0
        self._calm_since = 0
        self._patience = _CHEAP

    @property
    def rounds(self) -> int:
        """How often it was stuck at this place."""
        return max(0, self.attempts - _CHEAP)

    def go(self, budget: Budget, attempt: Budget | None = None) -> int:
        """SURVIVED; DIED if nothing was left out; OUT_OF_BUDGET; or STUCK, then `attempt` limits
        the time to get past that place when it is called again."""
        run = self.run
        if attempt is not None:
            self._patience = self.attempts + 1
            self._back()
        while True:
            if attempt is not None and self._is_past():
                attempt = None
            status = self._stride(attempt or budget)
            if status == DIED and run.truncated:
                self._died()
                if self.attempts >= self._patience:
                    return STUCK
                self._back()
            elif status == OUT_OF_BUDGET and attempt is not None and budget.left_s > 0:
                return OUT_OF_BUDGET if self._is_full(budget) else STUCK
            elif status != PAUSED:
                return status

    def _is_full(self, budget: Budget) -> bool:
        return self.run.bytes > budget.max_bytes

    def _is_past(self) -> bool:
        return self.died_at < 0 or self.run.level > self.died_at + _PAST

    @property
    def _attempt(self) -> tuple[int, int]:
        """(its width, how far it goes back)."""
        half = min((self.attempts + 1) // 2, _HALVES)
        if self.attempts % 2:
            return self.width << (half + 1), _NEAR << half
        return self.width << half, _FAR << (2 * half)

    def _stride(self, budget: Budget) -> int:
        """To the next checkpoint: PAUSED there."""
        run, calls = self.run, self.run.given.ops["call"]
        run.save()
        row = run.next_row + _STRIDE_ROWS
        stop_time = int(calls[row]) if row < len(calls) else FOREVER
        width = self._width_here()
        while True:
            status = run.slice(width, stop_time, _SLICE)
            if status != PAUSED:
                return status
            if budget.left_s <= 0 or self._is_full(budget):
                return OUT_OF_BUDGET
            if run.at_stop(stop_time):
                return PAUSED

    def _width_here(self) -> int:
        run = self.run
        if not self._is_past():
            return self._attempt[0]
        if run.level > self._calm_since + _CALM:
            self._calm_since = run.level
            self.width = max(_LEAST, self.width // 2)
        return self.width

    def _died(self) -> None:
        run = self.run
        if self._is_past():
            self.attempts, self._patience = 0, _CHEAP
            self.width = min(2 * self.width, _MOST)
        if run.level > self.died_at:
            self.died_at, self.died_before = run.level, run.next_row
        self._calm_since = self.died_at

    def _back(self) -> None:
        """One more attempt."""
        self.attempts += 1
        goal = self.died_at - self._attempt[1]
        checkpoints = self.run.checkpoints
        to = checkpoints[0]
        for each in reversed(checkpoints):
            if each.level <= goal:
                to = each
                break
        self.run.go_back(to)
