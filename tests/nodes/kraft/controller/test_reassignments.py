"""AlterPartitionReassignments and ListPartitionReassignments (KIP-455)."""

from __future__ import annotations

from typing import Any

import pytest
from admin_asks import ALICE, ROOT, SECOND, SECURED, ask_as, create_acls, creation, grow
from controller_harness import Harness
from kio.schema.alter_partition_reassignments.v1 import request as alter
from kio.schema.list_partition_reassignments.v0 import request as listing

from nodes.kraft.controller import reassignments
from nodes.kraft.controller.reassignment_rules import begun, completed
from nodes.kraft.metadata.image import Partition
from nodes.kraft.wire.codes import item_codes
from nodes.kraft.wire.heartbeats import BrokerState
from nodes.kraft.wire.records import IsrChangeRecord, ReassignmentRecord, RequestRecord

ALTER, DESCRIBE, CLUSTER = 7, 8, 4
Wanted = tuple[str, int, list[int] | None]


@pytest.fixture
def harness() -> Harness:
    harness = Harness().claim()
    harness.activate(4, 5, 6, 7)
    harness.create("t", assignment=[[4, 5], [5, 6]])
    return harness


def wish(*wanted: Wanted, same_count: bool = False) -> Any:
    topics = tuple(
        alter.ReassignableTopic(
            name=name,  # type: ignore[arg-type]
            partitions=(
                alter.ReassignablePartition(
                    partition_index=number,  # type: ignore[arg-type]
                    replicas=None if replicas is None else tuple(replicas),  # type: ignore[arg-type]
                ),
            ),
        )
        for name, number, replicas in wanted
    )
    return alter.AlterPartitionReassignmentsRequest(
        timeout=SECOND,  # type: ignore[arg-type]
        allow_replication_factor_change=not same_count,
        topics=topics,
    )


def codes(response: Any) -> list[int]:
    assert response.error_code == 0
    return item_codes(response)


def reassign(harness: Harness, replicas: list[int] | None, number: int = 0) -> list[int]:
    return codes(harness.ask(wish(("t", number, replicas))))


def listed(harness: Harness, *named: tuple[str, list[int]]) -> dict[tuple[str, int], Any]:
    topics = tuple(
        listing.ListPartitionReassignmentsTopics(name=name, partition_indexes=tuple(numbers))  # type: ignore[arg-type]
        for name, numbers in named
    )
    response: Any = harness.ask(
        listing.ListPartitionReassignmentsRequest(timeout=SECOND, topics=topics or None)  # type: ignore[arg-type]
    )
    assert response.error_code == 0
    return {
        (topic.name, each.partition_index): (
            each.replicas,
            each.adding_replicas,
            each.removing_replicas,
        )
        for topic in response.topics
        for each in topic.partitions
    }


def join(harness: Harness, isr: list[int], number: int = 0) -> Any:
    """What the leader of the partition is answered that asks for this ISR."""
    partition = harness.partition("t", number)
    return harness.alter(
        harness.committed.topic_ids["t"],
        partition.leader,
        harness.committed.brokers[partition.leader].epoch,
        isr,
        partition=number,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
    )


def fence(harness: Harness, broker: int) -> None:
    epoch = harness.committed.brokers[broker].epoch
    harness.heartbeat(broker, epoch, target=BrokerState.FENCED)


def placed(partition: Partition) -> tuple[Any, ...]:
    return partition.replicas, partition.adding_replicas, partition.removing_replicas


def test_it_begins_with_all_replicas(harness: Harness) -> None:
    """One record: those that are to be, in their order, then those that go; the same leader, ISR
    and leader epoch."""
    before = harness.partition("t")
    start = len(harness.log)
    assert reassign(harness, [6, 4]) == [0]
    (record,) = harness.records(start)
    assert isinstance(record, ReassignmentRecord)
    after = harness.partition("t")
    assert placed(after) == ((6, 4, 5), (6,), (5,))
    assert (after.leader, after.isr) == (before.leader, before.isr)
    assert after.leader_epoch == before.leader_epoch
    assert after.partition_epoch == before.partition_epoch + 1


def test_it_is_complete_once_all_that_were_added_are_in_sync(harness: Harness) -> None:
    """A.7.10: the leader's own wish completes it, as one record. Who is taken away raises the
    leader epoch, though the leader stays: no fetch of its former life counts, if it comes again."""
    reassign(harness, [6, 4])
    before, start = harness.partition("t"), len(harness.log)
    answer = join(harness, [4, 5, 6])
    assert (answer.error_code, answer.leader_id, answer.isr) == (0, 4, (4, 6))
    (record,) = harness.records(start)
    assert isinstance(record, ReassignmentRecord)
    after = harness.partition("t")
    assert placed(after) == ((6, 4), (), ())
    assert (after.leader, after.isr) == (4, (4, 6))
    assert after.leader_epoch == answer.leader_epoch == before.leader_epoch + 1


