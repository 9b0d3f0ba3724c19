"""What tests of generators look at in a history."""

from collections.abc import Iterable

from framework.generators import op, ops
from framework.generators.base import Generator
from framework.history.event import Event


def invocations(history: Iterable[Event]) -> list[Event]:
    return [event for event in history if event.type == "invoke"]


def fs(history: Iterable[Event]) -> list[str]:
    """The operations in order."""
    return [event.f for event in invocations(history)]


def timed(history: Iterable[Event]) -> list[tuple[int | None, str]]:
    """(time in ns, operation)."""
    return [(event.time, event.f) for event in invocations(history)]


def placed(history: Iterable[Event]) -> list[tuple[int | None, int | str, str]]:
    """(time in ns, process, operation)."""
    return [(event.time, event.process, event.f) for event in invocations(history)]


def some(names: str) -> Generator:
    """An operation a letter."""
    return ops(map(op, names))
