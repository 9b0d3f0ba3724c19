"""What certificates say, and the settings that name them."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from cryptography.x509.oid import NameOID

from nodes.kraft.config import from_settings
from nodes.kraft.security.principal import ANONYMOUS, Principal
from nodes.kraft.security.tls import distinguished_name, principal_of
from nodes.kraft.settings import ConfigError
from tests.nodes.kraft.certificates import Authority, common_name

BROKER = {
    "process.roles": "broker",
    "broker.id": "4",
    "cluster.id": "test",
    "listeners": "CLIENT://127.0.0.1:9092",
    "listener.security.protocol.map": "CLIENT:PLAINTEXT",
    "controller.quorum.voters": "1@127.0.0.1:9093",
    "log.dirs": "/nowhere",
}


def test_a_name_is_written_from_its_last_part_on() -> None:
    """As Java's X500Principal does, on which Kafka's rules for principals are built."""
    subject = (
        (("countryName", "DE"),),
        (("organizationName", "A, B"),),
        (("organizationalUnitName", "x"), ("localityName", "y")),
        (("commonName", "alice"),),
    )
    assert distinguished_name(subject) == "CN=alice,OU=x+L=y,O=A\\, B,C=DE"
    assert principal_of({"subject": subject}).name.startswith("CN=alice,")


@pytest.mark.parametrize(
    ("value", "written"),
    [("#1", "\\#1"), (" a", "\\ a"), ("a ", "a\\ "), ('"', '\\"'), ("a;b<c>", "a\\;b\\<c\\>")],
)
def test_special_characters_are_escaped(value: str, written: str) -> None:
    assert distinguished_name(((("commonName", value),),)) == f"CN={written}"


def test_without_a_certificate_one_is_anonymous() -> None:
    assert principal_of(None) == principal_of({}) == ANONYMOUS


def test_a_real_certificate(tmp_path: Path) -> None:
    keystore = Authority(tmp_path).keystore(
        (NameOID.COUNTRY_NAME, "DE"), (NameOID.ORGANIZATION_NAME, "Org"), common_name("alice")
    )
    decoded = ssl._ssl._test_decode_cert(str(keystore))  # type: ignore[attr-defined]
    assert principal_of(decoded) == Principal("User", "CN=alice,O=Org,C=DE")


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"listener.security.protocol.map": "CLIENT:SSL"}, "ssl.keystore.location is missing"),
        ({"listener.security.protocol.map": "CLIENT:TLS"}, "protocols: PLAINTEXT, SSL"),
        ({"ssl.keystore.type": "JKS"}, "ssl.keystore.type=JKS: it is one of PEM"),
        ({"ssl.keystore.location": "/nowhere/key.pem"}, "No such file"),
        ({"ssl.keystore.location": "{garbage}"}, "no private key"),
        ({"ssl.truststore.location": "{garbage}"}, "no certificates"),
        ({"ssl.client.auth": "maybe"}, "required"),
        ({"ssl.client.auth": "required"}, "ssl.truststore.location is missing"),
        (
            {"ssl.keystore.location": "{key}", "listener.security.protocol.map": "CLIENT:SSL"},
            "ssl.truststore.location is missing: other brokers speak SSL",
        ),
        ({"listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT"}, "nobody can log in"),
        (
            {"listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT", "sasl.users": "a=b"},
            "sasl.username and sasl.password are missing: other brokers speak SASL_PLAINTEXT",
        ),
        (
            {
                "listener.security.protocol.map": "CLIENT:PLAINTEXT,C:SASL_SSL",
                "controller.listeners": "C",
                "ssl.truststore.location": "{trust}",
            },
            "missing: controllers speak SASL_SSL",
        ),
        ({"sasl.users": "alice"}, "not of the form name=password"),
        ({"sasl.users": "a=b;a=c"}, "twice"),
        ({"sasl.users": "a=SCRAM-SHA-256$x"}, "sasl.users: a: not of the form SCRAM"),
        ({"sasl.users.file": "/nowhere/users"}, "No such file"),
        ({"sasl.enabled.mechanisms": "GSSAPI"}, "PLAIN, SCRAM-SHA-256"),
        ({"sasl.enabled.mechanisms": ","}, "is empty"),
        ({"sasl.mechanism.controller.protocol": "X"}, "sasl.mechanism.controller.protocol=X"),
        ({"sasl.username": "a"}, "go together"),
        ({"queued.max.request.bytes": "5"}, "must hold one request"),
        ({"max.connections": "0"}, "max.connections=0"),
        ({"metrics.listener": "9464"}, "it is host:port"),
    ],
)
def test_mistakes_get_one_clear_line(
    tmp_path: Path, settings: dict[str, str], complaint: str
) -> None:
    authority = Authority(tmp_path)
    (tmp_path / "garbage").write_text("not PEM")
    places = {
        "garbage": tmp_path / "garbage",
        "key": authority.keystore(common_name("n")),
        "trust": authority.truststore,
    }
    reported = {key: value.format(**places) for key, value in settings.items()}
    with pytest.raises(ConfigError) as caught:
        from_settings(BROKER | reported)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_password_is_never_reported(tmp_path: Path) -> None:
    (tmp_path / "users").write_text("alice=SCRAM-SHA-256$hunter2\n")
    with pytest.raises(ConfigError) as caught:
        from_settings(BROKER | {"sasl.users.file": str(tmp_path / "users")})
    assert "hunter2" not in str(caught.value)
    assert "line 1" in str(caught.value)
