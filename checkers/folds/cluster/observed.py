"""Answers to the harness's observer: whether a node said something, and when."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final, TypeAlias, TypeVar

from framework.history.event import Recorded
from framework.history.pairing import Operation
from framework.plugins.checker import Count, Finding
from framework.plugins.outcomes import OF_NO_NODE, SILENCE

ANSWERS: Final = 2
"""Wrong answers of one node, one after another: the same."""
Nodes: TypeAlias = Mapping[str, Mapping[str, Recorded]]
"""Of the plan."""
Judgement: TypeAlias = tuple[Count, Sequence[Finding]]
"""Of a clause: how much was compared, and what breaks it."""


def answered(operation: Operation) -> bool:
    """The node said something, whatever it was."""
    return operation.ok or (operation.failed and operation.error_code not in OF_NO_NODE)


def unanswered(operation: Operation) -> bool:
    return operation.error_code in SILENCE


def asked_ns(operation: Operation) -> int:
    return operation.invoked_ns or 0


def ended_ns(operation: Operation) -> int:
    return operation.completed_ns or asked_ns(operation)


def span_ns(first: Operation, last: Operation) -> tuple[int, int]:
    return asked_ns(first), ended_ns(last)


Answer = TypeVar("Answer")


def wrong_streaks(
    answers: Sequence[Answer], wrong: Callable[[Answer], bool]
) -> Iterator[Sequence[Answer]]:
    """Wrong ones that follow each other, where there are enough."""
    for is_wrong, group in groupby(answers, key=wrong):
        streak = list(group)
        if is_wrong and len(streak) >= ANSWERS:
            yield streak
