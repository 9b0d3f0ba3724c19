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

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from checkers.linearizability.coded import NEVER, Coded, Ints, Kind

State: TypeAlias = Any
"""Of a cell the number of its value, of a queue a tuple of them, else the model's number."""
OTHER: Final = -1
"""Any value of a cell that no member and nothing that helps one looks for."""
MAX_STEPS: Final = 30_000
_MAX_HELPERS: Final = 400

READ, DIFFERS, WRITE, CAS, CHANGE = (
    int(kind) for kind in (Kind.READ, Kind.DIFFERS, Kind.WRITE, Kind.CAS, Kind.CHANGE)
)
LOOK, STEP = int(Kind.LOOK), int(Kind.STEP)
ENQUEUE, DEQUEUE, EMPTY, TAKE = (
    int(kind) for kind in (Kind.ENQUEUE, Kind.DEQUEUE, Kind.EMPTY, Kind.TAKE)
)
OBSERVERS: Final = frozenset((READ, DIFFERS, LOOK, EMPTY))
_CELL: Final = frozenset((READ, DIFFERS, WRITE, CAS, CHANGE))


class TooMuch(Exception):
    """Not decided within the steps allowed."""


class Move(NamedTuple):
    """An operation as the search moves it. `bit` marks it among the members or the helpers."""

    row: int
    call: int
    ret: int
    kind: int
    a: int
    b: int
    bit: int
    member: bool


Trail: TypeAlias = tuple["Trail", Move] | None
"""The last operation of an order, and the order before it."""
Config: TypeAlias = tuple[State, int, int]
"""The state, the members that took effect, the helpers that did."""


@dataclass(frozen=True, slots=True)
class End:
    """An order that cannot go on: the members that are open cannot come next in this state."""

    state: State
    order: Sequence[Move]
    stuck: Sequence[Move]

    @property
    def is_idle(self) -> bool:
        """It ends with what other operations did, and no member saw."""
        return bool(self.order) and not self.order[-1].member


@dataclass(frozen=True, slots=True)
class Refuted:
    """No order explains the completion of the member at `row`."""

    row: int
    states: Sequence[State]
    """All that were possible by then."""
    ends: Sequence[End]
    """One for each state in which an order ends; those with more members in them first."""


