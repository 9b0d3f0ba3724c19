"""Snapshots of the image: minimal, and the image again."""

import uuid
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.static.primitive import i8

from nodes.kraft.metadata import image as images
from nodes.kraft.metadata.digest import digest
from nodes.kraft.metadata.image import EMPTY, Image, ImageError, apply, apply_all
from nodes.kraft.metadata.indexes import indexed
from nodes.kraft.metadata.records import RecordError, decode_record, encode_record
from nodes.kraft.metadata.snapshot import entities, image_of, records_of
from nodes.kraft.wire.heartbeats import BrokerState
from nodes.kraft.wire.records import (
    AccessControlRecord,
    BrokerRecord,
    ConfigRecord,
    EndPoint,
    FeatureLevelRecord,
    FenceBrokerRecord,
    IsrChangeRecord,
    NoOpRecord,
    PartitionRecord,
    ProducerIdsRecord,
    ReassignmentRecord,
    RemoveAccessControlRecord,
    RemoveTopicRecord,
    RequestRecord,
    TopicRecord,
    UnfenceBrokerRecord,
)
from tests.cases import cases

BROKERS = (4, 5, 6)
NAMES = ("a", "b.c", "d_e", "f")
IDS = tuple(uuid.UUID(int=number) for number in (7, 2**127, 9, 10))


class World:
    """Makes records that mostly fit the image as it is; those that do not are left out."""

    def __init__(self, data):
        self.draw = data.draw
        self.image = EMPTY
        self.offset = 0
        self.history: list[Image] = [EMPTY]
        self.log: list[bytes] = []

    def add(self, record) -> None:
        try:
            self.image = apply(self.image, record, self.offset)
        except ImageError:
            return
        self.log.append(encode_record(record))
        self.history.append(self.image)
        self.offset += 1

    def step(self) -> None:
        kind = self.draw(st.sampled_from(sorted(self.KINDS)))
        for record in self.KINDS[kind](self):
            self.add(record)

    def pick(self, *values):
        return self.draw(st.sampled_from(values))

    def broker(self):
        yield BrokerRecord(
            broker_id=self.pick(*BROKERS),
            broker_epoch=self.offset,
            end_points=(
                EndPoint(name="A", host="h", port=self.pick(1, 65535), security_protocol=0),
            ),
            rack=self.pick(None, "r"),
            incarnation_id=self.pick(*IDS),
        )

    def fencing(self):
        broker_id = self.pick(*BROKERS)
        if broker := self.image.brokers.get(broker_id):
            kind = UnfenceBrokerRecord if broker.fenced else FenceBrokerRecord
            yield kind(broker_id=broker_id, broker_epoch=broker.epoch)

    def topic(self):
        number = self.draw(st.integers(0, 3))
        yield TopicRecord(
            name=NAMES[number], topic_id=self.pick(IDS[number]), deleting=self.pick(False, True)
        )

    def removal(self):
        yield RemoveTopicRecord(topic_id=self.pick(*IDS))

    def partition(self):
        topic_id = self.pick(*IDS)
        if topic := self.image.topics.get(topic_id):
            isr = tuple(self.draw(st.permutations(BROKERS)))[: self.pick(1, 2, 3)]
            yield PartitionRecord(
                partition_id=topic.partitions,
                topic_id=topic_id,
                replicas=BROKERS,
                isr=isr,
                leader=self.pick(isr[0], -1),
                leader_epoch=0,
                adding_replicas=self.pick((), (6,)),
            )

    def isr_change(self):
        topic_id = self.pick(*IDS)
        if partition := self.image.partitions.get((topic_id, self.pick(0, 1))):
            leader = self.pick(partition.leader, *BROKERS, -1)
            yield IsrChangeRecord(
                partition_id=0,
                topic_id=topic_id,
                isr=self.pick(BROKERS, BROKERS[:2], (6,)),
                leader=leader,
                leader_epoch=partition.leader_epoch + (leader != partition.leader),
                partition_epoch=partition.partition_epoch + 1,
            )

    def reassignment(self):
        topic_id = self.pick(*IDS)
        if partition := self.image.partitions.get((topic_id, self.pick(0, 1))):
            replicas = tuple(self.draw(st.permutations(BROKERS)))[: self.pick(2, 3)]
            leader = self.pick(partition.leader, *BROKERS)
            gone = not set(partition.replicas) <= set(replicas)
            yield ReassignmentRecord(
                partition_id=0,
                topic_id=topic_id,
                replicas=replicas,
                isr=replicas[: self.pick(1, 2)],
                leader=leader,
                leader_epoch=partition.leader_epoch + (gone or leader != partition.leader),
                partition_epoch=partition.partition_epoch + 1,
                adding_replicas=self.pick((), replicas[:1]),
            )

    def config(self):
        yield ConfigRecord(
            resource_type=self.pick(2, 4),
            resource_name=self.pick(*NAMES),
            name=self.pick("x", "y"),
            value=self.pick("1", "", None),
        )

    def rule(self):
        kind = self.pick(AccessControlRecord, RemoveAccessControlRecord)
        yield kind(
            resource_type=2,
            resource_name=self.pick(None, "*", "a"),
            pattern_type=self.pick(3, 4),
            principal=self.pick("User:a", "User:b"),
            host="*",
            operation=3,
            permission_type=self.pick(2, 3),
        )

    def producer_ids(self):
        block = self.image.next_producer_id + self.pick(0, 1000)
        yield ProducerIdsRecord(broker_id=4, broker_epoch=1, next_producer_id=block)

    def feature(self):
        yield FeatureLevelRecord(
            name=self.pick("metadata.format", "x"), feature_level=self.pick(1, 2)
        )

    def request(self):
        yield RequestRecord(
            request_id=uuid.UUID(int=self.draw(st.integers(1, 50))),
            answer=self.pick(b"", b"answer"),
        )

    def nothing(self):
        yield NoOpRecord()

    KINDS = {  # noqa: RUF012
        each.__name__: each
        for each in (
            broker,
            fencing,
            topic,
            removal,
            partition,
            isr_change,
            reassignment,
            config,
            rule,
            producer_ids,
            feature,
            request,
            nothing,
        )
    }


