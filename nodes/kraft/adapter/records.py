"""The node's metadata records in the neutral words of `framework.evidence.changes`."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from framework.evidence import changes
from framework.evidence.kinds import Evidence
from nodes.adapting import records as made

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
    return changes.BrokerRegistered(
        **head,
        broker_id=record["broker_id"],
        broker_epoch=record["broker_epoch"],
        process=record.get("incarnation_id") or NIL,
        end_points=made.end_points(record),
        rack=record.get("rack"),
    )


def _fence(head: Fields, record: Fields) -> Evidence:
    broker_id, broker_epoch = record["broker_id"], record["broker_epoch"]
    return changes.BrokerFenced(**head, broker_id=broker_id, broker_epoch=broker_epoch)


def _unfence(head: Fields, record: Fields) -> Evidence:
    broker_id, broker_epoch = record["broker_id"], record["broker_epoch"]
    return changes.BrokerUnfenced(**head, broker_id=broker_id, broker_epoch=broker_epoch)


def _unregister(head: Fields, record: Fields) -> Evidence:
    broker_id, broker_epoch = record["broker_id"], record["broker_epoch"]
    return changes.BrokerUnregistered(**head, broker_id=broker_id, broker_epoch=broker_epoch)


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


def _add_rule(head: Fields, record: Fields) -> Evidence:
    return changes.AccessRuleAdded(**head, **made.access_rule(record))


def _remove_rule(head: Fields, record: Fields) -> Evidence:
    return changes.AccessRuleRemoved(**head, **made.access_rule(record))


def _request(head: Fields, record: Fields) -> Evidence:
    request_id, answer = str(record["request_id"]), record.get("answer", "")
    return changes.RequestRemembered(**head, request_id=request_id, answer=answer)


_RECORDS: Final[Mapping[str, Callable[[Fields, Fields], Evidence]]] = {
    "LeaderChange": _leader_change,
    "BrokerRecord": _broker,
    "FenceBrokerRecord": _fence,
    "UnfenceBrokerRecord": _unfence,
    "UnregisterBrokerRecord": _unregister,
    "TopicRecord": _topic,
    "RemoveTopicRecord": made.topic_removal,
    "PartitionRecord": made.partition,
    "IsrChangeRecord": made.partition_change,
    "ReassignmentRecord": made.partition,
    "ConfigRecord": made.config,
    "AccessControlRecord": _add_rule,
    "RemoveAccessControlRecord": _remove_rule,
    "FeatureLevelRecord": made.feature,
    "ProducerIdsRecord": _producer_ids,
    "RequestRecord": _request,
}