class Relaxing:
    """One key's history, looked up by what its mutations leave."""

    def __init__(self, coded: Coded) -> None:
        self.coded = coded
        kinds = coded.kind
        observes = np.isin(kinds, list(OBSERVERS))
        self._mutations: Ints = np.flatnonzero(~observes)
        left = np.where(kinds == DEQUEUE, coded.a, coded.b)[self._mutations].astype(np.int64)
        left[kinds[self._mutations] == TAKE] = OTHER
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
        return rows[: np.searchsorted(self.coded.call[rows], before)]

    def refuted(self, members: Ints, max_steps: int = MAX_STEPS) -> Refuted | None:
        """None: there is an order. Raises `TooMuch`."""
        chosen = [self._move(int(row), 1 << i, True) for i, row in enumerate(members)]
        if not chosen:
            return None
        helpers, starts = self._helpers(chosen)
        if len(helpers) > _MAX_HELPERS:
            raise TooMuch
        helping = [move._replace(bit=1 << i) for i, move in enumerate(helpers)]
        return _Walk(self._step, [*chosen, *helping], max_steps).run(starts)

    def _move(self, row: int, bit: int = 0, member: bool = False) -> Move:
        coded = self.coded
        return Move(
            row,
            int(coded.call[row]),
            int(coded.ret[row]),
            int(coded.kind[row]),
            int(coded.a[row]),
            int(coded.b[row]),
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
        rows = self._mutations[: np.searchsorted(self.coded.call[self._mutations], end)]
        return self._moves(rows, own, NEVER), {self.coded.initial: None}

    def _around_cell(
        self, members: Sequence[Move], begin: int, end: int
    ) -> tuple[list[Move], dict[State, Trail]]:
        own = {move.row for move in members}
        sought = [move.a for move in members if move.kind in (READ, CAS)]
        leaving = any(move.kind in (DIFFERS, CHANGE) for move in members)
        known: set[int] = set()
        helpers: list[Move] = []
        starts: dict[State, Trail] = {}
        while sought:
            value = sought.pop()
            if value in known:
                continue
            known.add(value)
            rows = self.leaving(value, end)
            before = rows[self.coded.ret[rows] < begin]
            before = before[~np.isin(before, list(own))]
            if len(before):
                last = before[np.argmax(self.coded.ret[before])]
                starts[value] = (None, self._move(int(last)))
            open_then = self._moves(rows[self.coded.ret[rows] > begin], own, len(members))
            for move in open_then:
                helpers.append(move)
                if move.kind == CAS:
                    sought.append(move.a)
                leaving = leaving or move.kind == CHANGE
        if leaving:
            apart = known | {self.coded.initial}
            for move in (*members, *helpers):
                apart |= {move.a, move.b}
            helpers += self._leavers(apart, known, own, begin, end, len(members))
            before = self._mutations[self.coded.ret[self._mutations] < begin]
            left = self.coded.b[before]
            for value in apart - known:
                if len(rows := before[left == value]):
                    starts[value] = (None, self._move(int(rows[-1])))
            if len(rows := before[~np.isin(left, list(apart))]):
                starts[OTHER] = (None, self._move(int(rows[-1])))
        # The latest first: of two orders to one state the first is told.
        latest = sorted(starts.items(), key=lambda each: -each[1][1].ret if each[1] else 0)
        return helpers, {**dict(latest), self.coded.initial: starts.get(self.coded.initial)}

    def _leavers(
        self, apart: set[int], known: set[int], own: set[int], begin: int, end: int, most: int
    ) -> list[Move]:
        """What else takes a cell away from a value. `apart`: the values that have to be told
        apart; those that are left and `known` are among the helpers already."""
        call, ret = self.coded.call[self._mutations], self.coded.ret[self._mutations]
        rows = self._mutations[(call < end) & (ret > begin)]
        moves = (
            move._replace(b=move.b if move.b in apart else OTHER)
            for move in self._moves(rows, own, NEVER)
            if move.b not in known and (move.kind != CAS or move.a in apart)
        )
        return _thinned(moves, most)

    def _moves(self, rows: Ints, own: set[int], most: int) -> list[Move]:
        if len(rows) > _MAX_HELPERS:
            pending = self.coded.ret[rows] == NEVER
            alike = np.isin(self.coded.kind[rows], (WRITE, ENQUEUE, TAKE)) & pending
            rows = rows[~alike | (np.cumsum(alike) <= most)]
        if len(rows) > 50 * _MAX_HELPERS:
            raise TooMuch
        return _thinned((self._move(int(row)) for row in rows if int(row) not in own), most)

    def _step(self, state: State, move: Move) -> State | None:
        """The state after; None if the operation is impossible there."""
        kind, a, b = move.kind, move.a, move.b
        if kind == READ:
            return state if state == a else None
        if kind == WRITE:
            return b
        if kind == CAS:
            return b if state == a else None
        if kind == DIFFERS:
            return state if state != a else None
        if kind == CHANGE:
            return b if state != a else None
        if kind in (LOOK, STEP):
            assert self.coded.transitions is not None
            after = self.coded.transitions.step(state, a)
            return None if after < 0 else after
        if kind == ENQUEUE:
            return (*state, b)
        if kind == EMPTY:
            return None if state else state
        if not state or (kind == DEQUEUE and state[0] != a):
            return None
        return state[1:]


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


class _Walk:
    """Just-in-time linearization (Lowe 2017) over the returns of members and helpers."""

    def __init__(self, step: Any, moves: Sequence[Move], max_steps: int) -> None:
        self._step = step
        self._steps_left = max_steps
        self._members: list[Move] = []
        """Open ones."""
        self._observers: list[Move] = []
        self._changers: list[Move] = []
        """What may change the state. A look may, where it narrows down what is known of it."""
        self._helpers: dict[tuple[int, int, int], list[Move]] = {}
        """Open ones that do the same, next to return first: only that one is tried."""
        self._events = sorted(
            [(move.call, move) for move in moves]
            + [(move.ret, move) for move in moves if move.ret != NEVER]
        )

    def run(self, starts: Mapping[State, Trail]) -> Refuted | None:
        frontier: dict[Config, Trail] = {(state, 0, 0): trail for state, trail in starts.items()}
        members = sum(event == move.ret and move.member for event, move in self._events)
        for event, move in self._events:
            if event == move.call:
                self._open(move)
                continue
            if not move.member:
                frontier = self._helper_returns(frontier, move)
                continue
            after = self._member_returns(frontier, move)
            if not after:
                return self._refuted(frontier, move)
            frontier = after
            members -= 1
            if not members:
                return None
        return None

    def _open(self, move: Move) -> None:
        if not move.member:
            group = self._helpers.setdefault((move.kind, move.a, move.b), [])
            group.append(move)
            group.sort(key=lambda each: each.ret)
        else:
            self._members.append(move)
            self._sort_members()

    def _sort_members(self) -> None:
        self._observers = [move for move in self._members if move.kind in OBSERVERS]
        self._changers = [
            move for move in self._members if move.kind == LOOK or move.kind not in OBSERVERS
        ]

    def _member_returns(self, frontier: dict[Config, Trail], move: Move) -> dict[Config, Trail]:
        after: dict[Config, Trail] = {}
        for config, trail in frontier.items():
            for found, longer in self._until(config, trail, move):
                after.setdefault(found, longer)
        if after:
            self._members.remove(move)
            self._sort_members()
        return self._undominated(after)

    def _helper_returns(self, frontier: dict[Config, Trail], move: Move) -> dict[Config, Trail]:
        after: dict[Config, Trail] = {}
        for config, trail in frontier.items():
            state, done, used = config
            after.setdefault((state, done, used & ~move.bit), trail)
            if not used & move.bit:
                for (then, now_done, now_used), longer in self._until(config, trail, move):
                    after.setdefault((then, now_done, now_used & ~move.bit), longer)
        group = self._helpers[move.kind, move.a, move.b]
        group.remove(move)
        if not group:
            del self._helpers[move.kind, move.a, move.b]
        return self._undominated(after)

    def _settle(self, state: State, done: int, trail: Trail) -> tuple[int, Trail]:
        """An observer whose result fits takes effect at once: that is never worse."""
        for move in self._observers:
            if not done & move.bit and self._step(state, move) == state:
                done |= move.bit
                trail = (trail, move)
        return done, trail

    def _until(self, config: Config, trail: Trail, target: Move) -> Iterator[tuple[Config, Trail]]:
        """Configurations after the shortest ways to have the target done."""
        for (state, done, used), longer, last in self._ways(config, trail, target):
            if last:
                yield (state, done, used), longer

    def _ways(
        self, config: Config, trail: Trail, target: Move | None
    ) -> Iterator[tuple[Config, Trail, bool]]:
        """All configurations that open operations lead to; whether the target is done there.
        There a way ends."""
        state, done, used = config
        done, trail = self._settle(state, done, trail)
        if target is not None and self._is_done(target, done, used):
            yield (state, done, used), trail, True
            return
        seen = {(state, done): [used]}
        queue = deque([((state, done, used), trail)])
        while queue:
            (state, done, used), trail = queue.popleft()
            yield (state, done, used), trail, False
            for move in self._next(done, used):
                self._steps_left -= 1
                if self._steps_left < 0:
                    raise TooMuch
                after = self._step(state, move)
                if after is None or (not move.member and after == state):
                    continue
                now_done = done | move.bit if move.member else done
                now_used = used if move.member else used | move.bit
                now_done, longer = self._settle(after, now_done, (trail, move))
                if _is_new(seen, (after, now_done), now_used):
                    found = (after, now_done, now_used)
                    if target is not None and self._is_done(target, now_done, now_used):
                        yield found, longer, True
                    else:
                        queue.append((found, longer))

    def _is_done(self, move: Move, done: int, used: int) -> bool:
        return bool((done if move.member else used) & move.bit)

    def _next(self, done: int, used: int) -> Iterator[Move]:
        for move in self._changers:
            if not done & move.bit:
                yield move
        for group in self._helpers.values():
            for move in group:
                if not used & move.bit:
                    yield move
                    break

    def _undominated(self, configs: dict[Config, Trail]) -> dict[Config, Trail]:
        """Without those that another one is never worse than: the same state and changes done, no
        fewer observers, no more helpers used."""
        if len(configs) < 2:
            return configs
        blind = 0
        for move in self._observers:
            blind |= move.bit
        groups: dict[tuple[State, int], list[Config]] = {}
        for config in configs:
            groups.setdefault((config[0], config[1] & ~blind), []).append(config)
        kept: dict[Config, Trail] = {}
        for group in groups.values():
            group.sort(key=lambda config: (config[2].bit_count(), -config[1].bit_count()))
            best: list[Config] = []
            for config in group:
                _, done, used = config
                if not any(not other[2] & ~used and not done & ~other[1] for other in best):
                    best.append(config)
                    kept[config] = configs[config]
            self._steps_left -= len(group)
        return kept

    def _refuted(self, frontier: dict[Config, Trail], move: Move) -> Refuted:
        states: dict[State, None] = {}
        ends: dict[State, tuple[tuple[int, int], End]] = {}
        for config, trail in frontier.items():
            for (state, done, _), longer, _ in self._ways(config, trail, None):
                states.setdefault(state)
                stuck = [each for each in self._members if not done & each.bit]
                if any(self._step(state, each) is not None for each in stuck):
                    continue
                order = _needed(_listed(longer))
                rank = (-done.bit_count(), len(order))
                if state not in ends or rank < ends[state][0]:
                    ends[state] = (rank, End(state, order, sorted(stuck, key=lambda m: m.call)))
        ranked = sorted(ends.values(), key=lambda each: each[0])
        return Refuted(move.row, list(states), [end for _, end in ranked])


def _is_new(
    seen: dict[tuple[State, int], list[int]], reached: tuple[State, int], used: int
) -> bool:
    """Whether nothing led there that used no more. Then it is seen."""
    ways = seen.setdefault(reached, [])
    if any(not other & ~used for other in ways):
        return False
    ways.append(used)
    return True


def _needed(order: list[Move]) -> list[Move]:
    """Without others' writes to a cell that are overwritten before anybody saw them."""
    kept: list[Move] = []
    for move in order:
        if move.kind == WRITE:
            while kept and not kept[-1].member and kept[-1].kind in (WRITE, CAS, CHANGE):
                kept.pop()
        kept.append(move)
    return kept


def _listed(trail: Trail) -> list[Move]:
    order: list[Move] = []
    while trail is not None:
        trail, move = trail
        order.append(move)
    return order[::-1]
