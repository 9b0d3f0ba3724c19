"""What a request named of the state it rests on, and what became of each thing that it asked
for, for the event log (`decide.source`, `decide.items`)."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from kio.schema.allocate_producer_ids.v0.request import AllocateProducerIdsRequest
from kio.schema.alter_partition.v2 import request as v2
from kio.schema.alter_partition.v3 import request as v3
from kio.schema.errors import ErrorCode
from kio.schema.unregister_broker.v0.request import UnregisterBrokerRequest
from kio.static.protocol import Entity, RequestPayload, ResponsePayload

from nodes.kraft.controller.answers import ITEM_APIS, asks_for_items
from nodes.kraft.controller.partitions import AlterPartitionRequest
from nodes.kraft.controller.steps import Fields
from nodes.kraft.metadata.image import TOPIC_RESOURCE
from nodes.kraft.wire.debug import ReadTopicsRequest
from nodes.kraft.wire.heartbeats import (
    BrokerHeartbeatRequest,
    BrokerState,
    ControllerHeartbeatRequest,
)
from nodes.kraft.wire.records import IsrChangeRecord, ReassignmentRecord, Record

if TYPE_CHECKING:
    from kio.schema.alter_partition.v2 import response as v2_response
    from kio.schema.alter_partition.v3 import response as v3_response

    AlterPartitionResponse: TypeAlias = (
        v2_response.AlterPartitionResponse | v3_response.AlterPartitionResponse
    )

ACCEPTED: Final = frozenset({ErrorCode.none, ErrorCode.new_leader_elected})
"""Of changes of ISRs. The second one is the answer to a leader that leads no more, as what it asked
for completed a reassignment."""

Places: TypeAlias = dict[tuple[uuid.UUID | None, int], list[int]]
"""Topic id and partition -> offsets."""


def api_of(request: RequestPayload) -> str:
    """The request's name without "Request"."""
    return type(request).__name__.removesuffix("Request")


def source_of(request: RequestPayload) -> Fields:
    """The fields of `docs/operating.md` that the request has; of several topics or partitions,
    the first."""
    match request:
        case BrokerHeartbeatRequest():
            return {
                "broker_id": int(request.broker_id),
                "broker_epoch": int(request.broker_epoch),
                "target": BrokerState(request.target_state).name,
            }
        case ControllerHeartbeatRequest():
            return {"controller_id": int(request.controller_id)}
        case UnregisterBrokerRequest():
            return {"broker_id": int(request.broker_id)}
        case AllocateProducerIdsRequest():
            return {
                "broker_id": int(request.broker_id),
                "broker_epoch": int(request.broker_epoch),
            }
        case v2.AlterPartitionRequest() | v3.AlterPartitionRequest():
            return _alter_partition(request)
        case ReadTopicsRequest():
            return {"topic": request.names[0]} if request.names else {}
        case _:
            return _named_first(request)


def _named_first(request: RequestPayload) -> Fields:
    """Of administrative requests."""
    asked = ITEM_APIS[request.__api_key__].asked(request) if asks_for_items(request) else []
    topics = (each for each in asked if each.get("resource_type", TOPIC_RESOURCE) == TOPIC_RESOURCE)
    first = next(topics, {})
    topic_id = first.get("topic_id")
    named = {
        "topic": first.get("name", first.get("resource_name")),
        "topic_id": str(topic_id) if topic_id else None,
    }
    return {field: value for field, value in named.items() if value is not None}


def _alter_partition(request: AlterPartitionRequest) -> Fields:
    source: Fields = {
        "broker_id": int(request.broker_id),
        "broker_epoch": int(request.broker_epoch),
    }
    for topic in request.topics[:1]:
        source["topic_id"] = str(topic.topic_id)
        for partition in topic.partitions[:1]:
            source["partition"] = int(partition.partition_index)
            source["leader_epoch"] = int(partition.leader_epoch)
            source["partition_epoch"] = int(partition.partition_epoch)
    return source


def items_of(
    request: RequestPayload,
    response: ResponsePayload | None,
    records: Sequence[Record],
    base_offset: int,
) -> tuple[Fields, ...]:
    """What became of each thing that a request asked for, in the response's order; nothing of
    requests that ask for one thing only. `records`: those appended for it, from `base_offset`."""
    key = int(request.__api_key__)
    if response is None:
        return ()
    if isinstance(request, AlterPartitionRequest):
        return _isr_changes(
            request, cast("AlterPartitionResponse", response), _places(records, base_offset)
        )
    if key not in ITEM_APIS:
        return ()
    results = getattr(response, ITEM_APIS[key].results)
    return tuple({**_named(each), "code": int(each.error_code)} for each in results)


def _named(result: Entity) -> Fields:
    topic_id = getattr(result, "topic_id", None)
    named = {
        "topic": getattr(result, "name", None),
        "topic_id": str(topic_id) if topic_id else None,
        "resource_type": getattr(result, "resource_type", None),
        "resource": getattr(result, "resource_name", None),
    }
    return {field: value for field, value in named.items() if value is not None}


def _places(records: Sequence[Record], base_offset: int) -> Places:
    """The offsets of each partition's records."""
    places: Places = defaultdict(list)
    for offset, record in enumerate(records, base_offset):
        if isinstance(record, IsrChangeRecord | ReassignmentRecord):
            places[record.topic_id, record.partition_id].append(offset)
    return places


def _isr_changes(
    request: AlterPartitionRequest, response: AlterPartitionResponse, places: Places
) -> tuple[Fields, ...]:
    """Where one partition stands twice, its records are with the change that was accepted."""
    asked = [(topic.topic_id, each) for topic in request.topics for each in topic.partitions]
    codes = [int(each.error_code) for topic in response.topics for each in topic.partitions]
    codes = codes or [int(response.error_code)] * len(asked)  # refused as a whole
    keys = [(topic_id, each.partition_index) for topic_id, each in asked]
    accepted = {key for key, code in zip(keys, codes, strict=True) if code in ACCEPTED}
    return tuple(
        {
            "topic_id": str(topic_id),
            "partition": int(each.partition_index),
            "leader_epoch": int(each.leader_epoch),
            "partition_epoch": int(each.partition_epoch),
            "code": code,
            "records": places.get(key, []) if code in ACCEPTED or key not in accepted else [],
        }
        for (topic_id, each), key, code in zip(asked, keys, codes, strict=True)
    )
