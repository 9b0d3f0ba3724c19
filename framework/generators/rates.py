"""How fast: `stagger` and `delay`. Both are rates of the whole generator, not of a thread."""

from __future__ import annotations

from dataclasses import dataclass, replace

from framework.generators.base import Context, Generator, Offer, Pending, Source
from framework.generators.randomness import unit
from framework.generators.sources import NS_PER_S, lift
from framework.generators.wrapper import Wrapper
from framework.history.event import Invocation

_GAP = 0x676170
"""Label of the draws of gaps."""


def _at(op: Invocation, due: int) -> Invocation:
    return replace(op, time=due)


@dataclass(frozen=True, slots=True)
class Stagger(Wrapper):
    """Gaps uniform in [0, 2 * mean)."""

    mean: int
    due: int | None = None
    taken: int = 0

    def emit(self, context: Context, op: Invocation, after: Generator) -> Offer:
        now = context.time
        due = now if self.due is None else self.due
        if due > now:
            return Offer(Pending(due), self)
        # Small lateness is made up for, so that the rate is kept; after a stall the schedule
        # starts anew, so that there is no burst.
        base = due if now - due < 2 * self.mean else now
        gap = int(2 * self.mean * unit(context.seed ^ _GAP, self.taken))
        return Offer(_at(op, due), Stagger(after, self.mean, base + gap, self.taken + 1))


@dataclass(frozen=True, slots=True)
class Delay(Wrapper):
    """One operation every `gap` ns, however late the last one was."""

    gap: int
    due: int | None = None

    def emit(self, context: Context, op: Invocation, after: Generator) -> Offer:
        due = context.time if self.due is None else self.due
        if due > context.time:
            return Offer(Pending(due), self)
        return Offer(_at(op, due), Delay(after, self.gap, due + self.gap))


def stagger(seconds: float, source: Source) -> Generator:
    """Operations `seconds` apart on average: each gap is uniform in [0, 2 * seconds)."""
    return Stagger(lift(source), round(seconds * NS_PER_S))


def delay(seconds: float, source: Source) -> Generator:
    """Operations exactly `seconds` apart; catches up when it fell behind."""
    return Delay(lift(source), round(seconds * NS_PER_S))
