"""Fitting failed cas, which saw that the value was not `from`, into an order without them.

One order is tried, not all: that the failed cas do not fit into it proves nothing.
"""

from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import accumulate

from checkers.linearizability.levels import Call
from checkers.linearizability.model import Action
from framework.history.pairing import Operation


def fitted(
    order: Sequence[Operation],
    actions: Mapping[int, Action],
    failed: Sequence[Call],
    initial: Hashable,
) -> list[Operation] | None:
    """The order with every failed cas in it, or None.

    `actions` has those of the order, by index of the invocation. Place p is after the first p
    operations. Each failed cas, in the order of their invocations, takes the first place that real
    time and the value there allow.
    """
    values = _values(order, actions, initial)
    next_change = _next_change(values)
    first_place, last_place = _first_places(order), _last_places(order)
    placed: list[tuple[int, int]] = []  # heap: (return, place) of what may still be open
    floor = 0
    at_place: dict[int, list[Operation]] = {}
    for operation, action in failed:
        assert operation.end is not None
        while placed and placed[0][0] < operation.op:
            floor = max(floor, heappop(placed)[1])
        place = max(floor, _at(first_place, operation.op))
        if values[place] == action.value:
            place = next_change[place]
        if place > _at(last_place, operation.end):
            return None
        heappush(placed, (operation.end, place))
        at_place.setdefault(place, []).append(operation)
    whole: list[Operation] = []
    for place in range(len(order) + 1):
        whole += at_place.get(place, ())
        whole += order[place : place + 1]
    return whole


def _values(
    order: Sequence[Operation], actions: Mapping[int, Action], initial: Hashable
) -> list[Hashable]:
    """The register's value at each place."""
    values = [initial]
    for operation in order:
        kind, value = actions[operation.op][:2]
        values.append(value if kind == "write" else value[1] if kind == "cas" else values[-1])
    return values


def _next_change(values: Sequence[Hashable]) -> list[int]:
    """For each place the next one with another value; one past the end if there is none."""
    following = [len(values)] * len(values)
    for place in range(len(values) - 2, -1, -1):
        changes = values[place + 1] != values[place]
        following[place] = place + 1 if changes else following[place + 1]
    return following


Steps = tuple[list[int], list[int]]
"""Events, rising, and what holds from before the first, between them, and after the last."""


def _at(steps: Steps, event: int) -> int:
    return steps[1][bisect_left(steps[0], event)]


def _first_places(order: Sequence[Operation]) -> Steps:
    """By the event of an invocation: after all that had returned."""
    returns = sorted(
        (operation.end, place)
        for place, operation in enumerate(order, start=1)
        if operation.type != "info" and operation.end is not None
    )
    return [end for end, _ in returns], [0, *accumulate((place for _, place in returns), max)]


def _last_places(order: Sequence[Operation]) -> Steps:
    """By the event of a return: before all that were invoked later."""
    calls = sorted((operation.op, place) for place, operation in enumerate(order))
    later = [*accumulate((place for _, place in reversed(calls)), min)][::-1]
    return [call for call, _ in calls], [*later, len(order)]
