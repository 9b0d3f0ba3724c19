"""Where operations come from: single ones, sequences, functions; and pauses."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from framework.generators.base import PENDING, Context, Generator, Offer, Pending, Source
from framework.generators.randomness import below
from framework.history.event import NEMESIS, Event, Invocation, Json, Process
from framework.quick import quick

UNASSIGNED: Final = -1
"""The process of an operation that no thread has been chosen for."""

_THREAD: Final = 0x7468726561
"""Label of the draw that chooses a thread."""

NS_PER_S: Final = 1_000_000_000


def op(f: str, key: Json = None, value: Json = None, *, node: str | None = None) -> Invocation:
    """An operation to be: its thread and time are chosen when it is offered."""
    return Invocation(process=UNASSIGNED, f=f, key=key, value=value, node=node)


def free_process(context: Context) -> Process | None:
    """A free process, each as likely as the others. The nemesis is chosen only where it is the
    only thread of the context, so client operations never stray to it."""
    free = context.free
    if len(context.threads) > 1 and NEMESIS in free:
        free -= {NEMESIS}
    if not free:
        return None
    threads = cast("list[int]", list(free))
    if len(threads) == 1:
        return context.processes[threads[0]]
    threads.sort()
    return context.processes[threads[below(context.seed, _THREAD, len(threads))]]


def assign(context: Context, template: Invocation) -> Invocation | Pending:
    """`template` for a free process, due now; pending where nobody is free."""
    process = free_process(context)
    if process is None:
        return PENDING
    return Invocation(
        process=process,
        f=template.f,
        time=context.time,
        key=template.key,
        value=template.value,
        node=template.node,
        ext=template.ext,
    )


@dataclass(frozen=True, slots=True)
class Nothing:
    """Exhausted."""

    def offer(self, context: Context) -> None:
        return None

    def update(self, context: Context, event: Event) -> Nothing:
        return self


NOTHING: Final = Nothing()


@dataclass(frozen=True, slots=True)
class Once:
    """One operation."""

    template: Invocation

    def offer(self, context: Context) -> Offer | None:
        if not context.threads:
            return None  # nobody will ever do it
        chosen = assign(context, self.template)
        return Offer(chosen, self if isinstance(chosen, Pending) else NOTHING)

    def update(self, context: Context, event: Event) -> Once:
        return self


def lift(source: Source) -> Generator:
    """A generator from whatever combinators take."""
    return Once(source) if isinstance(source, Invocation) else source


@dataclass(frozen=True, slots=True)
class InTurn:
    """One generator after another. Updates go to the one whose turn it is."""

    sources: tuple[Source, ...]
    position: int
    current: Generator

    def offer(self, context: Context) -> Offer | None:
        position, current = self.position, self.current
        while True:
            offer = current.offer(context.fork(position))
            if offer is not None:
                if position == self.position and offer.after is self.current:
                    return Offer(offer.op, self)
                return Offer(offer.op, InTurn(self.sources, position, offer.after))
            position += 1
            if position >= len(self.sources):
                return None
            current = lift(self.sources[position])

    def update(self, context: Context, event: Event) -> InTurn:
        current = self.current.update(context, event)
        if current is self.current:
            return self
        return InTurn(self.sources, self.position, current)


Function: TypeAlias = Callable[[random.Random, Context], Source | None]


@dataclass(frozen=True, slots=True)
class Generate:
    """A function is asked for a generator; when that is exhausted, asked again."""

    function: Function
    calls: int = 0
    current: Generator = NOTHING

    def offer(self, context: Context) -> Offer | None:
        if not context.free:
            return Offer(PENDING, self) if context.threads else None
        calls, current = self.calls, self.current
        while True:
            offer = current.offer(context.fork(calls))
            if offer is not None:
                return Offer(offer.op, Generate(self.function, calls, offer.after))
            source = self.function(context.rng(calls), context)
            if source is None:
                return None
            calls += 1
            current = lift(source)

    def update(self, context: Context, event: Event) -> Generate:
        current = self.current.update(context, event)
        if current is self.current:
            return self
        return Generate(self.function, self.calls, current)


@quick
@dataclass(frozen=True, slots=True)
class Repeat:
    """What `origin` offers first, again and again, each time with fresh draws."""

    origin: Generator
    current: Generator
    taken: int = 0

    def offer(self, context: Context) -> Offer | None:
        offer = self.current.offer(context.fork(self.taken))
        if offer is None:
            return None
        if isinstance(offer.op, Pending):
            return Offer(offer.op, Repeat(self.origin, offer.after, self.taken))
        return Offer(offer.op, Repeat(self.origin, self.origin, self.taken + 1))

    def update(self, context: Context, event: Event) -> Repeat:
        origin = self.origin.update(context, event)
        same = self.current is self.origin
        current = origin if same else self.current.update(context, event)
        if origin is self.origin and current is self.current:
            return self
        return Repeat(origin, current, self.taken)


@dataclass(frozen=True, slots=True)
class Cycle:
    """`origin` from the beginning whenever it is exhausted."""

    origin: Generator
    current: Generator
    round: int = 0

    def offer(self, context: Context) -> Offer | None:
        offer = self.current.offer(context.fork(self.round))
        if offer is not None:
            return Offer(offer.op, Cycle(self.origin, offer.after, self.round))
        offer = self.origin.offer(context.fork(self.round + 1))
        if offer is None:
            return None  # nothing in it at all
        return Offer(offer.op, Cycle(self.origin, offer.after, self.round + 1))

    def update(self, context: Context, event: Event) -> Cycle:
        current = self.current.update(context, event)
        return self if current is self.current else Cycle(self.origin, current, self.round)


@dataclass(frozen=True, slots=True)
class Sleep:
    """Nothing until `duration` ns after the first ask that found a thread free."""

    duration: int
    until: int | None = None

    def offer(self, context: Context) -> Offer | None:
        if self.until is None:
            if not context.free:
                return Offer(PENDING, self) if context.threads else None
            until = context.time + self.duration
            return Offer(Pending(until), Sleep(self.duration, until))
        return Offer(Pending(self.until), self) if context.time < self.until else None

    def update(self, context: Context, event: Event) -> Sleep:
        return self


def nothing() -> Generator:
    """No operation at all."""
    return NOTHING


def ops(sources: Iterable[Source]) -> Generator:
    """Operations and generators one after another, without waiting in between."""
    items = tuple(sources)
    return InTurn(items, 0, lift(items[0])) if items else NOTHING


def generate(function: Function) -> Generator:
    """Operations of a function of (random numbers of this call, context): it returns an
    operation, a generator (used up before the next call), or None: no more. It must be pure, for
    most of its answers are thrown away."""
    return Generate(function)


def repeat(source: Source) -> Generator:
    """The first operation of `source`, for ever: of `mix` or `generate` a new draw each time."""
    origin = lift(source)
    return Repeat(origin, origin)


def cycle(source: Source) -> Generator:
    """`source`, from the beginning again whenever it is exhausted, for ever."""
    origin = lift(source)
    return Cycle(origin, origin)


def sleep(seconds: float) -> Generator:
    """Offers nothing for so long, then is exhausted. Begins when it is its turn and a thread of
    its context is free; occupies no thread."""
    return Sleep(round(seconds * NS_PER_S))
