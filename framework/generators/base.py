"""The generator protocol and the context that a generator sees.

A generator is an immutable value. Asking it for an operation changes nothing: the answer comes
with the generator to go on with, and most answers are thrown away by combinators. All
randomness comes from the context's counter-based stream, so that one seed fixes a schedule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from framework.history.event import Event, Process

Thread: TypeAlias = int | str
"""0, 1, ... for clients; "nemesis" for the nemesis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a generator may know: the time, the threads, who is free, and the seed."""

    time: int
    """ns since the run began"""
    threads: frozenset[Thread]
    free: frozenset[Thread]
    processes: Mapping[Thread, Process]
    """The process that each thread is now."""
    seed: int


class Pending:
    """Nothing now, perhaps later."""

    __slots__ = ()


PENDING: Final = Pending()


@dataclass(frozen=True, slots=True)
class Offer:
    """An answer: an operation (type "invoke", with `time` set and `process` a free process) or
    PENDING, and the generator after it."""

    op: Event | Pending
    after: Generator


class Generator(Protocol):
    """A schedule."""

    def offer(self, context: Context) -> Offer | None:
        """The next operation, or None: exhausted for good."""

    def update(self, context: Context, event: Event) -> Generator:
        """The generator after `event` (an invocation or a completion) happened."""
