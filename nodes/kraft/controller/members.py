"""What the active controller knows of brokers beyond the log: soft state, gone with its epoch."""

from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

from immutables import Map

from nodes.kraft.ids import BrokerEpoch, BrokerId
from nodes.kraft.metadata.image import Broker, Image

T = TypeVar("T")
Levels: TypeAlias = Map[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Shutdown:
    """A broker asked for controlled shutdown under `epoch`. `offset` is that of the last record
    that moved something off it (KAFKA-14292: not of later ones). `moving`: more is to be moved."""

    epoch: BrokerEpoch
    offset: int
    moving: bool = False


@dataclass(frozen=True, slots=True)
class Members:
    """By broker id. `leases`: the lease's end on our clock, ms. `shutting_down`: its controlled
    shutdown. `reached`: the metadata offset that it told of last. `claims`: the end, on our
    clock, of the claim of a process that waits for another's lease of the id (deferred
    takeover). `lagging`: when it was first seen too far behind, and has been since. `levels`: of
    each feature, the lowest and the highest that it told to support."""

    leases: Map[BrokerId, int] = field(default_factory=Map)
    shutting_down: Map[BrokerId, Shutdown] = field(default_factory=Map)
    reached: Map[BrokerId, int] = field(default_factory=Map)
    claims: Map[BrokerId, int] = field(default_factory=Map)
    lagging: Map[BrokerId, int] = field(default_factory=Map)
    levels: Map[BrokerId, Levels] = field(default_factory=Map)

    def can_lead(self, image: Image, broker_id: BrokerId) -> bool:
        """Whether the broker may lead, join an ISR or be assigned replicas."""
        broker = image.brokers.get(broker_id)
        if broker is None or broker.fenced:
            return False
        shutdown = self.shutting_down.get(broker_id)
        return shutdown is None or shutdown.epoch != broker.epoch

    def with_lease(self, broker_id: BrokerId, end_ms: int) -> "Members":
        return replace(self, leases=self.leases.set(broker_id, end_ms))

    def without_lease(self, broker_id: BrokerId) -> "Members":
        if broker_id not in self.leases:
            return self
        return replace(self, leases=self.leases.delete(broker_id))

    def moving(self) -> list[BrokerId]:
        """The brokers off which more is to be moved."""
        return [ident for ident, shutdown in self.shutting_down.items() if shutdown.moving]

    def with_shutdown(self, broker: Broker, offset: int, *, moving: bool = False) -> "Members":
        shutdown = Shutdown(broker.epoch, offset, moving)
        return replace(self, shutting_down=self.shutting_down.set(broker.broker_id, shutdown))

    def without_shutdown(self, broker_id: BrokerId) -> "Members":
        if broker_id not in self.shutting_down:
            return self
        return replace(self, shutting_down=self.shutting_down.delete(broker_id))

    def with_claim(self, broker_id: BrokerId, end_ms: int) -> "Members":
        return replace(self, claims=self.claims.set(broker_id, end_ms))

    def without_claim(self, broker_id: BrokerId) -> "Members":
        if broker_id not in self.claims:
            return self
        return replace(self, claims=self.claims.delete(broker_id))

    def without(self, broker_id: BrokerId) -> "Members":
        """Nothing is known of a broker that is registered no more."""
        return Members(
            leases=_without(self.leases, broker_id),
            shutting_down=_without(self.shutting_down, broker_id),
            reached=_without(self.reached, broker_id),
            claims=_without(self.claims, broker_id),
            lagging=_without(self.lagging, broker_id),
            levels=_without(self.levels, broker_id),
        )

    def with_levels(self, broker_id: BrokerId, levels: Levels) -> "Members":
        if self.levels.get(broker_id) == levels:
            return self
        return replace(self, levels=self.levels.set(broker_id, levels))

    def in_step(self, broker_id: BrokerId) -> "Members":
        if broker_id not in self.lagging:
            return self
        return replace(self, lagging=self.lagging.delete(broker_id))

    def have_reached(self, image: Image, offset: int, but: BrokerId) -> bool:
        """Whether every active broker but that one told of metadata up to `offset`."""
        return all(
            broker.fenced or broker_id == but or self.reached.get(broker_id, -1) >= offset
            for broker_id, broker in image.brokers.items()
        )


def _without(known: Map[BrokerId, T], broker_id: BrokerId) -> Map[BrokerId, T]:
    return known.delete(broker_id) if broker_id in known else known


@dataclass(frozen=True, slots=True)
class Committed:
    """The committed state, for what must not rest on uncommitted records."""

    image: Image
    end_offset: int
