"""An independent, in-memory controller: it answers the operations that workloads invoke.

Small on purpose, and written from the protocol, not from the node. `ignore` makes it blind to
one of the fences ("broker_epoch", "leader_epoch", "partition_epoch", "isr_epochs", or "members"
that are out of service); `lose` is the share of operations whose answer is lost, half of them after
they took effect. `spelt`: its own names of what it refuses for, which are told to workloads by what
they assert alone.
"""

import random
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any

from framework.history.event import Event
from framework.plugins.outcomes import ABSENT, PRESENT, STALE

LEASE_MS = 5000


ASSERTS = {
    "TOPIC_ALREADY_EXISTS": PRESENT,
    "UNKNOWN_TOPIC_OR_PARTITION": ABSENT,
    "STALE_BROKER_EPOCH": STALE,
}


class Refused(Exception):
    pass


@dataclass
class Registered:
    epoch: int
    incarnation: str
    state: str
    lease_end_ms: float


@dataclass
class Partition:
    replicas: list[int]
    isr: list[int]
    leader: int
    leader_epoch: int = 0
    version: int = 0


@dataclass
class Topic:
    topic_id: str
    partitions: list[Partition] = field(default_factory=list)


class ReferenceController:
    """Callable as the completion function of `framework.generators.simulate`."""

    def __init__(
        self,
        seed: int = 0,
        *,
        ignore: Collection[str] = (),
        lose: float = 0.0,
        spelt: Callable[[str], str] = str,
    ) -> None:
        self.rng = random.Random(seed)
        self.ignore = ignore
        self.lose = lose
        self.spelt = spelt
        self.offset = 0
        self.brokers: dict[int, Registered] = {}
        self.topics: dict[str, Topic] = {}
        self.now_ms = 0.0
        self.fenced = 0

    def __call__(self, op: Event, n: int) -> tuple[int, Event]:
        assert op.time is not None
        latency_ns = self.rng.randrange(1_000_000, 120_000_000)
        self.now_ms = op.time / 1e6
        lost = self.rng.random() < self.lose
        if lost and self.rng.random() < 0.5:
            return 3_000_000_000, self._lost(op)
        self._expire()
        try:
            value, ext = getattr(self, op.f.replace("-", "_"))(op)
            done = replace(op, type="ok", value=value, ext=ext)
        except Refused as refused:
            code = str(refused)
            ext = {"asserts": ASSERTS[code]} if code in ASSERTS else None
            done = replace(op, type="fail", value=None, error=(self.spelt(code), ""), ext=ext)
        return (3_000_000_000, self._lost(op)) if lost else (latency_ns, done)

    def _lost(self, op: Event) -> Event:
        return replace(op, type="info", value=None, error=("CLIENT_TIMED_OUT", ""))

    def _next(self) -> int:
        self.offset += 1
        return self.offset

    # --- brokers

    def _expire(self) -> None:
        for broker_id, broker in self.brokers.items():
            if broker.state == "active" and broker.lease_end_ms < self.now_ms:
                self.fence(broker_id)

    def fence(self, broker_id: int) -> None:
        self.fenced += 1
        self._next()
        self.brokers[broker_id].state = "fenced"
        for topic in self.topics.values():
            for each in topic.partitions:
                if broker_id in each.isr:
                    self._leave(each, broker_id)

    def _leave(self, partition: Partition, broker_id: int) -> None:
        if len(partition.isr) > 1:
            partition.isr = [each for each in partition.isr if each != broker_id]
        if partition.leader == broker_id:
            left = [each for each in partition.isr if self._active(each)]
            partition.leader = left[0] if left else -1
            partition.leader_epoch += 1
        partition.version += 1

    def _return(self) -> None:
        for topic in self.topics.values():
            for each in topic.partitions:
                left = [member for member in each.isr if self._active(member)]
                if each.leader == -1 and left:
                    each.leader = left[0]
                    each.leader_epoch += 1
                    each.version += 1

    def _active(self, broker_id: int) -> bool:
        return broker_id in self.brokers and self.brokers[broker_id].state == "active"

    def _current(self, broker_id: int, epoch: int) -> bool:
        if broker_id not in self.brokers:
            return False
        return "broker_epoch" in self.ignore or self.brokers[broker_id].epoch == epoch

    def heartbeat(self, op: Event) -> tuple[Any, None]:
        asked = op.value
        broker_id = asked["broker_id"]
        broker = self.brokers.get(broker_id)
        if asked["broker_epoch"] == -1:
            if broker is not None and broker.incarnation == asked["incarnation"]:
                return self._grant(broker, asked)
            if asked["previous_epoch"] != -1 and broker is not None and broker.state == "active":
                raise Refused("STALE_BROKER_EPOCH")
            if broker is not None and broker.state == "active":
                self.fence(broker_id)
            broker = Registered(self._next(), asked["incarnation"], "starting", 0)
            self.brokers[broker_id] = broker
            return self._grant(broker, asked)
        if not self._current(broker_id, asked["broker_epoch"]):
            raise Refused("STALE_BROKER_EPOCH")
        assert broker is not None
        if asked["target"] == "leaving":
            self.fence(broker_id)
            broker.state = "leaving"
        elif asked["offset"] >= broker.epoch and broker.state != "active":
            if broker.state == "fenced":
                broker.epoch = self._next()
            broker.state = "active"
            self._return()
        return self._grant(broker, asked)

    def _grant(self, broker: Registered, asked: dict[str, Any]) -> tuple[Any, None]:
        broker.lease_end_ms = self.now_ms + LEASE_MS
        return {
            "broker_epoch": broker.epoch,
            "next_state": broker.state,
            "lease_end_ms": asked["lease_start_ms"] + LEASE_MS,
        }, None

    # --- topics

    def create(self, op: Event) -> tuple[Any, None]:
        if op.key in self.topics:
            raise Refused("TOPIC_ALREADY_EXISTS")
        assignment = op.value.get("assignment") or [[4, 5, 6]] * op.value.get("partitions", 1)
        topic = Topic(str(uuid.UUID(int=self.rng.getrandbits(128))))
        for replicas in assignment:
            isr = [each for each in replicas if self._active(each) or each < 100]
            if not isr:
                raise Refused("INVALID_REPLICA_ASSIGNMENT")
            topic.partitions.append(Partition(list(replicas), isr, isr[0]))
        self.topics[op.key] = topic
        return {"topic_id": topic.topic_id}, None

    def delete(self, op: Event) -> tuple[Any, None]:
        if op.key not in self.topics:
            raise Refused("UNKNOWN_TOPIC_OR_PARTITION")
        return {"topic_id": self.topics.pop(op.key).topic_id}, None

    def describe(self, op: Event) -> tuple[Any, Any]:
        ext = {"epoch": 1, "offset": self.offset}
        topic = self.topics.get(op.key)
        if topic is None:
            return None, ext
        partitions = [
            {
                "partition": number,
                "leader": each.leader,
                "leader_epoch": each.leader_epoch,
                "partition_epoch": each.version,
                "replicas": each.replicas,
                "isr": each.isr,
            }
            for number, each in enumerate(topic.partitions)
        ]
        return {"topic_id": topic.topic_id, "partitions": partitions}, ext

    def follow(self, op: Event) -> tuple[Any, Any]:
        return self.describe(op)

    def metadata(self, op: Event) -> tuple[Any, None]:
        return self.describe(op)[0], None

    def alter_isr(self, op: Event) -> tuple[Any, None]:
        asked = op.value
        if not self._current(asked["broker_id"], asked["broker_epoch"]):
            raise Refused("STALE_BROKER_EPOCH")
        topic = next((t for t in self.topics.values() if t.topic_id == asked["topic_id"]), None)
        if topic is None:
            raise Refused("UNKNOWN_TOPIC_ID")
        partition = topic.partitions[asked["partition"]]
        version, leader_epoch = asked["partition_epoch"], asked["leader_epoch"]
        if version > partition.version or leader_epoch > partition.leader_epoch:
            raise Refused("NOT_CONTROLLER")
        if leader_epoch < partition.leader_epoch and "leader_epoch" not in self.ignore:
            raise Refused("FENCED_LEADER_EPOCH")
        if asked["broker_id"] != partition.leader:
            raise Refused("INVALID_REQUEST")
        if version < partition.version and "partition_epoch" not in self.ignore:
            raise Refused("INVALID_UPDATE_VERSION")
        if partition.leader not in asked["isr"] or not set(asked["isr"]) <= set(partition.replicas):
            raise Refused("INVALID_REQUEST")
        for member, epoch in zip(asked["isr"], asked["isr_epochs"], strict=True):
            if not self._active(member) and "members" not in self.ignore:
                raise Refused("INELIGIBLE_REPLICA")
            known = epoch in (-1, self.brokers[member].epoch)
            if not known and "isr_epochs" not in self.ignore:
                raise Refused("INELIGIBLE_REPLICA")
        self._next()
        partition.isr = list(asked["isr"])
        partition.version += 1
        return {
            "leader": partition.leader,
            "leader_epoch": partition.leader_epoch,
            "partition_epoch": partition.version,
            "isr": partition.isr,
        }, None
