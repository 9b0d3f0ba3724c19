"""Topics: `create`, `delete`, `describe`, `metadata`. The key is the topic's name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from framework.history.event import Json

NAMES_A_TOPIC: Final = frozenset({"create", "delete", "describe", "metadata"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopic:
    """By numbers (-1: the system's default), or by `assignment`: a partition's broker ids."""

    partitions: int = -1
    replication: int = -1
    assignment: tuple[tuple[int, ...], ...] = ()

    def to_json(self) -> Json:
        if self.assignment:
            return {"assignment": [list(replicas) for replicas in self.assignment]}
        return {"partitions": self.partitions, "replication": self.replication}

    @classmethod
    def from_json(cls, value: Json) -> CreateTopic:
        return cls(
            partitions=value.get("partitions", -1),
            replication=value.get("replication", -1),
            assignment=tuple(map(tuple, value.get("assignment", ()))),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionState:
    """`partition_epoch`: None where it was not told (`metadata`)."""

    partition: int
    leader: int
    leader_epoch: int
    partition_epoch: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]

    def to_json(self) -> Json:
        version = {} if self.partition_epoch is None else {"partition_epoch": self.partition_epoch}
        return {
            "partition": self.partition,
            "leader": self.leader,
            "leader_epoch": self.leader_epoch,
            **version,
            "replicas": list(self.replicas),
            "isr": list(self.isr),
        }

    @classmethod
    def from_json(cls, value: Json) -> PartitionState:
        return cls(
            partition=value["partition"],
            leader=value["leader"],
            leader_epoch=value["leader_epoch"],
            partition_epoch=value.get("partition_epoch"),
            replicas=tuple(value["replicas"]),
            isr=tuple(value["isr"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicState:
    """What a read showed; a topic that is absent is null in a history."""

    topic_id: str
    partitions: Sequence[PartitionState]

    def to_json(self) -> Json:
        partitions = [each.to_json() for each in self.partitions]
        return {"topic_id": self.topic_id, "partitions": partitions}

    @classmethod
    def from_json(cls, value: Json) -> TopicState:
        partitions = tuple(map(PartitionState.from_json, value["partitions"]))
        return cls(topic_id=value["topic_id"], partitions=partitions)
