"""The method "jit antichain": breadth-first over completions, for any model but queues.

One engine (`kernel.py`), used in two ways:

- Forward, with a width: at most so many configurations a level. If one is left at the end, the
  history is linearizable, truncated or not, and its trail becomes a witness, which is replayed. If
  none is left and none was ever left out, it is not. If some were left out, it goes back to a
  checkpoint and on from there with a greater width (`forward.py`).
- Where the forward run came to an end, a proof is sought that no order gets past: a run over a
  window around that place, begun with everything possible (any value, all that is open satisfied,
  no pending operation used) and never truncated. It over-approximates, so if it dies the history
  is not linearizable. Pending operations are endless there at first. If an order through the
  window uses some more often than there are, those are counted and the window is tried again
  (counterexample-guided refinement): first by the value that they lead to, then each class.
"""

from collections import Counter
from typing import Final

import numpy as np

from checkers.linearizability.arrays.kinds import FOREVER
from checkers.linearizability.arrays.layout import laid_out
from checkers.linearizability.arrays.replay import is_legal
from checkers.linearizability.arrays.trails import mutations_of
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import Codes, EncodedHistory, Ints
from checkers.linearizability.methods.jit_antichain.forward import STUCK, Forward
from checkers.linearizability.methods.jit_antichain.input import (
    Input,
    read_in,
    searchable,
)
from checkers.linearizability.methods.jit_antichain.run import OUT_OF_BUDGET, Run
from checkers.linearizability.methods.jit_antichain.space import DIED, SURVIVED
from framework.compiled import working_s
from framework.verdict import Verdict

METHOD: Final = "jit antichain"
_ROUNDS: Final = 16
"""From then on the slices grow no more."""
_FIRST_WINDOW: Final = 32
_FIRST_SLICE_S: Final = 0.25
_WINDOW_ROWS: Final = 1 << 13
_MODEL_ROWS: Final = 1 << 8
_UNBOUNDED: Final = 1 << 40


def jit_antichain(encoded: EncodedHistory, budget: Budget) -> Decision | None:
    """Decides one key of a cell or of a model with `Transitions`; None for queues."""
    if not searchable(encoded):
        return None
    return _Search(encoded, budget).decide()


def _exactly(given: Input) -> Codes:
    """Every class is counted."""
    return np.arange(len(given.class_row), dtype=np.int32)


def _order_along(run: Run, trail: int, until: int) -> tuple[Ints, int, Codes]:
    """(the order before the first return after `until` that a trail leads to, the row that it does
    not explain or -1, how many more than there were then it took of each class)."""
    given, space = run.given, run.space
    mutations, root = mutations_of(space.trails, trail)
    initial = int(run.starts[0] if root == -1 else run.starts[-2 - root])
    rows = _members(given, mutations)
    order, stuck, missing = laid_out(run.encoded, rows, space.steps, initial, run.since, until)
    lacking = given.ops["pending_class"][rows[missing]]
    return order, stuck, np.bincount(lacking, minlength=len(given.class_row)).astype(np.int32)


def _members(given: Input, mutations: Codes) -> Codes:
    """Each use of a class becomes its next pending operation: the last, once there are no more."""
    rows, uses = mutations.copy(), Counter[int]()
    for at in np.flatnonzero(mutations < 0).tolist():
        number = -1 - int(mutations[at])
        first, end = given.member_start[number : number + 2].tolist()
        rows[at] = given.members[min(first + uses[number], end - 1)]
        uses[number] += 1
    return rows


