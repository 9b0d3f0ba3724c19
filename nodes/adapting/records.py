"""Fields of metadata records, as systems that follow KIP-631 name them, in neutral words."""

from collections.abc import Mapping
from typing import Any, Final

from framework.evidence import changes
from framework.evidence.kinds import Evidence

Fields = Mapping[str, Any]


ELR: Final = "eligible_leader_replicas"
LAST_ELR: Final = "last_known_elr"


def end_points(record: Fields) -> tuple[changes.EndPoint, ...]:
    """Where clients find a broker."""
    return tuple(
        changes.EndPoint(
            name=each["name"],
            host=each["host"],
            port=each["port"],
            protocol=each["security_protocol"],
        )
        for each in record.get("end_points") or ()
    )


def partition_state(record: Fields) -> dict[str, Any]:
    """What all changes of a partition have."""
    return {
        "topic_id": str(record["topic_id"]),
        "partition": record["partition_id"],
        "isr": tuple(record["isr"] or ()),
        "leader": record["leader"],
        "leader_epoch": record["leader_epoch"],
        "partition_epoch": record["partition_epoch"],
        **_eligible(record),
    }


def _eligible(record: Fields) -> dict[str, tuple[int, ...] | None]:
    """Of a record that has such fields."""
    if ELR not in record:
        return {}
    return {
        "eligible": tuple(record[ELR] or ()),
        "last_eligible": tuple(record.get(LAST_ELR) or ()),
    }


def partition(head: Fields, record: Fields) -> Evidence:
    """With its replicas; where the record tells none, those in the ISR."""
    return changes.PartitionCreated(
        **head,
        **partition_state(record),
        replicas=tuple(record.get("replicas") or record["isr"] or ()),
        removing=tuple(record.get("removing_replicas") or ()),
        adding=tuple(record.get("adding_replicas") or ()),
    )


def partition_change(head: Fields, record: Fields) -> Evidence:
    """Of its leader or its ISR."""
    return changes.PartitionChanged(**head, **partition_state(record))


def topic_removal(head: Fields, record: Fields) -> Evidence:
    return changes.TopicRemoved(**head, topic_id=str(record["topic_id"]))


def config(head: Fields, record: Fields) -> Evidence:
    return changes.ConfigSet(
        **head,
        resource_type=record["resource_type"],
        resource=record["resource_name"],
        name=record["name"],
        value=record.get("value"),
    )


def access_rule(record: Fields) -> dict[str, Any]:
    """What a rule that is added or removed has."""
    return {
        "resource_type": record["resource_type"],
        "resource": record["resource_name"],
        "pattern_type": record["pattern_type"],
        "principal": record["principal"],
        "host": record["host"],
        "operation": record["operation"],
        "permission": record["permission_type"],
    }


def feature(head: Fields, record: Fields) -> Evidence:
    return changes.FeatureSet(**head, name=record["name"], level=record["feature_level"])
