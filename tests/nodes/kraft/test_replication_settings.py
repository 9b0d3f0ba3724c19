"""Settings of replication between brokers."""

import pytest

from nodes.kraft.config import ConfigError, from_settings

BROKER = {
    "process.roles": "broker",
    "broker.id": "4",
    "cluster.id": "test",
    "listener.security.protocol.map": "OUTSIDE:PLAINTEXT,INSIDE:PLAINTEXT",
    "listeners": "OUTSIDE://127.0.0.1:9092,INSIDE://127.0.0.1:9094",
    "controller.quorum.voters": "1@127.0.0.1:9093",
    "log.dirs": "/nowhere",
}


def test_defaults() -> None:
    config = from_settings(BROKER)
    assert config.inter_broker_listener == "OUTSIDE"
    assert (config.replication.lag_max_ms, config.replication.fetch_wait_ms) == (3000, 500)


def test_values() -> None:
    config = from_settings(
        BROKER
        | {
            "inter.broker.listener.name": "INSIDE",
            "replica.lag.time.max.ms": "700",
            "replica.fetch.wait.max.ms": "50",
        }
    )
    assert config.inter_broker_listener == "INSIDE"
    assert (config.replication.lag_max_ms, config.replication.fetch_wait_ms) == (700, 50)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("inter.broker.listener.name", "BESIDE", "OUTSIDE, INSIDE"),
        ("replica.lag.time.max.ms", "0", "from 1"),
        ("replica.fetch.wait.max.ms", "soon", "whole number"),
    ],
)
def test_what_is_wrong_is_named(key: str, value: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_settings(BROKER | {key: value})
    message = str(caught.value)
    assert f"{key}={value}" in message
    assert said in message
    assert "\n" not in message