class _Search:
    def __init__(self, encoded: EncodedHistory, budget: Budget) -> None:
        self.encoded = encoded
        self.budget = budget
        self.began = working_s()
        self.given: Input = read_in(encoded)
        self.window = _FIRST_WINDOW
        self.widest_window = 0

    def decide(self) -> Decision:
        run = Run(self.encoded, self.given, _exactly(self.given))
        forward = self.forward = Forward(run)
        place = -1
        status = forward.go(self.budget)
        while status == STUCK and self.budget.left_s > 0:
            if forward.died_at > place:
                place, self.window = forward.died_at, _FIRST_WINDOW
            slice_s = _FIRST_SLICE_S * 2 ** min(forward.rounds, _ROUNDS)
            refuted = self._refuted(forward, self.budget.slice(slice_s))
            if refuted is not None:
                return refuted
            status = forward.go(self.budget, self.budget.slice(slice_s))
        if status == SURVIVED:
            return self._valid(run)
        if status == DIED and not run.truncated:
            return self._invalid(run, np.arange(len(self.encoded)))
        return self._unknown(run)

    def _refuted(self, forward: Forward, budget: Budget) -> Decision | None:
        """Windows around the place where the run died, greater and greater."""
        run, rounds = forward.run, min(forward.rounds, _ROUNDS)
        # Endless steps of a model may lead to states without end.
        rows = _MODEL_ROWS if self.given.has_steps else _WINDOW_ROWS
        max_rows = rows * 4**rounds
        while budget.left_s > 0 and self.window <= _FIRST_WINDOW * 4 ** (rounds + 2):
            first = forward.died_at - self.window
            if first <= 0 or self.encoded.transitions is not None:
                first = 0
            since = int(self.given.ops["ret"][run.returned(first - 1)]) if first else -1
            until = forward.died_before + self.window
            calls = self.given.ops["call"]
            stop_time = int(calls[until]) if until < len(calls) else FOREVER
            proof = self._relaxed(since, stop_time, budget, max_rows)
            if isinstance(proof, Decision):
                return proof
            if proof is None:
                return None
            if first == 0 and stop_time == FOREVER:
                return None
            self.window *= 4
        return None

    def _relaxed(
        self, since: int, stop_time: int, budget: Budget, max_rows: int
    ) -> Decision | bool | None:
        """INVALID if no order gets through a window; else whether one was found, which may yet
        need more than there is before the window. None: too much for the budget."""
        ops = self.given.ops
        rows = np.flatnonzero((ops["ret"] > since) & (ops["call"] <= stop_time))
        part = _renumbered(self.encoded.take(rows))
        given = read_in(part)
        account = np.full(len(given.class_row), -1, np.int32)
        while True:
            run = Run(part, given, account)
            if since >= 0:
                seen = np.unique(part.a[part.a >= 0]).astype(np.int64)
                run.begin_after(since, np.append(seen, -1))
            self.widest_window = max(self.widest_window, len(rows))
            status = run.go(budget, _UNBOUNDED, stop_time, max_rows)
            if status == DIED:
                return self._invalid(run, rows)
            if status == OUT_OF_BUDGET:
                return None
            _, stuck, over = _order_along(run, int(run.trails[0]), stop_time)
            if stuck >= 0:
                return None
            finer = _refined(given, account, over)
            if finer is None or (finer == account).all():
                return True
            account = finer

    def _valid(self, run: Run) -> Decision:
        order, stuck, _ = _order_along(run, int(run.trails[0]), FOREVER)
        if not is_legal(self.encoded, order, run.space.steps):
            note = f"{METHOD}: the order that was found does not explain operation {stuck}"
            return Decision(Verdict.UNKNOWN, METHOD, note=note)
        return Decision(Verdict.VALID, METHOD, order)

    def _invalid(self, run: Run, rows: Ints) -> Decision:
        """No configuration was left: what was open then, and the last that was put."""
        mutations, _ = mutations_of(run.space.trails, int(run.trails[0]))
        near = {
            int(put) if put >= 0 else int(run.given.class_row[-1 - put]) for put in mutations[-3:]
        }
        near |= set(run.opened.tolist())
        return Decision(
            Verdict.INVALID,
            METHOD,
            culprit=int(rows[run.returning]),
            involved=sorted(int(rows[row]) for row in near),
        )

    def _unknown(self, run: Run) -> Decision:
        spent = working_s() - self.began
        what = "memory" if run.bytes > self.budget.max_bytes else "time"
        note = (
            f"{METHOD}: {what} ran out after {spent:.1f} s, {run.work:,} configurations, "
            f"at completion {run.level:,}"
        )
        return Decision(Verdict.UNKNOWN, METHOD, note=note)


def _renumbered(encoded: EncodedHistory) -> EncodedHistory:
    """The same with no more values than it needs. Of a model: as it is."""
    if encoded.transitions is not None:
        return encoded
    numbers, both = np.unique(
        np.concatenate([encoded.a, encoded.b, [encoded.initial]]), return_inverse=True
    )
    shift = int(numbers[0] == -1)
    codes: Codes = (both - shift).astype(np.int32)
    count = len(encoded)
    return EncodedHistory(
        encoded.call,
        encoded.ret,
        encoded.kind,
        codes[:count],
        codes[count:-1],
        int(codes[-1]),
    )


def _refined(given: Input, account: Codes, over: Codes) -> Codes | None:
    """Counts more finely what was used too often: first by what it leads to, then each class.
    None: nothing was."""
    excess = np.flatnonzero(over)
    if not len(excess):
        return None
    finer = account.copy()
    for number in excess.tolist():
        if given.has_steps:
            finer[number] = number
            continue
        target = given.ops["b"][given.class_row]
        like = target == target[number]
        if (account[number] >= 0) or like.sum() == 1:
            finer[like] = np.flatnonzero(like)
        else:
            finer[like] = np.flatnonzero(like)[0]
    return finer
