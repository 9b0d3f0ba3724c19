"""What must hold after every step of a simulated quorum, whatever the network and crashes do.

Each check is incremental: a log is known by the digest of each of its prefixes, so that two
prefixes are compared in one step, and a breach is a `Violation` that names its rule.
"""

import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from nodes.kraft.ids import LeaderEpoch
from nodes.kraft.raft.messages import Batch, SnapshotId


class Violation(AssertionError):
    """A rule that did not hold."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(f"{rule}: {message}")
        self.rule = rule


def extend_digest(digest: int, epoch: int, record: bytes) -> int:
    """The digest of a prefix that is one record longer."""
    return (digest * 1_000_003 + zlib.crc32(record, epoch)) & (2**64 - 1)


@dataclass
class Prefixes:
    """A log by its prefixes: `digests[n]` is that of its first n records."""

    digests: list[int] = field(default_factory=lambda: [0])
    epochs: list[LeaderEpoch] = field(default_factory=list)

    def append(self, batch: Batch) -> None:
        for record in batch.records:
            self.digests.append(extend_digest(self.digests[-1], batch.epoch, record))
            self.epochs.append(batch.epoch)

    def truncate(self, end_offset: int) -> None:
        del self.digests[end_offset + 1 :]
        del self.epochs[end_offset:]

    def digest(self, end_offset: int) -> int | None:
        return self.digests[end_offset] if end_offset < len(self.digests) else None

    def upto(self, end_offset: int) -> "Prefixes":
        """Those of the first records alone: what a snapshot holds."""
        return Prefixes(self.digests[: end_offset + 1], self.epochs[:end_offset])


class Invariants:
    """The quorum's history as far as the rules need it."""

    def __init__(self, voters: Iterable[int]) -> None:
        self.majority = len(tuple(voters)) // 2 + 1
        self.committed = 0  # the largest high watermark that anyone reported
        self._leaders: dict[int, int] = {}
        self._votes: dict[tuple[int, int], int] = {}
        self._written: dict[tuple[int, int], int] = {}
        self._committed_digests: dict[int, int] = {}
        self._ends: list[int] = []  # the high watermarks reported, in order
        self._committed_in: dict[int, int] = {}  # leader epoch -> its high watermark
        self._epochs: dict[int, int] = {}
        self._snapshots: dict[SnapshotId, int] = {}

    def elected(self, node: int, epoch: int, log: Prefixes) -> None:
        """At most one leader an epoch, and it has all that earlier epochs committed."""
        if self._leaders.setdefault(epoch, node) != node:
            raise Violation("one-leader", f"epoch {epoch}: {self._leaders[epoch]} and {node}")
        earlier = max((end for e, end in self._committed_in.items() if e < epoch), default=0)
        if log.digest(earlier) != self._committed_digests.get(earlier, 0):
            raise Violation("leader-completeness", f"leader {node} of {epoch} lacks {earlier}")

    def voted(self, voter: int, epoch: int, candidate: int) -> None:
        """At most one candidate gets a voter's vote in an epoch, over restarts too."""
        first = self._votes.setdefault((voter, epoch), candidate)
        if first != candidate:
            raise Violation("one-vote", f"{voter} in {epoch}: {first} and {candidate}")

    def saved(self, node: int, epoch: int) -> None:
        """A durable epoch never goes back."""
        if epoch < self._epochs.get(node, 0):
            raise Violation("epoch-monotonic", f"{node}: {self._epochs[node]} to {epoch}")
        self._epochs[node] = epoch

    def wiped(self, node: int) -> None:
        """An observer that begins anew."""
        self._epochs.pop(node, None)

    def appended(self, node: int, batch: Batch, log: Prefixes) -> None:
        """Logs that have the same (epoch, offset) are the same up to there."""
        for offset in range(batch.base_offset, batch.end_offset):
            digest = log.digests[offset + 1]
            if self._written.setdefault((batch.epoch, offset), digest) != digest:
                raise Violation("log-matching", f"{node} at {offset} of epoch {batch.epoch}")

    def advanced(
        self,
        node: int,
        epoch: int,
        high_watermark: int,
        log: Prefixes,
        durable_on: Callable[[int, int], int] | None,
    ) -> None:
        """Commits are a function of the offset; a leader's are on the disks of a majority.

        `durable_on(end, digest)` counts the voters whose durable log has that prefix; None
        where a follower reports what it was told.
        """
        digest = log.digest(high_watermark)
        if digest is None:
            raise Violation("high-watermark", f"{node}: {high_watermark} is beyond its log")
        if self._committed_digests.setdefault(high_watermark, digest) != digest:
            raise Violation("committed-lost", f"{node} commits other records at {high_watermark}")
        place = bisect_left(self._ends, high_watermark)
        if self._ends[place : place + 1] != [high_watermark]:
            self._ends.insert(place, high_watermark)
        below = self._ends[place - 1] if place else 0
        if log.digest(below) != self._committed_digests.get(below, 0):
            raise Violation("committed-lost", f"{node} at {high_watermark} lost {below}")
        if durable_on is not None:
            if durable_on(high_watermark, digest) < self.majority:
                raise Violation("durable-majority", f"{node} commits {high_watermark} too early")
            self._committed_in[epoch] = max(high_watermark, self._committed_in.get(epoch, 0))
        self.committed = max(self.committed, high_watermark)

    def snapshot(self, node: int, id: SnapshotId, log: Prefixes) -> None:
        """A snapshot is of committed records, and says the same wherever it was made."""
        digest = log.digest(id.end_offset)
        if id.end_offset > self.committed or digest is None:
            raise Violation("snapshot-committed", f"{node} wrote {id}, {self.committed} are")
        if self._committed_digests.setdefault(id.end_offset, digest) != digest:
            raise Violation("snapshot-committed", f"{node} wrote other records into {id}")
        if log.epochs[id.end_offset - 1] != id.epoch:
            raise Violation("snapshot-id", f"{node} wrote {id} of {log.epochs[id.end_offset - 1]}")
        if self._snapshots.setdefault(id, digest) != digest:
            raise Violation("snapshot-id", f"{node}: two snapshots {id}")

    def asked_before(self, node: int, epoch: int, saved_epoch: int) -> None:
        """A PreVote is of the epoch in which its sender is, and not of one that it led."""
        if epoch != saved_epoch:
            raise Violation("pre-vote", f"{node} in {saved_epoch} asks for {epoch}")
        if self._leaders.get(epoch) == node:
            raise Violation("pre-vote", f"{node} led {epoch} and asks for votes in it")

    def confirmed(self, node: int, asked_at: int, high_watermark: int) -> None:
        """A confirmed read sees all that anyone had reported committed when it was asked."""
        if high_watermark < asked_at:
            raise Violation(
                "stale-read", f"{node} read {high_watermark}, {asked_at} were committed"
            )
