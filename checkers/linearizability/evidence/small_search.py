"""Search over a few operations: some have to take effect, the others may. Exact.

*Members* take effect between their call and their return, with what they saw. *Helpers* do so
too, or not at all. In pure Python: what it is for is small, and it remembers how it got where.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from checkers.linearizability.decision import Budget
from checkers.linearizability.encoded import EncodedHistory, Kind

State: TypeAlias = Any
"""Of a cell the number of its value, of a queue a tuple of them, else the model's number."""
OTHER: Final = -1
"""Any value of a cell that nobody looks for."""
_CLOCK_STEPS: Final = 1 << 12
"""Steps between two looks at the clock."""

READ, DIFFERS, WRITE, CAS, CHANGE = (
    int(kind) for kind in (Kind.READ, Kind.DIFFERS, Kind.WRITE, Kind.CAS, Kind.CHANGE)
)
LOOK, STEP = int(Kind.LOOK), int(Kind.STEP)
ENQUEUE, DEQUEUE, EMPTY, TAKE = (
    int(kind) for kind in (Kind.ENQUEUE, Kind.DEQUEUE, Kind.EMPTY, Kind.TAKE)
)
OBSERVERS: Final = frozenset((READ, DIFFERS, LOOK, EMPTY))


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


@dataclass(frozen=True, slots=True)
class Found:
    refuted: Refuted | None = None
    order: Sequence[Move] = ()
    """Otherwise: one of members and helpers."""


def after(encoded: EncodedHistory, state: State, move: Move) -> State | None:
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
        assert encoded.transitions is not None
        number = encoded.transitions.step(state, a)
        return None if number < 0 else number
    if kind == ENQUEUE:
        return (*state, b)
    if kind == EMPTY:
        return None if state else state
    if not state or (kind == DEQUEUE and state[0] != a):
        return None
    return state[1:]


class Walk:
    """Just-in-time linearization (Lowe 2017) over the returns of members and helpers."""

    def __init__(
        self,
        encoded: EncodedHistory,
        moves: Sequence[Move],
        max_steps: int,
        budget: Budget | None = None,
    ) -> None:
        self._encoded = encoded
        self._budget = budget
        self.steps_left = max_steps
        self._members: list[Move] = []
        """Open ones."""
        self._observers: list[Move] = []
        self._changers: list[Move] = []
        """What may change the state. A look may, where it narrows down what is known of it."""
        self._helpers: dict[tuple[int, int, int], list[Move]] = {}
        """Open ones that do the same, next to return first: only that one is tried."""
        self._left = sum(move.member for move in moves)
        """Members that have not returned."""
        self._events = sorted(
            [(move.call, move) for move in moves] + [(move.ret, move) for move in moves]
        )

    def run(self, starts: Mapping[State, Trail]) -> Found:
        """From any of the states, with how each came about. Raises `TooMuch`."""
        frontier: dict[Config, Trail] = {(state, 0, 0): trail for state, trail in starts.items()}
        for event, move in self._events:
            if event == move.call:
                self._open(move)
                continue
            if not move.member:
                frontier = self._helper_returns(frontier, move)
                continue
            reached = self._member_returns(frontier, move)
            if not reached:
                return Found(self._refuted(frontier, move))
            frontier = reached
            self._left -= 1
            if not self._left:
                break
        return Found(order=_needed(_listed(next(iter(frontier.values())))))

    def _step(self, state: State, move: Move) -> State | None:
        return after(self._encoded, state, move)

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
        reached: dict[Config, Trail] = {}
        for config, trail in frontier.items():
            for found, longer in self._until(config, trail, move):
                reached.setdefault(found, longer)
        if reached:
            self._members.remove(move)
            self._sort_members()
        return self._undominated(reached)

    def _helper_returns(self, frontier: dict[Config, Trail], move: Move) -> dict[Config, Trail]:
        reached: dict[Config, Trail] = {}
        for config, trail in frontier.items():
            state, done, used = config
            reached.setdefault((state, done, used & ~move.bit), trail)
            for (then, now_done, now_used), longer in self._until(config, trail, move):
                reached.setdefault((then, now_done, now_used & ~move.bit), longer)
        self._helpers[move.kind, move.a, move.b].remove(move)
        return self._undominated(reached)

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
                self._count()
                then = self._step(state, move)
                if then is None:
                    continue
                now_done = done | move.bit if move.member else done
                now_used = used if move.member else used | move.bit
                now_done, longer = self._settle(then, now_done, (trail, move))
                if _is_new(seen, (then, now_done), now_used):
                    found = (then, now_done, now_used)
                    if target is not None and self._is_done(target, now_done, now_used):
                        yield found, longer, True
                    else:
                        queue.append((found, longer))

    def _count(self) -> None:
        self.steps_left -= 1
        out_of_time = (
            self.steps_left % _CLOCK_STEPS == 0
            and self._budget is not None
            and self._budget.left_s <= 0
        )
        if self.steps_left < 0 or out_of_time:
            raise TooMuch

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
            self.steps_left -= len(group)
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
            while kept and not kept[-1].member:
                kept.pop()
        kept.append(move)
    return kept


def _listed(trail: Trail) -> list[Move]:
    order: list[Move] = []
    while trail is not None:
        trail, move = trail
        order.append(move)
    return order[::-1]
