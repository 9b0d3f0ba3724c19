"""What becomes of partitions when a broker leaves or comes back.

Every change raises the partition epoch by one, and the leader epoch if and only if the leader
changes (A.7.10). An ISR is never emptied: its last member stays in it without leading, and
leads again when it comes back.
"""

from collections.abc import Callable
from typing import TypeAlias

from kio.static.primitive import i32

from nodes.kraft.controller.draft import Draft
from nodes.kraft.metadata.image import NO_LEADER, Image, Partition, PartitionKey
from nodes.kraft.wire.records import IsrChangeRecord

CanLead: TypeAlias = Callable[[Image, int], bool]
"""Whether a broker may be given leadership: registered, unfenced, not shutting down."""


def change(draft: Draft, key: PartitionKey, isr: tuple[int, ...], leader: int) -> Partition:
    """Add the record that gives a partition this ISR and leader; the partition after it."""
    before = draft.image.partitions[key]
    draft.add(
        IsrChangeRecord(
            partition_id=i32(key[1]),
            topic_id=key[0],
            isr=tuple(i32(member) for member in isr),
            leader=i32(leader),
            leader_epoch=i32(before.leader_epoch + (leader != before.leader)),
            partition_epoch=i32(before.partition_epoch + 1),
        )
    )
    return draft.image.partitions[key]


def broker_leaves(draft: Draft, broker_id: int, can_lead: CanLead) -> None:
    """Take a broker out of every ISR and leadership. `can_lead` must be false for it."""
    for key in draft.image.partitions_in_sync(broker_id):
        partition = draft.image.partitions[key]
        rest = tuple(member for member in partition.isr if member != broker_id)
        isr = rest or partition.isr
        leader = partition.leader
        if leader == broker_id:
            leader = _choose(draft.image, partition, isr, can_lead)
        if (isr, leader) != (partition.isr, partition.leader):
            change(draft, key, isr, leader)


def broker_returns(draft: Draft, broker_id: int) -> None:
    """Let an active broker lead the partitions that have no leader and it in their ISR."""
    for key in list(draft.image.leaderless):
        partition = draft.image.partitions[key]
        if broker_id in partition.isr:
            change(draft, key, partition.isr, broker_id)


def _choose(image: Image, partition: Partition, isr: tuple[int, ...], can_lead: CanLead) -> int:
    """The first replica, in order of preference, that is in sync and can lead; else -1."""
    candidates = (
        replica for replica in partition.replicas if replica in isr and can_lead(image, replica)
    )
    return next(candidates, NO_LEADER)
