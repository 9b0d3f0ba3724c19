"""The controller's chance: topic ids and first replicas, drawn from a seed.

Each draw is a function of (seed, leader epoch, number of the draw within the epoch). An epoch
has one leader, so no id is drawn twice, not even where a failover truncated the record that
held the first one.
"""

import hashlib
import uuid


class Draws:
    """A source of draws; `counter` is where it goes on. Lives within one step of the core."""

    def __init__(self, seed: int, epoch: int, counter: int) -> None:
        self._prefix = f"{seed}/{epoch}/"
        self.counter = counter

    def _next(self) -> bytes:
        drawn = hashlib.sha256(f"{self._prefix}{self.counter}".encode()).digest()
        self.counter += 1
        return drawn

    def topic_id(self) -> uuid.UUID:
        """A fresh topic id."""
        return uuid.UUID(bytes=self._next()[:16], version=4)

    def below(self, limit: int) -> int:
        """A number from 0 to `limit` - 1."""
        return int.from_bytes(self._next()[:8], "big") % limit
