"""Where workers put what they have done, and the one scheduler takes it out.

`queue.SimpleQueue` waits for ever in CPython 3.11 where a wait finds its lock free, or is
interrupted by a signal (Ctrl-C), and its time is over before it looks again: what is left of it is
then less than nothing. A lock by itself counts that right.
"""

import threading
from collections import deque
from contextlib import suppress
from queue import Empty
from time import monotonic
from typing import Generic, TypeVar

T = TypeVar("T")


class Outbox(Generic[T]):
    """Many put, one takes, first in, first out."""

    __slots__ = ("_bell", "_items")

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._bell = threading.Lock()
        """Free: something was put since the last wait."""
        self._bell.acquire()

    def empty(self) -> bool:
        return not self._items

    def put(self, item: T) -> None:
        self._items.append(item)
        with suppress(RuntimeError):  # it rings already
            self._bell.release()

    def take(self, wait_s: float) -> T:
        """The oldest that there is, or that comes in time. Raises `Empty`."""
        if self._items:
            return self._items.popleft()
        end = monotonic() + wait_s
        while (left := end - monotonic()) > 0 and self._bell.acquire(timeout=left):
            if self._items:  # else it rang for what is taken
                return self._items.popleft()
        raise Empty
