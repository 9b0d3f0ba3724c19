"""What a simulated quorum is made of: how hostile its world is, disks, nodes, calls."""

import itertools
import random
from dataclasses import dataclass, field
from typing import Final

from nodes.kraft.ids import LOG_START, NO_ELECTION, Offset, ReplicaId
from nodes.kraft.raft.config import RaftConfig
from nodes.kraft.raft.log_index import LogIndex
from nodes.kraft.raft.messages import NO_SNAPSHOT, Batch, Request, SnapshotId
from nodes.kraft.raft.state import QuorumState, RaftState
from nodes.kraft.simulation.raft_invariants import Prefixes, Violation

FOREVER: Final = 2**61
KEPT: Final = 2


@dataclass(frozen=True)
class Profile:
    """How hostile a world is. Times in ms; `snapshot_every` 0: none are made."""

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
    prevote: bool = False
    snapshot_every: int = 0
    chunk_bytes: int = 16

    @classmethod
    def draw(cls, rng: random.Random) -> "Profile":
        return cls(
            voters=rng.choice((1, 3, 3, 3, 5)),
            observers=rng.choice((0, 1, 2)),
            delay=rng.choice((5, 30, 100)),
            loss=rng.choice((0.0, 0.02, 0.1)),
            duplicates=rng.choice((0.0, 0.05)),
            batches_a_fetch=rng.choice((1, 1, 100)),
            fault_every=rng.choice((150, 400, 1500)),
            proposal_every=rng.choice((20, 100, 400)),
            sync_delay=rng.choice((1, 10, 60)),
            prevote=rng.random() < 0.7,
            snapshot_every=rng.choice((0, 50, 200, 1000)),
            chunk_bytes=rng.choice((16, 40, 1000)),
        )


@dataclass(frozen=True)
class Snapshot:
    """A snapshot's bytes, which say what is in it, and that for who looks in."""

    data: bytes
    prefixes: Prefixes

    @classmethod
    def of(cls, id: SnapshotId, prefixes: Prefixes, maker: int) -> "Snapshot":
        """The bytes are of each maker's own."""
        text = f"{id.end_offset},{id.epoch},{prefixes.digests[-1]}|" + f"{maker};" * 15
        return cls(text.encode(), prefixes)


@dataclass
class Disk:
    """What a node wrote. A crash loses log records from `durable` on, or keeps some of them.
    The log begins at `start`, and may still have some of what is below."""

    quorum: QuorumState | None = None
    batches: list[Batch] = field(default_factory=list)
    prefixes: Prefixes = field(default_factory=Prefixes)
    durable: Offset = LOG_START
    start: Offset = LOG_START
    snapshots: dict[SnapshotId, Snapshot] = field(default_factory=dict)
    receiving: tuple[SnapshotId, bytes] | None = None

    @property
    def end(self) -> Offset:
        return self.batches[-1].end_offset if self.batches else self.start

    @property
    def newest(self) -> SnapshotId:
        return max(self.snapshots, default=NO_SNAPSHOT)

    def append(self, batch: Batch) -> None:
        self.batches.append(batch)
        self.prefixes.append(batch)

    def truncate(self, end_offset: Offset) -> None:
        while self.batches and self.batches[-1].end_offset > end_offset:
            self.batches.pop()
        assert self.end == end_offset, "truncated inside a batch"
        self.prefixes.truncate(end_offset)
        self.durable = min(self.durable, end_offset)

    def keep(self, id: SnapshotId, snapshot: Snapshot) -> None:
        """A snapshot, durable; older ones go."""
        self.snapshots[id] = snapshot
        for old in sorted(self.snapshots)[:-KEPT]:
            del self.snapshots[old]

    def receive(self, id: SnapshotId, position: int, data: bytes) -> None:
        """A piece of a snapshot; a crash loses it."""
        before = b""
        if position:
            assert self.receiving is not None and self.receiving[0] == id
            before = self.receiving[1]
            assert len(before) == position, "a piece out of place"
        self.receiving = (id, before + data)

    def trim(self, start: Offset, *, drop: bool) -> None:
        """The log begins at `start`; files go later, or now (`drop`)."""
        self.start = start
        if drop:
            self.batches = [batch for batch in self.batches if batch.end_offset > start]

    def restart(self, id: SnapshotId) -> None:
        """Nothing but a snapshot."""
        self.batches = []
        self.start = self.durable = id.end_offset
        held = self.snapshots[id].prefixes if id in self.snapshots else Prefixes()
        self.prefixes = held.upto(id.end_offset)

    def crash(self, rng: random.Random) -> None:
        ends = [batch.end_offset for batch in self.batches if batch.end_offset > self.durable]
        end = rng.choice([self.durable, *ends])
        self.batches = [batch for batch in self.batches if batch.end_offset <= end]
        self.prefixes.truncate(max(end, self.start))
        self.durable = self.end
        self.receiving = None

    def index(self) -> LogIndex:
        """What a start finds, as `MetadataLog` does."""
        newest = self.newest
        first = self.batches[0].base_offset if self.batches else min(self.start, newest.end_offset)
        if max(first, self.start) > newest.end_offset:
            raise Violation("log-start", f"the log begins at {self.start}, with {newest}")
        before = newest if first == newest.end_offset else SnapshotId(first, NO_ELECTION)
        log = LogIndex(before, first, first)
        for batch in self.batches:
            log = log.append(batch)
        if not log.holds(newest):
            self.restart(newest)
        self.start = newest.end_offset
        return log.flush(log.end_offset).begin_at(newest)

    def read(self, offset: Offset, limit: Offset, most: int) -> tuple[Batch, ...]:
        wanted = (b for b in self.batches if b.base_offset >= offset and b.end_offset <= limit)
        return tuple(itertools.islice(wanted, most))


@dataclass
class Node:
    """A process, up where `state` is not None, and its disk. What it has heard, for the rules of
    PreVote: `fetched_in` and `ended_in` are the epochs of the last answered fetch and of the
    last EndQuorumEpoch, `backers` those who would vote for it in `asked_in`."""

    config: RaftConfig
    clock_skew: int
    disk: Disk = field(default_factory=Disk)
    state: RaftState | None = None
    incarnation: int = 0
    tick_at: int = FOREVER
    paused_until: int = 0
    writing: bool = False
    fetched_in: int = -1
    ended_in: int = -1
    asked_in: int = -1
    backers: set[int] = field(default_factory=set)


@dataclass
class Call:
    """A request on its way."""

    caller: ReplicaId
    incarnation: int
    callee: ReplicaId
    request: Request
    done: bool = False
