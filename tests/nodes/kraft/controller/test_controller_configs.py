"""IncrementalAlterConfigs and AlterConfigs (A.1.90, B.8)."""

from __future__ import annotations

import pytest
from admin_asks import APPEND, DELETE, SET, SUBTRACT, change, changes_of, replace_all
from controller_harness import Harness

from nodes.kraft.metadata.config_keys import (
    BROKER_KEYS,
    CARRIED_OUT,
    TOPIC_KEYS,
    ConfigSource,
    layers,
    topic_number,
    topic_value,
)
from nodes.kraft.wire.records import ConfigRecord

BROKER = 4


@pytest.fixture
def harness():
    harness = Harness().claim()
    harness.activate(4, 5, 6)
    harness.create("t", "u", configs={"max.message.bytes": "5"})
    return harness


def code(response):
    return response.responses[0].error_code


def own(harness, name="t", kind=2):
    return dict(harness.committed.configs.get((kind, name), {}))


def test_set_and_delete(harness):
    """A.1.90: one ConfigRecord a change; a null value removes."""
    start = len(harness.log)
    response = harness.ask(
        change("t", ("min.insync.replicas", SET, "2"), ("max.message.bytes", DELETE, None))
    )
    assert code(response) == 0
    assert own(harness) == {"min.insync.replicas": "2"}
    assert own(harness, "u") == {"max.message.bytes": "5"}
    records = harness.records(start)
    assert all(isinstance(record, ConfigRecord) for record in records)
    assert [(record.name, record.value) for record in records] == [
        ("min.insync.replicas", "2"),
        ("max.message.bytes", None),
    ]
    harness.ask(change("t", ("min.insync.replicas", DELETE, None)))
    assert (2, "t") not in harness.committed.configs


def test_what_changes_nothing_adds_no_record(harness):
    start = len(harness.log)
    response = harness.ask(
        change("t", ("max.message.bytes", SET, "5"), ("segment.bytes", DELETE, None))
    )
    assert code(response) == 0
    assert len(harness.log) == start


def test_lists(harness):
    """From the default where nothing is set; each item once."""
    assert code(harness.ask(change("t", ("cleanup.policy", APPEND, "compact")))) == 40
    assert code(harness.ask(change("t", ("cleanup.policy", SUBTRACT, "delete")))) == 40
    assert "cleanup.policy" not in own(harness)
    harness.ask(change("t", ("cleanup.policy", SUBTRACT, "compact")))
    assert own(harness)["cleanup.policy"] == "delete"
    harness.ask(change("t", ("cleanup.policy", APPEND, "delete,delete")))
    assert own(harness)["cleanup.policy"] == "delete"
    assert code(harness.ask(change("t", ("max.message.bytes", APPEND, "1")))) == 40


@pytest.mark.parametrize(
    ("name", "value", "done"),
    [
        ("cleanup.policy", "compact", "delete"),
        ("cleanup.policy", "compact,delete", "delete"),
        ("retention.ms", "604800000", "-1"),
        ("retention.bytes", "1", "-1"),
        ("compression.type", "zstd", "producer"),
        ("message.timestamp.type", "LogAppendTime", "CreateTime"),
        ("unclean.leader.election.enable", "true", "FALSE"),
        ("leader.replication.throttled.replicas", "0:1", ""),
    ],
)
def test_what_is_not_carried_out_is_refused(harness, name, value, done):
    """By its name, with the one value that says what is done instead, which is taken; of a
    broker the same."""
    response = harness.ask(change("t", (name, SET, value)))
    assert code(response) == 40
    message = response.responses[0].error_message
    assert name in message
    assert "does not carry it out" in message
    assert harness.create("v", configs={name: value}).topics[0].error_code == 40
    assert code(harness.ask(change("t", (name, SET, done)))) == 0
    of_brokers = TOPIC_KEYS[name].broker
    if of_brokers is not None:
        assert code(harness.ask(change("4", (of_brokers, SET, value), kind=BROKER))) == 40
        assert code(harness.ask(change("4", (of_brokers, SET, done), kind=BROKER))) == 0


