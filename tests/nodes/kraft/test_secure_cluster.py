"""Ordinary clients on listeners of every security protocol; nodes that speak it to each other."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import confluent_kafka.admin
import kafka
import kafka.errors
import pytest

from tests.nodes.kraft.certificates import Authority, common_name
from tests.nodes.kraft.loopback import Loopback, free_ports

pytestmark = pytest.mark.xdist_group("processes")

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256")
ALL = [
    (protocol, mechanism)
    for protocol in PROTOCOLS
    for mechanism in (MECHANISMS if protocol.startswith("SASL") else (None,))
]


class Secure:
    """A combined cluster of three whose controllers speak SASL_SSL, brokers SSL; clients may
    choose."""

    def __init__(self, directory: Path) -> None:
        authority = Authority(directory)
        self.truststore = authority.truststore
        self.alice = authority.keystore(common_name("alice"))
        self.stranger = Authority(directory, "another").keystore(common_name("mallory"))
        keystore = authority.keystore(common_name("node"))
        (directory / "users").write_text("# users\nalice=alice-secret\nnode=node-secret\n")
        self.cluster = Loopback(
            directory,
            combined=3,
            listener_security_protocol_map="CONTROLLER:SASL_SSL,CLIENT:PLAINTEXT",
            inter_broker_listener_name="SSL",
            ssl_keystore_location=str(keystore),
            ssl_truststore_location=str(self.truststore),
            ssl_client_auth="requested",
            sasl_enabled_mechanisms="SCRAM-SHA-256,PLAIN",
            sasl_users_file=str(directory / "users"),
            sasl_username="node",
            sasl_password="node-secret",
            sasl_mechanism_controller_protocol="SCRAM-SHA-256",
        )
        self.ports: dict[tuple[str, str], int] = {}
        for name, settings in self.cluster.settings.items():
            for protocol, port in zip(PROTOCOLS[1:], free_ports(3), strict=True):
                settings["listeners"] += f",{protocol}://127.0.0.1:{port}"
                self.ports[name, protocol] = port
            self.ports[name, "PLAINTEXT"] = self.cluster.client[name]

    def address(self, protocol: str) -> str:
        return ",".join(
            f"127.0.0.1:{port}" for (_, each), port in self.ports.items() if each == protocol
        )


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secure]:
    secure = Secure(tmp_path_factory.mktemp("secure"))
    with secure.cluster:
        secure.cluster.ready()
        yield secure


def confluent(secure: Secure, protocol: str, mechanism: str | None, **more: str) -> Any:
    settings: dict[str, Any] = {
        "bootstrap.servers": secure.address(protocol),
        "security.protocol": protocol,
        "ssl.ca.location": str(secure.truststore),
    }
    if mechanism is not None:
        login = {"username": "alice", "password": "alice-secret"}
        settings |= {"sasl.mechanism": mechanism}
        settings |= {f"sasl.{key}": value for key, value in login.items()}
    return confluent_kafka.admin.AdminClient(
        settings | {key.replace("_", "."): value for key, value in more.items()}
    )


def python(secure: Secure, protocol: str, mechanism: str | None, **more: Any) -> Any:
    settings: dict[str, Any] = {
        "bootstrap_servers": secure.address(protocol).split(","),
        "security_protocol": protocol,
        "ssl_cafile": str(secure.truststore),
        "request_timeout_ms": 5000,
    }
    if mechanism is not None:
        settings |= {
            "sasl_mechanism": mechanism,
            "sasl_plain_username": "alice",
            "sasl_plain_password": "alice-secret",
        }
    return kafka.KafkaAdminClient(**settings | more)


@pytest.mark.parametrize(("protocol", "mechanism"), ALL)
def test_confluents_client_connects(secure: Secure, protocol: str, mechanism: str | None) -> None:
    """A.1.7: also co-located nodes elect and serve, here over TLS with logins throughout."""
    found = confluent(secure, protocol, mechanism).list_topics(timeout=60)
    ports = {broker.port for broker in found.brokers.values()}
    assert ports == {port for (_, each), port in secure.ports.items() if each == protocol}


@pytest.mark.parametrize(("protocol", "mechanism"), ALL)
def test_kafka_python_connects(secure: Secure, protocol: str, mechanism: str | None) -> None:
    client = python(secure, protocol, mechanism)
    try:
        assert len(client.describe_cluster()["brokers"]) == 3
    finally:
        client.close()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_wrong_password_is_refused(secure: Secure, mechanism: str) -> None:
    errors: list[str] = []
    settings = {
        "bootstrap.servers": secure.address("SASL_PLAINTEXT"),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": "alice",
        "sasl.password": "wrong",
        "error_cb": lambda error: errors.append(error.str()),
    }
    client = confluent_kafka.admin.AdminClient(settings, logger=logging.getLogger("silent"))
    with pytest.raises(confluent_kafka.KafkaException):
        client.list_topics(timeout=1)
    client.poll(1)
    assert any("Authentication failed" in each for each in errors), errors
    with pytest.raises(kafka.errors.KafkaError):
        python(
            secure,
            "SASL_PLAINTEXT",
            mechanism,
            sasl_plain_password="wrong",
            bootstrap_timeout_ms=1000,
        )


def test_a_certificate_of_a_stranger_is_refused(secure: Secure) -> None:
    def shows(keystore: Path) -> Any:
        path = str(keystore)
        return confluent(secure, "SSL", None, ssl_certificate_location=path, ssl_key_location=path)

    assert len(shows(secure.alice).list_topics(timeout=60).brokers) == 3
    with pytest.raises(confluent_kafka.KafkaException):
        shows(secure.stranger).list_topics(timeout=1)


def test_the_cluster_replicates_over_its_secure_listeners(secure: Secure) -> None:
    """Forwarding, heartbeats, Raft and the replica fetchers all log in, or show certificates."""
    client = confluent(secure, "SASL_SSL", "SCRAM-SHA-256")
    topic = confluent_kafka.admin.NewTopic("t", num_partitions=1, replication_factor=3)
    client.create_topics([topic])["t"].result(120)
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": secure.address("SASL_SSL"),
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(secure.truststore),
            "sasl.mechanism": "PLAIN",
            "sasl.username": "alice",
            "sasl.password": "alice-secret",
        }
    )
    errors: list[Any] = []
    producer.produce("t", b"x", on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(15) == 0
    assert errors == [None]
