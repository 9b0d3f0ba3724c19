"""The truth of a simulated quorum: what is committed, and the rules D.3-D.6, D.8 and D.9 on it.

The ledger grows when a leader reports a high watermark, and then only by what is on the disks of
a majority. It keeps the state below each offset, so that whatever a node publishes or answers can
be compared with what the committed log makes.
"""

from collections.abc import Callable, Iterable

from nodes.kraft.ids import Offset
from nodes.kraft.metadata.image import EMPTY, Image, apply
from nodes.kraft.metadata.records import decode_record
from nodes.kraft.metadata.snapshot import image_of
from nodes.kraft.raft.messages import Batch, SnapshotId
from nodes.kraft.raft.state import QuorumState
from nodes.kraft.simulation.disk import Disk, Snapshot, extend
from nodes.kraft.simulation.fold import Fold, entity_key
from nodes.kraft.simulation.violation import Violation
from nodes.kraft.wire.records import Record


class States:
    """The image that each prefix of a log makes. `apply` is pure: nodes that hold the same
    prefix share the work, and the image."""

    def __init__(self) -> None:
        self._images: dict[int, Image] = {}
        self._records: dict[bytes, Record] = {}

    def record(self, value: bytes) -> Record:
        found = self._records.get(value)
        if found is None:
            found = self._records[value] = decode_record(value)
        return found

    def after(self, image: Image, batch: Batch, offset: int, digest: int) -> Image:
        """`image` with the record of `batch` at `offset`; `digest` is that of the prefix that
        ends there."""
        if batch.control:
            return image
        found = self._images.get(digest)
        if found is None:
            record = self.record(batch.records[offset - batch.base_offset])
            found = self._images[digest] = apply(image, record, Offset(offset))
        return found


