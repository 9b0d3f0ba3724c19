"""Evidence of partitions: their replicas' roles, and those replicas' logs."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from framework.evidence.ids import BrokerId, LeaderEpoch, Offset, PartitionEpoch
from framework.evidence.kinds import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaRole(Evidence):
    """A broker's replica of a partition leads it, follows, or does neither."""

    kind: ClassVar[str] = "replica-role"
    topic: str
    topic_id: str
    partition: int
    role: Literal["leader", "follower", "none"]
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    isr: tuple[BrokerId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionAppended(Evidence):
    """A batch came into a partition's log; `crc` is that of the batch. Of a batch without a
    producer id, that is None, and so is `leading` where it cannot be told."""

    kind: ClassVar[str] = "partition-appended"
    topic_id: str
    partition: int
    base_offset: Offset
    end_offset: Offset
    epoch: LeaderEpoch
    crc: int
    leading: bool | None
    producer_id: int | None
    base_sequence: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionTruncated(Evidence):
    """A partition's log was cut back to `end_offset`."""

    kind: ClassVar[str] = "partition-truncated"
    topic_id: str
    partition: int
    end_offset: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionCommitted(Evidence):
    """A partition's high watermark rose to `offset` on its leader."""

    kind: ClassVar[str] = "partition-committed"
    topic_id: str
    partition: int
    offset: Offset
    leader_epoch: LeaderEpoch


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochStart:
    """A leader epoch, and the first offset that was written in it."""

    epoch: LeaderEpoch
    start_offset: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLogOnDisk(Evidence):
    """A partition's log that lies on the node's disk, as `LogOnDisk`. `epochs`: what is written
    down of leader epochs beside it; None: nothing is, or it cannot be read."""

    kind: ClassVar[str] = "partition-log-on-disk"
    topic_id: str
    partition: int
    start_offset: Offset
    end_offset: Offset
    torn: bool
    wrong: tuple[str, ...]
    epochs: tuple[EpochStart, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionOffsetSaved(Evidence):
    """An offset of a partition that is written down on the node's disk: its high watermark, where
    recovery begins after a crash (all below is flushed), or where its log begins."""

    kind: ClassVar[str] = "partition-offset-saved"
    topic_id: str
    partition: int
    what: Literal["high-watermark", "recovery-point", "log-start"]
    offset: Offset
