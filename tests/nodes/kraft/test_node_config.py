"""server.properties: what is accepted, and that every mistake gets one clear line."""

from pathlib import Path

import pytest

from nodes.kraft.config import (
    AutoTopics,
    ConfigError,
    SnapshotPolicy,
    from_settings,
    load,
    parse_properties,
)

CONTROLLER = {
    "process.roles": "controller",
    "controller.id": "1",
    "cluster.id": "c",
    "listeners": "CONTROLLER://10.0.0.1:9093",
    "controller.listeners": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT",
    "controller.quorum.voters": "1@10.0.0.1:9093,2@10.0.0.2:9093",
    "log.dirs": "/tmp/x",
}
BROKER = {
    "process.roles": "broker",
    "broker.id": "4",
    "cluster.id": "c",
    "listeners": "PLAINTEXT://10.0.0.4:9092",
    "controller.quorum.voters": "1@10.0.0.1:9093",
    "log.dirs": "/tmp/x",
}
BOTH = {
    **CONTROLLER,
    "process.roles": "broker,controller",
    "broker.id": "4",
    "listeners": "CONTROLLER://10.0.0.1:9093,CLIENT://10.0.0.1:9092",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,CLIENT:PLAINTEXT",
    "advertised.listeners": "CLIENT://public.example:19092",
}


def test_a_controller_is_a_voter_and_has_no_client_listener() -> None:
    """A.1.1, A.1.71, A.1.73."""
    config = from_settings(CONTROLLER)
    assert config.roles == ("controller",)
    assert config.replica_id == 1
    assert [each.port for each in config.controller_listeners] == [9093]
    assert config.client_listeners == ()


def test_a_broker_is_an_observer() -> None:
    """A.2.16: it advertises what it listens on, where nothing else is set."""
    config = from_settings(BROKER)
    assert config.replica_id == 4
    assert config.advertised == config.client_listeners


def test_a_combined_process_has_two_ids_and_separate_listeners() -> None:
    """A.1.7, A.1.14, A.1.16."""
    config = from_settings(BOTH)
    assert (config.broker_id, config.controller_id, config.replica_id) == (4, 1, 1)
    assert {each.name for each in config.client_listeners} == {"CLIENT"}
    assert {each.name for each in config.controller_listeners} == {"CONTROLLER"}
    assert config.advertised[0].host == "public.example"


def test_events_are_written_where_that_is_not_refused() -> None:
    assert from_settings(CONTROLLER).events_file == Path("/tmp/x/events.jsonl")
    assert from_settings({**CONTROLLER, "events.file": "/e"}).events_file == Path("/e")
    assert from_settings({**CONTROLLER, "events.file": ""}).events_file is None


