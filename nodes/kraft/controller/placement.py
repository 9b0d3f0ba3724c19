"""Where the replicas of a new topic go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from kio.schema.errors import ErrorCode

from nodes.kraft.controller.answers import Refusal
from nodes.kraft.controller.config import ControllerConfig
from nodes.kraft.controller.draws import Draws
from nodes.kraft.controller.elections import CanLead
from nodes.kraft.ids import BrokerId, PartitionIndex
from nodes.kraft.metadata.image import Image, Topic

if TYPE_CHECKING:
    from nodes.kraft.wire.metadata_requests import CreatableTopic, CreatePartitionsTopic

MAX_PARTITIONS: Final = 10_000
"""Partitions that one request may create: Kafka's limit of records an operation (B.10)."""

USUAL_REPLICATION: Final = 3
"""Where nobody says, and there are as many brokers."""

Replicas: TypeAlias = tuple[BrokerId, ...]
Assignment: TypeAlias = tuple[Replicas, ...]
"""The replicas of each partition, in preferred order."""


def assign(
    image: Image, topic: CreatableTopic, config: ControllerConfig, draws: Draws, can_lead: CanLead
) -> Assignment:
    """The replicas of a CreatableTopic's partitions. Raises `Refusal`."""
    if topic.assignments:
        return _manual(image, topic, can_lead)
    return _round_robin(image, topic, config, draws, can_lead)


def _round_robin(
    image: Image, topic: CreatableTopic, config: ControllerConfig, draws: Draws, can_lead: CanLead
) -> Assignment:
    active = sorted(broker_id for broker_id in image.brokers if can_lead(image, broker_id))
    partitions: int = topic.num_partitions
    if partitions == -1:
        partitions = config.default_partitions
    if not 0 < partitions <= MAX_PARTITIONS:
        raise Refusal(
            ErrorCode.invalid_partitions, f"{partitions} partitions; 1 to {MAX_PARTITIONS} go"
        )
    replication: int = topic.replication_factor
    if replication == -1:
        replication = config.default_replication
    if replication == -1:
        replication = min(USUAL_REPLICATION, max(len(active), 1))
    _check_replication(replication, active)
    return _spread(active, draws.below(len(active)), partitions, replication)


def _check_replication(replication: int, active: list[BrokerId]) -> None:
    if not 0 < replication <= len(active):
        raise Refusal(
            ErrorCode.invalid_replication_factor,
            f"replication factor {replication}; {len(active)} brokers are active",
        )


def _spread(active: list[BrokerId], start: int, partitions: int, replication: int) -> Assignment:
    """Round robin over the active brokers."""
    places = len(active)
    rows = tuple(
        tuple(active[(place + step) % places] for step in range(replication))
        for place in range(places)
    )
    return tuple(rows[(start + number) % places] for number in range(partitions))


def assign_more(
    image: Image, topic: Topic, asked: CreatePartitionsTopic, can_lead: CanLead
) -> Assignment:
    """The replicas of the partitions that a CreatePartitionsTopic adds. Raises `Refusal`."""
    more = asked.count - topic.partitions
    if more <= 0:
        raise Refusal(
            ErrorCode.invalid_partitions, f"{topic.name} has {topic.partitions} partitions already"
        )
    if more > MAX_PARTITIONS:
        raise Refusal(
            ErrorCode.invalid_partitions, f"one request may create {MAX_PARTITIONS} partitions"
        )
    first = image.partitions[topic.topic_id, PartitionIndex(0)]
    replication = len(first.replicas) - len(first.removing_replicas)
    if asked.assignments is None:
        active = sorted(each for each in image.brokers if can_lead(image, each))
        _check_replication(replication, active)
        # Where a round robin over partitions 0 to N would be: no two brokers get far apart.
        return _spread(active, topic.partitions % len(active), more, replication)
    if len(asked.assignments) != more:
        raise _invalid(f"{more} partitions are added, {len(asked.assignments)} are assigned")
    rows = tuple(tuple(each.broker_ids) for each in asked.assignments)
    for number, replicas in enumerate(rows, topic.partitions):
        _check_replicas(image, number, replicas, can_lead)
        if len(replicas) != replication:
            raise _invalid(f"partition {number}: {len(replicas)} replicas instead of {replication}")
    return rows


def _manual(image: Image, topic: CreatableTopic, can_lead: CanLead) -> Assignment:
    if topic.num_partitions != -1 or topic.replication_factor != -1:
        raise Refusal(
            ErrorCode.invalid_request,
            "with a manual assignment, partitions and replication factor have to be -1",
        )
    by_number: dict[int, Replicas] = {
        each.partition_index: tuple(each.broker_ids) for each in topic.assignments
    }
    if len(by_number) != len(topic.assignments):
        raise _invalid("a partition is assigned twice")
    if sorted(by_number) != list(range(len(by_number))):
        raise _invalid(f"partitions {sorted(by_number)} are not 0 to {len(by_number) - 1}")
    for number in sorted(by_number):
        _check_replicas(image, number, by_number[number], can_lead)
    if len({len(replicas) for replicas in by_number.values()}) > 1:
        raise _invalid("partitions differ in their number of replicas")
    return tuple(by_number[number] for number in range(len(by_number)))


def _check_replicas(image: Image, number: int, replicas: Replicas, can_lead: CanLead) -> None:
    if not replicas:
        raise _invalid(f"partition {number} has no replicas")
    if len(set(replicas)) != len(replicas):
        raise _invalid(f"partition {number} has a replica twice: {replicas}")
    unknown = [replica for replica in replicas if replica not in image.brokers]
    if unknown:
        raise _invalid(f"partition {number}: brokers {unknown} are not registered")
    if not any(can_lead(image, replica) for replica in replicas):
        raise _invalid(f"partition {number}: no broker of {replicas} is active")


def _invalid(message: str) -> Refusal:
    return Refusal(ErrorCode.invalid_replica_assignment, message)
