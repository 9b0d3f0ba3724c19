"""Two messages of our own, for tools that test or watch a node (A.1.20). Keys far above Kafka's.

ReadTopics (key 10000, control listener): the linearizable read of topics at the active
controller. DescribeNode (key 10001, both listeners): what a node says of itself, no promises.
"""

import uuid
from dataclasses import dataclass, field
from typing import ClassVar

from kio.schema.request_header.v2.header import RequestHeader
from kio.schema.response_header.v1.header import ResponseHeader
from kio.static.constants import EntityType
from kio.static.primitive import i16, i32, i64


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTopicsRequest:
    """Topics to read by name; none: all."""

    __type__: ClassVar = EntityType.request
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(10000)
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    names: tuple[str, ...] = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPartition:
    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(10000)
    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader
    partition_id: i32 = field(metadata={"kafka_type": "int32"})
    leader: i32 = field(metadata={"kafka_type": "int32"})
    leader_epoch: i32 = field(metadata={"kafka_type": "int32"})
    partition_epoch: i32 = field(metadata={"kafka_type": "int32"})
    replicas: tuple[i32, ...] = field(metadata={"kafka_type": "int32"})
    isr: tuple[i32, ...] = field(metadata={"kafka_type": "int32"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTopic:
    """Error 3 (UNKNOWN_TOPIC_OR_PARTITION): there is no such topic."""

    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(10000)
    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader
    error_code: i16 = field(metadata={"kafka_type": "int16"})
    name: str = field(metadata={"kafka_type": "string"})
    topic_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    partitions: tuple[ReadPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTopicsResponse:
    """`epoch`, `offset`: the leader epoch that was confirmed, and the committed log end that
    was read: a witness for the place of the read in the log's order."""

    __type__: ClassVar = EntityType.response
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(10000)
    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader
    error_code: i16 = field(metadata={"kafka_type": "int16"})
    epoch: i32 = field(metadata={"kafka_type": "int32"})
    offset: i64 = field(metadata={"kafka_type": "int64"})
    topics: tuple[ReadTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeNodeRequest:
    __type__: ClassVar = EntityType.request
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(10001)
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeNodeResponse:
    """`state` is a JSON object: node, incarnation, roles, replica_id, broker_id, role, epoch,
    leader_id, log_end, high_watermark, applied, digest, active_epoch (null: not the active
    controller), broker_state, broker_epoch (null where the node is no broker),
    active_brokers [int], fenced_brokers [int] (of its image)."""

    __type__: ClassVar = EntityType.response
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(10001)
    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader
    state: str = field(metadata={"kafka_type": "string"})
