"""CreateTopics and DeleteTopics (B.6, A.1.87, A.1.93, B.9.9)."""

import datetime
import uuid

import pytest
from controller_harness import Harness, State
from kio.schema.create_topics.v4.request import CreatableTopic as TopicV4
from kio.schema.create_topics.v4.request import CreateTopicsRequest as CreateV4
from kio.schema.delete_topics.v4.request import DeleteTopicsRequest as DeleteV4

from nodes.kraft.wire.records import RemoveTopicRecord, TopicRecord


@pytest.fixture
def harness():
    harness = Harness().claim()
    harness.epochs = harness.activate(4, 5, 6)
    return harness


def code(response):
    return response.topics[0].error_code


def test_created_topic(harness):
    """B.9.9: v7 answers id, partitions, replication factor and configs."""
    (result,) = harness.create(
        "t", partitions=3, replication=2, configs={"max.message.bytes": "5"}
    ).topics
    topic = harness.committed.topic("t")
    assert (result.topic_id, topic.partitions) == (topic.topic_id, 3)
    assert (result.num_partitions, result.replication_factor) == (3, 2)
    assert [(each.name, each.value) for each in result.configs] == [("max.message.bytes", "5")]
    assert harness.committed.configs[2, "t"]["max.message.bytes"] == "5"


def test_replicas_spread_over_the_active_brokers(harness):
    """Round robin: each broker leads as many partitions as any other."""
    harness.create("t", partitions=6, replication=2)
    leaders = [harness.partition("t", number).leader for number in range(6)]
    assert sorted(leaders) == [4, 4, 5, 5, 6, 6]
    for number in range(6):
        partition = harness.partition("t", number)
        assert len(set(partition.replicas)) == 2
        assert partition.isr == partition.replicas
        assert (partition.leader_epoch, partition.partition_epoch) == (0, 0)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "a b", "ü", "x" * 250, "__kafka_metadata", "__cluster_metadata"]
)
def test_names_that_are_none(harness, name):
    """Kafka's rules for names; the metadata log is the cluster's own."""
    assert code(harness.create(name)) == 17


@pytest.mark.parametrize("name", ["x" * 249, "a.b", "A-1_2", "...", "__x"])
def test_names_that_are_legal(harness, name):
    assert code(harness.create(name)) == 0


@pytest.mark.parametrize(("first", "second"), [("a.b", "a_b"), ("a_b", "a.b"), ("a.b_", "a_b.")])
def test_names_that_collide(harness, first, second):
    """B.6: `.` and `_` are one in metric names, so 17; also within one request."""
    harness.create(first)
    assert code(harness.create(second)) == 17
    harness.delete(first)
    codes = [result.error_code for result in harness.create(first, second).topics]
    assert codes == [0, 17]


def test_name_that_exists(harness):
    harness.create("a.b")
    assert code(harness.create("a.b")) == 36


@pytest.mark.parametrize("partitions", [0, -2, 10_001])
def test_partitions_out_of_range(harness, partitions):
    assert code(harness.create("t", partitions=partitions)) == 37


def test_one_request_creates_no_more_than_a_batch_holds(harness):
    """B.10: 10 000 records an operation; the rest is refused, each topic on its own."""
    results = harness.create("a", "b", partitions=6_000, validate_only=True).topics
    assert [result.error_code for result in results] == [0, 37]


@pytest.mark.parametrize("replication", [0, -2, 4])
def test_replication_out_of_range(harness, replication):
    assert code(harness.create("t", replication=replication)) == 38


def test_replication_counts_active_brokers_alone(harness):
    """B.6: fenced brokers and those that shut down carry no new replicas."""
    harness.heartbeat(6, harness.epochs[6], target=State.FENCED)
    assert code(harness.create("t", replication=3)) == 38
    harness.create("seed", assignment=[[5, 4]])
    harness.heartbeat(5, harness.epochs[5], target=State.SHUTDOWN)
    assert code(harness.create("t", replication=2)) == 38
    assert code(harness.create("t", replication=1)) == 0
    assert harness.partition("t").replicas == (4,)


def test_no_active_broker():
    """B.6: nothing to place on."""
    harness = Harness().claim()
    assert code(harness.create("t")) == 38


def test_defaults(harness):
    """-1 partitions: 1; -1 replicas: 3, or as many as there are brokers."""
    (result,) = harness.create("t", partitions=-1, replication=-1).topics
    assert (result.num_partitions, result.replication_factor) == (1, 3)
    harness.heartbeat(6, harness.epochs[6], target=State.FENCED)
    (result,) = harness.create("u", partitions=-1, replication=-1).topics
    assert result.replication_factor == 2


@pytest.mark.parametrize(("set_to", "partitions", "replicas"), [(False, 1, 3), (True, 5, 2)])
def test_what_nodes_are_set_to_counts_where_the_creator_does_not_say(set_to, partitions, replicas):
    """`num.partitions` and `default.replication.factor`."""
    settings = {"default_partitions": 5, "default_replication": 2} if set_to else {}
    harness = Harness(**settings).claim()
    harness.activate(4, 5, 6)
    (result,) = harness.create("t", partitions=-1, replication=-1).topics
    assert (result.num_partitions, result.replication_factor) == (partitions, replicas)


