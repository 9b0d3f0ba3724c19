"""What becomes of a partition whose replicas are changed (KIP-455). Pure.

A reassignment begins with the replicas that are to be, before those that are to go; it is complete
once all that were added are in sync, and then those that go are neither replicas nor in sync. The
rules are those of the KIP: what another one overrides, or somebody cancels, is undone at once.
"""

from dataclasses import replace
from typing import TypeAlias

from kio.schema.errors import ErrorCode

from nodes.kraft.controller.answers import Refusal
from nodes.kraft.controller.elections import CanLead, choose
from nodes.kraft.controller.record_batch import RecordBatchBuilder
from nodes.kraft.ids import BrokerId, LeaderEpoch, PartitionEpoch
from nodes.kraft.metadata.image import NO_LEADER, Image, Partition, PartitionKey
from nodes.kraft.wire.records import ReassignmentRecord

Replicas: TypeAlias = tuple[BrokerId, ...]


def begun(image: Image, before: Partition, target: Replicas, can_lead: CanLead) -> Partition:
    """On its way to these replicas. One that is under way is given up: what it added goes at once,
    but where it is to stay. Raises `Refusal`, 39, where nobody would be left in sync."""
    origin = _origin(before)
    adding = tuple(sorted(set(target) - set(origin)))
    removing = tuple(sorted(set(origin) - set(target)))
    wished = replace(before, adding_replicas=adding, removing_replicas=removing)
    return _on(image, wished, (*target, *removing), can_lead)


def completed(image: Image, after: Partition, can_lead: CanLead) -> Partition:
    """At its target, where all that are added are in sync and somebody that stays can lead; else
    as it is."""
    if not after.moves or not set(after.adding_replicas) <= set(after.isr):
        return after
    stay = tuple(each for each in after.replicas if each not in after.removing_replicas)
    if set(after.isr).isdisjoint(stay):
        return after
    at_rest = replace(after, adding_replicas=(), removing_replicas=())
    done = _on(image, at_rest, stay, can_lead)
    # Those that stay may be leaving themselves, for now.
    return after if done.leader == NO_LEADER != after.leader else done


def cancelled(image: Image, before: Partition, can_lead: CanLead) -> Partition:
    """On the replicas that it had before any were added. Raises `Refusal`."""
    if not before.moves:
        raise Refusal(ErrorCode.no_reassignment_in_progress, "its replicas are not being changed")
    return begun(image, before, _origin(before), can_lead)


def _origin(partition: Partition) -> Replicas:
    return tuple(each for each in partition.replicas if each not in partition.adding_replicas)


def _on(image: Image, partition: Partition, replicas: Replicas, can_lead: CanLead) -> Partition:
    """With these replicas alone. Who leads stays, where it is one of them."""
    isr = tuple(each for each in partition.isr if each in replicas)
    if not isr:
        raise Refusal(ErrorCode.invalid_replica_assignment, "none that stays is in sync")
    after = replace(partition, replicas=replicas, isr=isr)
    if partition.leader in isr:
        return after
    return replace(after, leader=choose(after, isr, lambda replica: can_lead(image, replica)))


def record(builder: RecordBatchBuilder, key: PartitionKey, after: Partition) -> Partition:
    """Add the record that makes the partition so, with the epochs that it then has; the partition
    after it."""
    before = builder.image.partitions[key]
    fewer = not set(before.replicas) <= set(after.replicas)
    moved = fewer or after.leader != before.leader
    builder.add(
        ReassignmentRecord(
            partition_id=key[1],
            topic_id=key[0],
            replicas=after.replicas,
            isr=after.isr,
            removing_replicas=after.removing_replicas,
            adding_replicas=after.adding_replicas,
            leader=after.leader,
            leader_epoch=LeaderEpoch(before.leader_epoch + moved),
            partition_epoch=PartitionEpoch(before.partition_epoch + 1),
        )
    )
    return builder.image.partitions[key]
