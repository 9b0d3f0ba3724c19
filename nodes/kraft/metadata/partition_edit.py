"""New topics and changes of partitions, many at a time: the maps of an image, open for writing.

A broker's departure changes ten thousands of partitions in one batch of records. Maps that are
opened once for all of them cost a fraction of maps that are replaced by each. The image that
the maps come from stays as it is, whatever happens here.
"""

import uuid
from typing import TypedDict, Unpack

from immutables import Map, MapMutation

from nodes.kraft.ids import BrokerId
from nodes.kraft.metadata import checksums
from nodes.kraft.metadata.entities import (
    NO_LEADER,
    DuplicateEntity,
    InvalidRecord,
    Partition,
    PartitionKey,
    StaleRecord,
    Topic,
    UnknownEntity,
    check_members,
    metric_name,
    partition_of,
)
from nodes.kraft.wire.records import (
    IsrChangeRecord,
    PartitionRecord,
    ReassignmentRecord,
    TopicRecord,
)


class Fields(TypedDict):
    """Those of an image that edits change."""

    topics: Map[uuid.UUID, Topic]
    topic_ids: Map[str, uuid.UUID]
    metric_names: Map[str, str]
    partitions: Map[PartitionKey, Partition]
    in_sync: Map[BrokerId, Map[PartitionKey, None]]
    led: Map[BrokerId, int]
    leaderless: Map[PartitionKey, None]
    reassigning: Map[PartitionKey, None]
    checksum: int