@pytest.mark.parametrize(
    "name",
    [
        "leader.replication.throttled.rate",
        "follower.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    ],
)
def test_throttles_of_brokers_can_be_taken_away_though_not_set(harness, name):
    """As ReassignPartitionsCommand does when a reassignment is complete."""
    response = harness.ask(change("4", (name, SET, "1000"), kind=BROKER))
    assert code(response) == 40
    assert "does not carry it out" in response.responses[0].error_message
    assert code(harness.ask(change("4", (name, DELETE, None), kind=BROKER))) == 0
    assert code(harness.ask(change("t", (name, DELETE, None)))) == 40


def test_what_is_carried_out_has_any_value(harness):
    for name in CARRIED_OUT:
        for value in ("20", "3000"):
            assert code(harness.ask(change("t", (name, SET, value)))) == 0
            assert own(harness)[name] == value


@pytest.mark.parametrize(
    ("name", "operation", "value", "expected"),
    [
        ("no.such", SET, "1", 40),
        ("no.such", DELETE, None, 40),
        ("min.insync.replicas", SET, "0", 40),
        ("min.insync.replicas", SET, "two", 40),
        ("min.insync.replicas", SET, str(2**31), 40),
        ("max.message.bytes", SET, "-2", 40),
        ("max.message.bytes", SET, "1_000", 40),
        ("max.message.bytes", SET, " 5", 40),
        ("max.message.bytes", SET, "19" * 5_000, 40),
        ("leader.replication.throttled.replicas", SET, "x" * 32_768, 40),
        ("unclean.leader.election.enable", SET, "yes", 40),
        ("cleanup.policy", SET, "shred", 40),
        ("compression.type", SET, "rar", 40),
        ("min.cleanable.dirty.ratio", SET, "1.5", 40),
        ("min.cleanable.dirty.ratio", SET, "nan", 40),
        ("max.message.bytes", SET, None, 42),
        ("max.message.bytes", 9, "1", 42),
    ],
)
def test_values_that_cannot_be(harness, name, operation, value, expected):
    start = len(harness.log)
    response = harness.ask(change("t", (name, operation, value)))
    assert code(response) == expected
    assert response.responses[0].error_message
    assert len(harness.log) == start


def test_each_resource_is_atomic_and_alone(harness):
    """One bad value refuses its resource whole, and no other."""
    response = harness.ask(
        changes_of(
            (2, "t", [("segment.bytes", SET, "19"), ("no.such", SET, "1")]),
            (2, "u", [("segment.bytes", SET, "19")]),
            (2, "missing", [("segment.bytes", SET, "19")]),
            (3, "t", [("segment.bytes", SET, "19")]),
        )
    )
    assert [each.error_code for each in response.responses] == [40, 0, 3, 42]
    assert "segment.bytes" not in own(harness)
    assert own(harness, "u")["segment.bytes"] == "19"


def test_twice_in_one_request(harness):
    twice = ("segment.bytes", SET, "19")
    assert code(harness.ask(change("t", twice, twice))) == 42
    response = harness.ask(changes_of((2, "t", [twice]), (2, "t", [twice])))
    assert [each.error_code for each in response.responses] == [42]


def test_validation_alone(harness):
    start = len(harness.log)
    assert code(harness.ask(change("t", ("segment.bytes", SET, "19"), validate_only=True))) == 0
    assert code(harness.ask(change("t", ("no.such", SET, "19"), validate_only=True))) == 40
    assert len(harness.log) == start


def test_the_legacy_call_replaces_everything(harness):
    harness.ask(change("t", ("segment.bytes", SET, "19")))
    assert code(harness.ask(replace_all("t", {"max.message.bytes": "6"}))) == 0
    assert own(harness) == {"max.message.bytes": "6"}
    assert code(harness.ask(replace_all("t", {"segment.bytes": None}))) == 40
    assert code(harness.ask(replace_all("t", {}))) == 0
    assert own(harness) == {}


def test_brokers(harness):
    """A broker, or all of them (name ""), under the brokers' names of the configurations."""
    assert code(harness.ask(change("", ("message.max.bytes", SET, "7"), kind=BROKER))) == 0
    assert code(harness.ask(change("4", ("min.insync.replicas", SET, "2"), kind=BROKER))) == 0
    assert code(harness.ask(change("4", ("max.message.bytes", SET, "2"), kind=BROKER))) == 40
    assert code(harness.ask(change("9", ("message.max.bytes", SET, "2"), kind=BROKER))) == 42
    assert code(harness.ask(change("x", ("message.max.bytes", SET, "2"), kind=BROKER))) == 42


def test_what_counts_of_several_places(harness):
    """Topic, broker, all brokers, default."""
    image = harness.committed
    assert topic_value(image, "u", "segment.bytes") == TOPIC_KEYS["segment.bytes"].default
    harness.ask(change("", ("log.segment.bytes", SET, "21"), kind=BROKER))
    assert topic_number(harness.committed, "u", "segment.bytes", 4) == 21
    harness.ask(change("4", ("log.segment.bytes", SET, "22"), kind=BROKER))
    assert topic_number(harness.committed, "u", "segment.bytes", 4) == 22
    assert topic_number(harness.committed, "u", "segment.bytes", 5) == 21
    harness.ask(change("u", ("segment.bytes", SET, "23")))
    found = layers(harness.committed, "u", "segment.bytes", 4)
    assert [(source, value) for source, _, value in found] == [
        (ConfigSource.TOPIC, "23"),
        (ConfigSource.BROKER, "22"),
        (ConfigSource.ALL_BROKERS, "21"),
        (ConfigSource.DEFAULT, TOPIC_KEYS["segment.bytes"].default),
    ]


def test_defaults_are_values_that_can_be():
    for key in (*TOPIC_KEYS.values(), *BROKER_KEYS.values()):
        assert key.problem(key.default) is None


def test_a_topic_is_created_with_values_that_can_be(harness):
    """Checked as those that are set later."""
    assert harness.create("v", configs={"no.such": "1"}).topics[0].error_code == 40
    assert harness.create("v", configs={"max.message.bytes": "x"}).topics[0].error_code == 40
    assert harness.create("v", configs={"max.message.bytes": None}).topics[0].error_code == 40
    assert harness.create("v", configs={"max.message.bytes": "1"}).topics[0].error_code == 0


def test_configurations_end_with_their_topic(harness):
    harness.delete("t")
    harness.create("t")
    assert own(harness) == {}
