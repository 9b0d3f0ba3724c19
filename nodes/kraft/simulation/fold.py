"""D.19 and D.23: one fold over the committed log, by code that shares nothing with the node's.

Records are checked one by one, and what one batch has to leave in order at its end: batches are
atomic, so nobody sees the states between. `Facts` is what has ever been committed, by which
answers are judged.
"""

import uuid
from dataclasses import dataclass, field
from typing import TypeAlias

from nodes.kraft.simulation.violation import Violation
from nodes.kraft.wire import records as wire

TopicId: TypeAlias = uuid.UUID | None
"""As records have it; that of a topic is never None."""
Key: TypeAlias = tuple[TopicId, int]


@dataclass
class PartitionFold:
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    version: int
    adding: tuple[int, ...] = ()


@dataclass
class BrokerFold:
    epoch: int
    incarnation: uuid.UUID | None
    fenced: bool = True


@dataclass
class Facts:
    """Everything that was ever committed. `versions`: the state of a partition at each of its
    epochs, as (isr, leader, leader epoch)."""

    created: dict[TopicId, str] = field(default_factory=dict)
    removed: set[TopicId] = field(default_factory=set)
    registered: dict[int, tuple[int, uuid.UUID | None]] = field(default_factory=dict)
    unfenced: set[int] = field(default_factory=set)
    versions: dict[tuple[TopicId, int, int], tuple[tuple[int, ...], int, int]] = field(
        default_factory=dict
    )
    partition_leaders: dict[tuple[TopicId, int, int], int] = field(default_factory=dict)
    requests: set[TopicId] = field(default_factory=set)


def entity_key(record: wire.Record) -> tuple[object, ...]:
    """What a snapshot may have one record of."""
    match record:
        case wire.BrokerRecord():
            return "broker", record.broker_id
        case wire.TopicRecord():
            return "topic", record.topic_id
        case wire.PartitionRecord():
            return "partition", record.topic_id, record.partition_id
        case wire.ConfigRecord():
            return "config", record.resource_type, record.resource_name, record.name
        case wire.RequestRecord():
            return "request", record.request_id
        case wire.FeatureLevelRecord():
            return "feature", record.name
        case wire.ProducerIdsRecord():
            return ("producer ids",)
        case wire.AccessControlRecord():
            return "access", record
    raise Violation("snapshot", f"{type(record).__name__} tells of no entity")


