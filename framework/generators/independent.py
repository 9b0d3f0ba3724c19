"""The same test on many objects: a generator for each key, its operations marked with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from framework.errors import UsageError
from framework.generators.base import PENDING, Context, Generator, Offer, Pending, Source, Thread
from framework.generators.combine import after_choice, soonest
from framework.generators.limits import with_key
from framework.generators.randomness import mix64
from framework.generators.sources import NOTHING
from framework.generators.threads import client_threads
from framework.history.event import Event, Json

Keys: TypeAlias = Sequence[Json] | Callable[[int], Json]
"""The keys, or a function from 0, 1, ... to keys that never end."""
Make: TypeAlias = Callable[[Json], Source]
"""Key -> what to do with it."""


def _key(keys: Keys, position: int) -> tuple[bool, Json]:
    """(whether there is one, the key at a position)."""
    if callable(keys):
        return True, keys(position)
    return (True, keys[position]) if position < len(keys) else (False, None)


def _generator(keys: Keys, make: Make, position: int) -> Generator | None:
    exists, key = _key(keys, position)
    return with_key(key, make(key)) if exists else None


@dataclass(frozen=True, slots=True)
class SequentialKeys:
    """One key after another on all threads."""

    keys: Keys
    make: Make
    position: int = -1
    current: Generator = NOTHING

    def offer(self, context: Context) -> Offer | None:
        position, current = self.position, self.current
        while True:
            offer = current.offer(context.fork(position))
            if offer is not None:
                return Offer(offer.op, SequentialKeys(self.keys, self.make, position, offer.after))
            position += 1
            following = _generator(self.keys, self.make, position)
            if following is None:
                return None
            current = following

    def update(self, context: Context, event: Event) -> SequentialKeys:
        if self.position < 0 or event.key != _key(self.keys, self.position)[1]:
            return self
        current = self.current.update(context, event)
        if current is self.current:
            return self
        return SequentialKeys(self.keys, self.make, self.position, current)


@lru_cache(maxsize=64)
def _groups(size: int, threads: frozenset[Thread]) -> tuple[frozenset[Thread], ...]:
    clients = client_threads(threads)
    if len(clients) % size or not clients:
        raise UsageError(
            f"concurrent keys need client threads in groups of {size}, "
            f"but there are {len(clients)}: make the concurrency a multiple of {size}"
        )
    return tuple(frozenset(clients[i : i + size]) for i in range(0, len(clients), size))


@dataclass(frozen=True, slots=True)
class Work:
    """What a group of threads is at: the position of its key and what is left to do."""

    position: int
    gen: Generator


@dataclass(frozen=True, slots=True)
class ConcurrentKeys:
    """Groups of threads, each at a key of its own; `following` is the next key to hand out."""

    size: int
    keys: Keys
    make: Make
    work: tuple[Work, ...] = ()
    following: int = 0
    taken: int = 0

    def offer(self, context: Context) -> Offer | None:
        groups = _groups(self.size, context.threads)
        work = list(self.work) or [Work(-1, NOTHING)] * len(groups)
        following = self.following
        offers: list[Offer | None] = []
        for i, threads in enumerate(groups):
            inner = context.within(threads)
            if not inner.free:
                offers.append(Offer(PENDING, work[i].gen))
                continue
            offer = work[i].gen.offer(inner.fork(work[i].position))
            while offer is None:
                gen = _generator(self.keys, self.make, following)
                if gen is None:
                    break
                work[i] = Work(following, gen)
                offer = gen.offer(inner.fork(following))
                following += 1
            offers.append(offer)
        weights = [self.size] * len(groups)
        chosen = soonest(offers, weights, mix64(context.seed, self.taken))
        if chosen is None:
            return None
        gens = after_choice([w.gen for w in work], offers, chosen)
        after = tuple(Work(w.position, gen) for w, gen in zip(work, gens, strict=True))
        taken = self.taken if isinstance(chosen, Pending) else self.taken + 1
        then = ConcurrentKeys(self.size, self.keys, self.make, after, following, taken)
        if isinstance(chosen, Pending):
            return Offer(chosen, then)
        offer = offers[chosen]
        assert offer is not None
        return Offer(offer.op, then)

    def update(self, context: Context, event: Event) -> ConcurrentKeys:
        thread = context.thread_of(event.process)
        for i, work in enumerate(self.work):
            threads = _groups(self.size, context.threads)[i]
            if thread not in threads:
                continue
            if event.key != _key(self.keys, work.position)[1]:
                return self  # an operation on the group's last key
            gen = work.gen.update(context.within(threads).fork(work.position), event)
            if gen is work.gen:
                return self
            after = (*self.work[:i], Work(work.position, gen), *self.work[i + 1 :])
            return ConcurrentKeys(
                self.size, self.keys, self.make, after, self.following, self.taken
            )
        return self


def sequential_keys(keys: Keys, make: Make) -> Generator:
    """`make(key)` for one key after another, on all threads; its operations get that key."""
    return SequentialKeys(keys, make)


def concurrent_keys(threads_per_key: int, keys: Keys, make: Make) -> Generator:
    """Groups of `threads_per_key` client threads, each at one key until `make(key)` is
    exhausted, then at the next. Raises `UsageError` at the first offer where the number of
    client threads is not a multiple."""
    return ConcurrentKeys(threads_per_key, keys, make)
