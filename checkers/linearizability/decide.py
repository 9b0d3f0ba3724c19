"""The decision for one key: linearizable with a witness, refuted with the evidence, or unknown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from checkers.linearizability.levels import Level, Open, lay_out
from checkers.linearizability.model import Model, State
from checkers.linearizability.search import (
    Budget,
    Linearizable,
    OutOfBudget,
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


Decision = Valid | Invalid | Unknown


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
    spent, slice_s = 0.0, _FIRST_SLICE_S
    ran_out = "time"
    while spent < budget_s:
        for search in (depth_first, breadth_first):
            seconds = min(slice_s, budget_s - spent)
            spent += seconds
            try:
                result = search(model, levels, Budget(seconds, budget_bytes))
            except OutOfBudget as error:
                ran_out = str(error)
                continue
            if isinstance(result, Refuted):
                return _invalid(model, levels, result)
            return Valid(witness(model, levels, result))
        slice_s *= 4
    return Unknown(f"the {ran_out} budget of the search ran out ({budget_s:g} s a key)")


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
