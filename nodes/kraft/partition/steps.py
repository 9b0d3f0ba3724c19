"""What happens to a replica, and what it has to do: inputs and effects of the core.

Effects are carried out in order: what is appended is with the operating system before it is
answered for.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from kio.schema.errors import ErrorCode

from nodes.kraft.ids import (
    LOG_START,
    NO_OFFSET,
    BrokerEpoch,
    BrokerId,
    LeaderEpoch,
    Offset,
    PartitionEpoch,
)
from nodes.kraft.metadata.image import Partition
from nodes.kraft.partition.batches import Batch
from nodes.kraft.partition.producers import Producers
from nodes.kraft.partition.state import Proposal

_NOT_REPORTED: Final = PartitionEpoch(-1)

ALL: int = -1
"""acks: of all in-sync replicas."""


# --- inputs -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assigned:
    """The partition in the committed metadata; None: it is gone, or not ours."""

    partition: Partition | None


@dataclass(frozen=True, slots=True)
class Produce:
    """A producer's batch. `min_isr`: of acks=all; `deadline_ms`: how long it may wait."""

    token: int
    batch: Batch
    acks: int
    min_isr: int
    deadline_ms: int


@dataclass(frozen=True, slots=True)
class DeleteRecords:
    """Let the log begin at `before`; -1: at the high watermark."""

    token: int
    before: Offset
    deadline_ms: int


@dataclass(frozen=True, slots=True)
class Fetched:
    """A valid fetch of a follower: it has all below `offset` and from `start_offset` on, where its
    log begins on its disk, too. `registered`: the epoch under
    which the image has it (-1: not at all), `active`: and not fenced, in the same image."""

    replica_id: BrokerId
    broker_epoch: BrokerEpoch
    offset: Offset
    registered: BrokerEpoch
    active: bool
    start_offset: Offset = LOG_START


@dataclass(frozen=True, slots=True)
class IsrAnswered:
    """The controller's answer to a proposal. `isr` and `partition_epoch` where `code` is 0."""

    proposal: Proposal
    code: ErrorCode
    isr: tuple[BrokerId, ...] = ()
    partition_epoch: PartitionEpoch = _NOT_REPORTED


@dataclass(frozen=True, slots=True)
class Replicated:
    """The leader's answer to our fetch from `offset` in `leader_epoch`; `start_offset`: where its
    log begins."""

    leader_epoch: LeaderEpoch
    offset: Offset
    batches: tuple[Batch, ...]
    high_watermark: Offset
    start_offset: Offset = LOG_START


@dataclass(frozen=True, slots=True)
class Diverged:
    """The leader says that our log went another way: `epoch` ended at `end_offset` there."""

    leader_epoch: LeaderEpoch
    offset: Offset
    epoch: LeaderEpoch
    end_offset: Offset


@dataclass(frozen=True, slots=True)
class OutOfRange:
    """The leader has nothing at `offset`, where our log ends: its own begins at `start_offset`."""

    leader_epoch: LeaderEpoch
    offset: Offset
    start_offset: Offset


@dataclass(frozen=True, slots=True)
class StartSaved:
    """That the log begins there is on disk."""

    start_offset: Offset


@dataclass(frozen=True, slots=True)
class Reread:
    """The producers of the log after a truncation."""

    producers: Producers


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passed; harmless at any time. `active`: the brokers that are not fenced, with their
    epochs, of one image: who has come up may join the ISR, though it fetched before."""

    active: Mapping[int, int] = field(default_factory=dict)


Input: TypeAlias = (
    Assigned
    | Produce
    | DeleteRecords
    | Fetched
    | IsrAnswered
    | Replicated
    | Diverged
    | OutOfRange
    | StartSaved
    | Reread
    | Tick
)


# --- effects ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Append:
    """Write a batch at the end of the log. `leader`: own append."""

    batch: Batch
    leader: bool


@dataclass(frozen=True, slots=True)
class Truncate:
    """Drop what is at `end_offset` or above; feed `Reread` with what the log then says."""

    end_offset: Offset


@dataclass(frozen=True, slots=True)
class Restart:
    """Drop the whole log; what comes next is at `start_offset`."""

    start_offset: Offset


@dataclass(frozen=True, slots=True)
class SaveStart:
    """Make durable that the log begins there, and feed `StartSaved` after that."""

    start_offset: Offset


@dataclass(frozen=True, slots=True)
class DropBelow:
    """Delete what of the disk holds nothing at `start_offset` or above."""

    start_offset: Offset


@dataclass(frozen=True, slots=True)
class Deleted:
    """The answer to a `DeleteRecords`. `low_watermark`: where the log begins on all in sync, -1
    where that is not told."""

    token: int
    code: ErrorCode
    low_watermark: Offset = NO_OFFSET


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a `Produce`. `appended`: the batch is in the log, whatever `code` says."""

    token: int
    code: ErrorCode
    base_offset: Offset = NO_OFFSET
    appended: bool = False


@dataclass(frozen=True, slots=True)
class Propose:
    """Ask the controller for an ISR; `IsrAnswered` follows, unless the role ends first."""

    proposal: Proposal


Effect: TypeAlias = Append | Truncate | Restart | SaveStart | DropBelow | Answer | Deleted | Propose