class Fold:
    """`add` each committed record in order, and call `end_of_batch` after each batch."""

    def __init__(self) -> None:
        self.facts = Facts()
        self.brokers: dict[int, BrokerFold] = {}
        self.topics: dict[TopicId, str] = {}
        self.names: dict[str, TopicId] = {}
        self.counts: dict[TopicId, int] = {}
        self.partitions: dict[Key, PartitionFold] = {}
        self.deleting: set[TopicId] = set()
        self.newest_epoch = -1
        self.newest_producer_id = -1
        self._touched: set[Key] = set()
        self._joined: list[tuple[Key, int]] = []
        self._fenced: list[int] = []

    def add(self, record: wire.Record, offset: int) -> None:
        match record:
            case wire.BrokerRecord():
                self._register(record, offset)
            case wire.FenceBrokerRecord() | wire.UnfenceBrokerRecord():
                self._set_fenced(record, offset)
            case wire.UnregisterBrokerRecord():
                self._unregister(record, offset)
            case wire.TopicRecord():
                self._topic(record, offset)
            case wire.RemoveTopicRecord():
                self._remove(record, offset)
            case wire.PartitionRecord():
                self._partition(record, offset)
            case wire.IsrChangeRecord() | wire.ReassignmentRecord():
                self._change(record, offset)
            case wire.ConfigRecord() if record.resource_type == 2:
                if record.resource_name not in self.names:
                    raise _bad(offset, f"a configuration of no topic: {record.resource_name}")
            case wire.RequestRecord():
                if record.request_id in self.facts.requests:
                    raise Violation("identity", f"offset {offset}: request {record.request_id}")
                self.facts.requests.add(record.request_id)
            case wire.ProducerIdsRecord():
                if record.next_producer_id <= self.newest_producer_id:
                    raise Violation("monotonic", f"offset {offset}: producer ids go back")
                self.newest_producer_id = int(record.next_producer_id)

    # --- brokers --------------------------------------------------------------------------

    def _register(self, record: wire.BrokerRecord, offset: int) -> None:
        epoch, broker_id = int(record.broker_epoch), int(record.broker_id)
        if epoch in self.facts.registered:
            raise Violation("identity", f"offset {offset}: broker epoch {epoch} is taken")
        if epoch <= self.newest_epoch or epoch > offset:
            raise Violation("monotonic", f"offset {offset}: broker epoch {epoch} does not rise")
        before = self.brokers.get(broker_id)
        if before is not None and not before.fenced:
            raise _bad(offset, f"broker {broker_id} registers while active")
        self.newest_epoch = epoch
        self.facts.registered[epoch] = (broker_id, record.incarnation_id)
        self.brokers[broker_id] = BrokerFold(epoch, record.incarnation_id)

    def _set_fenced(
        self, record: wire.FenceBrokerRecord | wire.UnfenceBrokerRecord, offset: int
    ) -> None:
        broker = self.brokers.get(int(record.broker_id))
        fenced = isinstance(record, wire.FenceBrokerRecord)
        if broker is None or broker.epoch != record.broker_epoch or broker.fenced == fenced:
            raise _bad(offset, f"{type(record).__name__} of {broker} epoch {record.broker_epoch}")
        broker.fenced = fenced
        if fenced:
            self._fenced.append(int(record.broker_id))
        else:
            self.facts.unfenced.add(broker.epoch)

    def _unregister(self, record: wire.UnregisterBrokerRecord, offset: int) -> None:
        broker = self.brokers.pop(int(record.broker_id), None)
        if broker is None or broker.epoch != record.broker_epoch:
            raise _bad(offset, f"{broker} is unregistered as of epoch {record.broker_epoch}")
        self._fenced.append(int(record.broker_id))

    # --- topics ---------------------------------------------------------------------------

    def _topic(self, record: wire.TopicRecord, offset: int) -> None:
        topic_id, name = record.topic_id, record.name
        if record.deleting:
            if self.topics.get(topic_id) != name:
                raise _bad(offset, f"{name} of id {topic_id} is deleted, but there is none")
            self.deleting.add(topic_id)
            return
        if topic_id in self.facts.created:
            raise Violation("identity", f"offset {offset}: topic id {topic_id} is used again")
        if name in self.names:
            raise _bad(offset, f"topic {name} exists already")
        self.facts.created[topic_id] = name
        self.topics[topic_id], self.names[name], self.counts[topic_id] = name, topic_id, 0

    def _remove(self, record: wire.RemoveTopicRecord, offset: int) -> None:
        topic_id = record.topic_id
        if topic_id not in self.deleting:
            raise _bad(offset, f"topic {topic_id} is removed, but was not being deleted")
        self.deleting.discard(topic_id)
        del self.names[self.topics.pop(topic_id)]
        for number in range(self.counts.pop(topic_id)):
            del self.partitions[topic_id, number]
            self._touched.discard((topic_id, number))
        self.facts.removed.add(topic_id)

    # --- partitions -----------------------------------------------------------------------

    def _partition(self, record: wire.PartitionRecord, offset: int) -> None:
        number = self.counts.get(record.topic_id)
        if number is None or number != record.partition_id:
            raise _bad(offset, f"partition {record.partition_id} of {record.topic_id}")
        self.counts[record.topic_id] = number + 1
        partition = PartitionFold(
            tuple(record.replicas), (), -1, int(record.leader_epoch), int(record.partition_epoch)
        )
        self.partitions[record.topic_id, number] = partition
        self._put((record.topic_id, number), partition, record, offset)

    def _change(self, record: wire.IsrChangeRecord | wire.ReassignmentRecord, offset: int) -> None:
        key = (record.topic_id, int(record.partition_id))
        partition = self.partitions.get(key)
        if partition is None:
            raise _bad(offset, f"an ISR of no partition {key}")
        if record.partition_epoch != partition.version + 1:
            raise _bad(offset, f"{key}: version {record.partition_epoch} after {partition.version}")
        gone = isinstance(record, wire.ReassignmentRecord) and not (
            set(partition.replicas) <= set(record.replicas)
        )
        rises = record.leader_epoch - partition.leader_epoch
        if rises != (record.leader != partition.leader or gone):
            raise _bad(offset, f"{key}: leader epoch rises by {rises}: {partition} {record}")
        if isinstance(record, wire.ReassignmentRecord):
            self._move(key, partition, record, offset)
        self._put(key, partition, record, offset)

    def _move(
        self, key: Key, partition: PartitionFold, record: wire.ReassignmentRecord, offset: int
    ) -> None:
        """It begins with those that come, and ends without others. Before that nobody goes but who
        is not to come after all."""
        before, after = set(partition.replicas), set(map(int, record.replicas))
        adding, removing = set(record.adding_replicas), set(record.removing_replicas)
        if adding | removing:
            right = after - before <= adding and removing <= before
            right = right and before - after <= set(partition.adding)
        else:
            right = after <= before
        if not right:
            raise _bad(offset, f"{key}: replicas {sorted(before)} become {record}")
        partition.replicas = tuple(map(int, record.replicas))
        partition.adding = tuple(map(int, record.adding_replicas))

    def _put(
        self,
        key: Key,
        partition: PartitionFold,
        record: wire.PartitionRecord | wire.IsrChangeRecord | wire.ReassignmentRecord,
        offset: int,
    ) -> None:
        isr = tuple(map(int, record.isr))
        if not isr or not set(isr) <= set(partition.replicas):
            raise _bad(offset, f"{key}: ISR {isr} of {partition.replicas}")
        if record.leader != -1 and record.leader not in isr:
            raise _bad(offset, f"{key}: leader {record.leader} is not in ISR {isr}")
        self._joined += [(key, member) for member in isr if member not in partition.isr]
        partition.isr, partition.leader = isr, int(record.leader)
        partition.leader_epoch, partition.version = record.leader_epoch, record.partition_epoch
        self._touched.add(key)
        state = (isr, partition.leader, int(partition.leader_epoch))
        self.facts.versions[(*key, int(partition.version))] = state
        if partition.leader != -1:
            led = (*key, int(partition.leader_epoch))
            if self.facts.partition_leaders.setdefault(led, partition.leader) != partition.leader:
                raise Violation("one-leader", f"offset {offset}: {led} has two leaders")

    # --- batches --------------------------------------------------------------------------

    def end_of_batch(self, end_offset: int) -> None:
        """What holds between operations."""
        if self.deleting:
            raise _bad(end_offset, f"half deleted: {self.deleting}")
        for key in self._touched:
            if self._touched and self.counts[key[0]] == 0:
                raise _bad(end_offset, f"no partitions: {key[0]}")
            self._check(key, end_offset)
        for broker_id in self._fenced:
            if not self._eligible(broker_id):
                self._check_gone(broker_id, end_offset)
        for key, member in self._joined:
            partition = self.partitions.get(key)
            if partition and member in partition.isr and not self._eligible(member):
                raise _bad(end_offset, f"{key}: {member} joined, but may not: {partition}")
        if self._touched or self._fenced or self._joined:
            self._touched, self._fenced, self._joined = set(), [], []

    def _eligible(self, broker_id: int) -> bool:
        broker = self.brokers.get(broker_id)
        return broker is not None and not broker.fenced

    def _check(self, key: Key, offset: int) -> None:
        leader = self.partitions[key].leader
        if leader != -1 and not self._eligible(leader):
            raise _bad(offset, f"{key}: leader {leader} is fenced or not registered")

    def _check_gone(self, broker_id: int, offset: int) -> None:
        """A fenced broker leads nothing, and is in an ISR alone only."""
        for key, partition in self.partitions.items():
            if partition.leader == broker_id or (
                broker_id in partition.isr and len(partition.isr) > 1
            ):
                raise _bad(offset, f"{key}: {broker_id} is fenced: {partition}")


def _bad(offset: int, message: str) -> Violation:
    return Violation("replay", f"offset {offset}: {message}")
