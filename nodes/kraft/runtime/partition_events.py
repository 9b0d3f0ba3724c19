"""What a broker writes down of its partitions (docs/operating.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nodes.kraft.ids import BrokerId
from nodes.kraft.metadata.image import NO_LEADER, PartitionKey
from nodes.kraft.partition.batches import Batch
from nodes.kraft.partition.state import Absent, Following, Leading, PartitionState


@dataclass(frozen=True, slots=True)
class Shown:
    """A replica's role as others see it. `leader_id`: whom it follows, -1: nobody."""

    role: str
    leader_id: BrokerId
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    max_isr: tuple[int, ...]


NONE = Shown("none", NO_LEADER, -1, -1, (), ())


def shown(state: PartitionState) -> Shown:
    role = state.role
    match role:
        case Leading():
            epochs = role.leader_epoch, role.partition_epoch
            return Shown("leader", NO_LEADER, *epochs, role.isr, role.maximal_isr)
        case Following():
            epochs = role.leader_epoch, role.partition_epoch
            return Shown("follower", role.leader_id, *epochs, role.isr, role.isr)
        case Absent():
            return NONE


class PartitionEvents:
    """Writes them."""

    def __init__(self, emit: Callable[..., None]) -> None:
        self._emit = emit

    def role(self, key: PartitionKey, topic: str | None, now: Shown) -> None:
        self._emit(
            "part",
            topic=topic,
            topic_id=str(key[0]),
            partition=key[1],
            role=now.role,
            leader_epoch=now.leader_epoch,
            partition_epoch=now.partition_epoch,
            isr=list(now.isr),
            max_isr=list(now.max_isr),
        )

    def appended(self, key: PartitionKey, batch: Batch, *, leads: bool) -> None:
        self._emit(
            "plog",
            topic_id=str(key[0]),
            partition=key[1],
            base_offset=batch.base_offset,
            end_offset=batch.end_offset,
            epoch=batch.epoch,
            crc=batch.crc,
            leader=leads,
            producer_id=batch.producer_id,
            base_sequence=batch.base_sequence,
        )

    def truncated(self, key: PartitionKey, end_offset: int) -> None:
        self._emit("ptruncate", topic_id=str(key[0]), partition=key[1], end_offset=end_offset)

    def began(self, key: PartitionKey, start_offset: int, *, dropped: bool) -> None:
        self._emit(
            "pstart",
            topic_id=str(key[0]),
            partition=key[1],
            start_offset=start_offset,
            dropped=dropped,
        )

    def high_watermark(self, key: PartitionKey, offset: int, leader_epoch: int) -> None:
        self._emit(
            "phw", topic_id=str(key[0]), partition=key[1], offset=offset, leader_epoch=leader_epoch
        )
