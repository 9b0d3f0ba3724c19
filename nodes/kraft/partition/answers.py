"""Responses about partitions, in the version of their requests: Produce, Fetch, ListOffsets,
DeleteRecords and OffsetForLeaderEpoch. Pure.

Each takes what is to be said of every partition of the request, as fields by name; a version
leaves out what it does not have.
"""

from __future__ import annotations

import typing
import uuid
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias, overload

from kio.schema.errors import ErrorCode
from kio.static.protocol import Entity, ResponsePayload

from nodes.kraft.controller.answers import NO_THROTTLE, item_schema, make, schema_of
from nodes.kraft.ids import PartitionIndex
from nodes.kraft.wire.api_keys import (
    DELETE_RECORDS,
    FETCH,
    LIST_OFFSETS,
    OFFSET_FOR_LEADER_EPOCH,
    PRODUCE,
)

if TYPE_CHECKING:
    from nodes.kraft.wire.partition_requests import (
        DeleteRecordsPartition,
        DeleteRecordsRequest,
        DeleteRecordsTopic,
        FetchPartition,
        FetchRequest,
        FetchTopic,
        ListOffsetsPartition,
        ListOffsetsRequest,
        ListOffsetsTopic,
        OffsetForLeaderEpochRequest,
        OffsetForLeaderPartition,
        OffsetForLeaderTopic,
        PartitionProduceData,
        PartitionRequest,
        ProduceRequest,
        TopicProduceData,
    )

Fields: TypeAlias = dict[str, object]
"""Of an answer, by name. One that is an entity is its fields, too."""

_REQUESTED: Final[dict[int, tuple[str, str]]] = {PRODUCE: ("topic_data", "partition_data")}
_ANSWERED: Final[dict[int, tuple[str, str]]] = {
    PRODUCE: ("responses", "partition_responses"),
    FETCH: ("responses", "partitions"),
}
_IN_TOPICS: Final = ("topics", "partitions")
_NOTHING: Final[dict[int, Fields]] = {
    PRODUCE: {"base_offset": -1, "log_append_time": None, "record_errors": ()},
    FETCH: {
        "high_watermark": -1,
        "last_stable_offset": -1,
        "aborted_transactions": None,
        "records": b"",
    },
    LIST_OFFSETS: {"timestamp": -1, "offset": -1},
    DELETE_RECORDS: {"low_watermark": -1},
    OFFSET_FOR_LEADER_EPOCH: {"leader_epoch": -1, "end_offset": -1},
}
"""What a version must have and a refusal does not say."""
_HINTS_FROM: Final[dict[int, int]] = {PRODUCE: 10, FETCH: 16}
"""The version from which clients are told of a new leader (KIP-951). Fetch has the field from
version 12 on, for replicas of the quorum; a client that follows it there does not know that it
may have to ask first where the leader is, and kafka-python 3.0.12 fails with that."""


@overload
def response(
    request: ProduceRequest, tell: Callable[[TopicProduceData, PartitionProduceData], Fields]
) -> ResponsePayload: ...


@overload
def response(
    request: FetchRequest, tell: Callable[[FetchTopic, FetchPartition], Fields]
) -> ResponsePayload: ...


@overload
def response(
    request: ListOffsetsRequest, tell: Callable[[ListOffsetsTopic, ListOffsetsPartition], Fields]
) -> ResponsePayload: ...


@overload
def response(
    request: DeleteRecordsRequest,
    tell: Callable[[DeleteRecordsTopic, DeleteRecordsPartition], Fields],
) -> ResponsePayload: ...


@overload
def response(
    request: OffsetForLeaderEpochRequest,
    tell: Callable[[OffsetForLeaderTopic, OffsetForLeaderPartition], Fields],
) -> ResponsePayload: ...


def response(request: PartitionRequest, tell: Callable[..., Fields]) -> ResponsePayload:
    """The response that says `tell(topic, partition)` of each partition asked for."""
    return _response(request, tell)


def _response(request: PartitionRequest, tell: Callable[..., Fields]) -> ResponsePayload:
    key = int(request.__api_key__)
    schema = schema_of(request)
    topics_name, partitions_name = _ANSWERED.get(key, _IN_TOPICS)
    asked_topics, asked_partitions = _REQUESTED.get(key, _IN_TOPICS)
    topic_schema = item_schema(schema, topics_name)
    partition_schema = item_schema(topic_schema, partitions_name)
    topics = []
    for topic in getattr(request, asked_topics):
        items = tuple(
            partition(partition_schema, key, number_of(asked), tell(topic, asked))
            for asked in getattr(topic, asked_partitions)
        )
        named = {name: getattr(topic, name, None) for name in ("name", "topic", "topic_id")}
        topics.append(make(topic_schema, **named, **{partitions_name: items}))
    return make(
        schema,
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.none,
        **{topics_name: tuple(topics)},
    )


PartitionAnswer: TypeAlias = tuple[uuid.UUID, PartitionIndex, Fields]
"""(topic id, partition, the fields of its answer)."""


def fetch_response(
    request: FetchRequest, code: ErrorCode, session_id: int, answers: Iterable[PartitionAnswer]
) -> ResponsePayload:
    """The answer to a Fetch by topic ids, about these partitions alone."""
    schema = schema_of(request)
    topic_schema = item_schema(schema, "responses")
    partition_schema = item_schema(topic_schema, "partitions")
    topics: dict[uuid.UUID, list[Entity]] = {}
    for topic_id, number, said in answers:
        item = partition(partition_schema, FETCH, number, said)
        topics.setdefault(topic_id, []).append(item)
    return make(
        schema,
        throttle_time=NO_THROTTLE,
        error_code=code,
        session_id=session_id,
        responses=tuple(
            make(topic_schema, topic_id=topic_id, partitions=tuple(items))
            for topic_id, items in topics.items()
        ),
    )


def number_of(asked: object) -> int:
    """The number of a partition in a request."""
    for name in ("index", "partition", "partition_index"):
        if hasattr(asked, name):
            return int(getattr(asked, name))
    raise TypeError(f"{type(asked).__name__} has no partition")


def partition(schema: type[Entity], key: int, number: int, said: Fields) -> Entity:
    """One partition's part of a response. A field that is an entity is said as its fields."""
    values: Fields = {"index": number, "partition": number, "partition_index": number}
    values |= _NOTHING[key]
    for name, value in said.items():
        if name == "current_leader" and schema.__version__ < _HINTS_FROM[key]:
            continue
        if isinstance(value, dict):
            entity = entity_schema(schema, name)
            if entity is not None:
                values[name] = make(entity, **value)
        else:
            values[name] = value
    return make(schema, **values)


@cache
def entity_schema(schema: type[Entity], name: str) -> type[Entity] | None:
    """The entity of a field; None where the version does not have the field."""
    return typing.get_type_hints(schema).get(name)


def refused(request: PartitionRequest, code: ErrorCode) -> ResponsePayload | None:
    """The response with `code` for each partition. None, to close the connection, for a Produce
    that wants no response: it has no other way to hear of it."""
    if int(request.__api_key__) == PRODUCE and getattr(request, "acks", None) == 0:
        return None
    return _response(request, lambda _, __: {"error_code": code})
