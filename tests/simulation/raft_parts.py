"""What a simulated quorum is made of: how hostile its world is, disks, nodes, calls."""

import itertools
import random
from dataclasses import dataclass, field
from typing import Final

from nodes.kraft.raft.config import RaftConfig
from nodes.kraft.raft.log_index import LogIndex
from nodes.kraft.raft.messages import Batch, Request
from nodes.kraft.raft.state import QuorumState, RaftState
from tests.simulation.raft_invariants import Prefixes

FOREVER: Final = 2**61


@dataclass(frozen=True)
class Profile:
    """How hostile a world is. Times in ms."""

    voters: int
    observers: int
    delay: int
    loss: float
    duplicates: float
    batches_a_fetch: int
    fault_every: int
    proposal_every: int
    sync_delay: int
    duration: int = 6000

    @classmethod
    def draw(cls, rng: random.Random) -> "Profile":
        return cls(
            voters=rng.choice((1, 3, 3, 3, 5)),
            observers=rng.choice((0, 1)),
            delay=rng.choice((5, 30, 100)),
            loss=rng.choice((0.0, 0.02, 0.1)),
            duplicates=rng.choice((0.0, 0.05)),
            batches_a_fetch=rng.choice((1, 1, 100)),
            fault_every=rng.choice((150, 400, 1500)),
            proposal_every=rng.choice((20, 100, 400)),
            sync_delay=rng.choice((1, 10, 60)),
        )


@dataclass
class Disk:
    """What a node wrote. A crash loses log records from `durable` on, or keeps some of them."""

    quorum: QuorumState | None = None
    batches: list[Batch] = field(default_factory=list)
    prefixes: Prefixes = field(default_factory=Prefixes)
    durable: int = 0

    @property
    def end(self) -> int:
        return self.batches[-1].end_offset if self.batches else 0

    def append(self, batch: Batch) -> None:
        self.batches.append(batch)
        self.prefixes.append(batch)

    def truncate(self, end_offset: int) -> None:
        while self.batches and self.batches[-1].end_offset > end_offset:
            self.batches.pop()
        assert self.end == end_offset, "truncated inside a batch"
        self.prefixes.truncate(end_offset)
        self.durable = min(self.durable, end_offset)

    def crash(self, rng: random.Random) -> None:
        ends = [batch.end_offset for batch in self.batches if batch.end_offset > self.durable]
        self.truncate(rng.choice([self.durable, *ends]))
        self.durable = self.end

    def index(self) -> LogIndex:
        log = LogIndex()
        for batch in self.batches:
            log = log.append(batch)
        return log.flush(log.end_offset)

    def read(self, offset: int, limit: int, most: int) -> tuple[Batch, ...]:
        wanted = (b for b in self.batches if b.base_offset >= offset and b.end_offset <= limit)
        return tuple(itertools.islice(wanted, most))


@dataclass
class Node:
    """A process, up where `state` is not None, and its disk."""

    config: RaftConfig
    clock_skew: int
    disk: Disk = field(default_factory=Disk)
    state: RaftState | None = None
    incarnation: int = 0
    tick_at: int = FOREVER
    paused_until: int = 0


@dataclass
class Call:
    """A request on its way."""

    caller: int
    incarnation: int
    callee: int
    request: Request
    done: bool = False
