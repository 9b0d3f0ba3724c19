"""What a broker asks of controllers: `heartbeat` (the key is `broker-<id>`) and `alter-isr`
(`<topic>/<partition>`).

The value is the whole request: the same value is the same request, which makes a replay one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from framework.history.event import Json

NO_EPOCH: Final = -1


def broker_key(broker_id: int) -> str:
    """The key of operations on a broker."""
    return f"broker-{broker_id}"


def broker_of(key: str) -> int:
    """The inverse of `broker_key`."""
    return int(key.removeprefix("broker-"))


@dataclass(frozen=True, slots=True)
class Staleness:
    """Why a request must be refused. `why`: how the incarnation that sends it ended (replaced,
    killed, paused), or replay. `numbers`: those that are over."""

    why: str
    numbers: tuple[str, ...]

    @staticmethod
    def to_json(staleness: Staleness | None) -> dict[str, Json]:
        if staleness is None:
            return {"zombie": None}
        return {"zombie": staleness.why, "stale": list(staleness.numbers)}

    @staticmethod
    def from_json(value: Json) -> Staleness | None:
        if value["zombie"] is None:
            return None
        return Staleness(value["zombie"], tuple(value["stale"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """A broker registers (epoch -1) or renews its lease. `previous_epoch`: the one that it lost,
    where it asks anew. `target`: the state that it wants. `lease_start_ms` is on the clock of
    the run, which is these brokers' clock. `stale`: None for honest requests."""

    broker_id: int
    broker_epoch: int
    previous_epoch: int
    target: str
    incarnation: str
    offset: int
    lease_start_ms: int
    stale: Staleness | None = None

    def to_json(self) -> Json:
        return {
            "broker_id": self.broker_id,
            "broker_epoch": self.broker_epoch,
            "previous_epoch": self.previous_epoch,
            "target": self.target,
            "incarnation": self.incarnation,
            "offset": self.offset,
            "lease_start_ms": self.lease_start_ms,
            **Staleness.to_json(self.stale),
        }

    @classmethod
    def from_json(cls, value: Json) -> Heartbeat:
        return cls(
            broker_id=value["broker_id"],
            broker_epoch=value["broker_epoch"],
            previous_epoch=value["previous_epoch"],
            target=value["target"],
            incarnation=value["incarnation"],
            offset=value["offset"],
            lease_start_ms=value["lease_start_ms"],
            stale=Staleness.from_json(value),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A heartbeat's result; `lease_end_ms` is on the same clock as its start."""

    broker_epoch: int
    next_state: str
    lease_end_ms: int

    def to_json(self) -> Json:
        return {
            "broker_epoch": self.broker_epoch,
            "next_state": self.next_state,
            "lease_end_ms": self.lease_end_ms,
        }

    @classmethod
    def from_json(cls, value: Json) -> Lease:
        return cls(
            broker_epoch=value["broker_epoch"],
            next_state=value["next_state"],
            lease_end_ms=value["lease_end_ms"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterIsr:
    """A leader changes the in-sync replicas of its partition. `isr_epochs`: the broker epoch of
    each member of `isr`, in order; -1 where it is not known. `stale`: None for honest ones."""

    topic_id: str
    partition: int
    broker_id: int
    broker_epoch: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    isr_epochs: tuple[int, ...]
    stale: Staleness | None = None

    def to_json(self) -> Json:
        return {
            "topic_id": self.topic_id,
            "partition": self.partition,
            "broker_id": self.broker_id,
            "broker_epoch": self.broker_epoch,
            "leader_epoch": self.leader_epoch,
            "partition_epoch": self.partition_epoch,
            "isr": list(self.isr),
            "isr_epochs": list(self.isr_epochs),
            **Staleness.to_json(self.stale),
        }

    @classmethod
    def from_json(cls, value: Json) -> AlterIsr:
        return cls(
            topic_id=value["topic_id"],
            partition=value["partition"],
            broker_id=value["broker_id"],
            broker_epoch=value["broker_epoch"],
            leader_epoch=value["leader_epoch"],
            partition_epoch=value["partition_epoch"],
            isr=tuple(value["isr"]),
            isr_epochs=tuple(value["isr_epochs"]),
            stale=Staleness.from_json(value),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrState:
    """The partition after an ISR change."""

    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]

    def to_json(self) -> Json:
        return {
            "leader": self.leader,
            "leader_epoch": self.leader_epoch,
            "partition_epoch": self.partition_epoch,
            "isr": list(self.isr),
        }

    @classmethod
    def from_json(cls, value: Json) -> IsrState:
        return cls(
            leader=value["leader"],
            leader_epoch=value["leader_epoch"],
            partition_epoch=value["partition_epoch"],
            isr=tuple(value["isr"]),
        )
