"""Several generators at once or one after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from framework.generators.base import PENDING, Context, Generator, Offer, Pending, Source
from framework.generators.randomness import below, mix64
from framework.generators.sources import NOTHING, Nothing, lift, ops
from framework.generators.wrapper import Wrapper
from framework.history.event import Event
from framework.quick import quick

_CHOICE = 0x63686F696365
"""Label of the draws that choose a child."""


def earliest_until(offers: Sequence[Offer | None]) -> Pending:
    """The pending answer of several that are all pending or exhausted."""
    times = [
        offer.op.until
        for offer in offers
        if offer is not None and isinstance(offer.op, Pending) and offer.op.until is not None
    ]
    return Pending(min(times)) if times else PENDING


def soonest(
    offers: Sequence[Offer | None], weights: Sequence[int], seed: int
) -> int | Pending | None:
    """Which of several answers to take: the position of the operation that is due first (ties
    by a draw in which each has its weight), else pending, else (all exhausted) None."""
    best: list[int] = []
    due = 0
    pending = False
    for position, offer in enumerate(offers):
        if offer is None:
            continue
        if isinstance(offer.op, Pending):
            pending = True
            continue
        time = offer.op.time or 0
        if not best or time < due:
            best, due = [position], time
        elif time == due:
            best.append(position)
    if not best:
        return earliest_until(offers) if pending else None
    return best[0] if len(best) == 1 else best[weighted([weights[i] for i in best], seed)]


def weighted(weights: Sequence[int], seed: int) -> int:
    """A position, drawn with these weights."""
    ticket = below(seed, _CHOICE, sum(weights))
    for position, weight in enumerate(weights):
        ticket -= weight
        if ticket < 0:
            return position
    raise AssertionError("weights are positive")


def after_choice(
    children: Sequence[Generator], offers: Sequence[Offer | None], chosen: int | Pending
) -> tuple[Generator, ...]:
    """The children after an answer was taken: pending ones keep what they know, exhausted ones
    are gone, operations that were not taken never happened."""
    return tuple(
        NOTHING
        if offer is None
        else offer.after
        if position == chosen or isinstance(offer.op, Pending)
        else child
        for position, (child, offer) in enumerate(zip(children, offers, strict=True))
    )


def updated(
    children: tuple[Generator, ...], context: Context, event: Event
) -> tuple[Generator, ...]:
    """All children after an event; the same tuple where none of them changed."""
    for position, child in enumerate(children):
        after = child.update(context, event)
        if after is not child:
            others = (other.update(context, event) for other in children[position + 1 :])
            return (*children[:position], after, *others)
    return children


@quick
@dataclass(frozen=True, slots=True)
class AnyOf:
    """Whoever is due first. `taken` counts operations, so that ties are drawn anew."""

    children: tuple[Generator, ...]
    taken: int = 0

    def offer(self, context: Context) -> Offer | None:
        offers = [child.offer(context.fork(i)) for i, child in enumerate(self.children)]
        chosen = soonest(offers, [1] * len(offers), mix64(context.seed, self.taken))
        if chosen is None:
            return None
        after = after_choice(self.children, offers, chosen)
        if isinstance(chosen, Pending):
            return Offer(chosen, AnyOf(after, self.taken))
        offer = offers[chosen]
        assert offer is not None
        return Offer(offer.op, AnyOf(after, self.taken + 1))

    def update(self, context: Context, event: Event) -> AnyOf:
        after = updated(self.children, context, event)
        return self if after is self.children else AnyOf(after, self.taken)


@quick
@dataclass(frozen=True, slots=True)
class Mix:
    """A child drawn for each operation. One that is pending is passed over for this time."""

    children: tuple[Generator, ...]
    weights: tuple[int, ...]
    taken: int = 0

    def offer(self, context: Context) -> Offer | None:
        children = list(self.children)
        left = [i for i, child in enumerate(children) if not isinstance(child, Nothing)]
        pending: list[Offer | None] = []
        seed = mix64(context.seed, self.taken)
        while left:
            child = left.pop(weighted([self.weights[i] for i in left], mix64(seed, len(left))))
            offer = children[child].offer(context.fork(child))
            if offer is None:
                children[child] = NOTHING
                continue
            children[child] = offer.after
            if not isinstance(offer.op, Pending):
                return Offer(offer.op, Mix(tuple(children), self.weights, self.taken + 1))
            pending.append(offer)
        if not pending:
            return None
        return Offer(earliest_until(pending), Mix(tuple(children), self.weights, self.taken))

    def update(self, context: Context, event: Event) -> Mix:
        after = updated(self.children, context, event)
        return self if after is self.children else Mix(after, self.weights, self.taken)


@dataclass(frozen=True, slots=True)
class Synchronize(Wrapper):
    """A barrier before `gen`."""

    def offer(self, context: Context) -> Offer | None:
        if context.free == context.threads:
            return self.gen.offer(context)
        return Offer(PENDING, self)


def any_of(*sources: Source) -> Generator:
    """All at once: of what they offer, the operation that is due first; ties are drawn. Ends
    when all have ended."""
    return AnyOf(tuple(map(lift, sources)))


def mix(*sources: Source, weights: Sequence[int] | None = None) -> Generator:
    """For each operation one of the generators, drawn with `weights` (positive; default: all
    equal). Ends when all have ended."""
    chosen = tuple(weights) if weights is not None else (1,) * len(sources)
    if len(chosen) != len(sources) or any(weight < 1 for weight in chosen):
        raise ValueError(f"mix of {len(sources)} generators needs as many weights of 1 or more")
    return Mix(tuple(map(lift, sources)), chosen)


def synchronize(source: Source) -> Generator:
    """Waits until every thread of its context is free, then is `source`."""
    return Synchronize(lift(source))


def phases(*sources: Source) -> Generator:
    """One after another; each begins when all operations of the one before have completed."""
    return ops(map(synchronize, sources))


def then(first: Source, second: Source) -> Generator:
    """`first`, and when all its operations have completed, `second`."""
    return ops((first, synchronize(second)))
