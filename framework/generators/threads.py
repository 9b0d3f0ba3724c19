"""Who does it: generators on some of the threads, or on each."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from framework.errors import UsageError
from framework.generators.base import Context, Generator, Offer, Pending, Source, Thread
from framework.generators.combine import after_choice, any_of, soonest
from framework.generators.randomness import mix64
from framework.generators.sources import NOTHING, lift
from framework.generators.wrapper import Wrapper
from framework.history.event import NEMESIS, Event
from framework.quick import quick

Predicate: TypeAlias = Callable[[Thread], bool]


@lru_cache(maxsize=256)
def _matching(predicate: Predicate, threads: frozenset[Thread]) -> frozenset[Thread]:
    return frozenset(filter(predicate, threads))


@lru_cache(maxsize=256)
def client_threads(threads: frozenset[Thread]) -> tuple[int, ...]:
    """The clients among some threads, in order."""
    return tuple(sorted(thread for thread in threads if isinstance(thread, int)))


@quick
@dataclass(frozen=True, slots=True)
class OnThreads(Wrapper):
    """`gen` sees only the threads that the predicate holds for, and only their events."""

    predicate: Predicate

    def offer(self, context: Context) -> Offer | None:
        offer = self.gen.offer(context.within(_matching(self.predicate, context.threads)))
        return None if offer is None else Offer(offer.op, OnThreads(offer.after, self.predicate))

    def update(self, context: Context, event: Event) -> OnThreads:
        mine = _matching(self.predicate, context.threads)
        if context.thread_of(event.process) not in mine:
            return self
        return self.around(self.gen.update(context.within(mine), event))


@dataclass(frozen=True, slots=True)
class EachThread:
    """A copy of `origin` for each thread; `copies` holds those that differ from it by now."""

    origin: Generator
    copies: Mapping[Thread, Generator] = field(default_factory=dict)
    taken: int = 0

    def offer(self, context: Context) -> Offer | None:
        threads: tuple[Thread, ...] = client_threads(context.threads) or tuple(context.threads)
        if not threads:
            return None
        asked = [thread for thread in threads if thread in context.free]
        copies = [self.copies.get(thread, self.origin) for thread in asked]
        offers = [
            copy.offer(_alone(context, thread)) for thread, copy in zip(asked, copies, strict=True)
        ]
        chosen = soonest(offers, [1] * len(offers), mix64(context.seed, self.taken))
        if chosen is None:
            if len(asked) == len(threads):
                return None
            chosen = Pending()  # the busy ones may have more
        after = dict(self.copies)
        after.update(zip(asked, after_choice(copies, offers, chosen), strict=True))
        if isinstance(chosen, Pending):
            return Offer(chosen, EachThread(self.origin, after, self.taken))
        offer = offers[chosen]
        assert offer is not None
        return Offer(offer.op, EachThread(self.origin, after, self.taken + 1))

    def update(self, context: Context, event: Event) -> EachThread:
        thread = context.thread_of(event.process)
        if thread is None or thread not in context.threads:
            return self
        copy = self.copies.get(thread, self.origin)
        after = copy.update(_alone(context, thread), event)
        if after is copy:
            return self
        return EachThread(self.origin, {**self.copies, thread: after}, self.taken)


def _alone(context: Context, thread: Thread) -> Context:
    label = thread if isinstance(thread, int) else zlib.crc32(thread.encode())
    return context.within(frozenset((thread,))).fork(label)


@lru_cache(maxsize=256)
def _ranges(sizes: tuple[int, ...], threads: frozenset[Thread]) -> tuple[frozenset[Thread], ...]:
    clients = client_threads(threads)
    if sum(sizes) > len(clients):
        raise UsageError(
            f"reserve needs {sum(sizes)} client threads ({' + '.join(map(str, sizes))}), "
            f"but there are {len(clients)}: raise the concurrency"
        )
    cuts = [sum(sizes[:i]) for i in range(len(sizes) + 1)]
    ends = [*cuts[1:], len(clients)]
    return tuple(frozenset(clients[a:b]) for a, b in zip(cuts, ends, strict=True))


@dataclass(frozen=True, slots=True)
class Reserve:
    """Ranges of the context's client threads, each with a generator of its own."""

    sizes: tuple[int, ...]
    children: tuple[Generator, ...]
    taken: int = 0

    def offer(self, context: Context) -> Offer | None:
        ranges = _ranges(self.sizes, context.threads)
        offers = [
            child.offer(context.within(threads).fork(i))
            for i, (child, threads) in enumerate(zip(self.children, ranges, strict=True))
        ]
        weights = [max(1, len(threads)) for threads in ranges]
        chosen = soonest(offers, weights, mix64(context.seed, self.taken))
        if chosen is None:
            return None
        after = after_choice(self.children, offers, chosen)
        if isinstance(chosen, Pending):
            return Offer(chosen, Reserve(self.sizes, after, self.taken))
        offer = offers[chosen]
        assert offer is not None
        return Offer(offer.op, Reserve(self.sizes, after, self.taken + 1))

    def update(self, context: Context, event: Event) -> Reserve:
        thread = context.thread_of(event.process)
        for i, threads in enumerate(_ranges(self.sizes, context.threads)):
            if thread in threads:
                child = self.children[i]
                after = child.update(context.within(threads).fork(i), event)
                if after is child:
                    return self
                children = (*self.children[:i], after, *self.children[i + 1 :])
                return Reserve(self.sizes, children, self.taken)
        return self


def _is_client(thread: Thread) -> bool:
    return thread != NEMESIS


def _is_nemesis(thread: Thread) -> bool:
    return thread == NEMESIS


def on_threads(threads: Predicate | Collection[Thread], source: Source) -> Generator:
    """`source` on the threads of a collection, or for which a predicate holds, only."""
    predicate = threads if callable(threads) else frozenset(threads).__contains__
    return OnThreads(lift(source), predicate)


def clients(source: Source, nemesis_source: Source | None = None) -> Generator:
    """`source` on the clients; with a second one, that on the nemesis at the same time."""
    mine = on_threads(_is_client, source)
    return mine if nemesis_source is None else any_of(mine, nemesis(nemesis_source))


def nemesis(source: Source, client_source: Source | None = None) -> Generator:
    """`source` on the nemesis; with a second one, that on the clients at the same time."""
    mine = on_threads(_is_nemesis, source)
    return mine if client_source is None else any_of(clients(client_source), mine)


def each_thread(source: Source) -> Generator:
    """A copy of `source` for each client thread, with draws of its own. Ends when all have."""
    return EachThread(lift(source))


def reserve(*parts: tuple[int, Source], default: Source = NOTHING) -> Generator:
    """`reserve((5, reads), (2, writes), default=admin)`: the first 5 client threads of the
    context do reads only, the next 2 writes, all others `default`. So reads go on while writes
    are stuck. Raises `UsageError` at the first offer where there are too few threads."""
    sizes = tuple(size for size, _ in parts)
    return Reserve(sizes, (*(lift(source) for _, source in parts), lift(default)))
