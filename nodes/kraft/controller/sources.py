"""What a request named of the state it rests on, for the event log (`decide.source`)."""

from typing import Any

from nodes.kraft.controller.answers import (
    ALLOCATE_PRODUCER_IDS,
    ALTER_CONFIGS,
    ALTER_PARTITION,
    BROKER_HEARTBEAT,
    CONTROLLER_HEARTBEAT,
    CREATE_ACLS,
    CREATE_PARTITIONS,
    CREATE_TOPICS,
    DELETE_ACLS,
    DELETE_TOPICS,
    INCREMENTAL_ALTER_CONFIGS,
    topics_to_delete,
)
from nodes.kraft.metadata.image import TOPIC_RESOURCE
from nodes.kraft.wire.heartbeats import BrokerState


def api_of(request: Any) -> str:
    """The request's name without "Request"."""
    return type(request).__name__.removesuffix("Request")


def source_of(request: Any) -> dict[str, Any]:
    """The fields of `docs/events.md` that the request has; of several topics or partitions,
    the first."""
    key = int(request.__api_key__)
    if key == BROKER_HEARTBEAT:
        return {
            "broker_id": int(request.broker_id),
            "broker_epoch": int(request.broker_epoch),
            "target": BrokerState(request.target_state).name,
        }
    if key == CONTROLLER_HEARTBEAT:
        return {"controller_id": int(request.controller_id)}
    if key == ALLOCATE_PRODUCER_IDS:
        return {
            "broker_id": int(request.broker_id),
            "broker_epoch": int(request.broker_epoch),
        }
    if key == ALTER_PARTITION:
        return _alter_partition(request)
    if key == DELETE_TOPICS:
        name, topic_id = next(iter(topics_to_delete(request)), (None, None))
        named = {"topic": name, "topic_id": str(topic_id) if topic_id else None}
        return {field: value for field, value in named.items() if value is not None}
    if key in (CREATE_TOPICS, CREATE_PARTITIONS):
        return {"topic": request.topics[0].name} if request.topics else {}
    if key in (ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS):
        return _first_topic(request.resources)
    if key in (CREATE_ACLS, DELETE_ACLS):
        return {}
    return {"topic": request.names[0]} if request.names else {}


def _first_topic(resources: Any) -> dict[str, Any]:
    names = (each.resource_name for each in resources if each.resource_type == TOPIC_RESOURCE)
    name = next(names, None)
    return {} if name is None else {"topic": name}


def _alter_partition(request: Any) -> dict[str, Any]:
    source: dict[str, Any] = {
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
