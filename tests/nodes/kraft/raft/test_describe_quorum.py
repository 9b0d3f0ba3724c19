"""DescribeQuorum from the leader's state (B.2, A.7.13)."""

from typing import Any

import pytest
from kio.schema.types import TopicName
from kio.static.primitive import i32

from nodes.kraft.raft.state import Leader
from nodes.kraft.raft.steps import Propose
from nodes.kraft.wire.codec import decode_entity, encode_entity, request_schema
from nodes.kraft.wire.describe_quorum import describe_quorum
from tests.nodes.kraft.raft.replicas import Replica, fetch, follower, leader

WALL = 1_700_000_000_000
ENDPOINTS = {1: ("CONTROLLER", "a", 9093), 2: ("CONTROLLER", "b", 9094)}


def ask(replica: Replica, version: int = 2, topic: str = "__kafka_metadata", index: int = 0) -> Any:
    schema = request_schema(55, version)
    module = __import__(schema.__module__, fromlist=["TopicData"])
    partition = module.PartitionData(partition_index=i32(index))
    request = schema(
        topics=(module.TopicData(topic_name=TopicName(topic), partitions=(partition,)),)
    )
    response = describe_quorum(request, replica.state, replica.now, WALL, ENDPOINTS)
    assert response.__version__ == version
    return decode_entity(type(response), encode_entity(response))


def described() -> Any:
    """Voter 2 fetched to the end at 300 ms, observer 9 lags since 200 ms; it is 500 ms."""
    replica = leader()
    replica.now = 200
    replica.ask(fetch(1, 1, 1, replica=9))
    replica.do(Propose(1, (b"a", b"b")))
    replica.flush()
    replica.now = 300
    replica.ask(fetch(1, 3, 1))
    replica.do(Propose(1, (b"c",)))
    replica.now = 400
    replica.ask(fetch(1, 1, 1, replica=9, wait=0))
    replica.now = 500
    return replica


def test_leader_tells_how_far_everyone_is() -> None:
    (topic,) = ask(described()).topics
    (partition,) = topic.partitions
    assert (partition.leader_id, partition.leader_epoch, partition.high_watermark) == (1, 1, 3)
    one, two, three = partition.current_voters
    assert (one.replica_id, one.log_end_offset) == (1, 4)
    assert (one.last_fetch_timestamp, one.last_caught_up_timestamp) == (-1, WALL)
    assert (two.replica_id, two.log_end_offset) == (2, 3)
    assert two.last_fetch_timestamp == two.last_caught_up_timestamp == WALL - 200
    assert (three.log_end_offset, three.last_fetch_timestamp) == (-1, -1), "it never fetched"
    (nine,) = partition.observers
    assert (nine.replica_id, nine.log_end_offset) == (9, 1)
    assert nine.last_fetch_timestamp == WALL - 100
    assert nine.last_caught_up_timestamp == WALL - 300, "then it had all there was"


def test_a_replica_was_caught_up_when_it_reached_what_was_the_end_before() -> None:
    """It will never reach an end that moves on; what counts is the end at its last fetch."""
    replica = leader()
    for step in range(1, 4):
        replica.now = step * 100
        replica.do(Propose(1, (b"x",)))
        replica.ask(fetch(1, step, 1, replica=9))
    role = replica.state.role
    assert isinstance(role, Leader)
    assert (role.observers[9].offset, role.observers[9].caught_up_ms) == (3, 200)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_every_version_is_answered(version: int) -> None:
    response = ask(described(), version)
    replica = response.topics[0].partitions[0].current_voters[1]
    assert replica.log_end_offset == 3
    if version >= 1:
        assert replica.last_fetch_timestamp == WALL - 200
    if version >= 2:
        assert response.error_message is None
        listeners = {node.node_id: node.listeners[0] for node in response.nodes}
        assert (listeners[2].name, listeners[2].host, listeners[2].port) == (
            "CONTROLLER",
            "b",
            9094,
        )


@pytest.mark.parametrize("name", ["__kafka_metadata", "__cluster_metadata"])
def test_both_names_are_accepted(name: str) -> None:
    """A.7.13: kafka-python asks for the second one."""
    (topic,) = ask(described(), topic=name).topics
    assert (topic.topic_name, int(topic.partitions[0].error_code)) == (name, 0)


def test_anything_else_is_an_unknown_partition() -> None:
    for other in ({"topic": "events"}, {"index": 1}):
        partition = ask(described(), **other).topics[0].partitions[0]  # type: ignore[arg-type]
        assert int(partition.error_code) == 3
        assert (partition.current_voters, partition.leader_id) == ((), -1)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_only_the_leader_answers(version: int) -> None:
    response = ask(follower(), version)
    assert (int(response.error_code), response.topics) == (6, ())


def test_observers_that_nobody_heard_of_for_longest_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A flood of made-up replica ids costs no more memory than the limit."""
    monkeypatch.setattr("nodes.kraft.raft.replication.MAX_OBSERVERS", 10)
    replica = leader()
    for ident in range(100, 150):
        replica.now += 1
        replica.ask(fetch(1, 1, 1, replica=ident, wait=0))
    role = replica.state.role
    assert isinstance(role, Leader)
    assert sorted(role.observers) == list(range(140, 150))
    assert len(role.sent_watermarks) <= 12
