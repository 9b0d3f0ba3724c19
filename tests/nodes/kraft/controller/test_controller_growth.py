"""CreatePartitions (B.8), and requests at the limits (A.1.26, B.10)."""

from __future__ import annotations

import pytest
from admin_asks import grow
from controller_harness import Harness, State


@pytest.fixture
def harness():
    harness = Harness().claim()
    harness.epochs = harness.activate(4, 5, 6)
    harness.create("t", partitions=2, replication=2)
    return harness


def code(response):
    return response.results[0].error_code


def test_a_topic_grows(harness):
    before = [harness.partition("t", number) for number in range(2)]
    assert code(harness.ask(grow(("t", 5)))) == 0
    assert harness.committed.topic("t").partitions == 5
    assert [harness.partition("t", number) for number in range(2)] == before
    for number in range(2, 5):
        partition = harness.partition("t", number)
        assert len(set(partition.replicas)) == 2
        assert partition.isr == partition.replicas
        assert partition.leader == partition.replicas[0]
        assert (partition.leader_epoch, partition.partition_epoch) == (0, 0)
    assert {harness.partition("t", number).leader for number in range(2, 5)} == {4, 5, 6}


@pytest.mark.parametrize(("count", "expected"), [(2, 37), (1, 37), (0, 37), (-1, 37), (10_003, 37)])
def test_counts_that_cannot_be(harness, count, expected):
    start = len(harness.log)
    assert code(harness.ask(grow(("t", count)))) == expected
    assert len(harness.log) == start


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([[5, 4], [6, 5]], 0),
        ([[5, 4]], 39),  # two are added
        ([[5, 4], [6]], 39),  # another number of replicas than the rest
        ([[5, 5], [6, 5]], 39),
        ([[5, 9], [6, 5]], 39),
        ([[], [6, 5]], 39),
    ],
)
def test_replicas_by_hand(harness, rows, expected):
    response = harness.ask(grow(("t", 4), rows=rows))
    assert code(response) == expected
    assert harness.committed.topic("t").partitions == (4 if expected == 0 else 2)
    if expected == 0:
        assert harness.partition("t", 2).replicas == (5, 4)


def test_unknown_and_repeated_topics(harness):
    response = harness.ask(grow(("missing", 3), ("t", 3)))
    assert [(each.name, each.error_code) for each in response.results] == [("missing", 3), ("t", 0)]
    response = harness.ask(grow(("t", 8), ("t", 9)))
    assert [(each.name, each.error_code) for each in response.results] == [("t", 42)]


def test_too_few_active_brokers(harness):
    for broker_id in (4, 5):
        harness.heartbeat(broker_id, harness.epochs[broker_id], target=State.FENCED)
    assert code(harness.ask(grow(("t", 3)))) == 38


def test_validation_alone(harness):
    start = len(harness.log)
    assert code(harness.ask(grow(("t", 3), validate_only=True))) == 0
    assert len(harness.log) == start
    assert harness.committed.topic("t").partitions == 2


def test_the_limit_counts_over_all_topics(harness):
    """B.10: the limit is the request's, whatever the topics are."""
    harness.create("u", partitions=1)
    response = harness.ask(grow(("t", 9_002), ("u", 1_002), validate_only=True))
    assert [each.error_code for each in response.results] == [0, 37]


def test_one_request_creates_ten_thousand_partitions():
    """B.10: 200 topics of 50 partitions are one batch."""
    harness = Harness(settle=False).claim()
    harness.commit()
    harness.settle = True
    harness.activate(4, 5, 6)
    harness.settle = False
    harness.create(*(f"t.{number}" for number in range(200)), partitions=50, request_id=bytes(16))
    base, end = harness.batches[-1]
    assert end - base == 200 * 51 + 1


def test_requests_in_flight_do_not_wait_for_each_other():
    """A.1.26: a hundred creates are decided and proposed before any of them is committed."""
    harness = Harness(settle=False).claim()
    harness.commit()
    harness.settle = True
    harness.activate(4, 5, 6)
    harness.settle = False
    answered, batches = len(harness.answers), len(harness.batches)
    tokens = []
    for number in range(100):
        harness.create(f"t{number}", partitions=3)
        tokens.append(harness.token)
    assert len(harness.batches) == batches + 100
    assert len(harness.answers) == answered
    harness.commit(harness.batches[batches + 49][1])
    assert [token in harness.answers for token in tokens] == [True] * 50 + [False] * 50
    harness.commit()
    assert all(harness.answers[token].topics[0].error_code == 0 for token in tokens)
