"""Forwarded requests are judged as the client who sent them, item by item (A.1.19, B.1)."""

from __future__ import annotations

import uuid

import pytest
from admin_asks import (
    ALICE,
    HOST,
    ROOT,
    SECOND,
    SECURED,
    SET,
    ask_as,
    change,
    changes_of,
    create_acls,
    creation,
    grow,
)
from controller_harness import Harness
from kio.schema.create_topics.v7.request import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kio.schema.delete_topics.v6.request import DeleteTopicsRequest, DeleteTopicState

READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = 3, 4, 5, 6, 7, 8
DESCRIBE_CONFIGS, ALTER_CONFIGS = 10, 11
CLUSTER = {"name": "kafka-cluster", "kind": 4}


@pytest.fixture
def harness():
    harness = Harness(authorizer=SECURED).claim()
    harness.activate(4, 5, 6)
    harness.create("mine", "other")
    return harness


def allow(harness, **rule):
    assert ask_as(harness, ROOT, create_acls(creation(**rule))).results[0].error_code == 0


def create(*names):
    topics = tuple(
        CreatableTopic(
            name=name,
            num_partitions=2,
            replication_factor=1,
            assignments=(),
            configs=(CreatableTopicConfig(name="max.message.bytes", value="5"),),
        )
        for name in names
    )
    return CreateTopicsRequest(topics=topics, timeout=SECOND, validate_only=False)


def delete(*topics):
    states = tuple(
        DeleteTopicState(
            name=topic if isinstance(topic, str) else None,
            topic_id=None if isinstance(topic, str) else topic,
        )
        for topic in topics
    )
    return DeleteTopicsRequest(topics=states, timeout=SECOND)


def codes(results):
    return [int(each.error_code) for each in results]


def test_create_needs_the_right_to(harness):
    """A.1.19: CREATE on the cluster or on the topic; 29 whether or not the name is taken."""
    start = len(harness.log)
    assert codes(ask_as(harness, ALICE, create("a", "other")).topics) == [29, 29]
    assert len(harness.log) == start
    allow(harness, name="a", operation=CREATE, pattern=4)
    assert codes(ask_as(harness, ALICE, create("b", "a1")).topics) == [29, 0]
    allow(harness, **CLUSTER, operation=CREATE)
    assert codes(ask_as(harness, ALICE, create("b", "other")).topics) == [0, 36]


def test_what_a_creator_may_not_read_it_is_not_reported(harness):
    """Partitions, replicas and configurations need DESCRIBE_CONFIGS on the topic."""
    allow(harness, **CLUSTER, operation=CREATE)
    (reported,) = ask_as(harness, ALICE, create("a")).topics
    assert (reported.num_partitions, reported.replication_factor, reported.configs) == (
        -1,
        -1,
        None,
    )
    assert reported.topic_config_error_code == 29
    allow(harness, name="b", operation=ALTER_CONFIGS)  # which implies DESCRIBE_CONFIGS
    (reported,) = ask_as(harness, ALICE, create("b")).topics
    assert (reported.num_partitions, reported.replication_factor) == (2, 1)
    assert [each.name for each in reported.configs] == ["max.message.bytes"]


def test_delete_needs_the_right_to(harness):
    """By name 29 whether or not there is such a topic; by id without its name."""
    ids = harness.committed.topic_ids
    start = len(harness.log)
    assert codes(ask_as(harness, ALICE, delete("other", "missing")).responses) == [29, 29]
    (reported,) = ask_as(harness, ALICE, delete(ids["other"])).responses
    assert (reported.error_code, reported.name, reported.topic_id) == (29, None, ids["other"])
    assert codes(ask_as(harness, ALICE, delete(uuid.UUID(int=9))).responses) == [100]
    assert len(harness.log) == start
    allow(harness, name="mine", operation=DELETE)
    assert codes(ask_as(harness, ALICE, delete(ids["mine"], "other")).responses) == [0, 29]


def test_growth_needs_alter_on_the_topic(harness):
    request = grow(("mine", 3), ("other", 3), ("missing", 3))
    allow(harness, name="mine", operation=ALTER)
    assert codes(ask_as(harness, ALICE, request).results) == [0, 29, 29]
    assert harness.committed.topic("other").partitions == 1


def test_configurations_need_alter_configs(harness):
    """29 for topics, 31 for brokers."""
    request = changes_of(
        (2, "mine", [("segment.bytes", SET, "19")]),
        (2, "other", [("segment.bytes", SET, "19")]),
        (2, "missing", [("segment.bytes", SET, "19")]),
        (4, "", [("log.segment.bytes", SET, "19")]),
    )
    allow(harness, name="mine", operation=ALTER_CONFIGS)
    assert codes(ask_as(harness, ALICE, request).responses) == [0, 29, 29, 31]
    assert set(harness.committed.configs) == {(2, "mine")}
    allow(harness, **CLUSTER, operation=ALTER_CONFIGS)
    assert codes(ask_as(harness, ALICE, request).responses) == [0, 29, 29, 0]


def test_the_host_counts(harness):
    allow(harness, name="mine", operation=ALTER_CONFIGS, host="10.9.9.9")
    request = change("mine", ("segment.bytes", SET, "19"))
    assert codes(ask_as(harness, ALICE, request).responses) == [29]
    allow(harness, name="mine", operation=ALTER_CONFIGS, host=HOST)
    assert codes(ask_as(harness, ALICE, request).responses) == [0]


def test_rules_count_once_they_are_committed():
    """A.1.28: a rule whose record may yet be lost gives nobody a right."""
    harness = Harness(authorizer=SECURED, settle=False).claim()
    harness.commit()
    harness.settle = True
    harness.activate(4, 5, 6)
    harness.settle = False
    ask_as(harness, ROOT, create_acls(creation(**CLUSTER, operation=CREATE)))
    ask_as(harness, ALICE, create("a"))
    first = harness.token
    harness.commit()
    ask_as(harness, ALICE, create("a"))
    harness.commit()
    harness.pass_barriers()
    assert codes(harness.answers[first].topics) == [29]
    assert codes(harness.answers[harness.token].topics) == [0]


def test_the_nodes_themselves_are_not_judged(harness):
    """They have CLUSTER_ACTION, or nothing of theirs comes this far."""
    assert codes(harness.create("a").topics) == [0]
