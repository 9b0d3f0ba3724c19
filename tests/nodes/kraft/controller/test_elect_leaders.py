"""ElectLeaders (KIP-460): preferred leaders, and those that were not in sync."""

from __future__ import annotations

from typing import Any

import pytest
from admin_asks import ALICE, ROOT, SECOND, SECURED, ask_as, create_acls, creation
from controller_harness import Harness
from kio.schema.elect_leaders.v2.request import ElectLeadersRequest, TopicPartitions

from nodes.kraft.controller import elect_leaders
from nodes.kraft.wire.codes import codes, item_codes, with_code
from nodes.kraft.wire.heartbeats import BrokerState
from nodes.kraft.wire.records import IsrChangeRecord, RequestRecord

PREFERRED, UNCLEAN = 0, 1
ALTER, CLUSTER = 7, 4


@pytest.fixture
def harness() -> Harness:
    harness = Harness().claim()
    harness.activate(4, 5, 6)
    return harness


def elect(kind: int, *wanted: tuple[str, list[int]], everything: bool = False) -> Any:
    topics = tuple(
        TopicPartitions(topic=name, partitions=tuple(numbers)) for name, numbers in wanted
    )  # type: ignore[arg-type]
    return ElectLeadersRequest(
        election_type=kind,  # type: ignore[arg-type]
        topic_partitions=None if everything else topics,
        timeout=SECOND,  # type: ignore[arg-type]
    )


def answered(response: Any) -> dict[tuple[str, int], int]:
    assert response.error_code == 0
    return {
        (topic.topic, each.partition_id): int(each.error_code)
        for topic in response.replica_election_results
        for each in topic.partition_result
    }


def fence(harness: Harness, broker: int) -> None:
    epoch = harness.committed.brokers[broker].epoch
    harness.heartbeat(broker, epoch, target=BrokerState.FENCED)


def join(harness: Harness, number: int, isr: list[int]) -> None:
    """The leader of t's partition takes these into the ISR."""
    partition = harness.partition("t", number)
    answer = harness.alter(
        harness.committed.topic_ids["t"],
        partition.leader,
        harness.committed.brokers[partition.leader].epoch,
        isr,
        partition=number,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
    )
    assert answer.error_code == 0


def moved(harness: Harness) -> Harness:
    """t-0 is led by 5, its second replica; 4 is back, and in sync again."""
    harness.create("t", assignment=[[4, 5], [5, 4]])
    fence(harness, 4)
    harness.activate(4)
    join(harness, 0, [5, 4])
    assert harness.partition("t", 0).leader == 5
    return harness


def test_the_preferred_replica_leads_again(harness: Harness) -> None:
    """One record: another leader and leader epoch, the same ISR."""
    before = moved(harness).partition("t", 0)
    start = len(harness.log)
    assert answered(harness.ask(elect(PREFERRED, ("t", [0])))) == {("t", 0): 0}
    (record,) = harness.records(start)
    assert isinstance(record, IsrChangeRecord)
    after = harness.partition("t", 0)
    assert (after.leader, after.isr) == (4, before.isr)
    assert after.leader_epoch == before.leader_epoch + 1
    assert after.partition_epoch == before.partition_epoch + 1


def test_all_partitions_are_meant_where_none_is_named(harness: Harness) -> None:
    """Those that need no election are not told of, as in Kafka."""
    moved(harness)
    assert answered(harness.ask(elect(PREFERRED, everything=True))) == {("t", 0): 0}
    start = len(harness.log)
    assert answered(harness.ask(elect(PREFERRED, everything=True))) == {}
    assert answered(harness.ask(elect(UNCLEAN, everything=True))) == {}
    assert len(harness.log) == start


