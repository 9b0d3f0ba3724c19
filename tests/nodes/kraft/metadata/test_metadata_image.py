"""The metadata image: strict application, indexes, digest."""

import hashlib
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.kraft.metadata import image as images
from nodes.kraft.metadata.digest import digest
from nodes.kraft.metadata.image import (
    EMPTY,
    DuplicateEntity,
    ImageError,
    InvalidRecord,
    StaleRecord,
    UnknownEntity,
    apply,
)
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
    RemoveTopicRecord,
    RequestRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)

ID = uuid.UUID(int=7)
OTHER = uuid.UUID(int=8)


def broker(epoch, broker_id=4):
    return BrokerRecord(broker_id=broker_id, broker_epoch=epoch, end_points=(), rack=None)


def topic(name="t", topic_id=ID, deleting=False):
    return TopicRecord(name=name, topic_id=topic_id, deleting=deleting)


def partition(number=0, replicas=(4, 5), isr=(4, 5), leader=4, topic_id=ID):
    return PartitionRecord(
        partition_id=number,
        topic_id=topic_id,
        replicas=replicas,
        isr=isr,
        leader=leader,
        leader_epoch=0,
    )


def isr_change(isr=(4,), leader=4, leader_epoch=0, partition_epoch=1, number=0, topic_id=ID):
    return IsrChangeRecord(
        partition_id=number,
        topic_id=topic_id,
        isr=isr,
        leader=leader,
        leader_epoch=leader_epoch,
        partition_epoch=partition_epoch,
    )


def reassigned(replicas=(5, 6), isr=(5,), leader=5, leader_epoch=1, partition_epoch=1, **more):
    return ReassignmentRecord(
        partition_id=0,
        topic_id=ID,
        replicas=replicas,
        isr=isr,
        leader=leader,
        leader_epoch=leader_epoch,
        partition_epoch=partition_epoch,
        **more,
    )


def unfence(epoch, broker_id=4):
    return UnfenceBrokerRecord(broker_id=broker_id, broker_epoch=epoch)


def unregister(epoch, broker_id=4):
    return UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=epoch)


def fence(epoch, broker_id=4):
    return FenceBrokerRecord(broker_id=broker_id, broker_epoch=epoch)


def of(*records, image=EMPTY, base=0):
    for offset, record in enumerate(records, base):
        image = apply(image, record, offset)
    return image


def test_broker_states_follow_the_records():
    """A.1.66-68: INITIAL until unfenced, then ACTIVE, FENCED; a new epoch begins as INITIAL."""
    image = of(broker(0))
    assert image.brokers[4].state == BrokerState.INITIAL
    image = of(unfence(0), image=image, base=1)
    assert image.brokers[4].state == BrokerState.ACTIVE
    image = of(fence(0), image=image, base=2)
    assert image.brokers[4].state == BrokerState.FENCED
    image = of(broker(3), image=image, base=3)
    assert image.brokers[4].state == BrokerState.INITIAL
    gone = of(unregister(3), image=image, base=4)
    assert gone == EMPTY
    assert of(broker(5), image=gone, base=5).brokers[4].epoch == 5


