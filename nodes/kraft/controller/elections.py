"""What becomes of partitions when a broker leaves or comes back.

Every change here raises the partition epoch by one, and the leader epoch if and only if the leader
changes (A.7.10). An ISR is never emptied: its last member stays in it without leading, and
leads again when it comes back.
"""

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from nodes.kraft.controller.record_batch import RecordBatchBuilder
from nodes.kraft.ids import BrokerId, LeaderEpoch, PartitionEpoch
from nodes.kraft.metadata.image import NO_LEADER, Image, Partition, PartitionKey
from nodes.kraft.wire.records import IsrChangeRecord

CanLead: TypeAlias = Callable[[Image, BrokerId], bool]
"""Whether a broker may be given leadership: registered, unfenced, not shutting down."""


def change(
    builder: RecordBatchBuilder, key: PartitionKey, isr: tuple[BrokerId, ...], leader: BrokerId
) -> Partition:
    """Add the record that gives a partition this ISR and leader; the partition after it."""
    builder.add(_record(key, builder.image.partitions[key], isr, leader))
    return builder.image.partitions[key]


def broker_leaves(
    builder: RecordBatchBuilder, broker_id: BrokerId, can_lead: CanLead, most: int | None = None
) -> bool:
    """Take a broker out of every ISR and leadership; of `most` partitions, where given. Whether
    nothing is left to take it out of. `can_lead` must be false for it."""
    image = builder.image
    able = cache(lambda replica: can_lead(image, replica))
    records: list[IsrChangeRecord] = []
    everything = True
    for key in image.partitions_in_sync(broker_id):
        partition = image.partitions[key]
        rest = tuple(member for member in partition.isr if member != broker_id)
        isr = rest or partition.isr
        leader = partition.leader
        if leader == broker_id:
            leader = choose(partition, isr, able)
        if (isr, leader) == (partition.isr, partition.leader):
            continue
        if len(records) == most:
            everything = False
            break
        records.append(_record(key, partition, isr, leader))
    builder.add_all(records)
    return everything


def broker_returns(builder: RecordBatchBuilder, broker_id: BrokerId) -> None:
    """Let an active broker lead the partitions that have no leader and it in their ISR."""
    partitions = builder.image.partitions
    found = ((key, partitions[key]) for key in builder.image.leaderless)
    builder.add_all(
        [_record(key, each, each.isr, broker_id) for key, each in found if broker_id in each.isr]
    )


def choose(
    partition: Partition, isr: tuple[BrokerId, ...], able: Callable[[BrokerId], bool]
) -> BrokerId:
    """The first replica, in order of preference, that is in sync and can lead; else -1."""
    candidates = (replica for replica in partition.replicas if replica in isr and able(replica))
    return next(candidates, NO_LEADER)


def _record(
    key: PartitionKey, before: Partition, isr: tuple[BrokerId, ...], leader: BrokerId
) -> IsrChangeRecord:
    return IsrChangeRecord(
        partition_id=key[1],
        topic_id=key[0],
        isr=isr,
        leader=leader,
        leader_epoch=LeaderEpoch(before.leader_epoch + (leader != before.leader)),
        partition_epoch=PartitionEpoch(before.partition_epoch + 1),
    )
