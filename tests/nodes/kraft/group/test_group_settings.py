"""The settings of groups in server.properties."""

import pytest

from nodes.kraft.config import ConfigError, from_settings
from nodes.kraft.group.config import GroupConfig

BROKER = {
    "process.roles": "broker",
    "broker.id": "4",
    "cluster.id": "test",
    "listeners": "PLAINTEXT://127.0.0.1:9092",
    "controller.quorum.voters": "1@127.0.0.1:9093",
    "log.dirs": "/tmp/x",
}


def test_defaults():
    assert from_settings(BROKER).groups == GroupConfig()


def test_kafkas_names():
    groups = from_settings(
        BROKER
        | {
            "offsets.topic.num.partitions": "50",
            "offsets.topic.replication.factor": "2",
            "group.initial.rebalance.delay.ms": "0",
            "group.min.session.timeout.ms": "6000",
            "group.max.session.timeout.ms": "300000",
            "group.max.size": "7",
        }
    ).groups
    assert groups == GroupConfig(
        partitions=50,
        replication_factor=2,
        initial_delay_ms=0,
        min_session_ms=6000,
        max_session_ms=300_000,
        max_size=7,
    )


@pytest.mark.parametrize(
    "key, value",
    [
        ("offsets.topic.num.partitions", "0"),
        ("offsets.topic.replication.factor", "0"),
        ("group.initial.rebalance.delay.ms", "-1"),
        ("group.min.session.timeout.ms", "x"),
        ("group.max.session.timeout.ms", "499"),
        ("group.max.size", "0"),
    ],
)
def test_wrong_values_are_named(key, value):
    """One line that says which setting, and what would be right."""
    with pytest.raises(ConfigError) as error:
        from_settings(BROKER | {key: value})
    assert key in str(error.value)
    assert value in str(error.value)
    assert "\n" not in str(error.value)
