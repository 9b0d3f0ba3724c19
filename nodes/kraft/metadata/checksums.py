"""Checksums of entities, whose sum is the image's: what nodes compare to know that they agree.

An entity's checksum is the SHA-256, as a big-endian number, of its line: a JSON array without
blanks, whose first item says what it is (docs/operating.md lists them). The image's is the sum of
them modulo 2**256: it does not depend on the order in which the entities came, so that every
change of an entity costs the same, whatever the size of the image; and it is equal for equal
states, by whatever history, and practically for no others.
"""

import hashlib
import json
import uuid
from functools import lru_cache
from typing import Final

from nodes.kraft.metadata.entities import (
    AccessRule,
    Broker,
    ConfigKey,
    Partition,
    PartitionKey,
    Topic,
)

MODULUS: Final = 2**256
_encode: Final = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def changed(checksum: int, old: int, new: int) -> int:
    """The image's checksum after entities of sum `old` gave way to those of sum `new`."""
    return (checksum - old + new) % MODULUS


def of_broker(broker: Broker | None) -> int:
    """Of what is not there: 0, here and below."""
    if broker is None:
        return 0
    points = [[p.name, p.host, p.port, p.security_protocol] for p in broker.end_points]
    return _of(
        [
            "broker",
            broker.broker_id,
            broker.epoch,
            str(broker.incarnation_id),
            points,
            broker.rack,
            broker.fenced,
            broker.activated,
        ]
    )


def of_topic(topic: Topic) -> int:
    """How many partitions it has, their own lines tell."""
    return _of(["topic", str(topic.topic_id), topic.name, topic.deleting])


def of_partition(key: PartitionKey, partition: Partition | None) -> int:
    if partition is None:
        return 0
    # By hand, for there are many: the same text as the encoder's.
    return _of_text(
        f'["partition","{_text(key[0])}",{key[1]},{_numbers(partition.replicas)},'
        f"{_numbers(partition.isr)},{partition.leader},{partition.leader_epoch},"
        f"{partition.partition_epoch},{_numbers(partition.removing_replicas)},"
        f"{_numbers(partition.adding_replicas)}]"
    )


_text: Final = lru_cache(maxsize=10_000)(str)


@lru_cache(maxsize=10_000)
def _numbers(numbers: tuple[int, ...]) -> str:
    return _encode(numbers)


def of_config(resource: ConfigKey, name: str, value: str | None) -> int:
    return 0 if value is None else _of(["config", *resource, name, value])


def of_rule(rule: AccessRule) -> int:
    return _of(
        [
            "access",
            rule.resource_type,
            rule.resource_name,
            rule.pattern_type,
            rule.principal,
            rule.host,
            rule.operation,
            rule.permission_type,
        ]
    )


def of_feature(name: str, level: int) -> int:
    return _of(["feature", name, level]) if level else 0


def of_producer_ids(next_producer_id: int) -> int:
    return _of(["producer ids", next_producer_id]) if next_producer_id else 0


def of_request(number: int, request_id: uuid.UUID, answer: bytes) -> int:
    return _of(["request", number, str(request_id), answer.hex()])


def _of(line: list[object]) -> int:
    return _of_text(_encode(line))


def _of_text(line: str) -> int:
    return int.from_bytes(hashlib.sha256(line.encode()).digest(), "big")