class Ledger:
    """`digests[n]` and `images[n]` are of the first n committed records."""

    def __init__(self, voters: Iterable[int], states: States) -> None:
        self.majority = len(tuple(voters)) // 2 + 1
        self.states = states
        self.fold = Fold()
        self.digests = [0]
        self.images: list[Image] = [EMPTY]
        self.epochs: list[int] = []
        self._leaders: dict[int, int] = {}
        self._votes: dict[tuple[int, int], int] = {}
        self._written: dict[tuple[int, int], int] = {}
        self._committed_in: list[tuple[int, int]] = []  # (leader epoch, end), in order
        self._quorum: dict[int, QuorumState] = {}
        self._snapshots: dict[SnapshotId, bytes] = {}

    @property
    def end(self) -> int:
        return len(self.epochs)

    def holds(self, disk: Disk, end: int) -> bool:
        """Whether the disk holds all that is committed below `end`, as records or in its
        snapshot."""
        place = max(end, disk.start)
        return place <= self.end and disk.digest(place) == self.digests[place]

    # --- leaders and votes: D.3, D.4, D.8 -------------------------------------------------

    def elected(self, node: int, epoch: int, disk: Disk) -> None:
        """D.3; D.6 (b): it holds all that leaders of earlier epochs have committed."""
        if self._leaders.setdefault(epoch, node) != node:
            raise Violation("one-leader", f"epoch {epoch}: {self._leaders[epoch]} and {node}")
        earlier = max((end for e, end in self._committed_in if e < epoch), default=0)
        if not self.holds(disk, earlier):
            raise Violation("committed-lost", f"leader {node} of epoch {epoch} lacks {earlier}")

    def voted(self, voter: int, epoch: int, candidate: int) -> None:
        """D.4, over restarts too."""
        first = self._votes.setdefault((voter, epoch), candidate)
        if first != candidate:
            raise Violation("one-vote", f"{voter} in epoch {epoch}: {first} and {candidate}")

    def granted(self, voter: int, own: tuple[int, int], candidates: tuple[int, int]) -> None:
        """D.4: the candidate's log was at least the voter's."""
        if candidates < own:
            raise Violation("one-vote", f"{voter} has {own} and votes for {candidates}")

    def saved(self, node: int, after: QuorumState) -> None:
        """D.8: epochs do not go back; a leader or vote of one does not change."""
        before = self._quorum.get(node)
        self._quorum[node] = after
        if before is None:
            return
        same = before.epoch == after.epoch
        changed = same and (
            before.leader_id not in (-1, after.leader_id)
            or before.voted_id not in (-1, after.voted_id)
        )
        if after.epoch < before.epoch or changed:
            raise Violation("monotonic", f"{node}: {before} to {after}")

    def wiped(self, node: int) -> None:
        """An empty disk begins anew."""
        self._quorum.pop(node, None)

    # --- logs: D.5, D.6 -------------------------------------------------------------------

    def appended(self, node: int, batch: Batch, disk: Disk, *, leads: bool) -> None:
        """D.5: logs that have the same (epoch, offset) are the same up to there."""
        if leads and self._leaders.get(batch.epoch) != node:
            raise Violation("one-leader", f"{node} appends in epoch {batch.epoch}")
        for offset in range(batch.base_offset, batch.end_offset):
            digest = disk.digest(offset + 1)
            assert digest is not None
            if self._written.setdefault((batch.epoch, offset), digest) != digest:
                raise Violation("log-matching", f"{node} at {offset} of epoch {batch.epoch}")

    def truncated(self, node: int, end_offset: int, high_watermark: int) -> None:
        """D.6 (c)."""
        if end_offset < high_watermark:
            raise Violation("committed-lost", f"{node} drops {end_offset} below {high_watermark}")

    def committed_by_leader(
        self, node: int, epoch: int, end: int, disk: Disk, durable_on: Callable[[int, int], int]
    ) -> None:
        """D.6 (a), D.9: a leader reports a high watermark. `durable_on(end, digest)` counts the
        voters whose disk holds that prefix durably."""
        digest = disk.digest(end)
        if digest is None:
            raise Violation("monotonic", f"{node}: high watermark {end} is beyond its log")
        if durable_on(end, digest) < self.majority:
            raise Violation("uncommitted", f"{node} takes {end} for committed too early")
        if not self.holds(disk, min(end, self.end)):
            raise Violation("committed-lost", f"{node} commits other records below {end}")
        news = []
        for batch in reversed(disk.batches):
            if batch.end_offset <= self.end:
                break
            if batch.base_offset < end:
                news.append(batch)
        if news and news[0].epoch != epoch:
            raise Violation("uncommitted", f"{node} counts an entry of epoch {news[0].epoch}")
        for batch in reversed(news):
            self._extend(batch, end)
        if not self._committed_in or self._committed_in[-1] < (epoch, end):
            self._committed_in.append((epoch, end))

    def _extend(self, batch: Batch, end: int) -> None:
        for offset in range(self.end, min(batch.end_offset, end)):
            value = batch.records[offset - batch.base_offset]
            digest = extend(self.digests[-1], batch.epoch, value)
            self.images.append(self.states.after(self.images[-1], batch, offset, digest))
            self.digests.append(digest)
            self.epochs.append(batch.epoch)
            if not batch.control:
                self.fold.add(self.states.record(value), offset)
        if self.end == batch.end_offset:
            self.fold.end_of_batch(self.end)

    # --- snapshots: D.16 ------------------------------------------------------------------

    def snapshot_written(self, node: int, snapshot: Snapshot, high_watermark: int) -> None:
        """D.16: a snapshot is of what is committed, and of all of it, and minimal."""
        end, where = snapshot.id.end_offset, f"{node}: {snapshot.id}"
        if end > high_watermark or end > self.end:
            raise Violation("snapshot", f"{where} is above the high watermark {high_watermark}")
        if self.epochs[end - 1] != snapshot.id.epoch or self.digests[end] != snapshot.digest:
            raise Violation("snapshot", f"{where} is of another log")
        known = self._snapshots.get(snapshot.id)
        if known == snapshot.data:
            return
        if known is not None:
            raise Violation("snapshot", f"{where} has other bytes than one of the same id")
        keys = [entity_key(decode_record(value)) for value in snapshot.records()]
        if len(set(keys)) != len(keys):
            raise Violation("snapshot", f"{where} has two records of one entity")
        if image_of(snapshot.records()) != self.images[end]:
            raise Violation("snapshot", f"{where} holds another state than the log makes")
        self._snapshots[snapshot.id] = snapshot.data

    def snapshot_loaded(self, node: int, snapshot: Snapshot) -> None:
        """It is, byte for byte, what somebody wrote of the committed log."""
        if self._snapshots.get(snapshot.id) != snapshot.data:
            raise Violation("snapshot", f"{node} loads {snapshot.id}, which nobody wrote so")

    # --- followers and what is served: D.6, D.9 -------------------------------------------

    def learned(self, node: int, high_watermark: int, disk: Disk) -> None:
        """D.6 (a), D.9: a follower is told of a high watermark."""
        if high_watermark > self.end:
            raise Violation("uncommitted", f"{node} is told {high_watermark}, {self.end} are")
        if not self.holds(disk, high_watermark):
            raise Violation("committed-lost", f"{node} holds other records below {high_watermark}")

    def published(self, node: int, applied: int, image: Image) -> None:
        """D.9 (b), (c): what a node serves from is what the committed log makes."""
        if applied > self.end:
            raise Violation("uncommitted", f"{node} serves {applied}, {self.end} are committed")
        if image.checksum != self.images[applied].checksum:
            raise Violation("uncommitted", f"{node} serves another state at {applied}")
