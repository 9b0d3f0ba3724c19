"""When a generator ends, and what its operations look like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from framework.generators.base import Context, Generator, Offer, Pending, Source
from framework.generators.sources import NS_PER_S, lift
from framework.generators.wrapper import Wrapper
from framework.history.event import Event, Invocation, Process
from framework.quick import quick


@dataclass(frozen=True, slots=True)
class Limit(Wrapper):
    """At most `left` more operations."""

    left: int

    def offer(self, context: Context) -> Offer | None:
        return Wrapper.offer(self, context) if self.left > 0 else None

    def emit(self, context: Context, op: Invocation, after: Generator) -> Offer:
        return Offer(op, Limit(after, self.left - 1))


@quick
@dataclass(frozen=True, slots=True)
class TimeLimit(Wrapper):
    """Nothing at or after `duration` ns from the first operation, or, while `goes_on` holds then,
    `longer` ns later. It ends at that time, though what is next may be due later."""

    duration: int
    goes_on: Callable[[], bool]
    longer: int = 0
    cutoff: int | None = None

    def offer(self, context: Context) -> Offer | None:
        end = self.cutoff
        if end is not None and context.time >= end:
            if context.time >= end + self.longer or not self.goes_on():
                return None
            end += self.longer
        offer = self.gen.offer(context)
        if offer is None:
            return None
        if isinstance(offer.op, Pending):
            times = (time for time in (offer.op.until, end) if time is not None)
            return Offer(Pending(min(times, default=None)), self.around(offer.after))
        due = max(context.time, offer.op.time or 0)
        if end is not None and due >= end:
            return Offer(Pending(end), self)
        cutoff = due + self.duration if self.cutoff is None else self.cutoff
        return Offer(offer.op, replace(self, gen=offer.after, cutoff=cutoff))


@dataclass(frozen=True, slots=True)
class FromNow:
    """What `function` makes of the time, ns, at which it is first asked and is taken."""

    function: Callable[[int], Generator]

    def offer(self, context: Context) -> Offer | None:
        return self.function(context.time).offer(context)

    def update(self, context: Context, event: Event) -> FromNow:
        return self


@dataclass(frozen=True, slots=True)
class ProcessLimit(Wrapper):
    """Ends before the client processes that may have taken part outnumber `most`."""

    most: int
    seen: frozenset[Process] = frozenset()

    def emit(self, context: Context, op: Invocation, after: Generator) -> Offer | None:
        processes = (context.processes[thread] for thread in context.threads)
        seen = self.seen.union(process for process in processes if isinstance(process, int))
        return Offer(op, ProcessLimit(after, self.most, seen)) if len(seen) <= self.most else None


@dataclass(frozen=True, slots=True)
class UntilOk(Wrapper):
    """Ends when one of its own operations was ok."""

    open: frozenset[Process] = frozenset()
    done: bool = False

    def offer(self, context: Context) -> Offer | None:
        return None if self.done else Wrapper.offer(self, context)

    def emit(self, context: Context, op: Invocation, after: Generator) -> Offer:
        return Offer(op, UntilOk(after, self.open | {op.process}))

    def update(self, context: Context, event: Event) -> UntilOk:
        inner = self.around(self.gen.update(context, event))
        if event.type == "invoke" or event.process not in self.open:
            return inner
        return UntilOk(inner.gen, self.open - {event.process}, done=self.done or event.type == "ok")


@dataclass(frozen=True, slots=True)
class MapOps(Wrapper):
    """Every operation changed by a function."""

    function: Callable[[Invocation], Invocation]

    def emit(self, context: Context, op: Invocation, after: Generator) -> Offer:
        return Offer(self.function(op), self.around(after))


@dataclass(frozen=True, slots=True)
class FilterOps(Wrapper):
    """Only the operations that a predicate holds for."""

    keep: Callable[[Invocation], bool]

    def emit(self, context: Context, op: Invocation, after: Generator) -> Offer | None:
        while not self.keep(op):
            offer = after.offer(context)
            if offer is None:
                return None
            if isinstance(offer.op, Pending):
                return Offer(offer.op, self.around(offer.after))
            op, after = offer.op, offer.after
        return Offer(op, self.around(after))


def limit(count: int, source: Source) -> Generator:
    """At most `count` operations."""
    return Limit(lift(source), count)


def once(source: Source) -> Generator:
    """The first operation of `source`, and no more."""
    return lift(source) if isinstance(source, Invocation) else limit(1, source)


def time_limit(seconds: float, source: Source) -> Generator:
    """The clock starts with the first operation; nothing is due at or after its end."""
    return overtime(seconds, lambda: False, source, longer_s=0)


def overtime(
    seconds: float,
    goes_on: Callable[[], bool],
    source: Source,
    *,
    longer_s: float,
    since_ns: int | None = None,
) -> Generator:
    """A time limit at which `goes_on` is asked, and from then on again and again: while it holds,
    it goes on for `longer_s` at most. `since_ns`: when the clock started, if not with the first
    operation."""
    duration, longer = round(seconds * NS_PER_S), round(longer_s * NS_PER_S)
    cutoff = None if since_ns is None else since_ns + duration
    return TimeLimit(lift(source), duration, goes_on, longer, cutoff)


def from_now(function: Callable[[int], Generator]) -> Generator:
    """What a pure function makes of the time, ns, at which its turn comes: so that several limits
    can begin together."""
    return FromNow(function)


def process_limit(count: int, source: Source) -> Generator:
    """Ends as soon as more than `count` client processes might have taken part: all that its
    threads were while it offered. Bounds how many crashed operations pile up on one object."""
    return ProcessLimit(lift(source), count)


def until_ok(source: Source) -> Generator:
    """Ends once one of its operations completed as ok. On several threads, a few more may be
    under way then."""
    return UntilOk(lift(source))


def map_ops(function: Callable[[Invocation], Invocation], source: Source) -> Generator:
    """Operations changed by a pure function that leaves type, process and time alone."""
    return MapOps(lift(source), function)


def filter_ops(keep: Callable[[Invocation], bool], source: Source) -> Generator:
    """Only operations for which `keep` holds. One that never holds, on an endless source, never
    returns."""
    return FilterOps(lift(source), keep)


def with_key(key: object, source: Source) -> Generator:
    """Every operation on the object `key`."""
    return map_ops(lambda op: replace(op, key=key), source)
