"""SCRAM-SHA-256 and PLAIN: the RFC's example, and what liars hear."""

from __future__ import annotations

import base64
import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.kraft.security.principal import Principal
from nodes.kraft.security.sasl import Login, SaslSettings, ServerSession, User, client_tokens
from nodes.kraft.security.scram import (
    AuthenticationFailed,
    ClientExchange,
    Credential,
    ServerExchange,
    username_of,
)
from tests.cases import cases

# RFC 7677, section 3
CLIENT_NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_NONCE = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
CLIENT_FIRST = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = (
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
)
CLIENT_FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="

PENCIL = Credential.of("pencil", salt=SALT)
USERS = SaslSettings(
    mechanisms=("PLAIN", "SCRAM-SHA-256"),
    users={"user": User("pencil", PENCIL), "hashed": User(None, PENCIL)},
)


def log_in(mechanism: str, username: str, password: str) -> Principal | None:
    """Both sides, token by token."""
    session = ServerSession(USERS, mechanism)
    tokens = client_tokens(Login(mechanism=mechanism, username=username, password=password))
    token = next(tokens)
    with contextlib.suppress(StopIteration):
        while True:
            token = tokens.send(session.step(token))
    return session.principal


def test_the_rfcs_example() -> None:
    client = ClientExchange("user", "pencil", CLIENT_NONCE)
    server = ServerExchange(CLIENT_FIRST, PENCIL, SERVER_NONCE)
    assert client.first() == CLIENT_FIRST
    assert server.first() == SERVER_FIRST
    assert client.final(SERVER_FIRST) == CLIENT_FINAL
    assert server.final(CLIENT_FINAL) == SERVER_FINAL
    client.verify(SERVER_FINAL)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_who_knows_the_password_is_who_they_say(mechanism: str) -> None:
    assert log_in(mechanism, "user", "pencil") == Principal("User", "user")
    for username, password in (("user", "pen"), ("user", ""), ("nobody", "pencil"), ("", "")):
        with pytest.raises(AuthenticationFailed):
            log_in(mechanism, username, password)


def test_a_user_of_whom_only_the_hash_is_known_uses_scram() -> None:
    assert log_in("SCRAM-SHA-256", "hashed", "pencil") == Principal("User", "hashed")
    with pytest.raises(AuthenticationFailed):
        log_in("PLAIN", "hashed", "pencil")
    with pytest.raises(AuthenticationFailed):
        log_in("PLAIN", "hashed", "")


def test_credentials_are_read_as_they_are_written() -> None:
    assert Credential.parse(str(PENCIL)) == PENCIL


@pytest.mark.parametrize(
    "text",
    [
        "SCRAM-SHA-256$",
        "SCRAM-SHA-256$4096:a$b:c",
        "SCRAM-SHA-512$4096:YQ==$YQ==:YQ==",
        str(PENCIL).replace("4096", "40"),
        str(PENCIL).replace("4096", "999999999"),
        "SCRAM-SHA-256$4096:YQ==$YQ==:YQ==",
    ],
)
def test_credentials_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Credential.parse(text)


def test_names_with_commas_and_equals_signs() -> None:
    client = ClientExchange("a,b=c", "pencil")
    assert username_of(client.first()) == "a,b=c"


@pytest.mark.parametrize(
    "token",
    [
        b"",
        b"n,,",
        b"p=tls-unique,,n=user,r=x",
        b"n,a=other,n=user,r=x",
        b"n,,r=x,n=user",
        b"\xff\xfe",
        b"n,,n=nobody,r=x",
    ],
)
def test_first_messages_that_lead_nowhere(token: bytes) -> None:
    with pytest.raises(AuthenticationFailed):
        ServerSession(USERS, "SCRAM-SHA-256").step(token)


@pytest.mark.parametrize(
    "final",
    [
        b"",
        CLIENT_FINAL.replace(b"c=biws", b"c=eSws"),
        CLIENT_FINAL.replace(b"k0,", b"k1,"),
        CLIENT_FINAL.replace(b"p=d", b"p=e"),
        CLIENT_FINAL.replace(b"AndVQ=", b""),
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=",
    ],
)
def test_proofs_that_prove_nothing(final: bytes) -> None:
    server = ServerExchange(CLIENT_FIRST, PENCIL, SERVER_NONCE)
    with pytest.raises(AuthenticationFailed):
        server.final(final)


@pytest.mark.parametrize(
    "first",
    [
        b"r=another,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        b"r=rOprNGfwEbeRWgbNEkqO,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        SERVER_FIRST.replace(b"4096", b"1"),
        SERVER_FIRST.replace(b"4096", b"2147483647"),
        SERVER_FIRST.replace(b"s=W", b"s=!"),
        b"e=other-error",
    ],
)
def test_servers_that_a_client_does_not_believe(first: bytes) -> None:
    """Among them one that would have it compute for an hour."""
    with pytest.raises(AuthenticationFailed):
        ClientExchange("user", "pencil", CLIENT_NONCE).final(first)


def test_a_server_that_does_not_know_the_password() -> None:
    client = ClientExchange("user", "pencil", CLIENT_NONCE)
    client.final(SERVER_FIRST)
    with pytest.raises(AuthenticationFailed, match="does not know"):
        client.verify(b"v=" + base64.b64encode(b"x" * 32))


@given(st.lists(st.one_of(st.binary(max_size=60), st.just(CLIENT_FIRST)), max_size=3))
@settings(max_examples=cases(300), deadline=None)
def test_no_tokens_but_the_right_ones_log_anybody_in(tokens: list[bytes]) -> None:
    for mechanism in USERS.mechanisms:
        session = ServerSession(USERS, mechanism)
        with contextlib.suppress(AuthenticationFailed):
            for token in tokens:
                session.step(token)
        assert session.principal is None
