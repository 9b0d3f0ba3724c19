"""The searches: depth-first and breadth-first over levels. Both are exact for every model.

A configuration is (state, done, used): the object's state, the open operations that are in the
order already, the pending operations that are. Two rules keep configurations few:

- An observer whose result fits the state is put at once: it changes nothing, and to have put it
  is never worse.
- A configuration is dropped if another has the same state and the same changers done, no fewer
  observers done, and no pending operation used that this one has not (breadth-first only).

Depth-first wins on histories that are linearizable and have many pending operations,
breadth-first on those that are not. A search that returns has decided; one that cannot within
its budget raises `OutOfBudget`.

Pending operations are what makes a search explode, so both can also run with a `Pending` policy
that bounds them, and then decide one way only.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from checkers.linearizability.budget import Budget
from checkers.linearizability.levels import Level, Open
from checkers.linearizability.model import IMPOSSIBLE, Action, Model, State

Step: TypeAlias = Callable[[State, Action], Any]
Config: TypeAlias = tuple[State, int, int]
Trail: TypeAlias = tuple[int, Sequence[Open], Any] | None
"""What was chosen at a level, and the trail before it."""


class Pending(Enum):
    """How pending operations are counted. Without any, all policies are the same."""

    EXACT = "each takes effect once or never"
    THRIFTY = "once or never; of two ways to one state only the shorter is tried"
    """Finds orders fast. That it finds none proves nothing."""
    ENDLESS = "each takes effect as often as it helps"
    """Refutes fast. That it finds an order proves nothing."""


@dataclass(frozen=True, slots=True)
class Linearizable:
    choices: dict[int, Sequence[Open]]
    """Level -> the operations that were put at it, in order, settled observers left out."""


@dataclass(frozen=True, slots=True)
class Refuted:
    """No order exists. `level` is the first at which no configuration is left."""

    level: int
    states: Sequence[State]
    """Every state that was possible just before it."""
    trail: Sequence[Open]
    """How one of them came about: the last operations that were put."""


def settle(step: Step, observers: Sequence[Open], state: State, done: int) -> int:
    """`done` with every observer that the state satisfies."""
    for bit, action, _ in observers:
        if not done & bit and step(state, action) == state:
            done |= bit
    return done


def successors(
    step: Step, level: Level, config: Config, budget: Budget, policy: Pending
) -> Iterator[tuple[Config, tuple[Open, ...]]]:
    """Configurations after a level, with what was put to get there; shortest first.

    `config` has the level's fresh observers settled, and its completing operation not done.
    """
    target = level.completes.bit
    queue: deque[tuple[Config, tuple[Open, ...]]] = deque([(config, ())])
    seen = {_identity(config, policy)}
    while queue:
        (state, done, used), put = queue.popleft()
        for group in level.changers:
            call = _first_unset(group, done)
            if call is None:
                continue
            after = step(state, call.action)
            if after is IMPOSSIBLE:
                continue
            budget.step()
            now_done = done | call.bit
            if after != state:
                now_done = settle(step, level.observers, after, now_done)
            found = (after, now_done, used)
            if now_done & target:
                yield (after, now_done ^ target, used), (*put, call)
            elif (identity := _identity(found, policy)) not in seen:
                seen.add(identity)
                queue.append((found, (*put, call)))
        for group in level.pending:
            call = _first_unset(group, used)
            if call is None:
                continue
            after = step(state, call.action)
            if after is IMPOSSIBLE or after == state:
                continue
            budget.step()
            now_done = settle(step, level.observers, after, done)
            now_used = used if policy is Pending.ENDLESS else used | call.bit
            found = (after, now_done, now_used)
            if now_done & target:
                yield (after, now_done ^ target, now_used), (*put, call)
            elif (identity := _identity(found, policy)) not in seen:
                seen.add(identity)
                queue.append((found, (*put, call)))


def _identity(config: Config, policy: Pending) -> Config:
    return (config[0], config[1], 0) if policy is Pending.THRIFTY else config


def _size(config: Config) -> int:
    """Bytes, roughly, of a configuration that is kept."""
    state, _, used = config
    inside = len(state) if isinstance(state, tuple | str) else 0
    return 400 + used.bit_length() // 8 + 8 * inside


def _first_unset(group: Sequence[Open], mask: int) -> Open | None:
    for call in group:
        if not mask & call.bit:
            return call
    return None


def breadth_first(
    model: Model, levels: Sequence[Level], budget: Budget, policy: Pending = Pending.EXACT
) -> Linearizable | Refuted:
    """All configurations of a level at once. Raises `OutOfBudget`."""
    step = model.step
    frontier: dict[Config, Trail] = {(model.initial, 0, 0): None}
    for number, level in enumerate(levels):
        budget.forget()
        after: dict[Config, Trail] = {}
        target = level.completes.bit
        for (state, done, used), trail in frontier.items():
            budget.step()
            done = settle(step, level.fresh, state, done)
            if done & target:
                after.setdefault((state, done ^ target, used), trail)
                continue
            for config, put in successors(step, level, (state, done, used), budget, policy):
                if config not in after:
                    budget.keep(_size(config))
                    after[config] = (number, put, trail)
        if not after:
            return _refuted(number, frontier)
        frontier = _undominated(after, level.blind) if len(after) > 1 else after
    trail = next(iter(frontier.values()))
    choices: dict[int, Sequence[Open]] = {}
    while trail is not None:
        choices[trail[0]] = trail[1]
        trail = trail[2]
    return Linearizable(choices)


def _undominated(configs: dict[Config, Trail], blind: int) -> dict[Config, Trail]:
    groups: dict[tuple[State, int], list[Config]] = {}
    for config in configs:
        groups.setdefault((config[0], config[1] & ~blind), []).append(config)
    if len(groups) == len(configs):
        return configs
    kept: dict[Config, Trail] = {}
    for group in groups.values():
        # Whatever dominates has used no more, and if it used the same it has done more.
        group.sort(key=lambda config: (config[2].bit_count(), -config[1].bit_count()))
        best: list[Config] = []
        for config in group:
            _, done, used = config
            if not any(not other[2] & ~used and not done & ~other[1] for other in best):
                best.append(config)
                kept[config] = configs[config]
    return kept


def _refuted(number: int, frontier: dict[Config, Trail]) -> Refuted:
    states = list(dict.fromkeys(state for state, _, _ in frontier))
    trail = next(iter(frontier.values()))
    put: list[Open] = []
    while trail is not None and len(put) < 3:
        put = [*trail[1], *put]
        trail = trail[2]
    return Refuted(number, states, put[-3:])


@dataclass(slots=True)
class _Branch:
    """A configuration whose successors were not all tried."""

    level: int
    config: Config
    choices: int
    """How many choices led here."""
    rest: Iterator[tuple[Config, tuple[Open, ...]]] | None = None
    """The untried ones; None before the first return here, when only the first was tried."""


def depth_first(
    model: Model, levels: Sequence[Level], budget: Budget, policy: Pending = Pending.EXACT
) -> Linearizable | Refuted:
    """One configuration at a time, with a memory of those that led nowhere.

    Raises `OutOfBudget`.
    """
    step = model.step
    failed: set[tuple[int, Config]] = set()
    branches: list[_Branch] = []
    choices: list[tuple[int, tuple[Open, ...]]] = []
    deepest, states, trail = -1, dict[State, None](), list[Open]()
    number, config = 0, (model.initial, 0, 0)
    while number < len(levels):
        budget.step()
        level = levels[number]
        state, done, used = config
        if number >= deepest:
            if number > deepest:
                deepest, states = number, {}
                trail = [call for _, put in choices[-3:] for call in put][-3:]
            states[state] = None
        done = settle(step, level.fresh, state, done)
        if done & level.completes.bit:
            number, config = number + 1, (state, done ^ level.completes.bit, used)
            continue
        config = (state, done, used)
        found = None
        if (number, _identity(config, policy)) not in failed:
            branch = _Branch(number, config, len(choices))
            found = next(successors(step, level, config, budget, policy), None)
            if found is None:
                failed.add((number, _identity(config, policy)))
                budget.keep(_size(config))
            else:
                branches.append(branch)
        while found is None:
            if not branches:
                return Refuted(deepest, list(states), trail)
            branch = branches[-1]
            if branch.rest is None:
                branch.rest = successors(step, levels[branch.level], branch.config, budget, policy)
                next(branch.rest, None)
            found = next(branch.rest, None)
            if found is None:
                failed.add((branch.level, _identity(branch.config, policy)))
                budget.keep(_size(branch.config))
                branches.pop()
        number = branches[-1].level
        del choices[branches[-1].choices :]
        config, put = found
        choices.append((number, put))
        number += 1
    return Linearizable(dict(choices))