def test_an_isr_without_one_that_was_added_completes_nothing(harness: Harness) -> None:
    reassign(harness, [6, 7])
    start = len(harness.log)
    assert join(harness, [4, 5, 6]).error_code == 0
    (record,) = harness.records(start)
    assert isinstance(record, IsrChangeRecord)
    assert placed(harness.partition("t")) == ((6, 7, 4, 5), (6, 7), (4, 5))


def test_a_leader_that_goes_hands_over(harness: Harness) -> None:
    """To the first of the new replicas; 108 to the leader whose wish completed it."""
    reassign(harness, [7, 6])
    before = harness.partition("t")
    answer = join(harness, [4, 5, 6, 7])
    assert (answer.error_code, answer.leader_id) == (108, 7)
    after = harness.partition("t")
    assert (placed(after), after.leader, after.isr) == (((7, 6), (), ()), 7, (6, 7))
    assert after.leader_epoch == before.leader_epoch + 1


def test_what_adds_nobody_is_complete_at_once(harness: Harness) -> None:
    before = harness.partition("t")
    assert reassign(harness, [5, 4]) == [0]
    turned = harness.partition("t")
    assert (placed(turned), turned.leader) == (((5, 4), (), ()), 4)
    assert turned.leader_epoch == before.leader_epoch
    assert reassign(harness, [5]) == [0]
    fewer = harness.partition("t")
    assert (placed(fewer), fewer.isr, fewer.leader) == (((5,), (), ()), (5,), 5)
    assert fewer.leader_epoch == before.leader_epoch + 1


def test_more_replicas_alone_keep_the_leader_epoch(harness: Harness) -> None:
    reassign(harness, [4, 5, 6])
    before = harness.partition("t")
    answer = join(harness, [4, 5, 6])
    assert (answer.error_code, answer.leader_epoch) == (0, before.leader_epoch)
    assert placed(harness.partition("t")) == ((4, 5, 6), (), ())


def test_those_that_stay_have_to_be_in_sync(harness: Harness) -> None:
    """Else nobody would have what was acknowledged: it waits until one of them is."""
    fence(harness, 5)
    harness.activate(5)
    assert harness.partition("t").isr == (4,)
    assert reassign(harness, [5]) == [0]
    assert placed(harness.partition("t")) == ((5, 4), (), (4,))
    assert join(harness, [4, 5]).error_code == 108
    after = harness.partition("t")
    assert (placed(after), after.leader, after.isr) == (((5,), (), ()), 5, (5,))


def test_who_stays_but_leaves_for_now_does_not_complete_it(harness: Harness) -> None:
    """A broker that is shutting down is in the ISR until it is moved off it, and can lead no
    more: the partition keeps its leader."""
    partition = harness.partition("t")
    image = harness.committed
    wanted = begun(image, partition, (5,), lambda *_: True)  # type: ignore[arg-type]
    same = completed(image, wanted, lambda _, broker: broker != 5)
    assert same is wanted


def test_another_goal_while_one_is_under_way(harness: Harness) -> None:
    """What the first one added goes at once, and from the ISR, where it is not to stay."""
    reassign(harness, [6, 7, 4])
    join(harness, [4, 5, 6])
    before = harness.partition("t")
    assert reassign(harness, [7, 4]) == [0]
    after = harness.partition("t")
    assert (placed(after), after.isr) == (((7, 4, 5), (7,), (5,)), (4, 5))
    assert after.leader_epoch == before.leader_epoch + 1
    join(harness, [4, 5, 7])
    assert placed(harness.partition("t")) == ((7, 4), (), ())


def test_the_same_goal_again(harness: Harness) -> None:
    """Nothing is complete by that."""
    reassign(harness, [6, 4])
    start = len(harness.log)
    assert reassign(harness, [6, 4]) == [0]
    assert len(harness.log) == start
    assert reassign(harness, [4, 6]) == [0]
    assert placed(harness.partition("t")) == ((4, 6, 5), (6,), (5,))


def test_cancelled(harness: Harness) -> None:
    """Who was added goes again, from the ISR too; 85 where nothing is under way."""
    before = harness.partition("t")
    reassign(harness, [6, 7])
    join(harness, [4, 5, 6])
    assert reassign(harness, None) == [0]
    after = harness.partition("t")
    assert (placed(after), after.isr, after.leader) == (((4, 5), (), ()), (4, 5), 4)
    assert after.leader_epoch == before.leader_epoch + 1
    assert reassign(harness, None) == [85]


