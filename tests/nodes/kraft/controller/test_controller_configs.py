"""IncrementalAlterConfigs and AlterConfigs (A.1.90, B.8)."""

from __future__ import annotations

import pytest
from admin_asks import APPEND, DELETE, SET, SUBTRACT, change, changes_of, replace_all
from controller_harness import Harness

from nodes.kraft.metadata.config_keys import (
    BROKER_KEYS,
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
    harness.create("t", "u", configs={"retention.ms": "5"})
    return harness


def code(response):
    return response.responses[0].error_code


def own(harness, name="t", kind=2):
    return dict(harness.committed.configs.get((kind, name), {}))


def test_set_and_delete(harness):
    """A.1.90: one ConfigRecord a change; a null value removes."""
    start = len(harness.log)
    response = harness.ask(
        change("t", ("min.insync.replicas", SET, "2"), ("retention.ms", DELETE, None))
    )
    assert code(response) == 0
    assert own(harness) == {"min.insync.replicas": "2"}
    assert own(harness, "u") == {"retention.ms": "5"}
    records = harness.records(start)
    assert all(isinstance(record, ConfigRecord) for record in records)
    assert [(record.name, record.value) for record in records] == [
        ("min.insync.replicas", "2"),
        ("retention.ms", None),
    ]
    harness.ask(change("t", ("min.insync.replicas", DELETE, None)))
    assert (2, "t") not in harness.committed.configs


def test_what_changes_nothing_adds_no_record(harness):
    start = len(harness.log)
    response = harness.ask(change("t", ("retention.ms", SET, "5"), ("segment.bytes", DELETE, None)))
    assert code(response) == 0
    assert len(harness.log) == start


def test_lists(harness):
    """From the default where nothing is set; each item once."""
    harness.ask(change("t", ("cleanup.policy", APPEND, "compact")))
    assert own(harness)["cleanup.policy"] == "delete,compact"
    harness.ask(change("t", ("cleanup.policy", APPEND, "compact")))
    assert own(harness)["cleanup.policy"] == "delete,compact"
    harness.ask(change("t", ("cleanup.policy", SUBTRACT, "delete")))
    assert own(harness)["cleanup.policy"] == "compact"
    assert code(harness.ask(change("t", ("retention.ms", APPEND, "1")))) == 40


@pytest.mark.parametrize(
    ("name", "operation", "value", "expected"),
    [
        ("no.such", SET, "1", 40),
        ("no.such", DELETE, None, 40),
        ("min.insync.replicas", SET, "0", 40),
        ("min.insync.replicas", SET, "two", 40),
        ("min.insync.replicas", SET, str(2**31), 40),
        ("retention.ms", SET, "-2", 40),
        ("retention.ms", SET, "1_000", 40),
        ("retention.ms", SET, " 5", 40),
        ("retention.ms", SET, "9" * 5_000, 40),
        ("leader.replication.throttled.replicas", SET, "x" * 32_768, 40),
        ("unclean.leader.election.enable", SET, "yes", 40),
        ("cleanup.policy", SET, "shred", 40),
        ("compression.type", SET, "rar", 40),
        ("min.cleanable.dirty.ratio", SET, "1.5", 40),
        ("min.cleanable.dirty.ratio", SET, "nan", 40),
        ("retention.ms", SET, None, 42),
        ("retention.ms", 9, "1", 42),
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
            (2, "t", [("segment.ms", SET, "9"), ("no.such", SET, "1")]),
            (2, "u", [("segment.ms", SET, "9")]),
            (2, "missing", [("segment.ms", SET, "9")]),
            (3, "t", [("segment.ms", SET, "9")]),
        )
    )
    assert [each.error_code for each in response.responses] == [40, 0, 3, 42]
    assert "segment.ms" not in own(harness)
    assert own(harness, "u")["segment.ms"] == "9"


def test_twice_in_one_request(harness):
    twice = ("segment.ms", SET, "9")
    assert code(harness.ask(change("t", twice, twice))) == 42
    response = harness.ask(changes_of((2, "t", [twice]), (2, "t", [twice])))
    assert [each.error_code for each in response.responses] == [42]


def test_validation_alone(harness):
    start = len(harness.log)
    assert code(harness.ask(change("t", ("segment.ms", SET, "9"), validate_only=True))) == 0
    assert code(harness.ask(change("t", ("no.such", SET, "9"), validate_only=True))) == 40
    assert len(harness.log) == start


def test_the_legacy_call_replaces_everything(harness):
    harness.ask(change("t", ("segment.ms", SET, "9")))
    assert code(harness.ask(replace_all("t", {"retention.ms": "6"}))) == 0
    assert own(harness) == {"retention.ms": "6"}
    assert code(harness.ask(replace_all("t", {"segment.ms": None}))) == 40
    assert code(harness.ask(replace_all("t", {}))) == 0
    assert own(harness) == {}


def test_brokers(harness):
    """A broker, or all of them (name ""), under the brokers' names of the configurations."""
    assert code(harness.ask(change("", ("log.retention.ms", SET, "7"), kind=BROKER))) == 0
    assert code(harness.ask(change("4", ("min.insync.replicas", SET, "2"), kind=BROKER))) == 0
    assert code(harness.ask(change("4", ("retention.ms", SET, "2"), kind=BROKER))) == 40
    assert code(harness.ask(change("9", ("log.retention.ms", SET, "2"), kind=BROKER))) == 42
    assert code(harness.ask(change("x", ("log.retention.ms", SET, "2"), kind=BROKER))) == 42


def test_what_counts_of_several_places(harness):
    """Topic, broker, all brokers, default."""
    image = harness.committed
    assert topic_value(image, "u", "segment.ms") == TOPIC_KEYS["segment.ms"].default
    harness.ask(change("", ("log.roll.ms", SET, "1"), kind=BROKER))
    assert topic_number(harness.committed, "u", "segment.ms", 4) == 1
    harness.ask(change("4", ("log.roll.ms", SET, "2"), kind=BROKER))
    assert topic_number(harness.committed, "u", "segment.ms", 4) == 2
    assert topic_number(harness.committed, "u", "segment.ms", 5) == 1
    harness.ask(change("u", ("segment.ms", SET, "3")))
    found = layers(harness.committed, "u", "segment.ms", 4)
    assert [(source, value) for source, _, value in found] == [
        (ConfigSource.TOPIC, "3"),
        (ConfigSource.BROKER, "2"),
        (ConfigSource.ALL_BROKERS, "1"),
        (ConfigSource.DEFAULT, TOPIC_KEYS["segment.ms"].default),
    ]


def test_defaults_are_values_that_can_be():
    for key in (*TOPIC_KEYS.values(), *BROKER_KEYS.values()):
        assert key.problem(key.default) is None


def test_a_topic_is_created_with_values_that_can_be(harness):
    """Checked as those that are set later."""
    assert harness.create("v", configs={"no.such": "1"}).topics[0].error_code == 40
    assert harness.create("v", configs={"retention.ms": "x"}).topics[0].error_code == 40
    assert harness.create("v", configs={"retention.ms": None}).topics[0].error_code == 40
    assert harness.create("v", configs={"retention.ms": "1"}).topics[0].error_code == 0


def test_configurations_end_with_their_topic(harness):
    harness.delete("t")
    harness.create("t")
    assert own(harness) == {}
