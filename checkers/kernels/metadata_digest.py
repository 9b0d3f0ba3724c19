"""The digest of a replayed state, as docs/events.md defines it.

Written apart from the node's: only the definition is shared.
"""

import hashlib
import json
import uuid
from collections.abc import Iterator
from typing import Any

from checkers.kernels.replay import Replay


def digest(state: Replay) -> str:
    """SHA-256, in hexadecimal, of every entity in the order of its key."""
    sha = hashlib.sha256()
    for line in _lines(state):
        sha.update(json.dumps(line, separators=(",", ":")).encode())
        sha.update(b"\n")
    for request_id, answer in state.requests.items():
        data = bytes.fromhex(answer)
        sha.update(uuid.UUID(request_id).bytes + len(data).to_bytes(4, "big") + data)
    return sha.hexdigest()


def _lines(state: Replay) -> Iterator[list[Any]]:
    for broker_id, broker in sorted(state.brokers.items()):
        points = [
            [point["name"], point["host"], point["port"], point["security_protocol"]]
            for point in broker.end_points
        ]
        yield [
            "broker",
            broker_id,
            broker.epoch,
            broker.incarnation,
            points,
            broker.rack,
            broker.fenced,
            broker.activated,
        ]
    for topic_id, topic in sorted(state.topics.items()):
        yield ["topic", topic_id, topic.name, topic.partitions, topic.deleting]
    for key, partition in sorted(state.partitions.items()):
        yield [
            "partition",
            *key,
            partition.replicas,
            partition.isr,
            partition.leader,
            partition.leader_epoch,
            partition.version,
            partition.removing,
            partition.adding,
        ]
    for config, values in sorted(state.configs.items()):
        yield ["config", *config, sorted(values.items())]
    for rule in sorted(state.rules, key=json.dumps):
        yield ["access", *rule]