def test_the_lease_is_ten_heartbeat_intervals() -> None:
    """A.1.52."""
    config = from_settings({**BROKER, "broker.heartbeat.interval.ms": "3000"})
    assert config.timing.lease_ms == 30_000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"process.roles": ""}, "process.roles is missing"),
        ({"process.roles": "observer"}, "broker, controller, broker,controller"),
        ({"controller.id": "-1"}, "controller.id=-1"),
        ({"controller.id": "x"}, "whole number"),
        ({"controller.id": "7"}, "not in controller.quorum.voters"),
        ({"broker.id": "1"}, "share one space"),
        ({"broker.takeover": "never"}, "broker.takeover=never: it is immediate or deferred"),
        ({"metadata.format": "3"}, "metadata.format=3: it is a whole number from 1 to 2"),
        ({"metadata.snapshot.interval.ms": "0"}, "metadata.snapshot.interval.ms=0"),
        ({"metadata.snapshot.min.records": "x"}, "metadata.snapshot.min.records=x"),
        ({"metadata.snapshot.degraded.interval.ms": "9"}, "not less than"),
        ({"broker.id": ""}, "broker.id is missing"),
        ({"controller.quorum.voters": ""}, "id@host:port"),
        ({"controller.quorum.voters": "1@a:1,1@b:2"}, "one id twice"),
        ({"controller.quorum.voters": "nonsense"}, "id@host:port"),
        ({"controller.quorum.voters": "1@a:99999"}, "'1@a:99999' is not of the form id@host:port"),
        ({"controller.quorum.voters": "1@a:0"}, "'1@a:0' is not of the form id@host:port"),
        ({"controller.quorum.voters": "\u00b2@a:1"}, "id@host:port"),
        ({"controller.quorum.voters": "1@a:1,2147483648@b:1"}, "'2147483648@b:1'"),
        ({"controller.listeners": ""}, "controller.listeners is missing"),
        ({"controller.listeners": "OTHER"}, "which listeners does not have"),
        ({"listeners": "CONTROLLER://10.0.0.1:9093"}, "no listener for clients"),
        ({"listeners": "CONTROLLER:9093"}, "NAME://host:port"),
        ({"listeners": "X://a:1"}, "no entry for X"),
        ({"listeners": "CLIENT://a:\u00b2"}, "NAME://host:port"),
        ({"process.roles": "broker"}, "CONTROLLER is the controllers', but process.roles has no"),
        ({"advertised.listeners": "CLIENT://0.0.0.0:1"}, "an address that clients can reach"),
        ({"advertised.listeners": "CLIENT://:1"}, "an address that clients can reach"),
        ({"listener.security.protocol.map": "CONTROLLER:TELEPATHY"}, "NAME:PROTOCOL"),
        ({"advertised.listeners": "PLAINTEXT://a:1"}, "which is no listener"),
        ({"cluster.id": ""}, "cluster.id is missing"),
        ({"log.dirs": ""}, "log.dirs is missing"),
    ],
)
def test_mistakes_get_one_clear_line(change: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_settings({**BOTH, **change})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_broker_without_controllers_fails_at_start() -> None:
    """A.1.8."""
    with pytest.raises(ConfigError, match=r"controller\.quorum\.voters is missing"):
        from_settings({**BROKER, "controller.quorum.voters": ""})


def test_properties_have_comments_and_spaces() -> None:
    assert parse_properties("# c\n\n a = b=c \n!x\n") == {"a": "b=c"}


def test_a_line_without_equals_is_named() -> None:
    with pytest.raises(ConfigError, match="line 2: 'nonsense'"):
        parse_properties("a=b\nnonsense\n")


def test_a_broker_may_know_the_name_of_the_controllers_listener() -> None:
    """As Kafka's brokers do, whose controllers are elsewhere."""
    config = from_settings({**BROKER, "controller.listeners": "CONTROLLER"})
    assert config.controller_listeners == ()


def test_a_listener_on_all_addresses_needs_an_advertised_one() -> None:
    everywhere = {**BROKER, "listeners": "PLAINTEXT://0.0.0.0:9092"}
    with pytest.raises(ConfigError, match=r"advertised\.listeners: .* clients can reach"):
        from_settings(everywhere)
    config = from_settings({**everywhere, "advertised.listeners": "PLAINTEXT://b1:9092"})
    assert (config.client_listeners[0].host, config.advertised[0].host) == ("0.0.0.0", "b1")


def test_a_node_without_a_name_is_called_by_its_id() -> None:
    zero = {**CONTROLLER, "controller.id": "0", "controller.quorum.voters": "0@a:1"}
    assert from_settings(zero).name == "node-0"
    assert from_settings(BROKER).name == "node-4"
    assert from_settings(BOTH).name == "node-1"


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_bytes(b"cluster.id=\xff\xfe\n")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load(path)


def test_snapshot_settings() -> None:
    """A.1.37, A.1.46: two sets; the rarer one is never the more frequent one by default."""
    assert from_settings(BROKER).snapshots == SnapshotPolicy(10_000, 100, 60_000, 1000)
    often = {"metadata.snapshot.interval.ms": "90000", "metadata.snapshot.min.records": "5000"}
    policy = from_settings({**BROKER, **often}).snapshots
    assert policy == SnapshotPolicy(90_000, 5000, 90_000, 5000)


def test_snapshots_alone_do_not_make_the_next_ones_due() -> None:
    """Found by simulation: with as few records as leader changes make, an idle cluster changes
    its active controller for ever."""
    three = {**BROKER, "controller.quorum.voters": "1@a:1,2@b:1,3@c:1"}
    with pytest.raises(ConfigError, match=r"min\.records=6: it is a whole number from 7"):
        from_settings({**three, "metadata.snapshot.min.records": "6"})
    assert from_settings({**three, "metadata.snapshot.min.records": "7"}).snapshots.min_records == 7


def test_takeover_and_format() -> None:
    """A.7.3, A.1.36."""
    config = from_settings(BROKER)
    assert (config.deferred_takeover, config.metadata_format) == (False, 1)
    config = from_settings({**BROKER, "broker.takeover": "deferred", "metadata.format": "2"})
    assert (config.deferred_takeover, config.metadata_format) == (True, 2)


def test_the_authorizer() -> None:
    config = from_settings(BROKER)
    assert (config.authorizer_enabled, config.super_users) == (False, frozenset())
    config = from_settings(
        {**BROKER, "authorizer.enabled": "true", "super.users": "User:a; User:CN=b,O=c;"}
    )
    assert config.authorizer_enabled
    assert {str(each) for each in config.super_users} == {"User:a", "User:CN=b,O=c"}


@pytest.mark.parametrize(
    ("key", "value"),
    [("authorizer.enabled", "yes"), ("super.users", "a"), ("super.users", "User:")],
)
def test_settings_of_the_authorizer_that_are_wrong(key: str, value: str) -> None:
    with pytest.raises(ConfigError, match=key):
        from_settings({**BROKER, key: value})


def test_topics_that_clients_ask_for() -> None:
    """Kafka's names; made by default, as there."""
    assert from_settings(BROKER).auto_topics == AutoTopics(
        enabled=True, partitions=1, replication_factor=-1
    )
    asked = {"auto.create.topics.enable": "false", "num.partitions": "4"}
    config = from_settings(BROKER | asked | {"default.replication.factor": "2"})
    assert config.auto_topics == AutoTopics(enabled=False, partitions=4, replication_factor=2)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("auto.create.topics.enable", "perhaps"),
        ("num.partitions", "0"),
        ("num.partitions", "x"),
        ("default.replication.factor", "0"),
        ("default.replication.factor", "-1"),
    ],
)
def test_topics_that_clients_ask_for_wrongly_set(key: str, value: str) -> None:
    with pytest.raises(ConfigError, match=key):
        from_settings(BROKER | {key: value})
