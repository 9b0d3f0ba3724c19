"""A digest of the image, by which nodes that hold the same metadata can be told from others.

Computed over canonically ordered state by code that nothing else uses, so that no mistake in
the rest of the node can make two different states look alike.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from nodes.kraft.metadata.image import Image


def digest(image: Image) -> str:
    """SHA-256, in hexadecimal, of every entity of the image in the order of its key."""
    state = hashlib.sha256()
    for line in _lines(image):
        state.update(json.dumps(line, separators=(",", ":")).encode())
        state.update(b"\n")
    for number in range(image.first_request, image.first_request + len(image.request_order)):
        request_id = image.request_order[number]
        answer = image.requests[request_id]
        state.update(request_id.bytes + len(answer).to_bytes(4, "big") + answer)
    return state.hexdigest()


def _lines(image: Image) -> Iterator[list[Any]]:
    for broker_id in sorted(image.brokers):
        broker = image.brokers[broker_id]
        points = [[p.name, p.host, p.port, p.security_protocol] for p in broker.end_points]
        yield [
            "broker",
            broker_id,
            broker.epoch,
            str(broker.incarnation_id),
            points,
            broker.rack,
            broker.fenced,
            broker.activated,
        ]
    for topic_id in sorted(image.topics):
        topic = image.topics[topic_id]
        yield ["topic", str(topic_id), topic.name, topic.partitions, topic.deleting]
    for key in sorted(image.partitions):
        partition = image.partitions[key]
        yield [
            "partition",
            str(key[0]),
            key[1],
            partition.replicas,
            partition.isr,
            partition.leader,
            partition.leader_epoch,
            partition.partition_epoch,
            partition.removing_replicas,
            partition.adding_replicas,
        ]
    yield ["producer ids", image.next_producer_id]
    for config in sorted(image.configs):
        yield ["config", *config, sorted(image.configs[config].items())]
    rules = (
        [
            rule.resource_type,
            rule.resource_name,
            rule.pattern_type,
            rule.principal,
            rule.host,
            rule.operation,
            rule.permission_type,
        ]
        for rule in image.access_rules
    )
    for rule in sorted(rules, key=json.dumps):
        yield ["access", *rule]
