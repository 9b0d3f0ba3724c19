"""What a replica knows of its partition.

Offsets are those of the next record (exclusive ends); times are ms of the node's monotonic
clock. A value never changes: a step makes a new one.
"""

from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from immutables import Map

from nodes.kraft.ids import (
    LOG_START,
    NO_EPOCH,
    BrokerEpoch,
    BrokerId,
    LeaderEpoch,
    Offset,
    PartitionEpoch,
)
from nodes.kraft.partition import epochs, producers
from nodes.kraft.partition.batches import Batch
from nodes.kraft.partition.epochs import Epochs
from nodes.kraft.partition.producers import Producers

UNKNOWN: Final = -1
"""No offset, epoch or broker is known."""


@dataclass(frozen=True, slots=True)
class Log:
    """The log as decisions need it: where it begins and ends, who wrote what, and which producers'
    batches are the last. It begins at 0 until somebody asks for records to be deleted: nothing is
    deleted by age or size."""

    end_offset: Offset = LOG_START
    epochs: Epochs = ()
    producers: Producers = field(default_factory=Map)
    start_offset: Offset = LOG_START

    def append(self, batch: Batch) -> "Log":
        """With `batch` at its end. Raises `ValueError` where it does not follow."""
        if batch.base_offset != self.end_offset or batch.epoch < epochs.last_epoch(self.epochs):
            raise ValueError(
                f"batch at {batch.base_offset} of epoch {batch.epoch} does not follow "
                f"{self.end_offset} of epoch {epochs.last_epoch(self.epochs)}"
            )
        return Log(
            batch.end_offset,
            epochs.assigned(self.epochs, batch.epoch, batch.base_offset),
            producers.remember(self.producers, batch),
            self.start_offset,
        )

    def begin_at(self, start_offset: Offset) -> "Log":
        """Without what is below `start_offset`, which is in it or its end. Its producers stay: what
        they sent was taken, whether it is there yet or not (KAFKA-7190)."""
        return replace(
            self, start_offset=start_offset, epochs=epochs.begun(self.epochs, start_offset)
        )

    def truncate(self, end_offset: Offset) -> "Log":
        """Without what is at `end_offset` or above. Its producers are then those of before,
        until the log has been read again."""
        return replace(
            self, end_offset=end_offset, epochs=epochs.truncated(self.epochs, end_offset)
        )


NO_LOG: Final = Log()


def empty_log(start_offset: Offset) -> Log:
    """A log that begins and ends there."""
    return Log(start_offset, start_offset=start_offset)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a follower has come in this leader epoch. `end_offset` is -1 until it fetched;
    `caught_up_ms`: when it last had all that there was; `fetched_ms` and `leader_end`: its
    last fetch, and where the log ended then; `broker_epoch`: as its fetch said; `start_offset`:
    where its own log begins, and begins again after a kill."""

    end_offset: Offset
    caught_up_ms: int
    fetched_ms: int = 0
    leader_end: Offset = LOG_START
    broker_epoch: BrokerEpoch = NO_EPOCH
    start_offset: Offset = LOG_START


@dataclass(frozen=True, slots=True)
class Proposal:
    """An ISR that the controller was asked for. `joining`: broker epoch of each new member, as
    its fetch said it."""

    isr: tuple[BrokerId, ...]
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    joining: tuple[tuple[BrokerId, BrokerEpoch], ...] = ()


@dataclass(frozen=True, slots=True)
class Waiting:
    """An acks=all produce that waits until the high watermark reaches `end_offset`."""

    token: int
    base_offset: Offset
    end_offset: Offset
    min_isr: int
    deadline_ms: int


@dataclass(frozen=True, slots=True)
class Deleting:
    """A DeleteRecords that waits until the log begins at `offset` or above on all in sync."""

    token: int
    offset: Offset
    deadline_ms: int


@dataclass(frozen=True, slots=True)
class Leading:
    """The leader. `isr` is the committed one; `start_offset`: where its epoch begins;
    `waiting`: in the order of their offsets."""

    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    replicas: tuple[BrokerId, ...]
    isr: tuple[BrokerId, ...]
    start_offset: Offset
    followers: Map[BrokerId, Progress]
    pending: Proposal | None = None
    waiting: tuple[Waiting, ...] = ()
    deleting: tuple[Deleting, ...] = ()

    @property
    def maximal_isr(self) -> tuple[BrokerId, ...]:
        """All that may be in the ISR, now or as soon as the controller's answer is known."""
        if self.pending is None:
            return self.isr
        return tuple(sorted({*self.isr, *self.pending.isr}))


@dataclass(frozen=True, slots=True)
class Following:
    """A follower; `leader_id` is -1 where nobody leads."""

    leader_id: BrokerId
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    isr: tuple[BrokerId, ...]


@dataclass(frozen=True, slots=True)
class Absent:
    """Not a replica: the metadata says so, or nothing yet."""


Role: TypeAlias = Leading | Following | Absent
ABSENT: Final = Absent()


@dataclass(frozen=True, slots=True)
class PartitionState:
    """`high_watermark` never falls, but with a log that ends below it. `saved_start`: where the log
    begins by what is on disk, at or below where it does; others are told of no more."""

    log: Log = NO_LOG
    high_watermark: Offset = LOG_START
    role: Role = ABSENT
    saved_start: Offset = LOG_START


@dataclass(frozen=True, slots=True)
class ReplicaConfig:
    """`lag_max_ms`: a follower that has not had everything for so long leaves the ISR."""

    broker_id: BrokerId
    lag_max_ms: int = 10_000


def recovered(log: Log, checkpoint: Offset) -> PartitionState:
    """A replica as it starts: `checkpoint` is the high watermark last written down. The log may
    have lost its tail since."""
    start = log.start_offset  # whatever is below it was committed
    return PartitionState(log, max(start, min(checkpoint, log.end_offset)), saved_start=start)
