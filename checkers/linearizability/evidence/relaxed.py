"""Whether a few operations of a key are impossible whatever all others did. Exact, for few.

*Members* are completed operations: each takes effect between its call and its return, with what
it saw. All others are *relaxed*: observers say nothing any more, and a mutation takes effect
within its own time or not at all. Every order of the whole history is one of the relaxed
history too, so members that have none refute the whole history by themselves.

A dequeue that is relaxed is still one of its value, or none: to let it take any value would let
other operations of the history explain what they contradict.

Two more things are let go, so that few of the others count. Before the first member was invoked,
a cell may have had any value that something wrote until then. And what nobody seeks is left out:
a write helps only those that see its value, through compare-and-sets perhaps, and an enqueue only
those who get its value.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from checkers.linearizability.decision import Budget
from checkers.linearizability.encoded import NEVER, EncodedHistory, Ints
from checkers.linearizability.evidence.small_search import (
    CAS,
    CHANGE,
    DEQUEUE,
    DIFFERS,
    ENQUEUE,
    OBSERVERS,
    OTHER,
    READ,
    TAKE,
    WRITE,
    Found,
    Move,
    Refuted,
    State,
    TooMuch,
    Trail,
    Walk,
)

MAX_STEPS: Final = 30_000
ALL_STEPS: Final = 1_200_000
_STEPS_A_SEARCH: Final = 500
"""What it costs to begin one, in steps."""
_MAX_HELPERS: Final = 400
_CELL: Final = frozenset((READ, DIFFERS, WRITE, CAS, CHANGE))


class Relaxing:
    """One key's history, looked up by what its mutations leave."""

    def __init__(self, encoded: EncodedHistory, all_steps: int = ALL_STEPS) -> None:
        self.encoded = encoded
        self.steps_left = all_steps
        """Of all searches together. Unlike time it runs out at the same point every time."""
        kinds = encoded.kind
        observes = np.isin(kinds, list(OBSERVERS))
        self._mutations: Ints = np.flatnonzero(~observes)
        left = np.where(kinds == DEQUEUE, encoded.a, encoded.b)[self._mutations].astype(np.int64)
        rows = np.argsort(left, kind="stable")
        self._by_value: Ints = self._mutations[rows]
        self._values: Ints = left[rows]
        self.is_cell = bool(np.isin(kinds, list(_CELL)).all())
        self.is_queue = bool((kinds >= ENQUEUE).all())

    def leaving(self, value: int, before: int) -> Ints:
        """Rows of the mutations invoked `before` that leave a value, or move it in a queue, in
        the order of their calls."""
        first, last = np.searchsorted(self._values, [value, value + 1])
        rows = self._by_value[first:last]
        return rows[: np.searchsorted(self.encoded.call[rows], before)]

    def mutations(self, before: int) -> Ints:
        """Rows of all that were invoked `before`."""
        return self._mutations[: np.searchsorted(self.encoded.call[self._mutations], before)]

    def refuted(
        self, members: Ints, max_steps: int = MAX_STEPS, budget: Budget | None = None
    ) -> Refuted | None:
        """None: there is an order. Raises `TooMuch` past the steps or the time of the budget."""
        return self.search(members, max_steps, budget).refuted

    def search(self, members: Ints, max_steps: int, budget: Budget | None = None) -> Found:
        """As `refuted`, with an order where there is one."""
        chosen = [self._move(int(row), 1 << i, True) for i, row in enumerate(members)]
        if not chosen:
            return Found()
        if self.steps_left <= 0:
            raise TooMuch
        helpers, starts = self._helpers(chosen)
        if len(helpers) > _MAX_HELPERS:
            raise TooMuch
        helping = [move._replace(bit=1 << i) for i, move in enumerate(helpers)]
        walk = Walk(self.encoded, [*chosen, *helping], max_steps, budget)
        try:
            return walk.run(starts)
        finally:
            self.steps_left -= max_steps - walk.steps_left + _STEPS_A_SEARCH

    def _move(self, row: int, bit: int = 0, member: bool = False) -> Move:
        encoded = self.encoded
        return Move(
            row,
            int(encoded.call[row]),
            int(encoded.ret[row]),
            int(encoded.kind[row]),
            int(encoded.a[row]),
            int(encoded.b[row]),
            bit,
            member,
        )

    def _helpers(self, members: Sequence[Move]) -> tuple[list[Move], dict[State, Trail]]:
        """The others that may help, and the states that there may be before the members."""
        begin = min(move.call for move in members)
        end = max(move.ret for move in members)
        if self.is_cell:
            return self._around_cell(members, begin, end)
        own = {move.row for move in members}
        if self.is_queue:
            sought = {move.b if move.kind == ENQUEUE else move.a for move in members} | {OTHER}
            moves = [
                move
                for value in sorted(sought)
                for move in self._moves(self.leaving(value, end), own, len(members))
            ]
            return moves, {(): None}
        return self._moves(self.mutations(end), own, NEVER), {self.encoded.initial: None}

    def _around_cell(
        self, members: Sequence[Move], begin: int, end: int
    ) -> tuple[list[Move], dict[State, Trail]]:
        own = {move.row for move in members}
        sought = [move.a for move in members if move.kind in (READ, CAS)]
        leaving = any(move.kind in (DIFFERS, CHANGE) for move in members)
        known: set[int] = set()
        helpers: list[Move] = []
        starts: dict[State, tuple[None, Move]] = {}
        while sought:
            value = sought.pop()
            if value in known:
                continue
            known.add(value)
            rows = self.leaving(value, end)
            before = rows[self.encoded.ret[rows] < begin]
            if len(before):
                last = before[np.argmax(self.encoded.ret[before])]
                starts[value] = (None, self._move(int(last)))
            open_then = self._moves(rows[self.encoded.ret[rows] > begin], own, len(members))
            for move in open_then:
                helpers.append(move)
                if move.kind == CAS:
                    sought.append(move.a)
                leaving = leaving or move.kind == CHANGE
        if leaving:
            apart = {self.encoded.initial}
            for move in (*members, *helpers):
                apart |= {move.a, move.b}
            helpers += self._leavers(apart, known, own, begin, end, len(members))
            before = self._mutations[self.encoded.ret[self._mutations] < begin]
            left = self.encoded.b[before]
            for value in apart - known:
                if len(rows := before[left == value]):
                    starts[value] = (None, self._move(int(rows[-1])))
            if len(rows := before[~np.isin(left, list(apart))]):
                starts[OTHER] = (None, self._move(int(rows[-1])))
        # The latest first: of two orders to one state the first is told.
        latest = sorted(starts.items(), key=lambda each: -each[1][1].ret)
        return helpers, {**dict(latest), self.encoded.initial: starts.get(self.encoded.initial)}

    def _leavers(
        self, apart: set[int], known: set[int], own: set[int], begin: int, end: int, most: int
    ) -> list[Move]:
        """What else takes a cell away from a value. `apart`: the values that have to be told
        apart; those that are left and `known` are among the helpers already."""
        call, ret = self.encoded.call[self._mutations], self.encoded.ret[self._mutations]
        rows = self._mutations[(call < end) & (ret > begin)]
        moves = (
            move._replace(b=move.b if move.b in apart else OTHER)
            for move in self._moves(rows, own, NEVER)
            if move.b not in known and (move.kind != CAS or move.a in apart)
        )
        return _thinned(moves, most)

    def _moves(self, rows: Ints, own: set[int], most: int) -> list[Move]:
        if len(rows) > _MAX_HELPERS:
            pending = self.encoded.ret[rows] == NEVER
            alike = np.isin(self.encoded.kind[rows], (WRITE, ENQUEUE, TAKE)) & pending
            rows = rows[~alike | (np.cumsum(alike) <= most)]
        if len(rows) > 50 * _MAX_HELPERS:
            raise TooMuch
        return _thinned((self._move(int(row)) for row in rows if int(row) not in own), most)


def _thinned(moves: Iterable[Move], most: int) -> list[Move]:
    """Of pending moves that do the same, the first ones: more than there are members never help,
    as between two members none is needed twice."""
    kept: list[Move] = []
    seen: dict[tuple[int, int, int], int] = {}
    for move in sorted(moves, key=lambda move: move.call):
        if move.ret == NEVER:
            what = (move.kind, move.a, move.b)
            seen[what] = seen.get(what, 0) + 1
            if seen[what] > most:
                continue
        kept.append(move)
    return kept
