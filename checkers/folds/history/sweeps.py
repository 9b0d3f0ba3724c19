"""What goes back in real time."""

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Protocol, TypeVar

from framework.history.pairing import Operation


class Shown(Protocol):
    """What an operation showed."""

    @property
    def operation(self) -> Operation: ...


T = TypeVar("T", bound=Shown)


def falls(
    shown: Iterable[T],
    worth: Callable[[T], int] = attrgetter("value"),
    due: Callable[[T], int] | None = None,
) -> Iterator[tuple[T, T]]:
    """What is worth less than something that had been shown before it was asked for: the worthiest
    of those, and itself. `due`: what is compared with those, where that is not its worth.
    O(n log n)."""
    due = due or worth
    asked = sorted(shown, key=lambda each: each.operation.index)
    ended = sorted(
        (each for each in asked if each.operation.end is not None),
        key=lambda each: each.operation.end or 0,
    )
    at = 0
    best: T | None = None
    for each in asked:
        while at < len(ended) and ended[at].operation.precedes(each.operation):
            if best is None or worth(ended[at]) > worth(best):
                best = ended[at]
            at += 1
        if best is not None and due(each) < worth(best):
            yield best, each