def test_what_needs_no_election_or_cannot_have_one(harness: Harness) -> None:
    """84; 80 for a preferred replica that is not in sync, or not there; 3."""
    harness.create("t", assignment=[[4, 5], [5, 4]])
    fence(harness, 4)
    start = len(harness.log)
    asked = elect(PREFERRED, ("t", [0, 1, 2, -1]), ("u", [0]))
    expected = {("t", 0): 80, ("t", 1): 84, ("t", 2): 3, ("t", -1): 3, ("u", 0): 3}
    assert answered(harness.ask(asked)) == expected
    harness.activate(4)  # there, but not in sync yet
    after_return = len(harness.log)
    assert answered(harness.ask(asked)) == expected
    assert len(harness.log) == after_return > start


def test_unclean(harness: Harness) -> None:
    """Only where nobody leads; the new leader is then all of the ISR. 83 where no replica is."""
    harness.create("t", assignment=[[4, 5]])
    assert answered(harness.ask(elect(UNCLEAN, ("t", [0])))) == {("t", 0): 84}
    fence(harness, 5)
    fence(harness, 4)
    assert (harness.partition("t", 0).leader, harness.partition("t", 0).isr) == (-1, (4,))
    assert answered(harness.ask(elect(UNCLEAN, ("t", [0])))) == {("t", 0): 83}
    harness.activate(5)
    assert harness.partition("t", 0).leader == -1
    assert answered(harness.ask(elect(PREFERRED, ("t", [0])))) == {("t", 0): 80}
    assert answered(harness.ask(elect(UNCLEAN, ("t", [0])))) == {("t", 0): 0}
    assert (harness.partition("t", 0).leader, harness.partition("t", 0).isr) == (5, (5,))


def test_who_may(harness: Harness) -> None:
    """ALTER on the cluster; 31 at the top otherwise."""
    secured = Harness(authorizer=SECURED).claim()
    secured.activate(4, 5, 6)
    moved(secured)
    response = ask_as(secured, ALICE, elect(PREFERRED, ("t", [0])))
    assert (response.error_code, response.replica_election_results) == (31, ())
    allowed = creation("kafka-cluster", kind=CLUSTER, operation=ALTER)
    assert codes(ask_as(secured, ROOT, create_acls(allowed)))
    assert answered(ask_as(secured, ALICE, elect(PREFERRED, ("t", [0])))) == {("t", 0): 0}


def test_no_such_election(harness: Harness) -> None:
    assert harness.ask(elect(9, ("t", [0]))).error_code == 42


def test_not_too_many_at_once(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    """44 for those that are over, which can be asked for again."""
    harness.create("t", assignment=[[4, 5], [4, 5], [4, 5]])
    fence(harness, 4)
    harness.activate(4)
    for number in range(3):
        join(harness, number, [5, 4])
    monkeypatch.setattr(elect_leaders, "MOST", 2)
    first = answered(harness.ask(elect(PREFERRED, everything=True)))
    assert first == {("t", 0): 0, ("t", 1): 0, ("t", 2): 44}
    assert answered(harness.ask(elect(PREFERRED, everything=True))) == {("t", 2): 0}


def test_a_retry_is_answered_what_the_first_attempt_did(harness: Harness) -> None:
    """B.9.4; and a leader that falls with the records does not know."""
    moved(harness)
    request, ident = elect(PREFERRED, ("t", [0, 1])), b"0123456789abcdef"
    first = ask_as(harness, ROOT, request, ident)
    assert isinstance(harness.records()[-1], RequestRecord)
    harness.fail_over()
    start = len(harness.log)
    assert ask_as(harness, ROOT, request, ident) == first
    assert len(harness.log) == start


def test_codes_are_found_where_they_are(harness: Harness) -> None:
    """In partitions of topics; where an earlier attempt's fate is unknown, refusals become 7 and
    successes stay."""
    moved(harness)
    response = harness.ask(elect(PREFERRED, ("t", [0, 1]), ("u", [0])))
    assert item_codes(response) == [0, 84, 3]
    assert item_codes(with_code(response, 7)) == [0, 7, 7]
