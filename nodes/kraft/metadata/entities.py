"""What the metadata is about: brokers, topics, partitions, access rules, as values.

And the errors of records that describe no such thing, or one that must not be.
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from kio.static.primitive import i16, u16

from nodes.kraft.ids import BrokerEpoch, BrokerId, LeaderEpoch, PartitionEpoch, PartitionIndex
from nodes.kraft.wire import records as wire
from nodes.kraft.wire.heartbeats import BrokerState

NO_LEADER: Final = BrokerId(-1)
TOPIC_RESOURCE: Final = 2
"""Kafka's ConfigResource type of a topic."""

EVERY_RESOURCE: Final = "*"
"""How clients name the default resource of access rules, whose name is null in the log."""

PartitionKey: TypeAlias = tuple[uuid.UUID, PartitionIndex]
ConfigKey: TypeAlias = tuple[int, str]
RuleKey: TypeAlias = tuple[int, int, str, str]
"""Resource type, pattern type, resource name (`*`: the default resource), principal."""


class ImageError(Exception):
    """A record that does not fit the state."""


class UnknownEntity(ImageError):
    """The record names a broker, topic or partition that there is not."""


class DuplicateEntity(ImageError):
    """The record makes an entity under a key that another has."""


class StaleRecord(ImageError):
    """The record's epochs do not follow those of the state."""


class InvalidRecord(ImageError):
    """The record contradicts itself, or makes a state that must not be."""


@dataclass(frozen=True, slots=True)
class EndPoint:
    name: str
    host: str
    port: u16
    security_protocol: i16


@dataclass(frozen=True, slots=True)
class Broker:
    """A registration. `activated`: it has been unfenced under this epoch, now or before."""

    broker_id: BrokerId
    epoch: BrokerEpoch
    incarnation_id: uuid.UUID
    end_points: tuple[EndPoint, ...]
    rack: str | None
    fenced: bool = True
    activated: bool = False

    @property
    def state(self) -> BrokerState:
        """INITIAL until first unfenced under this epoch, then ACTIVE or FENCED. A controlled
        shutdown in progress is soft state of the controller, and not here."""
        if not self.fenced:
            return BrokerState.ACTIVE
        return BrokerState.FENCED if self.activated else BrokerState.INITIAL


@dataclass(frozen=True, slots=True)
class Topic:
    """Partitions are numbered 0..`partitions`-1."""

    name: str
    topic_id: uuid.UUID
    partitions: int = 0
    deleting: bool = False

    def indexes(self) -> Iterator[PartitionIndex]:
        return map(PartitionIndex, range(self.partitions))


@dataclass(frozen=True, slots=True)
class Partition:
    """`leader` is -1 where no member of the ISR can lead."""

    replicas: tuple[BrokerId, ...]
    isr: tuple[BrokerId, ...]
    leader: BrokerId
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    removing_replicas: tuple[BrokerId, ...] = ()
    adding_replicas: tuple[BrokerId, ...] = ()

    @property
    def moves(self) -> bool:
        """Whether its replicas are being changed."""
        return bool(self.removing_replicas or self.adding_replicas)


@dataclass(frozen=True, slots=True)
class AccessRule:
    resource_type: int
    resource_name: str | None
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int

    @property
    def resource(self) -> str:
        """The resource's name as clients write it."""
        return EVERY_RESOURCE if self.resource_name is None else self.resource_name

    @property
    def key(self) -> RuleKey:
        """What a check looks the rule up by."""
        return self.resource_type, self.pattern_type, self.resource, self.principal


# --- from records --------------------------------------------------------------------------


def broker_of(record: wire.BrokerRecord) -> Broker:
    """The registration that the record tells of, just registered."""
    return Broker(
        broker_id=record.broker_id,
        epoch=record.broker_epoch,
        incarnation_id=record.incarnation_id or uuid.UUID(int=0),
        end_points=tuple(
            EndPoint(point.name, point.host, point.port, point.security_protocol)
            for point in record.end_points
        ),
        rack=record.rack,
    )


def partition_of(record: wire.PartitionRecord, topic: str) -> Partition:
    """The partition of `topic` that the record tells of. Raises `InvalidRecord`."""
    partition = Partition(
        replicas=tuple(record.replicas),
        isr=tuple(record.isr),
        leader=record.leader,
        leader_epoch=record.leader_epoch,
        partition_epoch=record.partition_epoch,
        removing_replicas=tuple(record.removing_replicas),
        adding_replicas=tuple(record.adding_replicas),
    )
    check_members(topic, partition)
    return partition


def check_members(topic: str, partition: Partition) -> None:
    """Raises `InvalidRecord` where replicas, ISR and leader do not go together."""
    wrong = _wrong_members(partition.replicas, partition.isr)
    if wrong is None and partition.leader not in (NO_LEADER, *partition.isr):
        wrong = f"leader {partition.leader} is not in the ISR"
    if wrong is not None:
        raise InvalidRecord(f"partition of topic {topic}: {wrong}: {partition}")


@lru_cache(maxsize=10_000)  # of many partitions few differ in them
def _wrong_members(replicas: tuple[BrokerId, ...], isr: tuple[BrokerId, ...]) -> str | None:
    if len(set(replicas)) != len(replicas) or len(set(isr)) != len(isr):
        return "a replica stands twice"
    if not isr or not set(isr) <= set(replicas):
        return "the ISR is empty, or not of its replicas"
    return None


def rule_of(record: wire.AccessControlRecord | wire.RemoveAccessControlRecord) -> AccessRule:
    """The rule of the record's fields."""
    return AccessRule(
        resource_type=record.resource_type,
        resource_name=record.resource_name,
        pattern_type=record.pattern_type,
        principal=record.principal,
        host=record.host,
        operation=record.operation,
        permission_type=record.permission_type,
    )


def metric_name(topic: str) -> str:
    """The topic's name in metrics, where '.' and '_' are one."""
    return topic.replace(".", "_")