@pytest.mark.parametrize(
    ("records", "error"),
    [
        ([broker(1)], StaleRecord),  # an epoch above its own offset
        ([broker(0), broker(0)], StaleRecord),
        ([broker(0), unfence(0), broker(2)], InvalidRecord),  # not fenced before
        ([fence(0)], UnknownEntity),
        ([broker(0), fence(0)], InvalidRecord),
        ([unregister(0)], UnknownEntity),
        ([broker(0), unregister(1)], StaleRecord),
        ([broker(0), unregister(0), fence(0)], UnknownEntity),
        ([broker(0), unfence(0), topic(), partition(), unregister(0)], InvalidRecord),  # it leads
        ([broker(0), unfence(1)], StaleRecord),
        ([broker(0), unfence(0), unfence(0)], InvalidRecord),
        ([topic(), topic(topic_id=OTHER)], DuplicateEntity),
        ([topic(), topic(name="u")], DuplicateEntity),
        ([topic(topic_id=None)], InvalidRecord),
        ([topic(deleting=True)], UnknownEntity),
        ([topic(), topic(name="u", deleting=True)], InvalidRecord),
        ([topic(), topic(deleting=True), topic(deleting=True)], InvalidRecord),
        ([RemoveTopicRecord(topic_id=ID)], UnknownEntity),
        ([topic(), RemoveTopicRecord(topic_id=ID)], InvalidRecord),
        ([partition()], UnknownEntity),
        ([topic(), partition(), partition()], DuplicateEntity),
        ([topic(), partition(1)], InvalidRecord),  # a gap
        ([topic(), partition(isr=())], InvalidRecord),
        ([topic(), partition(isr=(6,), leader=6)], InvalidRecord),
        ([topic(), partition(leader=6)], InvalidRecord),
        ([topic(), partition(replicas=(4, 4))], InvalidRecord),
        ([isr_change()], UnknownEntity),
        ([topic(), isr_change()], UnknownEntity),
        ([topic(), partition(), isr_change(partition_epoch=2)], StaleRecord),
        ([topic(), partition(), isr_change(partition_epoch=0)], StaleRecord),
        ([topic(), partition(), isr_change(leader_epoch=1)], StaleRecord),  # the same leader
        ([topic(), partition(), isr_change(isr=(5,), leader=5)], StaleRecord),  # another one
        ([topic(), partition(), isr_change(isr=())], InvalidRecord),
        ([topic(), reassigned()], UnknownEntity),
        ([topic(), partition(), reassigned(partition_epoch=2)], StaleRecord),
        ([topic(), partition(), reassigned(leader_epoch=0)], StaleRecord),
        (  # nobody goes, and the leader stays
            [topic(), partition(), reassigned((4, 5, 6), (4, 5), 4)],
            StaleRecord,
        ),
        (  # 5 goes, so that the leader epoch rises though 4 leads on
            [topic(), partition(), reassigned((4, 6), (4,), 4, leader_epoch=0)],
            StaleRecord,
        ),
        ([topic(), partition(), reassigned(isr=(4, 5))], InvalidRecord),
        ([topic(), partition(), reassigned(removing_replicas=(4,))], InvalidRecord),
        ([topic(), partition(), isr_change(isr=(4, 9))], InvalidRecord),
        (
            [ConfigRecord(resource_type=2, resource_name="t", name="a", value="1")],
            UnknownEntity,
        ),
        ([RequestRecord(request_id=ID, answer=b"")] * 2, DuplicateEntity),
        ([RequestRecord(request_id=None, answer=b"")], InvalidRecord),
    ],
)
def test_records_that_do_not_fit_are_refused(records, error):
    """D.23: one entity a key, epochs in order, nothing for what there is not."""
    image = of(*records[:-1])
    before = digest(image)
    with pytest.raises(error):
        apply(image, records[-1], len(records) - 1)
    assert digest(image) == before
    assert issubclass(error, ImageError)


def test_removal_takes_partitions_and_configs_along():
    """D.23: config of a removed topic gone; A.1.93: the name is free for another id."""
    image = of(
        topic(),
        ConfigRecord(resource_type=2, resource_name="t", name="a", value="1"),
        partition(),
        partition(1),
        topic(deleting=True),
        RemoveTopicRecord(topic_id=ID),
    )
    assert digest(image) == digest(EMPTY)
    assert (len(image.in_sync), len(image.leaderless)) == (0, 0)
    assert of(topic(topic_id=OTHER), image=image).topic("t").topic_id == OTHER


def test_other_replicas():
    """KIP-455: with those that come and go, then without; what is in the middle of it is known."""
    begun = reassigned(
        (5, 6, 4), (4, 5), 4, 0, adding_replicas=(6,), removing_replicas=(4,), partition_epoch=1
    )
    image = of(topic(), partition(), begun)
    key = (ID, 0)
    assert image.partitions[key].replicas == (5, 6, 4)
    assert set(image.reassigning) == {key}
    done = of(reassigned(isr=(5, 6), partition_epoch=2), image=image, base=3)
    assert (done.partitions[key].replicas, done.partitions[key].leader) == ((5, 6), 5)
    assert set(done.reassigning) == set()
    gone = of(topic(deleting=True), RemoveTopicRecord(topic_id=ID), image=image, base=3)
    assert digest(gone) == digest(EMPTY)
    assert set(gone.reassigning) == set()


