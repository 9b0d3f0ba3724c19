"""What replicas say to each other, without the wire's nesting.

`nodes.kraft.wire.quorum` turns these into Kafka's Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch
and FetchSnapshot and back, and refuses foreign clusters, topics and partitions (rule 1 of KIP-595's
receivers), so that the core sees well-formed messages of its own cluster alone.
"""

from dataclasses import dataclass, field
from typing import Final, TypeAlias

from nodes.kraft.ids import LOG_START, NO_ELECTION, NO_OFFSET, LeaderEpoch, Offset, ReplicaId

NO_LEADER: Final = ReplicaId(-1)

NONE: Final = 0
NOT_LEADER_OR_FOLLOWER: Final = 6
BROKER_NOT_AVAILABLE: Final = 8
INVALID_REQUEST: Final = 42
FENCED_LEADER_EPOCH: Final = 74
UNKNOWN_LEADER_EPOCH: Final = 75
SNAPSHOT_NOT_FOUND: Final = 98
POSITION_OUT_OF_RANGE: Final = 99

MAX_EPOCH: Final = LeaderEpoch(2**31 - 2)
"""The largest epoch that leaves room for the next one in an int32."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive records of one leader epoch. `records` are the records' values, in order.
    `timestamp_ms`: when the leader wrote them, by its wall clock; 0 as long as nobody has."""

    base_offset: Offset
    epoch: LeaderEpoch
    records: tuple[bytes, ...]
    control: bool = False
    timestamp_ms: int = field(default=0, compare=False)

    @property
    def end_offset(self) -> Offset:
        """The offset after the last record."""
        return Offset(self.base_offset + len(self.records))


@dataclass(frozen=True, slots=True, order=True)
class SnapshotId:
    """A snapshot holds everything below `end_offset`; `epoch` is that of record end_offset - 1
    (KIP-630)."""

    end_offset: Offset
    epoch: LeaderEpoch


NO_SNAPSHOT: Final = SnapshotId(LOG_START, NO_ELECTION)
"""The empty state before the first record; it is never sent to anybody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """A candidate asks for a vote (key 52). `last_offset` is its log's end offset. `pre`: it
    only asks whether it would get one in an epoch to come (KIP-996); `candidate_epoch` is then
    the epoch in which it is."""

    candidate_epoch: LeaderEpoch
    candidate_id: ReplicaId
    last_epoch: LeaderEpoch
    last_offset: Offset
    pre: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginQuorumEpoch:
    """A leader says that it leads (key 53); also its heartbeat and its proof for read barriers."""

    leader_id: ReplicaId
    leader_epoch: LeaderEpoch


@dataclass(frozen=True, slots=True, kw_only=True)
class EndQuorumEpoch:
    """A leader resigns (key 54); successors in order of preference."""

    leader_id: ReplicaId
    leader_epoch: LeaderEpoch
    successors: tuple[ReplicaId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """A replica asks for records from `offset` (key 1). `replica_id` of a broker is an
    observer's. `epoch` is the leader epoch that it believes in; `last_epoch` that of its last
    record."""

    replica_id: ReplicaId
    epoch: LeaderEpoch
    offset: Offset
    last_epoch: LeaderEpoch
    max_wait_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshot:
    """A replica asks for at most `max_bytes` of a snapshot from `position` on (key 59)."""

    replica_id: ReplicaId
    epoch: LeaderEpoch
    snapshot_id: SnapshotId
    position: int
    max_bytes: int


Request: TypeAlias = Vote | BeginQuorumEpoch | EndQuorumEpoch | Fetch | FetchSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteReply:
    error: int = NONE
    leader_id: ReplicaId = NO_LEADER
    leader_epoch: LeaderEpoch = NO_ELECTION
    granted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumReply:
    """The answer to BeginQuorumEpoch and EndQuorumEpoch."""

    error: int = NONE
    leader_id: ReplicaId = NO_LEADER
    leader_epoch: LeaderEpoch = NO_ELECTION


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchReply:
    """`diverging` is (epoch, end offset) of the leader's log to truncate by, `snapshot_id` the
    snapshot to fetch instead of records; no batches with either."""

    error: int = NONE
    leader_id: ReplicaId = NO_LEADER
    leader_epoch: LeaderEpoch = NO_ELECTION
    high_watermark: Offset = NO_OFFSET
    log_start: Offset = LOG_START
    diverging: tuple[LeaderEpoch, Offset] | None = None
    snapshot_id: SnapshotId | None = None
    batches: tuple[Batch, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshotReply:
    """`data` is what the snapshot, of `size` bytes, has at `position`."""

    error: int = NONE
    leader_id: ReplicaId = NO_LEADER
    leader_epoch: LeaderEpoch = NO_ELECTION
    snapshot_id: SnapshotId = NO_SNAPSHOT
    size: int = 0
    position: int = 0
    data: bytes = b""


Reply: TypeAlias = VoteReply | QuorumReply | FetchReply | FetchSnapshotReply
