"""Evidence of the quorum, and of its log: the metadata log, with its snapshots and images."""

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from framework.evidence.ids import LeaderEpoch, Offset, ReplicaId
from framework.evidence.kinds import Evidence

Role: TypeAlias = Literal[
    "unattached", "follower", "prospective", "candidate", "leader", "resigned", "observer"
]
"""KIP-595's roles of a replica, with KIP-996's prospective."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochSaved(Evidence):
    """A voter's epoch, leader and vote are durable; None: none."""

    kind: ClassVar[str] = "epoch-saved"
    epoch: LeaderEpoch
    leader: ReplicaId | None
    vote: ReplicaId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleTaken(Evidence):
    """A replica's role, its epoch or the leader that it knows changed."""

    kind: ClassVar[str] = "role-taken"
    role: Role
    epoch: LeaderEpoch
    leader: ReplicaId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Voted(Evidence):
    """A voter answered a candidate. Logs are told as (epoch of the last record, end offset)."""

    kind: ClassVar[str] = "voted"
    epoch: LeaderEpoch
    candidate: ReplicaId
    granted: bool
    candidate_log: tuple[int, ...]
    own_log: tuple[int, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Elected(Evidence):
    """The node won an election, with the votes of these."""

    kind: ClassVar[str] = "elected"
    epoch: LeaderEpoch
    votes: tuple[ReplicaId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed(Evidence):
    """The node became the active controller of its epoch."""

    kind: ClassVar[str] = "claimed"
    epoch: LeaderEpoch
    end_offset: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended(Evidence):
    """Records came into the node's log. `crcs`: one a record, of its value; `leading`: the node
    wrote them as leader of `epoch`; None: that cannot be told."""

    kind: ClassVar[str] = "appended"
    base_offset: Offset
    end_offset: Offset
    epoch: LeaderEpoch
    control: bool
    crcs: tuple[int, ...]
    leading: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flushed(Evidence):
    """The log is durable below `end_offset`."""

    kind: ClassVar[str] = "flushed"
    end_offset: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncated(Evidence):
    """The log was cut back to `end_offset`."""

    kind: ClassVar[str] = "truncated"
    end_offset: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class LogBegan(Evidence):
    """The log begins at `offset`: a snapshot holds what was below. `dropped`: all of the log went
    with it, for a snapshot that came from another node."""

    kind: ClassVar[str] = "log-began"
    offset: Offset
    dropped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed(Evidence):
    """The node's high watermark rose to `offset`, in `epoch`, as leader or not."""

    kind: ClassVar[str] = "committed"
    offset: Offset
    epoch: LeaderEpoch
    leading: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageDigest(Evidence):
    """The digest of the node's metadata image below `offset`."""

    kind: ClassVar[str] = "image-digest"
    offset: Offset
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageShown(Evidence):
    """The image below `offset`, with this digest, is what the node's clients see from now on."""

    kind: ClassVar[str] = "image-shown"
    offset: Offset
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOnDisk(Evidence):
    """The metadata log that lies on the node's disk, from its first offset to behind the last that
    can be read. `torn`: half a batch is behind that; `wrong`: what no log may have."""

    kind: ClassVar[str] = "log-on-disk"
    start_offset: Offset
    end_offset: Offset
    torn: bool
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotWritten(Evidence):
    """A snapshot of the state below `end_offset` is durable. `digest`: of the image in it."""

    kind: ClassVar[str] = "snapshot-written"
    end_offset: Offset
    epoch: LeaderEpoch
    digest: str
    bytes: int
    records: int | None
    high_watermark: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotLoaded(Evidence):
    """A snapshot became the node's image. `fetched`: it came from another node."""

    kind: ClassVar[str] = "snapshot-loaded"
    end_offset: Offset
    epoch: LeaderEpoch
    digest: str
    fetched: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Voter:
    """One of those who vote: its id, and that of the directory that holds its log."""

    id: ReplicaId
    directory: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFile(Evidence):
    """A snapshot that lies on the node's disk; `wrong`: what no snapshot may have; `digest`: of the
    image in it (None: it cannot be told); `voters`: who votes by it (None: it does not say)."""

    kind: ClassVar[str] = "snapshot-file"
    end_offset: Offset
    epoch: LeaderEpoch
    records: int
    wrong: tuple[str, ...]
    digest: str | None = None
    voters: tuple[Voter, ...] | None = None
