"""The decision for one key: linearizable with a witness, refuted with the evidence, or unknown."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from checkers.linearizability import failed_cas, zones
from checkers.linearizability.budget import Budget, OutOfBudget
from checkers.linearizability.levels import Call, Level, Open, calls_of, lay_out
from checkers.linearizability.model import Model, State
from checkers.linearizability.models import Register
from checkers.linearizability.search import (
    Linearizable,
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
_EVIDENCE_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Valid:
    order: Sequence[Operation]
    """A legal order: every completed operation, and the pending ones that took effect."""


@dataclass(frozen=True, slots=True)
class Invalid:
    """`culprit` is the operation whose completion no order explains. Everything that completed
    before it has an order, but where time was short for finding the very first."""

    culprit: Operation
    states: Sequence[str]
    """What the object could have been just before, in words. Empty if that was not worked out."""
    around: Sequence[Operation]
    """The operations that show it: those open then and the last ones of an order that leads
    there, or those whose real-time order excludes every order."""


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

    Registers of unique values are decided without a search where that can be. The searches
    take turns, with time slices that grow. Raises `NotInModel`.
    """
    calls = calls_of(model, operations)
    by_zones = _by_zones(model, calls) if isinstance(model, Register) else None
    if isinstance(by_zones, Valid):
        return by_zones
    if by_zones is None:
        return _search(model, calls, Budget(budget_s, budget_bytes))
    # The verdict is known. A search says more, if it comes to an end soon.
    searched = _search(model, calls, Budget(min(budget_s, _EVIDENCE_S), budget_bytes))
    return searched if isinstance(searched, Invalid) else by_zones


def _search(model: Model, calls: Sequence[Call], budget: Budget) -> Decision:
    ran_out = "time"
    try:
        levels = lay_out(model, calls, budget)
        for search, policy, seconds in _plan(budget, any(level.pending for level in levels)):
            try:
                result = search(model, levels, Budget(seconds, budget.max_bytes), policy)
            except OutOfBudget as error:
                ran_out = str(error)
                continue
            if isinstance(result, Refuted):
                if policy is not Pending.THRIFTY:
                    return _invalid(model, levels, result)
            elif policy is not Pending.ENDLESS:
                return Valid(witness(model, levels, result))
    except OutOfBudget as error:
        ran_out = str(error)
    return Unknown(f"the {ran_out} budget of the search ran out ({budget.seconds:g} s a key)")


def _by_zones(model: Model, calls: Sequence[Call]) -> Valid | Invalid | None:
    if not zones.applies(calls, model.initial):
        return None
    try:
        order = zones.order_of(calls, model.initial)
    except zones.Clash:
        culprit, around = zones.earliest_clash(calls, model.initial)
        return Invalid(culprit, [], [op for op in around if op.op != culprit.op])
    failed = [call for call in calls if call[1].kind == "differs"]
    actions = {operation.op: action for operation, action in calls}
    whole = failed_cas.fitted(order, actions, failed, model.initial)
    return None if whole is None else Valid(whole)


def _plan(budget: Budget, has_pending: bool) -> Iterator[tuple[Search, Pending, float]]:
    """Searches in turn, with time slices that grow, until the budget is spent."""
    plan: list[tuple[Search, Pending]] = [
        (depth_first, Pending.EXACT),
        (breadth_first, Pending.EXACT),
    ]
    if has_pending:
        plan += [(depth_first, Pending.THRIFTY), (breadth_first, Pending.ENDLESS)]
    slice_s = _FIRST_SLICE_S
    while True:
        for search, policy in plan:
            if budget.left_s <= 0:
                return
            yield search, policy, min(slice_s, budget.left_s)
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
