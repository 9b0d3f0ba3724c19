"""What generators around one other generator have in common."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from framework.generators.base import Context, Generator, Offer, Pending
from framework.history.event import Event, Invocation


@dataclass(frozen=True, slots=True)
class Wrapper:
    """Passes exhaustion, pending answers and updates through. Subclasses say what becomes of an
    operation in `emit`, and override the rest where they differ."""

    gen: Generator

    def emit(self, context: Context, op: Invocation, after: Generator) -> Offer | None:
        """The answer where the inner generator offered `op`."""
        return Offer(op, self.around(after))

    def offer(self, context: Context) -> Offer | None:
        offer = self.gen.offer(context)
        if offer is None:
            return None
        if isinstance(offer.op, Pending):
            return Offer(offer.op, self.around(offer.after))
        return self.emit(context, offer.op, offer.after)

    def update(self, context: Context, event: Event) -> Self:
        return self.around(self.gen.update(context, event))

    def around(self, gen: Generator) -> Self:
        """The same around another generator."""
        return self if gen is self.gen else replace(self, gen=gen)
