"""The digest of a replayed state, by the definition in docs/operating.md ("Digest").

Written apart from the node's: only the definition is shared. A sum of one number for each
entity, so it follows a replay at the cost of what changed since it was asked for last.
"""

import hashlib
import json
from collections.abc import Callable
from typing import Any, Final

from checkers.folds.replay import EntityKey, Replay

MODULUS: Final = 2**256

Line = list[Any]


class Digest:
    """Of one replay, which has to be handed in each time."""

    def __init__(self) -> None:
        self._numbers: dict[EntityKey, int] = {}
        self._sum = 0

    def of(self, state: Replay) -> str:
        """64 hexadecimal digits. Takes note of `state.touched`, and clears it."""
        for key in state.touched:
            line = _LINES[key[0]](state, *key[1:])
            number = 0 if line is None else _number(line)
            self._sum += number - self._numbers.pop(key, 0)
            if number:
                self._numbers[key] = number
        state.touched.clear()
        return f"{self._sum % MODULUS:064x}"


def digest(state: Replay) -> str:
    """Of a replay whose digest nobody else follows."""
    return Digest().of(state)


def _number(line: Line) -> int:
    text = json.dumps(line, separators=(",", ":"))
    return int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")


def _broker(state: Replay, broker_id: int) -> Line | None:
    broker = state.brokers.get(broker_id)
    if broker is None:
        return None
    points = [[point.name, point.host, point.port, point.protocol] for point in broker.end_points]
    return [
        "broker",
        broker_id,
        broker.epoch,
        broker.incarnation,
        points,
        broker.rack,
        broker.fenced,
        broker.activated,
    ]


def _topic(state: Replay, topic_id: str) -> Line | None:
    topic = state.topics.get(topic_id)
    return None if topic is None else ["topic", topic_id, topic.name, topic.deleting]


def _partition(state: Replay, topic_id: str, number: int) -> Line | None:
    partition = state.partitions.get((topic_id, number))
    if partition is None:
        return None
    return [
        "partition",
        topic_id,
        number,
        partition.replicas,
        partition.isr,
        partition.leader,
        partition.leader_epoch,
        partition.version,
        partition.removing,
        partition.adding,
    ]


def _config(state: Replay, kind: int, resource: str, name: str) -> Line | None:
    value = state.configs.get((kind, resource), {}).get(name)
    return None if value is None else ["config", kind, resource, name, value]


def _rule(state: Replay, *rule: Any) -> Line | None:
    return ["access", *rule] if rule in state.rules else None


def _feature(state: Replay, name: str) -> Line | None:
    level = state.features.get(name)
    return None if level is None else ["feature", name, level]


def _producer_ids(state: Replay) -> Line | None:
    return ["producer ids", state.next_producer_id] if state.next_producer_id else None


def _request(state: Replay, request_id: str) -> Line | None:
    held = state.requests.get(request_id)
    return None if held is None else ["request", held[0], request_id, held[1]]


_LINES: Final[dict[str, Callable[..., Line | None]]] = {
    "broker": _broker,
    "topic": _topic,
    "partition": _partition,
    "config": _config,
    "access": _rule,
    "feature": _feature,
    "producer ids": _producer_ids,
    "request": _request,
}
