"""AlterPartition: the checks of B.6, in that order."""

import uuid

import pytest
from controller_harness import Harness, State
from kio.schema.alter_partition.v2.request import AlterPartitionRequest as AlterV2
from kio.schema.alter_partition.v2.request import PartitionData as PartitionV2
from kio.schema.alter_partition.v2.request import TopicData as TopicV2


@pytest.fixture
def harness():
    """Topic t, partition 0: replicas 4, 5, 6, all in sync, leader 4; broker 7 is active."""
    harness = Harness().claim()
    harness.epochs = harness.activate(4, 5, 6, 7)
    harness.create("t", assignment=[[4, 5, 6]])
    harness.topic_id = harness.committed.topic_ids["t"]
    return harness


def test_accepted(harness):
    """B.6: the answer has the new partition epoch; A.7.10: the leader epoch is as before."""
    result = harness.alter(harness.topic_id, 4, harness.epochs[4], [4, 6])
    assert (result.error_code, result.leader_id, tuple(result.isr)) == (0, 4, (4, 6))
    assert (result.leader_epoch, result.partition_epoch) == (0, 1)
    assert harness.partition("t").isr == (4, 6)


def test_it_is_answered_when_it_is_committed(harness):
    """A.1.28, A.1.29: and seen by nobody before."""
    harness.settle = False
    assert harness.alter(harness.topic_id, 4, harness.epochs[4], [4, 6]) is None
    harness.pass_barriers()
    assert harness.token not in harness.answers
    assert harness.partition("t").isr == (4, 5, 6)
    harness.commit()
    (topic,) = harness.answers[harness.token].topics
    assert (topic.partitions[0].error_code, tuple(topic.partitions[0].isr)) == (0, (4, 6))


def test_every_success_is_one_record(harness):
    """D.2: version + 1, also where the set is as before."""
    end = len(harness.log)
    result = harness.alter(harness.topic_id, 4, harness.epochs[4], [4, 5, 6])
    assert result.partition_epoch == 1
    assert len(harness.log) == end + 1


def test_compare_and_set(harness):
    """D.2: of two changes of one version, one is accepted."""
    harness.settle = False
    harness.alter(harness.topic_id, 4, harness.epochs[4], [4, 5])
    first = harness.token
    harness.alter(harness.topic_id, 4, harness.epochs[4], [4, 6])
    harness.commit()
    harness.pass_barriers()
    errors = [harness.answers[t].topics[0].partitions[0].error_code for t in (first, first + 1)]
    assert errors == [0, 95]


def test_expansion_back(harness):
    """A member that was taken out may come back."""
    epochs = harness.epochs
    harness.alter(harness.topic_id, 4, epochs[4], [4])
    members = [(4, epochs[4]), (5, epochs[5]), (6, epochs[6])]
    result = harness.alter(harness.topic_id, 4, epochs[4], members, partition_epoch=1)
    assert (result.error_code, result.partition_epoch) == (0, 2)


# Each violation alone, in the order of B.6: (name, what it changes in a good request, code).
VIOLATIONS = [
    ("broker epoch", {"broker_epoch": -7}, 77),
    ("topic", {"topic_id": uuid.UUID(int=1)}, 100),
    ("partition", {"partition": 9}, 3),
    ("leader epoch ahead", {"leader_epoch": 99}, 41),
    ("partition epoch ahead", {"partition_epoch": 99}, 41),
    ("leader epoch behind", {"leader_epoch": -1}, 74),
    ("not the leader", {"broker_id": 5}, 42),
    ("partition epoch behind", {"partition_epoch": -1}, 95),
    ("not a replica", {"isr": [4, 7]}, 42),
    ("without the leader", {"isr": [5, 6]}, 42),
    ("growing while recovering", {"recovering": 1}, 42),
    ("ineligible member", {"isr": [(4, -1), (5, 10**6)]}, 107),
]


def outcome(harness, *changes):
    asked = {
        "topic_id": harness.topic_id,
        "broker_id": 4,
        "isr": [4, 5],
        "leader_epoch": 0,
        "partition_epoch": 0,
    }
    for change in changes:
        asked |= change
    asked.setdefault("broker_epoch", harness.epochs.get(asked["broker_id"]))
    end = len(harness.log)
    result = harness.alter(**asked)
    assert len(harness.log) == end
    return int(result.error_code)


@pytest.mark.parametrize(("name", "change", "code"), VIOLATIONS, ids=lambda each: str(each))
def test_each_check(harness, name, change, code):
    """B.6, D.10, each check alone; a refused request leaves no record (D.2)."""
    assert outcome(harness, change) == code


PAIRS = [
    (first, second)
    for index, first in enumerate(VIOLATIONS)
    for second in VIOLATIONS[index + 1 :]
    if not set(first[1]) & set(second[1])
]


@pytest.mark.parametrize(
    ("first", "second"), PAIRS, ids=[f"{a[0]} before {b[0]}" for a, b in PAIRS]
)
def test_order_of_the_checks(harness, first, second):
    """B.6: a request that violates two is refused with the earlier one."""
    assert outcome(harness, first[1], second[1]) == first[2]


@pytest.mark.parametrize("isr", [[], [4, 4], [5]])
def test_sets_that_are_none(harness, isr):
    assert outcome(harness, {"isr": isr}) == 42


def test_unregistered_asker(harness):
    """B.6: 77 for the whole request."""
    assert outcome(harness, {"broker_id": 9, "broker_epoch": 0}) == 77


def test_old_life_of_the_leader(harness):
    """A.5.14, A.1.64: the epoch of a broker's former life changes nothing."""
    old = harness.epochs[4]
    harness.activate(4)
    assert outcome(harness, {"broker_epoch": old}) == 77


@pytest.mark.parametrize("target", [State.FENCED, State.SHUTDOWN])
def test_ineligible_members(harness, target):
    """B.6: fenced, or in controlled shutdown."""
    harness.create("u", assignment=[[5, 4]])
    harness.heartbeat(5, harness.epochs[5], target=target)
    partition = harness.partition("t")
    assert partition.isr == (4, 6)
    asked = {"isr": [4, 5, 6], "partition_epoch": partition.partition_epoch}
    assert outcome(harness, asked) == 107


def test_member_of_another_life(harness):
    """B.6: the epoch that the leader saw has to be the registered one."""
    old = harness.epochs[5]
    new = harness.activate(5)[5]
    epoch = harness.partition("t").partition_epoch
    refused = {"isr": [(4, -1), (5, old)], "partition_epoch": epoch}
    assert outcome(harness, refused) == 107
    members = [(4, harness.epochs[4]), (5, new)]
    result = harness.alter(harness.topic_id, 4, harness.epochs[4], members, partition_epoch=epoch)
    assert result.error_code == 0


def test_one_request_for_several_partitions(harness):
    """One batch; the second change of one partition is behind the first."""
    asked = PartitionV2(partition_index=0, leader_epoch=0, new_isr=(4, 5), partition_epoch=0)
    request = AlterV2(
        broker_id=4,
        broker_epoch=harness.epochs[4],
        topics=(TopicV2(topic_id=harness.topic_id, partitions=(asked, asked)),),
    )
    answer = harness.ask(request)
    assert answer.__version__ == 2
    assert [p.error_code for p in answer.topics[0].partitions] == [0, 95]
