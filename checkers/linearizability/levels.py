"""One key's operations laid out for searching: a level for each completion.

Just-in-time linearization (Lowe 2017): an order need only be extended when an operation
completes that is not in it yet. So a search walks over completions. Each *level* names the
operation that completes and everything that may go before it: what was invoked by then and has
not completed earlier.

Open operations have a bit of a small mask each, given back on completion, and pending ones (info,
or never completed) a bit of a second mask for good. Among pending operations with equal actions
only the earliest unused one is ever tried, since they are interchangeable.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from checkers.linearizability.budget import Budget
from checkers.linearizability.model import Action, Model
from framework.history.pairing import Operation

Call: TypeAlias = tuple[Operation, Action]


class Open(NamedTuple):
    """An operation that a search may put next."""

    bit: int
    action: Action
    operation: Operation


@dataclass(frozen=True, slots=True)
class Level:
    """A completion, and what may be put before it."""

    completes: Open
    fresh: Sequence[Open]
    """Observers invoked since the level before."""
    observers: Sequence[Open]
    """All open observers, fresh ones included."""
    changers: Sequence[Sequence[Open]]
    """Open operations that may change the state, by equal action, next to complete first."""
    pending: Sequence[Sequence[Open]]
    """Pending operations by equal action, in the order of their invocations."""
    blind: int
    """Bits of the open observers: to have put more of them is never worse."""


def calls_of(model: Model, operations: Sequence[Operation]) -> list[Call]:
    """The operations that say or do something, with what they do. Raises `NotInModel`."""
    return [
        (operation, action)
        for operation in operations
        if (action := model.action(operation)) is not None
    ]


def lay_out(model: Model, calls: Sequence[Call], budget: Budget) -> list[Level]:
    """The levels of one key, whose calls come in the order of their invocations.

    Their size is that of the history times the operations open at once. Raises `OutOfBudget`.
    """
    completed = {action for operation, action in calls if not _is_pending(operation)}
    useful = set(
        model.useful({action for operation, action in calls if _is_pending(operation)}, completed)
    )
    events = [(operation.op, operation, action) for operation, action in calls]
    for operation, action in calls:
        if not _is_pending(operation):
            assert operation.end is not None
            events.append((operation.end, operation, action))
    events.sort(key=lambda event: event[0])
    return _walk(events, useful, budget)


def _is_pending(operation: Operation) -> bool:
    return operation.type == "info"


def _walk(
    events: list[tuple[int, Operation, Action]], useful: set[Action], budget: Budget
) -> list[Level]:
    levels: list[Level] = []
    free: list[int] = []
    bits = 0
    opened: dict[int, Open] = {}
    fresh: list[Open] = []
    pending: dict[Action, list[Open]] = {}
    classes: tuple[tuple[Open, ...], ...] = ()
    pending_bit = 1
    for index, operation, action in events:
        budget.step()
        if _is_pending(operation):
            if action in useful:
                pending.setdefault(action, []).append(Open(pending_bit, action, operation))
                pending_bit <<= 1
                budget.keep(100 * len(pending))
                classes = tuple(tuple(members) for members in pending.values())
        elif index == operation.op:
            if not free:
                free.append(1 << bits)
                bits += 1
            call = Open(free.pop(), action, operation)
            opened[operation.op] = call
            if action.observes:
                fresh.append(call)
        else:
            call = opened[operation.op]
            budget.keep(200 + 100 * len(opened))
            levels.append(_level(call, fresh, opened, classes))
            del opened[operation.op]
            free.append(call.bit)
            fresh = []
    return levels


def _level(
    completes: Open,
    fresh: list[Open],
    opened: dict[int, Open],
    classes: tuple[tuple[Open, ...], ...],
) -> Level:
    soonest = sorted(opened.values(), key=lambda call: call.operation.end or 0)
    observers = tuple(call for call in soonest if call.action.observes)
    changers: dict[Action, list[Open]] = {}
    for call in soonest:
        if call.action.reveals or not call.action.observes:
            changers.setdefault(call.action, []).append(call)
    return Level(
        completes=completes,
        fresh=tuple(fresh),
        observers=observers,
        changers=tuple(map(tuple, changers.values())),
        pending=classes,
        blind=sum(call.bit for call in observers),
    )
