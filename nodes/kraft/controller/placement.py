"""Where the replicas of a new topic go."""

from typing import Any, Final, TypeAlias

from kio.schema.errors import ErrorCode

from nodes.kraft.controller.answers import Refusal
from nodes.kraft.controller.config import ControllerConfig
from nodes.kraft.controller.draws import Draws
from nodes.kraft.controller.elections import CanLead
from nodes.kraft.metadata.image import Image

MAX_PARTITIONS: Final = 10_000
"""Partitions that one request may create: Kafka's limit of records an operation (B.10)."""

Assignment: TypeAlias = tuple[tuple[int, ...], ...]
"""The replicas of each partition, in preferred order."""


def assign(
    image: Image, topic: Any, config: ControllerConfig, draws: Draws, can_lead: CanLead
) -> Assignment:
    """The replicas of a CreatableTopic's partitions. Raises `Refusal`."""
    if topic.assignments:
        return _manual(image, topic, can_lead)
    return _round_robin(image, topic, config, draws, can_lead)


def _round_robin(
    image: Image, topic: Any, config: ControllerConfig, draws: Draws, can_lead: CanLead
) -> Assignment:
    active = sorted(broker_id for broker_id in image.brokers if can_lead(image, broker_id))
    partitions = topic.num_partitions
    if partitions == -1:
        partitions = config.default_partitions
    if not 0 < partitions <= MAX_PARTITIONS:
        raise Refusal(
            ErrorCode.invalid_partitions, f"{partitions} partitions; 1 to {MAX_PARTITIONS} go"
        )
    replication = topic.replication_factor
    if replication == -1:
        replication = min(config.default_replication, max(len(active), 1))
    if not 0 < replication <= len(active):
        raise Refusal(
            ErrorCode.invalid_replication_factor,
            f"replication factor {replication}; {len(active)} brokers are active",
        )
    start = draws.below(len(active))
    return tuple(
        tuple(active[(start + number + step) % len(active)] for step in range(replication))
        for number in range(partitions)
    )


def _manual(image: Image, topic: Any, can_lead: CanLead) -> Assignment:
    if topic.num_partitions != -1 or topic.replication_factor != -1:
        raise Refusal(
            ErrorCode.invalid_request,
            "with a manual assignment, partitions and replication factor have to be -1",
        )
    by_number = {each.partition_index: tuple(each.broker_ids) for each in topic.assignments}
    if len(by_number) != len(topic.assignments):
        raise _invalid("a partition is assigned twice")
    if sorted(by_number) != list(range(len(by_number))):
        raise _invalid(f"partitions {sorted(by_number)} are not 0 to {len(by_number) - 1}")
    for number in sorted(by_number):
        _check_replicas(image, number, by_number[number], can_lead)
    if len({len(replicas) for replicas in by_number.values()}) > 1:
        raise _invalid("partitions differ in their number of replicas")
    return tuple(by_number[number] for number in range(len(by_number)))


def _check_replicas(
    image: Image, number: int, replicas: tuple[int, ...], can_lead: CanLead
) -> None:
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
