"""Partitions' data: `produce`, `fetch`, `list-offsets`, `seek`. The key is
`<topic>/<partition>`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from framework.history.event import Json


def partition_key(topic: str, number: int) -> str:
    """The key of operations on a partition."""
    return f"{topic}/{number}"


def partition_of(key: str) -> tuple[str, int]:
    """(topic, partition) of a key."""
    topic, _, number = key.rpartition("/")
    return topic, int(number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Produce:
    """`value` is unique in the run. `acks`: all, 1 or 0. `producer`: None until a process has
    taken the operation."""

    value: int
    acks: str
    idempotent: bool
    producer: str | None = None

    def to_json(self) -> Json:
        return {
            "value": self.value,
            "acks": self.acks,
            "idempotent": self.idempotent,
            **({} if self.producer is None else {"producer": self.producer}),
        }

    @classmethod
    def from_json(cls, value: Json) -> Produce:
        return cls(
            value=value["value"],
            acks=value["acks"],
            idempotent=value["idempotent"],
            producer=value.get("producer"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Produced:
    """What was produced, and where it is."""

    produce: Produce
    offset: int
    topic_id: str | None

    def to_json(self) -> Json:
        return {**self.produce.to_json(), "offset": self.offset, "topic_id": self.topic_id}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """The next records for a consumer, from offset `start` on."""

    consumer: str
    start: int

    def to_json(self) -> Json:
        return {"consumer": self.consumer, "from": self.start}

    @classmethod
    def from_json(cls, value: Json) -> Fetch:
        return cls(consumer=value["consumer"], start=value["from"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """`records`: (offset, value). `position`: where the next fetch goes on. `leader_epoch`: the
    one by which the leader was asked."""

    records: Sequence[tuple[int, int]]
    high_watermark: int
    log_start: int
    position: int
    leader_epoch: int

    def to_json(self) -> Json:
        return {
            "records": [list(record) for record in self.records],
            "high_watermark": self.high_watermark,
            "log_start": self.log_start,
            "position": self.position,
            "leader_epoch": self.leader_epoch,
        }

    @classmethod
    def from_json(cls, value: Json) -> Fetched:
        return cls(
            records=tuple((offset, each) for offset, each in value["records"]),
            high_watermark=value["high_watermark"],
            log_start=value["log_start"],
            position=value["position"],
            leader_epoch=value["leader_epoch"],
        )


@dataclass(frozen=True, slots=True)
class ListOffsets:
    """Where the partition begins (`earliest`) or ends (`latest`)."""

    at: str

    def to_json(self) -> Json:
        return {"at": self.at}

    @classmethod
    def from_json(cls, value: Json) -> ListOffsets:
        return cls(value["at"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Seek:
    """The consumer goes on from offset `to`."""

    consumer: str
    to: int

    def to_json(self) -> Json:
        return {"consumer": self.consumer, "to": self.to}

    @classmethod
    def from_json(cls, value: Json) -> Seek:
        return cls(consumer=value["consumer"], to=value["to"])