def test_a_leader_that_was_added_hands_back(harness: Harness) -> None:
    reassign(harness, [6, 7])
    join(harness, [4, 5, 6])
    fence(harness, 4)
    fence(harness, 5)
    assert harness.partition("t").leader == 6
    assert reassign(harness, None) == [39]  # nobody else has what it has
    harness.activate(5)
    join(harness, [5, 6])
    assert reassign(harness, None) == [0]
    after = harness.partition("t")
    assert (placed(after), after.isr, after.leader) == (((4, 5), (), ()), (5,), 5)


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (("t", 0, []), 39),
        (("t", 0, [4, 4]), 39),
        (("t", 0, [4, 9]), 39),
        (("t", 9, [4]), 3),
        (("t", -1, [4]), 3),
        (("u", 0, [4]), 3),
        (("u", 0, None), 3),
        (("t", 0, None), 85),
    ],
)
def test_refused(harness: Harness, wanted: Wanted, code: int) -> None:
    """Each for itself, and nothing is appended for it."""
    start = len(harness.log)
    assert codes(harness.ask(wish(wanted))) == [code]
    assert len(harness.log) == start


def test_the_number_of_replicas_may_have_to_stay(harness: Harness) -> None:
    """38. It is that of the goal, where one is under way."""
    asked = [("t", 0, [4, 5, 6]), ("t", 1, [6, 7])]
    assert codes(harness.ask(wish(*asked, same_count=True))) == [38, 0]
    assert codes(harness.ask(wish(("t", 1, [4, 7]), same_count=True))) == [0]


def test_what_is_so_already_needs_no_record(harness: Harness) -> None:
    start = len(harness.log)
    assert reassign(harness, [4, 5]) == [0]
    assert len(harness.log) == start


def test_those_under_way_are_told(harness: Harness) -> None:
    reassign(harness, [6, 4])
    reassign(harness, [7, 5], number=1)
    first, second = ((6, 4, 5), (6,), (5,)), ((7, 5, 6), (7,), (6,))
    assert listed(harness) == {("t", 0): first, ("t", 1): second}
    assert listed(harness, ("t", [1, 8]), ("u", [0])) == {("t", 1): second}
    join(harness, [4, 5, 6])
    assert listed(harness) == {("t", 1): second}
    harness.delete("t")
    assert listed(harness) == {}


def test_new_partitions_have_as_many_replicas_as_the_first_is_to_have(harness: Harness) -> None:
    reassign(harness, [6, 7])
    assert item_codes(harness.ask(grow(("t", 3)))) == [0]
    assert len(harness.partition("t", 2).replicas) == 2


def test_who_may(harness: Harness) -> None:
    """ALTER and DESCRIBE on the cluster; 31 at the top otherwise."""
    secured = Harness(authorizer=SECURED).claim()
    secured.activate(4, 5, 6)
    secured.create("t", assignment=[[4, 5]])
    asked, list_all = (
        wish(("t", 0, [6, 5])),
        listing.ListPartitionReassignmentsRequest(timeout=SECOND, topics=None),  # type: ignore[arg-type]
    )
    assert ask_as(secured, ALICE, asked).error_code == 31
    assert ask_as(secured, ALICE, list_all).error_code == 31
    for operation in (ALTER, DESCRIBE):
        allowed = creation("kafka-cluster", kind=CLUSTER, operation=operation)
        assert item_codes(ask_as(secured, ROOT, create_acls(allowed))) == [0]
    assert codes(ask_as(secured, ALICE, asked)) == [0]
    assert ask_as(secured, ALICE, list_all).error_code == 0


def test_not_too_many_at_once(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    """44 for those that are over, which can be asked for again."""
    monkeypatch.setattr(reassignments, "MOST", 1)
    both: list[Wanted] = [("t", 0, [6, 4]), ("t", 1, [4, 5])]
    assert codes(harness.ask(wish(*both))) == [0, 44]
    assert codes(harness.ask(wish(*both))) == [0, 0]


def test_a_retry_is_answered_what_the_first_attempt_did(harness: Harness) -> None:
    """B.9.4; also by the next controller."""
    request, ident = wish(("t", 0, [6, 4]), ("t", 1, None)), b"0123456789abcdef"
    first = ask_as(harness, ROOT, request, ident)
    assert codes(first) == [0, 85]
    assert isinstance(harness.records()[-1], RequestRecord)
    harness.fail_over()
    start = len(harness.log)
    assert ask_as(harness, ROOT, request, ident) == first
    assert len(harness.log) == start