def test_manual_assignment(harness):
    harness.create("t", assignment=[[6, 4], [5, 6]])
    assert harness.partition("t", 0).replicas == (6, 4)
    assert harness.partition("t", 1).leader == 5


def test_manual_assignment_with_fenced_members(harness):
    """B.6: the ISR is the active members; the first of them leads."""
    harness.heartbeat(6, harness.epochs[6], target=State.FENCED)
    harness.create("t", assignment=[[6, 4]])
    partition = harness.partition("t")
    assert (partition.replicas, partition.isr, partition.leader) == ((6, 4), (4,), 4)


@pytest.mark.parametrize("assignment", [[[4, 4]], [[]], [[9]], [[4], [4, 5]]])
def test_manual_assignments_that_are_none(harness, assignment):
    assert code(harness.create("t", assignment=assignment)) == 39


def test_manual_assignment_to_fenced_brokers_alone(harness):
    """B.6: an all-fenced assignment is refused."""
    harness.heartbeat(6, harness.epochs[6], target=State.FENCED)
    assert code(harness.create("t", assignment=[[6]])) == 39


@pytest.mark.parametrize("numbers", [(1, 2), (0, 0), (0, 2), (-1, 0)])
def test_manual_partitions_are_0_to_n(harness, numbers):
    """B.6."""
    from kio.schema.create_topics.v7.request import (
        CreatableReplicaAssignment,
        CreatableTopic,
        CreateTopicsRequest,
    )

    topic = CreatableTopic(
        name="t",
        num_partitions=-1,
        replication_factor=-1,
        assignments=tuple(
            CreatableReplicaAssignment(partition_index=number, broker_ids=(4,))
            for number in numbers
        ),
        configs=(),
    )
    assert code(harness.ask(CreateTopicsRequest(topics=(topic,)))) == 39


def test_configs_without_value(harness):
    assert code(harness.create("t", configs={"a": None})) == 40


def test_validate_only_appends_nothing(harness):
    """B.6."""
    end = len(harness.log)
    results = harness.create("t", "/", partitions=2, validate_only=True).topics
    assert [(r.error_code, r.topic_id) for r in results] == [(0, None), (17, None)]
    assert len(harness.log) == end


def test_one_batch_for_all_topics(harness):
    """B.6: several topics, each with its own error, one atomic append."""
    batches = len(harness.batches)
    results = harness.create("a", "/", "b").topics
    assert {r.name: int(r.error_code) for r in results} == {"a": 0, "/": 17, "b": 0}
    assert len(harness.batches) == batches + 1


def test_a_name_twice_in_one_request(harness):
    results = harness.create("a", "a", "b").topics
    assert {r.name: int(r.error_code) for r in results} == {"a": 42, "b": 0}


def test_recreated_name_has_another_id(harness):
    """A.1.93."""
    first = harness.create("t").topics[0].topic_id
    harness.delete("t")
    assert harness.create("t").topics[0].topic_id != first


def test_delete_by_name_and_by_id(harness):
    """DeleteTopics v6; B.9.9."""
    ids = {r.name: r.topic_id for r in harness.create("a", "b").topics}
    results = harness.delete("a", ids["b"]).responses
    assert [(r.error_code, r.name, r.topic_id) for r in results] == [
        (0, "a", ids["a"]),
        (0, "b", ids["b"]),
    ]
    assert len(harness.committed.topics) == 0
    assert len(harness.committed.partitions) == 0


def test_delete_of_what_there_is_not(harness):
    results = harness.delete("a", uuid.UUID(int=5)).responses
    assert [r.error_code for r in results] == [3, 100]


def test_delete_of_one_topic_twice(harness):
    topic_id = harness.create("a").topics[0].topic_id
    results = harness.delete("a", topic_id).responses
    assert [r.error_code for r in results] == [0, 42]


def test_delete_by_an_old_id_spares_the_new_topic(harness):
    """D.1: a delete by id affects that id alone."""
    old = harness.create("t").topics[0].topic_id
    harness.delete("t")
    harness.create("t")
    assert harness.delete(old).responses[0].error_code == 100
    assert harness.committed.topic("t") is not None


def test_deletion_is_one_batch_of_two_records(harness):
    """A.1.87, A.7.8: marked, then removed."""
    harness.create("t")
    harness.delete("t")
    start, _ = harness.batches[-1]
    marked, removed = harness.records(start)
    assert isinstance(marked, TopicRecord) and marked.deleting
    assert isinstance(removed, RemoveTopicRecord) and removed.topic_id == marked.topic_id


def test_older_versions_are_answered_in_kind(harness):
    """B.8: librdkafka creates and deletes by version 4."""
    topic = TopicV4(name="t", num_partitions=1, replication_factor=1, assignments=(), configs=())
    second = datetime.timedelta(seconds=1)
    create = CreateV4(topics=(topic,), timeout=second)
    request_id = uuid.UUID(int=3).bytes
    answer = harness.ask(create, request_id)
    assert (answer.__version__, code(answer)) == (4, 0)
    assert harness.ask(create, request_id) == answer
    answer = harness.ask(DeleteV4(topic_names=("t", "u"), timeout=second))
    assert answer.__version__ == 4
    assert [r.error_code for r in answer.responses] == [0, 3]
