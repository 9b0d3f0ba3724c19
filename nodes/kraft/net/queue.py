"""The queue between a listener's connections and its handler: bounded, and fair to each kind.

A flood of one kind of request - produces, say - must not keep a group's heartbeat waiting for
hundreds of them. So kinds take turns: whoever asks for the next item gets one of the kind that
waited longest for its turn. Beyond `capacity` items wait outside, under the same rule, each on
its connection, which reads no further.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """For one consumer, on one event loop."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._inside: _Turns[T] = _Turns()
        self._outside: _Turns[T] = _Turns()
        self._wanted: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        """Items inside: at most `capacity`."""
        return self._inside.count

    @property
    def waiting(self) -> int:
        """Items outside."""
        return self._outside.count

    def put(self, kind: Hashable, item: T) -> None:
        """Add an item; where there is no place inside it waits outside."""
        full = self._inside.count >= self.capacity
        (self._outside if full else self._inside).put(kind, item)
        if self._wanted is not None and not self._wanted.done():
            self._wanted.set_result(None)

    async def get(self) -> T:
        """The next item; waits for one."""
        while not self._inside.count:
            self._wanted = asyncio.get_running_loop().create_future()
            await self._wanted
        _, item = self._inside.take()
        if self._outside.count:
            self._inside.put(*self._outside.take())
        return item


class _Turns(Generic[T]):
    """A first-in-first-out queue for each kind; kinds take turns."""

    def __init__(self) -> None:
        self.count = 0
        self._queues: dict[Hashable, deque[T]] = {}  # in the order of their turns

    def put(self, kind: Hashable, item: T) -> None:
        self._queues.setdefault(kind, deque()).append(item)
        self.count += 1

    def take(self) -> tuple[Hashable, T]:
        kind = next(iter(self._queues))
        queue = self._queues.pop(kind)
        item = queue.popleft()
        if queue:
            self._queues[kind] = queue  # behind all others
        self.count -= 1
        return kind, item
