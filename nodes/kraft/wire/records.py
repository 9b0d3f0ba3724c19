"""The metadata log's records: the KIP-631 draft's types 0-5 and the further ones it needs.

The draft declares no flexible versions but relies on tagged fields, so version 0 is flexible
(A.7.12). What the draft lacks is carried in tagged fields, its own way to grow: a record whose
tagged fields are at their defaults has exactly the draft's bytes.
"""

import uuid
from dataclasses import dataclass, field
from typing import ClassVar, Final, TypeAlias

from kio.static.constants import EntityType, uuid_zero
from kio.static.primitive import i8, i16, i64, u16

from nodes.kraft.ids import BrokerEpoch, BrokerId, LeaderEpoch, PartitionEpoch, PartitionIndex

_NO_PARTITION: Final = PartitionIndex(-1)
_NO_EPOCH: Final = LeaderEpoch(-1)
_FIRST_EPOCH: Final = PartitionEpoch(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndPoint:
    """A listener that a broker publishes. The port is unsigned: the draft's int16 cannot hold
    Linux's ephemeral ports (A.7.9)."""

    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    name: str = field(metadata={"kafka_type": "string"})
    host: str = field(metadata={"kafka_type": "string"})
    port: u16 = field(metadata={"kafka_type": "uint16"})
    security_protocol: i16 = field(metadata={"kafka_type": "int16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRecord:
    """Type 0: a broker's registration; its epoch is the record's own offset. Until an
    UnfenceBrokerRecord of the same epoch follows, the broker is fenced (draft, BrokerRecord).
    Tagged 0: the incarnation of the process that registered. Tagged 1, in snapshots alone: the
    `BrokerState` that records after the registration made; INITIAL where none did."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    broker_epoch: BrokerEpoch = field(metadata={"kafka_type": "int64"})
    end_points: tuple[EndPoint, ...]
    rack: str | None = field(metadata={"kafka_type": "string"})
    incarnation_id: uuid.UUID | None = field(
        metadata={"kafka_type": "uuid", "tag": 0}, default=uuid_zero
    )
    state: i8 = field(metadata={"kafka_type": "int8", "tag": 1}, default=i8(1))


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRecord:
    """Type 1. `deleting` is true while the topic is being deleted (draft, TopicRecord)."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    name: str = field(metadata={"kafka_type": "string"})
    topic_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    deleting: bool = field(metadata={"kafka_type": "bool"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRecord:
    """Type 2. Replicas in preferred order. Tagged 0: the partition epoch, which rises with
    every change, where the leader epoch rises with the leader (A.7.10), or where a replica goes."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    partition_id: PartitionIndex = field(metadata={"kafka_type": "int32"}, default=_NO_PARTITION)
    topic_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    replicas: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"})
    isr: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"})
    removing_replicas: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"}, default=())
    adding_replicas: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"}, default=())
    leader: BrokerId = field(metadata={"kafka_type": "int32"}, default=BrokerId(-1))
    leader_epoch: LeaderEpoch = field(metadata={"kafka_type": "int32"}, default=_NO_EPOCH)
    partition_epoch: PartitionEpoch = field(
        metadata={"kafka_type": "int32", "tag": 0}, default=_FIRST_EPOCH
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRecordV1(PartitionRecord):
    """Version 1, of `metadata.format` level 2: the partition epoch is an ordinary field."""

    __version__: ClassVar[i16] = i16(1)
    partition_epoch: PartitionEpoch = field(metadata={"kafka_type": "int32"}, default=_FIRST_EPOCH)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigRecord:
    """Type 3: one configuration value of one resource; a null value removes it."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    resource_type: i8 = field(metadata={"kafka_type": "int8"})
    resource_name: str = field(metadata={"kafka_type": "string"})
    name: str = field(metadata={"kafka_type": "string"})
    value: str | None = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrChangeRecord:
    """Type 4: a new in-sync set, leader or both. Tagged 0: the partition epoch after it."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    partition_id: PartitionIndex = field(metadata={"kafka_type": "int32"}, default=_NO_PARTITION)
    topic_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    isr: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"})
    leader: BrokerId = field(metadata={"kafka_type": "int32"}, default=BrokerId(-1))
    leader_epoch: LeaderEpoch = field(metadata={"kafka_type": "int32"}, default=_NO_EPOCH)
    partition_epoch: PartitionEpoch = field(
        metadata={"kafka_type": "int32", "tag": 0}, default=_FIRST_EPOCH
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrChangeRecordV1(IsrChangeRecord):
    """Version 1, of `metadata.format` level 2: the partition epoch is an ordinary field."""

    __version__: ClassVar[i16] = i16(1)
    partition_epoch: PartitionEpoch = field(metadata={"kafka_type": "int32"}, default=_FIRST_EPOCH)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessControlRecord:
    """Type 5: one access rule. A null resource name is the default resource: with pattern type
    LITERAL, all resources of the type (clients write `*`)."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    resource_type: i8 = field(metadata={"kafka_type": "int8"})
    resource_name: str | None = field(metadata={"kafka_type": "string"})
    pattern_type: i8 = field(metadata={"kafka_type": "int8"})
    principal: str = field(metadata={"kafka_type": "string"})
    host: str = field(metadata={"kafka_type": "string"})
    operation: i8 = field(metadata={"kafka_type": "int8"})
    permission_type: i8 = field(metadata={"kafka_type": "int8"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceBrokerRecord:
    """Type 7 (number as shipped, A.7.8): the broker of this epoch has no lease."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    broker_epoch: BrokerEpoch = field(metadata={"kafka_type": "int64"})


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfenceBrokerRecord:
    """Type 8 (number as shipped, A.7.8): the broker of this epoch is active."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    broker_epoch: BrokerEpoch = field(metadata={"kafka_type": "int64"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveTopicRecord:
    """Type 9 (number as shipped, A.7.8): the topic and its partitions are gone."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    topic_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureLevelRecord:
    """Type 12 (number as shipped): the feature is finalized at this level (KIP-584)."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    name: str = field(metadata={"kafka_type": "string"})
    feature_level: i16 = field(metadata={"kafka_type": "int16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerIdsRecord:
    """Type 15 (number as shipped): a block of producer ids went to the broker of this epoch;
    `next_producer_id` is the first id behind it."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    broker_epoch: BrokerEpoch = field(metadata={"kafka_type": "int64"})
    next_producer_id: i64 = field(metadata={"kafka_type": "int64"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveAccessControlRecord:
    """Type 19 (number as shipped): the rule of these very fields is gone."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    resource_type: i8 = field(metadata={"kafka_type": "int8"})
    resource_name: str | None = field(metadata={"kafka_type": "string"})
    pattern_type: i8 = field(metadata={"kafka_type": "int8"})
    principal: str = field(metadata={"kafka_type": "string"})
    host: str = field(metadata={"kafka_type": "string"})
    operation: i8 = field(metadata={"kafka_type": "int8"})
    permission_type: i8 = field(metadata={"kafka_type": "int8"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOpRecord:
    """Type 20 (number as shipped): nothing; moves the high watermark."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord:
    """Type 100, ours: last record of a batch that a forwarded request caused. A broker that
    retries a request whose answer it lost carries the same id, and is told what the first
    attempt did (B.9.4). `answer` is the encoded response body. Tagged 0, in snapshots alone, and
    there in the first of them: the request's number; -1: the next one."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    request_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    answer: bytes = field(metadata={"kafka_type": "bytes"})
    number: i64 = field(metadata={"kafka_type": "int64", "tag": 0}, default=i64(-1))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterBrokerRecord:
    """Type 101, ours, for the shipped number, 1, is the draft's TopicRecord: the broker of this
    epoch is registered no more."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    broker_epoch: BrokerEpoch = field(metadata={"kafka_type": "int64"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReassignmentRecord:
    """Type 102, ours, for the shipped PartitionChangeRecord has the number of the draft's
    AccessControlRecord: other replicas of a partition, all of its state. While replicas are being
    added or removed, `replicas` has them all: those that it is to have, and behind them those that
    it is to lose (KIP-455)."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    partition_id: PartitionIndex = field(metadata={"kafka_type": "int32"})
    topic_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    replicas: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"})
    isr: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"})
    removing_replicas: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"}, default=())
    adding_replicas: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"}, default=())
    leader: BrokerId = field(metadata={"kafka_type": "int32"})
    leader_epoch: LeaderEpoch = field(metadata={"kafka_type": "int32"})
    partition_epoch: PartitionEpoch = field(metadata={"kafka_type": "int32"})


Record: TypeAlias = (
    BrokerRecord
    | TopicRecord
    | PartitionRecord
    | ConfigRecord
    | IsrChangeRecord
    | AccessControlRecord
    | FenceBrokerRecord
    | UnfenceBrokerRecord
    | RemoveTopicRecord
    | FeatureLevelRecord
    | ProducerIdsRecord
    | RemoveAccessControlRecord
    | NoOpRecord
    | RequestRecord
    | UnregisterBrokerRecord
    | ReassignmentRecord
)

RECORD_TYPES: Final[dict[int, type[Record]]] = {
    0: BrokerRecord,
    1: TopicRecord,
    2: PartitionRecord,
    3: ConfigRecord,
    4: IsrChangeRecord,
    5: AccessControlRecord,
    7: FenceBrokerRecord,
    8: UnfenceBrokerRecord,
    9: RemoveTopicRecord,
    12: FeatureLevelRecord,
    15: ProducerIdsRecord,
    19: RemoveAccessControlRecord,
    20: NoOpRecord,
    100: RequestRecord,
    101: UnregisterBrokerRecord,
    102: ReassignmentRecord,
}

NEXT_VERSIONS: Final[dict[type[Record], type[Record]]] = {
    PartitionRecord: PartitionRecordV1,
    IsrChangeRecord: IsrChangeRecordV1,
}
"""The records that have a version 1, by those of version 0, which stand for both in memory."""