def test_access_rules_are_distinct():
    rule = AccessControlRecord(
        resource_type=2,
        resource_name=None,
        pattern_type=3,
        principal="User:a",
        host="*",
        operation=2,
        permission_type=3,
    )
    image = of(rule)
    with pytest.raises(DuplicateEntity):
        apply(image, rule, 1)
    assert digest(image) != digest(EMPTY)


def test_remembered_requests_are_bounded(monkeypatch):
    """Recent request ids: first in, first out."""
    monkeypatch.setattr(images, "REMEMBERED_REQUESTS", 3)
    records = [
        RequestRecord(request_id=uuid.UUID(int=number), answer=bytes([number]))
        for number in range(1, 6)
    ]
    image = of(*records)
    assert {key.int: value for key, value in image.requests.items()} == {
        3: b"\x03",
        4: b"\x04",
        5: b"\x05",
    }


def test_old_images_stay_as_they_are():
    """A.1.27: the committed image and the speculative one live side by side."""
    before = of(topic(), partition())
    after = of(isr_change(), image=before, base=2)
    assert before.partitions[ID, 0].isr == (4, 5)
    assert after.partitions[ID, 0].isr == (4,)


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.sets(st.integers(4, 6), min_size=1), st.booleans()),
        max_size=30,
    )
)
def test_indexes_equal_what_partitions_say(changes):
    image = of(topic(), *(partition(number, (4, 5, 6), (4, 5, 6)) for number in range(3)))
    for number, members, led in changes:
        before = image.partitions[ID, number]
        leader = min(members) if led else -1
        change = isr_change(
            isr=tuple(sorted(members)),
            leader=leader,
            leader_epoch=before.leader_epoch + (leader != before.leader),
            partition_epoch=before.partition_epoch + 1,
            number=number,
        )
        image = apply(image, change, 0)
    for broker_id in (4, 5, 6):
        expected = {k for k, p in image.partitions.items() if broker_id in p.isr}
        assert set(image.partitions_in_sync(broker_id)) == expected
        leads = sum(p.leader == broker_id for p in image.partitions.values())
        assert image.leads(broker_id) == leads
    assert set(image.leaderless) == {k for k, p in image.partitions.items() if p.leader == -1}


def test_digest_does_not_depend_on_the_order_of_arrival():
    """D.13: canonically ordered."""
    one = of(topic("a", ID), topic("b", OTHER), broker(2), broker(3, 5))
    two = of(topic("b", OTHER), topic("a", ID), broker(2), broker(3, 5))
    assert digest(one) == digest(two)


def test_digest_tells_states_apart():
    """D.13: each part of the state counts."""
    steps = [
        NoOpRecord(),
        broker(1),
        unfence(1),
        fence(1),
        topic(),
        ConfigRecord(resource_type=4, resource_name="4", name="a", value="1"),
        partition(),
        isr_change(),
        isr_change(isr=(4,), leader=-1, leader_epoch=1, partition_epoch=2),
        RequestRecord(request_id=ID, answer=b"x"),
        topic(deleting=True),
    ]
    digests = [digest(of(*steps[:count])) for count in range(1, len(steps) + 1)]
    assert len(set(digests)) == len(digests)


def test_digest_of_a_known_state():
    """D.13: the definition of docs/operating.md, by code of its own."""
    image = of(
        BrokerRecord(
            broker_id=4,
            broker_epoch=0,
            end_points=(EndPoint(name="A", host="h", port=9, security_protocol=0),),
            rack="r",
            incarnation_id=OTHER,
        ),
        topic("t", ID),
        partition(),
        ConfigRecord(resource_type=2, resource_name="t", name="a", value="1"),
        RequestRecord(request_id=ID, answer=b"\x01\xff"),
        FeatureLevelRecord(name="f", feature_level=2),
        ProducerIdsRecord(broker_id=4, broker_epoch=0, next_producer_id=1000),
    )
    lines = [
        f'["broker",4,0,"{OTHER}",[["A","h",9,0]],"r",true,false]',
        f'["topic","{ID}","t",false]',
        f'["partition","{ID}",0,[4,5],[4,5],4,0,0,[],[]]',
        '["config",2,"t","a","1"]',
        f'["request",0,"{ID}","01ff"]',
        '["feature","f",2]',
        '["producer ids",1000]',
    ]
    total = sum(int(hashlib.sha256(line.encode()).hexdigest(), 16) for line in lines)
    assert digest(image) == f"{total % 2**256:064x}"