@settings(max_examples=cases(150), deadline=None)
@given(data=st.data(), steps=st.integers(0, 60), memory=st.integers(1, 4))
def test_any_snapshot_and_the_log_behind_it_make_the_state(data, steps, memory) -> None:
    """A.1.38, A.1.39, A.1.40, A.4.18: image -> records -> image is the identity, wherever the
    snapshot was taken, and the log that follows leads to the one state."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(images, "REMEMBERED_REQUESTS", memory)
        world = World(data)
        for _ in range(steps):
            world.step()
        at = data.draw(st.integers(0, world.offset))
        restored = image_of(records_of(world.history[at]))
        assert restored == world.history[at]
        assert digest(restored) == digest(world.history[at])
        for offset in range(at, world.offset):
            restored = apply(restored, decode_record(world.log[offset]), offset)
        assert restored == world.image
        assert digest(restored) == digest(world.image)
        behind = map(decode_record, world.log[at:])
        assert apply_all(world.history[at], behind, at) == world.image
        assert indexed(world.image) == world.image


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_equal_images_give_equal_bytes(data) -> None:
    """D.16: no two snapshots with one id differ."""
    world = World(data)
    for _ in range(30):
        world.step()
    written = list(records_of(world.image))
    assert written == list(records_of(image_of(written)))


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_no_two_records_are_of_one_entity(data) -> None:
    """A.1.38: each entity of the image has one record, and no record is of anything else."""
    world = World(data)
    for _ in range(40):
        world.step()
    image = world.image
    keys = [_key(record) for record in entities(image)]
    assert len(set(keys)) == len(keys)
    assert len(keys) == (
        len(image.brokers)
        + len(image.topics)
        + len(image.partitions)
        + sum(map(len, image.configs.values()))
        + len(image.access_rules)
        + len(image.requests)
        + len(image.features)
        + bool(image.next_producer_id)
    )


def _key(record):
    match record:
        case BrokerRecord():
            return "broker", record.broker_id
        case TopicRecord():
            return "topic", record.topic_id
        case PartitionRecord():
            return "partition", record.topic_id, record.partition_id
        case ConfigRecord():
            return "config", record.resource_type, record.resource_name, record.name
        case AccessControlRecord():
            return record
        case RequestRecord():
            return "request", record.request_id
        case FeatureLevelRecord():
            return "feature", record.name
        case ProducerIdsRecord():
            return "producer ids"
    raise AssertionError(record)


def test_each_state_of_a_broker_is_carried() -> None:
    image, offset = EMPTY, 10
    register = BrokerRecord(broker_id=4, broker_epoch=10, end_points=(), rack=None)
    unfence = UnfenceBrokerRecord(broker_id=4, broker_epoch=10)
    fence = FenceBrokerRecord(broker_id=4, broker_epoch=10)
    for record, state in (
        (register, BrokerState.INITIAL),
        (unfence, BrokerState.ACTIVE),
        (fence, BrokerState.FENCED),
    ):
        image = apply(image, record, offset)
        (written,) = entities(image)
        assert BrokerState(written.state) == state
        assert image_of(records_of(image)).brokers[4].state == state
        offset += 1


def test_a_registration_in_the_log_has_the_drafts_fields_alone() -> None:
    """A.1.86: the state is tagged, and left out where it is the state of a new broker."""
    record = BrokerRecord(broker_id=4, broker_epoch=10, end_points=(), rack=None)
    body = encode_record(record)[2:]
    assert body == bytes([0, 0, 0, 4]) + (10).to_bytes(8, "big") + bytes([1, 0, 0])


@pytest.mark.parametrize(
    "records",
    [
        [TopicRecord(name="a", topic_id=IDS[0], deleting=False)] * 2,
        [
            TopicRecord(name="a", topic_id=IDS[0], deleting=False),
            TopicRecord(name="a", topic_id=IDS[1], deleting=False),
        ],
        [PartitionRecord(topic_id=IDS[0], partition_id=0, replicas=(4,), isr=(4,))],
        [
            TopicRecord(name="a", topic_id=IDS[0], deleting=False),
            PartitionRecord(topic_id=IDS[0], partition_id=1, replicas=(4,), isr=(4,)),
        ],
        [
            TopicRecord(name="a", topic_id=IDS[0], deleting=False),
            PartitionRecord(topic_id=IDS[0], partition_id=0, replicas=(4,), isr=(5,)),
        ],
        [FenceBrokerRecord(broker_id=4, broker_epoch=1)],
        [NoOpRecord()],
        [ConfigRecord(resource_type=4, resource_name="1", name="x", value=None)],
        [
            BrokerRecord(
                broker_id=4, broker_epoch=1, end_points=(), rack=None, state=i8(BrokerState.UNKNOWN)
            )
        ],
        [ProducerIdsRecord(broker_id=-1, broker_epoch=-1, next_producer_id=1)] * 2,
        [RequestRecord(request_id=IDS[0], answer=b"")] * 2,
        [RequestRecord(request_id=each, answer=b"", number=5) for each in IDS[:2]],
    ],
)
def test_records_that_describe_no_state_are_refused(records) -> None:
    with pytest.raises(ImageError):
        image_of(map(encode_record, records))


def test_a_record_of_a_version_to_come_is_refused() -> None:
    """A.1.35: a reader that meets an unsupported version does not guess."""
    with pytest.raises(RecordError, match="TopicRecord version 9"):
        image_of([bytes([1, 9]) + b"\0" * 20])


def test_a_record_of_the_log_carries_no_state_of_a_snapshot() -> None:
    register = BrokerRecord(broker_id=4, broker_epoch=1, end_points=(), rack=None)
    with pytest.raises(ImageError):
        apply(EMPTY, replace(register, state=i8(BrokerState.ACTIVE)), 1)
    with pytest.raises(ImageError):
        apply(EMPTY, RequestRecord(request_id=IDS[0], answer=b"", number=5), 1)
