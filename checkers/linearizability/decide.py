"""The decision for one key: linearizable with a witness, refuted with the evidence, or unknown."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from checkers.linearizability.levels import Level, Open, lay_out
from checkers.linearizability.model import Model, State
from checkers.linearizability.search import (
    Budget,
    Linearizable,
    OutOfBudget,
    Pending,
    Refuted,
    breadth_first,
    depth_first,
    settle,
)
from framework.history.pairing import Operation

DEFAULT_BUDGET_S: Final = 30.0
DEFAULT_BUDGET_BYTES: Final = 1 << 30
_FIRST_SLICE_S: Final = 0.25


@dataclass(frozen=True, slots=True)
class Valid:
    order: Sequence[Operation]
    """A legal order: every completed operation, and the pending ones that took effect."""


@dataclass(frozen=True, slots=True)
class Invalid:
    """`culprit` is the operation whose completion no order explains; everything before it in
    the history has an order."""

    culprit: Operation
    states: Sequence[str]
    """What the object could have been just before, in words."""
    around: Sequence[Operation]
    """Operations that were open then, and the last ones of one order that lead there."""


@dataclass(frozen=True, slots=True)
class Unknown:
    why: str


Decision: TypeAlias = Valid | Invalid | Unknown
Search: TypeAlias = Callable[[Model, Sequence[Level], Budget, Pending], Linearizable | Refuted]


def decide(
    model: Model,
    operations: Sequence[Operation],
    *,
    budget_s: float = DEFAULT_BUDGET_S,
    budget_bytes: int = DEFAULT_BUDGET_BYTES,
) -> Decision:
    """Whether one key's operations, in the order of their invocations, are linearizable.

    The two searches take turns, with time slices that grow. Raises `NotInModel`.
    """
    levels = lay_out(model, operations)
    ran_out = "time"
    for search, policy, seconds in _plan(budget_s, any(level.pending for level in levels)):
        try:
            result = search(model, levels, Budget(seconds, budget_bytes), policy)
        except OutOfBudget as error:
            ran_out = str(error)
            continue
        if isinstance(result, Refuted):
            if policy is not Pending.THRIFTY:
                return _invalid(model, levels, result)
        elif policy is not Pending.ENDLESS:
            return Valid(witness(model, levels, result))
    return Unknown(f"the {ran_out} budget of the search ran out ({budget_s:g} s a key)")


def _plan(budget_s: float, has_pending: bool) -> Iterator[tuple[Search, Pending, float]]:
    """Searches in turn, with time slices that grow, until the budget is spent."""
    plan: list[tuple[Search, Pending]] = [
        (depth_first, Pending.EXACT),
        (breadth_first, Pending.EXACT),
    ]
    if has_pending:
        plan += [(depth_first, Pending.THRIFTY), (breadth_first, Pending.ENDLESS)]
    slice_s = _FIRST_SLICE_S
    while budget_s > 0:
        for search, policy in plan:
            seconds = min(slice_s, budget_s)
            budget_s -= seconds
            yield search, policy, seconds
        slice_s *= 4


def witness(model: Model, levels: Sequence[Level], found: Linearizable) -> list[Operation]:
    """The whole order, with the observers where they were settled."""
    state, done = model.initial, 0
    order: list[Operation] = []
    for number, level in enumerate(levels):
        done = _observe(model, level.fresh, state, done, order)
        for bit, action, operation in found.choices.get(number, ()):
            state = model.step(state, action)
            order.append(operation)
            if operation.type != "info":
                done |= bit
            done = _observe(model, level.observers, state, done, order)
        done &= ~level.completes.bit
    return order


def _observe(
    model: Model, observers: Sequence[Open], state: State, done: int, order: list[Operation]
) -> int:
    settled = settle(model.step, observers, state, done)
    order.extend(call.operation for call in observers if (settled & ~done) & call.bit)
    return settled


def _invalid(model: Model, levels: Sequence[Level], refuted: Refuted) -> Invalid:
    level = levels[refuted.level]
    culprit = level.completes.operation
    around = {call.operation.op: call.operation for call in refuted.trail}
    for group in (level.observers, *level.changers):
        around.update((call.operation.op, call.operation) for call in group)
    around.pop(culprit.op, None)
    return Invalid(
        culprit,
        [model.describe(state) for state in refuted.states],
        [around[op] for op in sorted(around)],
    )