class PartitionEdit:
    """Partitions and what follows from them: `Image`'s fields of the same names. Records that do
    not fit raise `ImageError`; the edit is then good for nothing more."""

    def __init__(self, **before: Unpack[Fields]) -> None:
        self._topics = before["topics"].mutate()
        self._topic_ids = before["topic_ids"].mutate()
        self._metric_names = before["metric_names"].mutate()
        self._partitions = before["partitions"].mutate()
        self._in_sync = before["in_sync"]
        self._members: dict[BrokerId, MapMutation[PartitionKey, None]] = {}
        self._led = before["led"]
        self._counts: dict[BrokerId, int] = {}
        self._leaderless = before["leaderless"].mutate()
        self._reassigning = before["reassigning"].mutate()
        self._checksum = before["checksum"]

    def fields(self) -> Fields:
        """The fields of the image after all changes. Ends the edit."""
        in_sync, led = self._in_sync, self._led
        for broker_id, open_members in self._members.items():
            members = open_members.finish()
            if members:
                in_sync = in_sync.set(broker_id, members)
            elif broker_id in in_sync:
                in_sync = in_sync.delete(broker_id)
        for broker_id, count in self._counts.items():
            if count:
                led = led.set(broker_id, count)
            elif broker_id in led:
                led = led.delete(broker_id)
        return {
            "topics": self._topics.finish(),
            "topic_ids": self._topic_ids.finish(),
            "metric_names": self._metric_names.finish(),
            "partitions": self._partitions.finish(),
            "in_sync": in_sync,
            "led": led,
            "leaderless": self._leaderless.finish(),
            "reassigning": self._reassigning.finish(),
            "checksum": self._checksum % checksums.MODULUS,
        }

    # --- changes --------------------------------------------------------------------------

    def add_topic(self, record: TopicRecord) -> None:
        """A topic, as yet without partitions."""
        if record.topic_id is None or record.topic_id.int == 0:
            raise InvalidRecord(f"topic {record.name} has no id")
        if record.name in self._topic_ids:
            raise DuplicateEntity(f"topic name {record.name}")
        if record.topic_id in self._topics:
            raise DuplicateEntity(f"topic id {record.topic_id}")
        topic = Topic(record.name, record.topic_id)
        self._topics[topic.topic_id] = topic
        self._topic_ids[topic.name] = topic.topic_id
        self._checksum += checksums.of_topic(topic)
        same = metric_name(topic.name)
        if "_" in same:
            self._metric_names[same] = topic.name

    def add(self, record: PartitionRecord) -> None:
        """The next partition of its topic."""
        topic = self._topic(record.topic_id)
        number = record.partition_id
        if 0 <= number < topic.partitions:
            raise DuplicateEntity(_name(topic, number))
        if number != topic.partitions:
            raise InvalidRecord(f"{_name(topic, number)}: the next one is {topic.partitions}")
        partition = partition_of(record, topic.name)
        grown = Topic(topic.name, topic.topic_id, number + 1, topic.deleting)
        self._topics[topic.topic_id] = grown
        self._put((topic.topic_id, number), None, partition)

    def change(self, record: IsrChangeRecord) -> None:
        """Another ISR or leader of a partition."""
        topic, key, before = self._before(record)
        _check_leader_epoch(topic, before, record, moved=False)
        after = Partition(
            before.replicas,
            tuple(record.isr),
            record.leader,
            record.leader_epoch,
            record.partition_epoch,
            before.removing_replicas,
            before.adding_replicas,
        )
        check_members(topic.name, after)
        self._put(key, before, after)

    def reassign(self, record: ReassignmentRecord) -> None:
        """Other replicas of a partition. Where one is taken away the leader epoch rises, whoever
        leads: if it comes again, no fetch of its former life counts."""
        topic, key, before = self._before(record)
        gone = not set(before.replicas) <= set(record.replicas)
        _check_leader_epoch(topic, before, record, moved=gone)
        after = Partition(
            tuple(record.replicas),
            tuple(record.isr),
            record.leader,
            record.leader_epoch,
            record.partition_epoch,
            tuple(record.removing_replicas),
            tuple(record.adding_replicas),
        )
        check_members(topic.name, after)
        if not {*after.removing_replicas, *after.adding_replicas} <= set(after.replicas):
            raise InvalidRecord(f"{_name(topic, key[1])}: moves what is no replica: {after}")
        self._put(key, before, after)

    def _before(
        self, record: IsrChangeRecord | ReassignmentRecord
    ) -> tuple[Topic, PartitionKey, Partition]:
        """The topic, the key and the state of the partition that the record is the next of."""
        topic = self._topic(record.topic_id)
        key = (topic.topic_id, record.partition_id)
        before = self._partitions.get(key)
        if before is None:
            raise UnknownEntity(_name(topic, key[1]))
        if record.partition_epoch != before.partition_epoch + 1:
            raise StaleRecord(
                f"{_name(topic, key[1])}: partition epoch {record.partition_epoch} after "
                f"{before.partition_epoch}"
            )
        return topic, key, before

    def remove_all(self, topic: Topic) -> None:
        """All partitions of a topic; the topic itself is the caller's."""
        for number in topic.indexes():
            key = (topic.topic_id, number)
            self._put(key, self._partitions[key], None)

    def _topic(self, topic_id: uuid.UUID | None) -> Topic:
        topic = None if topic_id is None else self._topics.get(topic_id)
        if topic is None:
            raise UnknownEntity(f"topic id {topic_id}")
        return topic

    # --- one partition, and the indexes ---------------------------------------------------

    def _put(self, key: PartitionKey, before: Partition | None, after: Partition | None) -> None:
        if after is None:
            del self._partitions[key]
        else:
            self._partitions[key] = after
        self._checksum += checksums.of_partition(key, after) - checksums.of_partition(key, before)
        self._put_members(key, before.isr if before else (), after.isr if after else ())
        was = before.leader if before else NO_LEADER
        leader = after.leader if after else NO_LEADER
        if was != leader:
            self._count(was, -1)
            self._count(leader, 1)
        if after is not None and leader == NO_LEADER:
            self._leaderless[key] = None
        elif before is not None and was == NO_LEADER:
            del self._leaderless[key]
        if after is not None and after.moves:
            self._reassigning[key] = None
        elif before is not None and before.moves:
            del self._reassigning[key]

    def _put_members(
        self, key: PartitionKey, old: tuple[BrokerId, ...], new: tuple[BrokerId, ...]
    ) -> None:
        if old == new:
            return
        for broker_id in old:
            if broker_id not in new:
                del self._members_of(broker_id)[key]
        for broker_id in new:
            if broker_id not in old:
                self._members_of(broker_id)[key] = None

    def _members_of(self, broker_id: BrokerId) -> MapMutation[PartitionKey, None]:
        members = self._members.get(broker_id)
        if members is None:
            before: Map[PartitionKey, None] = self._in_sync.get(broker_id, Map())
            members = self._members[broker_id] = before.mutate()
        return members

    def _count(self, broker_id: BrokerId, by: int) -> None:
        if broker_id != NO_LEADER:
            count = self._counts.get(broker_id)
            self._counts[broker_id] = by + (self._led.get(broker_id, 0) if count is None else count)


def _check_leader_epoch(
    topic: Topic, before: Partition, record: IsrChangeRecord | ReassignmentRecord, *, moved: bool
) -> None:
    """It rises by one with a new leader, or where replicas are `moved` away; else not."""
    if record.leader_epoch != before.leader_epoch + (moved or record.leader != before.leader):
        raise StaleRecord(
            f"{_name(topic, record.partition_id)}: leader {before.leader} of epoch "
            f"{before.leader_epoch} is followed by {record.leader} of epoch {record.leader_epoch}"
        )


def _name(topic: Topic, number: int) -> str:
    return f"partition {topic.name}/{number}"
