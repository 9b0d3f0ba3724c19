"""The scan along the log for models that only `Transitions` knows, one step at a time."""

from dataclasses import dataclass, field

import numpy as np

from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import NEVER, EncodedHistory, Ints, Kind
from framework.verdict import Verdict

_IMPOSSIBLE = -1
_ASK_EVERY = 4096
"""Steps between looks at the clock."""


def log_order_of_model(
    method: str, encoded: EncodedHistory, log: Ints, looking: Ints, floating: Ints, budget: Budget
) -> Decision | None:
    """What `log_order` decides. An operation of the log comes when nothing without a place can
    come. A look comes as early as it can: that is never worse. A change without a place comes
    early where it leaves the state as it is, or the log can go on after it; else when nothing else
    can. As that is a guess, a failure is then no refutation."""
    walk = _Walk(encoded, log, looking, floating)
    steps = 0
    while not walk.is_over:
        steps += 1
        if steps % _ASK_EVERY == 0 and budget.left_s <= 0:
            note = f"{method}: {len(walk.order):,} of {len(encoded):,} operations"
            return Decision(Verdict.UNKNOWN, method, note=note)
        if not (walk.look() or walk.go_on() or walk.help()):
            break
    if walk.is_over:
        return Decision(Verdict.VALID, method, np.array(walk.order, np.int64))
    culprit, involved = walk.stuck()
    if walk.guessed or any(encoded.call[row] < walk.deadline for row in floating):
        return None
    return Decision(Verdict.INVALID, method, None, culprit, involved)


@dataclass
class _Walk:
    """How far an order has come."""

    encoded: EncodedHistory
    log: Ints
    looking: Ints
    floating: Ints
    order: list[int] = field(default_factory=list)
    guessed: bool = False
    """Something came that changed what is known, and need not have come then."""

    def __post_init__(self) -> None:
        assert self.encoded.transitions is not None
        self.step = self.encoded.transitions.step
        self.state = self.encoded.transitions.initial
        self.next = 0
        encoded = self.encoded
        unplaced = np.sort(np.concatenate((self.looking, self.floating)))
        self.to_call = [int(row) for row in reversed(unplaced)]
        self.waiting: list[int] = []
        self.done: set[int] = set()
        rows = np.concatenate((self.log, unplaced))
        self.returns = [
            (int(encoded.ret[row]), int(row)) for row in rows if encoded.ret[row] != NEVER
        ]
        self.returns.sort()
        self.returns.reverse()

    @property
    def is_over(self) -> bool:
        return self.deadline == NEVER and self.next == len(self.log)

    @property
    def deadline(self) -> int:
        """The first return of what is not in the order yet."""
        while self.returns and self.returns[-1][1] in self.done:
            self.returns.pop()
        return self.returns[-1][0] if self.returns else int(NEVER)

    def look(self) -> bool:
        """Something without a place comes, if it does not disturb."""
        deadline = self.deadline
        while self.to_call and self.encoded.call[self.to_call[-1]] < deadline:
            self.waiting.append(self.to_call.pop())
        narrows = None
        for row in self.waiting:
            then = self._after(self.state, row)
            if self.encoded.ret[row] == NEVER or then == _IMPOSSIBLE:
                continue
            if then == self.state:
                self._append(row, then)
                return True
            if self.encoded.kind[row] == Kind.LOOK or self._goes_on(then):
                narrows = min(
                    narrows or (NEVER, row, then), (int(self.encoded.ret[row]), row, then)
                )
        if narrows is not None:
            self.guessed = True
            self._append(*narrows[1:])
        return narrows is not None

    def go_on(self) -> bool:
        """The next operation of the log comes."""
        if self.next == len(self.log):
            return False
        row = int(self.log[self.next])
        then = self._after(self.state, row)
        if then == _IMPOSSIBLE or self.encoded.call[row] > self.deadline:
            return False
        self.next += 1
        self._append(row, then)
        return True

    def help(self) -> bool:
        """A change without a place comes that lets something go on."""
        for row in self.waiting:
            then = self._after(self.state, row)
            if then != _IMPOSSIBLE and then != self.state and self._helps(row, then):
                self._append(row, then)
                return True
        return False

    def stuck(self) -> tuple[int, list[int]]:
        """The operation that cannot come, and others that show it."""
        due = [self.returns[-1][1]] if self.returns else []
        rows = set(due)
        if self.next < len(self.log):
            rows.add(int(self.log[self.next]))
        rows.update(self.order[-1:])
        culprit = due[0] if due else int(self.log[self.next])
        return culprit, sorted(rows)

    def _helps(self, row: int, then: int) -> bool:
        if self.next < len(self.log) and self._goes_on(then):
            return True
        if self.returns and self.returns[-1][1] == row:
            return True
        return any(
            other != row
            and self.encoded.ret[other] != NEVER
            and self._after(then, other) != _IMPOSSIBLE
            for other in self.waiting
        )

    def _goes_on(self, state: int) -> bool:
        if self.next == len(self.log):
            return True
        return self._after(state, int(self.log[self.next])) != _IMPOSSIBLE

    def _after(self, state: int, row: int) -> int:
        then = self.step(state, int(self.encoded.a[row]))
        return then if then >= 0 else _IMPOSSIBLE

    def _append(self, row: int, then: int) -> None:
        self.order.append(row)
        self.done.add(row)
        self.state = then
        if row in self.waiting:
            self.waiting.remove(row)
