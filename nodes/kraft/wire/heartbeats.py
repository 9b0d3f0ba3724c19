"""BrokerHeartbeat (key 50) and ControllerHeartbeat (key 51) of the KIP-631 draft.

Shipped Kafka gave both keys to other messages, so they are served on the control listener and
never listed to clients (A.7.11).
"""

import uuid
from dataclasses import dataclass, field
from enum import IntEnum
from typing import ClassVar

from kio.schema.request_header.v2.header import RequestHeader
from kio.schema.response_header.v1.header import ResponseHeader
from kio.static.constants import EntityType, uuid_zero
from kio.static.primitive import i8, i16, i32, i64, u16

from nodes.kraft.ids import NO_EPOCH, BrokerEpoch, BrokerId


class BrokerState(IntEnum):
    """The draft's BrokerState; a value that it does not know is UNKNOWN (A.1.80)."""

    UNKNOWN = 0
    INITIAL = 1
    FENCED = 2
    ACTIVE = 3
    SHUTDOWN = 4

    @classmethod
    def _missing_(cls, value: object) -> "BrokerState":
        return cls.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """An endpoint that the broker wants published."""

    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(50)
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    name: str = field(metadata={"kafka_type": "string"})
    host: str = field(metadata={"kafka_type": "string"})
    port: u16 = field(metadata={"kafka_type": "uint16"})
    security_protocol: i16 = field(metadata={"kafka_type": "int16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportedFeature:
    """The levels of a feature that a broker can work with (KIP-584)."""

    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    name: str = field(metadata={"kafka_type": "string"})
    min_level: i16 = field(metadata={"kafka_type": "int16"})
    max_level: i16 = field(metadata={"kafka_type": "int16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeartbeatRequest:
    """Registration and lease renewal in one.

    `lease_start_time_ms` is the broker's own clock before sending (A.7.7). Tagged 0: the
    process's incarnation. Tagged 1: the epoch that the process last held, where it asks anew
    with epoch -1: such a process is no newcomer, and wins no id that another holds. Tagged 2:
    the levels of features that the broker supports; of `metadata.format`, where it says nothing,
    level 1. Tagged 3: its rack. Tagged 4: its cluster; null: not told.
    """

    __type__: ClassVar = EntityType.request
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(50)
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    target_state: i8 = field(metadata={"kafka_type": "int8"})
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    broker_epoch: BrokerEpoch = field(metadata={"kafka_type": "int64"}, default=NO_EPOCH)
    lease_start_time_ms: i64 = field(metadata={"kafka_type": "int64"})
    cur_metadata_offset: i64 = field(metadata={"kafka_type": "int64"})
    listeners: tuple[Listener, ...]
    incarnation_id: uuid.UUID | None = field(
        metadata={"kafka_type": "uuid", "tag": 0}, default=uuid_zero
    )
    previous_broker_epoch: BrokerEpoch = field(
        metadata={"kafka_type": "int64", "tag": 1}, default=NO_EPOCH
    )
    features: tuple[SupportedFeature, ...] = field(metadata={"tag": 2}, default=())
    rack: str | None = field(metadata={"kafka_type": "string", "tag": 3}, default=None)
    cluster_id: str | None = field(metadata={"kafka_type": "string", "tag": 4}, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeartbeatResponse:
    """`lease_end_time_ms` is computed from the start that the request named (A.1.79)."""

    __type__: ClassVar = EntityType.response
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(50)
    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader
    error_code: i16 = field(metadata={"kafka_type": "int16"})
    active_controller_id: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-1))
    next_state: i8 = field(metadata={"kafka_type": "int8"})
    broker_epoch: BrokerEpoch = field(metadata={"kafka_type": "int64"}, default=NO_EPOCH)
    lease_end_time_ms: i64 = field(metadata={"kafka_type": "int64"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerHeartbeatRequest:
    """A standby tells the active controller how far its newest snapshot reaches (0: none).

    Tagged 0: how long ago that was taken, or the process started; -1: not told. Tagged 1: the
    end of the metadata that the standby has applied; -1: not told. Tagged 2: it is writing a
    snapshot. With them a new active controller knows all that the last one knew (A.1.42).
    """

    __type__: ClassVar = EntityType.request
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(51)
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    controller_id: i32 = field(metadata={"kafka_type": "int32"})
    last_snapshot_offset: i64 = field(metadata={"kafka_type": "int64"})
    snapshot_age_ms: i64 = field(metadata={"kafka_type": "int64", "tag": 0}, default=i64(-1))
    metadata_end: i64 = field(metadata={"kafka_type": "int64", "tag": 1}, default=i64(-1))
    writing: bool = field(metadata={"kafka_type": "bool", "tag": 2}, default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerHeartbeatResponse:
    """`start_snapshot`: the standby is to snapshot now."""

    __type__: ClassVar = EntityType.response
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(51)
    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader
    error_code: i16 = field(metadata={"kafka_type": "int16"})
    start_snapshot: bool = field(metadata={"kafka_type": "bool"})
