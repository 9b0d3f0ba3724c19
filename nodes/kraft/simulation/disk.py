"""A simulated disk: what a process wrote, and what of it a crash leaves.

A log is known by the digest of each of its prefixes, so that two prefixes are compared, and the
state that one makes is found, in one step. Snapshots carry the digest of the prefix that they
stand for, so that this goes on behind them.
"""

import itertools
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from nodes.kraft.raft.log_index import LogIndex
from nodes.kraft.raft.messages import NO_SNAPSHOT, Batch, SnapshotId
from nodes.kraft.raft.state import QuorumState

KEPT: Final = 2
_NUMBER_BYTES: Final = 8


def extend(digest: int, epoch: int, record: bytes) -> int:
    """The digest of a prefix that is one record longer."""
    return (digest * 1_000_003 + zlib.crc32(record, epoch)) & (2**64 - 1)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot as a file: the prefix's digest and the records, each after its length."""

    id: SnapshotId
    data: bytes

    @classmethod
    def of(cls, id: SnapshotId, digest: int, records: Iterable[bytes]) -> "Snapshot":
        parts = [digest.to_bytes(_NUMBER_BYTES, "big")]
        for record in records:
            parts += [len(record).to_bytes(_NUMBER_BYTES, "big"), record]
        return cls(id, b"".join(parts))

    @property
    def digest(self) -> int:
        return int.from_bytes(self.data[:_NUMBER_BYTES], "big")

    def records(self) -> Iterator[bytes]:
        at = _NUMBER_BYTES
        while at < len(self.data):
            size = int.from_bytes(self.data[at : at + _NUMBER_BYTES], "big")
            at += _NUMBER_BYTES
            yield self.data[at : at + size]
            at += size


@dataclass
class Disk:
    """`digests[n]` is that of the prefix up to `start + n`. Log records from `durable` on may be
    lost in a crash; the quorum state and a snapshot are durable once they are written.
    `snapshots`: the newest two, the newest last; the log begins behind `snapshot`."""

    quorum: QuorumState | None = None
    snapshot: Snapshot | None = None
    snapshots: list[Snapshot] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    digests: list[int] = field(default_factory=lambda: [0])
    durable: int = 0

    @property
    def start(self) -> int:
        return self.snapshot.id.end_offset if self.snapshot else 0

    @property
    def end(self) -> int:
        return self.batches[-1].end_offset if self.batches else self.start

    @property
    def last(self) -> tuple[int, int]:
        """(last epoch, end offset)."""
        if self.batches:
            return self.batches[-1].epoch, self.end
        return (self.snapshot.id.epoch, self.end) if self.snapshot else (0, 0)

    def digest(self, end_offset: int) -> int | None:
        """The digest of what lies below `end_offset`; None: not known here, because it lies in
        the snapshot or beyond the end."""
        place = end_offset - self.start
        return self.digests[place] if 0 <= place < len(self.digests) else None

    def append(self, batch: Batch) -> None:
        assert batch.base_offset == self.end, f"{batch} does not follow {self.end}"
        self.batches.append(batch)
        for record in batch.records:
            self.digests.append(extend(self.digests[-1], batch.epoch, record))

    def truncate(self, end_offset: int) -> None:
        while self.batches and self.batches[-1].end_offset > end_offset:
            self.batches.pop()
        assert self.end == end_offset, "truncated inside a batch or a snapshot"
        del self.digests[end_offset - self.start + 1 :]
        self.durable = min(self.durable, end_offset)

    def keep(self, snapshot: Snapshot) -> None:
        """A snapshot under its name. Of more than two the oldest goes."""
        kept = [each for each in self.snapshots if each.id != snapshot.id]
        self.snapshots = sorted([*kept, snapshot], key=lambda each: each.id)[-KEPT:]

    def snapshot_data(self, snapshot_id: SnapshotId) -> bytes | None:
        return next((each.data for each in self.snapshots if each.id == snapshot_id), None)

    def recover(self) -> Snapshot | None:
        """The newest snapshot; the log begins behind it, also where the crash came before it was
        trimmed."""
        if self.snapshots and self.snapshots[-1] != self.snapshot:
            self.begin_at(self.snapshots[-1].id)
        return self.snapshot

    def begin_at(self, snapshot_id: SnapshotId) -> None:
        """The log begins behind this snapshot: what it holds of it goes, or, where it does not
        reach so far, all of it."""
        snapshot = next(each for each in self.snapshots if each.id == snapshot_id)
        end = snapshot.id.end_offset
        assert end >= self.start, "an older snapshot"
        if self.digest(end) == snapshot.digest:
            self.digests = self.digests[end - self.start :]
            self.batches = [batch for batch in self.batches if batch.end_offset > end]
        else:
            self.batches, self.digests = [], [snapshot.digest]
        self.snapshot = snapshot
        assert not self.batches or self.batches[0].base_offset == end, "trimmed inside a batch"
        self.durable = max(end, min(self.durable, self.end))

    def restart_at(self, snapshot: Snapshot) -> None:
        """The whole log goes; it begins anew behind this snapshot."""
        self.batches, self.digests, self.durable = [], [snapshot.digest], snapshot.id.end_offset
        self.snapshot = snapshot
        self.keep(snapshot)

    def crash(self, keep: float) -> None:
        """Lose what was not synced, but for about the share `keep` of its batches."""
        ends = [batch.end_offset for batch in self.batches if batch.end_offset > self.durable]
        self.truncate([self.durable, *ends][int(keep * len(ends))])
        self.durable = self.end

    def wipe(self) -> None:
        self.quorum, self.snapshot, self.snapshots = None, None, []
        self.batches, self.digests, self.durable = [], [0], 0

    def index(self) -> LogIndex:
        snapshot = self.snapshot.id if self.snapshot else NO_SNAPSHOT
        log = LogIndex(snapshot, snapshot.end_offset, snapshot.end_offset)
        for batch in self.batches:
            log = log.append(batch)
        return log.flush(log.end_offset)

    def read(self, offset: int, limit: int, most: int) -> tuple[Batch, ...]:
        """Whole batches from `offset` up to `limit`, at most so many."""
        wanted = (b for b in self.batches if b.base_offset >= offset and b.end_offset <= limit)
        return tuple(itertools.islice(wanted, most))
