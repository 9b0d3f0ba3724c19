"""The node's metadata records in the neutral words of `framework.evidence.changes`."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from framework.evidence import changes
from framework.evidence.kinds import Evidence

NONE: Final = -1
"""No broker, no epoch."""
NIL: Final = "00000000-0000-0000-0000-000000000000"
"""The process of a broker that named none."""

Fields = Mapping[str, Any]


def change_of(head: Fields, kind: str, record: object, says: Fields) -> Evidence:
    """What a committed record changes. `head`: what all changes have; `kind`: the record's name;
    `record`: its fields, which older nodes wrote among what else the line `says`."""
    make = _RECORDS.get(kind)
    if make is None:
        content = json.dumps(record, sort_keys=True)
        return changes.OtherChange(**head, name=kind, content=content)
    return make(head, record if isinstance(record, Mapping) else says)


def _leader_change(head: Fields, record: Fields) -> Evidence:
    return changes.LeaderAnnounced(
        **head,
        leader=record["leader_id"],
        votes=tuple(record.get("granting_voters") or ()),
        voters=tuple(record.get("voters") or ()),
    )


def _broker(head: Fields, record: Fields) -> Evidence:
    points = tuple(
        changes.EndPoint(
            name=each["name"],
            host=each["host"],
            port=each["port"],
            protocol=each["security_protocol"],
        )
        for each in record.get("end_points") or ()
    )
    return changes.BrokerRegistered(
        **head,
        broker_id=record["broker_id"],
        broker_epoch=record["broker_epoch"],
        process=record.get("incarnation_id") or NIL,
        end_points=points,
        rack=record.get("rack"),
    )


def _fence(head: Fields, record: Fields) -> Evidence:
    broker_id, broker_epoch = record["broker_id"], record["broker_epoch"]
    return changes.BrokerFenced(**head, broker_id=broker_id, broker_epoch=broker_epoch)


def _unfence(head: Fields, record: Fields) -> Evidence:
    broker_id, broker_epoch = record["broker_id"], record["broker_epoch"]
    return changes.BrokerUnfenced(**head, broker_id=broker_id, broker_epoch=broker_epoch)


def _producer_ids(head: Fields, record: Fields) -> Evidence:
    return changes.ProducerIdsGiven(
        **head,
        broker_id=record.get("broker_id", NONE),
        broker_epoch=record.get("broker_epoch", NONE),
        next_producer_id=record["next_producer_id"],
    )


def _topic(head: Fields, record: Fields) -> Evidence:
    name, topic_id = record["name"], str(record["topic_id"])
    if record.get("deleting"):
        return changes.TopicDeletionBegun(**head, name=name, topic_id=topic_id)
    return changes.TopicCreated(**head, name=name, topic_id=topic_id)


def _remove_topic(head: Fields, record: Fields) -> Evidence:
    return changes.TopicRemoved(**head, topic_id=str(record["topic_id"]))


def _state_of(record: Fields) -> dict[str, Any]:
    return {
        "topic_id": str(record["topic_id"]),
        "partition": record["partition_id"],
        "isr": tuple(record["isr"]),
        "leader": record["leader"],
        "leader_epoch": record["leader_epoch"],
        "partition_epoch": record["partition_epoch"],
    }


def _partition(head: Fields, record: Fields) -> Evidence:
    return changes.PartitionCreated(
        **head,
        **_state_of(record),
        replicas=tuple(record.get("replicas") or record["isr"]),
        removing=tuple(record.get("removing_replicas") or ()),
        adding=tuple(record.get("adding_replicas") or ()),
    )


def _isr_change(head: Fields, record: Fields) -> Evidence:
    return changes.PartitionChanged(**head, **_state_of(record))


def _config(head: Fields, record: Fields) -> Evidence:
    return changes.ConfigSet(
        **head,
        resource_type=record["resource_type"],
        resource=record["resource_name"],
        name=record["name"],
        value=record.get("value"),
    )


def _rule_of(record: Fields) -> dict[str, Any]:
    return {
        "resource_type": record["resource_type"],
        "resource": record["resource_name"],
        "pattern_type": record["pattern_type"],
        "principal": record["principal"],
        "host": record["host"],
        "operation": record["operation"],
        "permission": record["permission_type"],
    }


def _add_rule(head: Fields, record: Fields) -> Evidence:
    return changes.AccessRuleAdded(**head, **_rule_of(record))


def _remove_rule(head: Fields, record: Fields) -> Evidence:
    return changes.AccessRuleRemoved(**head, **_rule_of(record))


def _feature(head: Fields, record: Fields) -> Evidence:
    return changes.FeatureSet(**head, name=record["name"], level=record["feature_level"])


def _request(head: Fields, record: Fields) -> Evidence:
    request_id, answer = str(record["request_id"]), record.get("answer", "")
    return changes.RequestRemembered(**head, request_id=request_id, answer=answer)


_RECORDS: Final[Mapping[str, Callable[[Fields, Fields], Evidence]]] = {
    "LeaderChange": _leader_change,
    "BrokerRecord": _broker,
    "FenceBrokerRecord": _fence,
    "UnfenceBrokerRecord": _unfence,
    "TopicRecord": _topic,
    "RemoveTopicRecord": _remove_topic,
    "PartitionRecord": _partition,
    "IsrChangeRecord": _isr_change,
    "ConfigRecord": _config,
    "AccessControlRecord": _add_rule,
    "RemoveAccessControlRecord": _remove_rule,
    "FeatureLevelRecord": _feature,
    "ProducerIdsRecord": _producer_ids,
    "RequestRecord": _request,
}
