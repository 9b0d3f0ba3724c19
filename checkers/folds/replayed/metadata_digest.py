"""The digest of a replayed state, as the system's nodes make it of their images (`ImageForm`).

Written apart from any node's: only the definition is shared. A sum of one number for each entity,
so it follows a replay at the cost of what changed since it was asked for last.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from checkers.folds.replayed.replay import EntityKey, Replay
from framework.evidence.systems import ImageForm
from framework.history.event import Json

MODULUS: Final = 2**256

Values: TypeAlias = tuple[Json, ...]
"""Of an entity, in the order of its `FIELDS`."""


class Digest:
    """Of one replay, which has to be handed in each time."""

    def __init__(self, form: ImageForm) -> None:
        """Raises `ValueError` for entities and fields that no replay has."""
        self._covers: dict[str, list[int]] = defaultdict(list)
        for each in form.covers:
            fields = FIELDS.get(each.entity, ())
            if each.field not in fields:
                raise ValueError(f"no replay has {each.field!r} of {each.entity!r}")
            self._covers[each.entity].append(fields.index(each.field))
        self._numbers: dict[EntityKey, int] = {}
        self._sum = 0

    @property
    def entities(self) -> int:
        """How many there were when it was asked for last."""
        return len(self._numbers)

    def of(self, state: Replay) -> str:
        """64 hexadecimal digits. Takes note of `state.touched`, and clears it."""
        for key in state.touched:
            number = self._number(state, key)
            self._sum += number - self._numbers.pop(key, 0)
            if number:
                self._numbers[key] = number
        state.touched.clear()
        return f"{self._sum % MODULUS:064x}"

    def _number(self, state: Replay, key: EntityKey) -> int:
        """0: there is no such entity, or the digest does not stand for those of its kind."""
        entity = key[0]
        values = _READ[entity](state, *key[1:]) if entity in self._covers else None
        if values is None:
            return 0
        line = [entity, *(values[place] for place in self._covers[entity])]
        text = json.dumps(line, separators=(",", ":"))
        return int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")


def digest(state: Replay, form: ImageForm) -> str:
    """Of a replay whose digest nobody else follows."""
    return Digest(form).of(state)


# --- entities -----------------------------------------------------------------------------

FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "broker": ("id", "epoch", "process", "end_points", "rack", "fenced", "activated"),
    "topic": ("id", "name", "deleting"),
    "partition": (
        "topic_id",
        "number",
        "replicas",
        "isr",
        "leader",
        "leader_epoch",
        "partition_epoch",
        "removing",
        "adding",
    ),
    "config": ("resource_type", "resource", "name", "value"),
    "access": (
        "resource_type",
        "resource",
        "pattern_type",
        "principal",
        "host",
        "operation",
        "permission",
    ),
    "feature": ("name", "level"),
    "producer ids": ("next",),
    "request": ("number", "id", "answer"),
}
"""The kinds of entities that a replay has, and what a digest may stand for of each: the words in
which a system's adapter says what its own digest covers, whatever it calls that. `activated`: it
was unfenced under this epoch, now or earlier. `number`, of a request: how many were before it."""


def _broker(state: Replay, broker_id: int) -> Values | None:
    broker = state.brokers.get(broker_id)
    if broker is None:
        return None
    points: list[Json] = [
        [point.name, point.host, point.port, point.protocol] for point in broker.end_points
    ]
    return (
        broker_id,
        broker.epoch,
        broker.process,
        points,
        broker.rack,
        broker.fenced,
        broker.activated,
    )


def _topic(state: Replay, topic_id: str) -> Values | None:
    topic = state.topics.get(topic_id)
    return None if topic is None else (topic_id, topic.name, topic.deleting)


def _partition(state: Replay, topic_id: str, number: int) -> Values | None:
    partition = state.partitions.get((topic_id, number))
    if partition is None:
        return None
    return (
        topic_id,
        number,
        partition.replicas,
        partition.isr,
        partition.leader,
        partition.leader_epoch,
        partition.version,
        partition.removing,
        partition.adding,
    )


def _config(state: Replay, kind: int, resource: str, name: str) -> Values | None:
    value = state.configs.get((kind, resource), {}).get(name)
    return None if value is None else (kind, resource, name, value)


def _rule(state: Replay, *rule: object) -> Values | None:
    return rule if rule in state.rules else None


def _feature(state: Replay, name: str) -> Values | None:
    level = state.features.get(name)
    return None if level is None else (name, level)


def _producer_ids(state: Replay) -> Values | None:
    return (state.next_producer_id,) if state.next_producer_id else None


def _request(state: Replay, request_id: str) -> Values | None:
    held = state.requests.get(request_id)
    return None if held is None else (held[0], request_id, held[1])


_READ: Final[Mapping[str, Callable[..., Values | None]]] = {
    "broker": _broker,
    "topic": _topic,
    "partition": _partition,
    "config": _config,
    "access": _rule,
    "feature": _feature,
    "producer ids": _producer_ids,
    "request": _request,
}
