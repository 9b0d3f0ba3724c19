"""SASL: who may log in, and a server's and a client's side of the mechanisms.

PLAIN (RFC 4616) and SCRAM-SHA-256. Tokens travel in SaslAuthenticate, or, after SaslHandshake
v0, in frames of their own (net/gate.py, net/channel.py).
"""

from __future__ import annotations

import hmac
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Final

from nodes.kraft.security import scram
from nodes.kraft.security.principal import Principal
from nodes.kraft.security.scram import AuthenticationFailed, Credential
from nodes.kraft.settings import ConfigError, Settings, names, readable_file

PLAIN: Final = "PLAIN"
MECHANISMS: Final = (PLAIN, scram.MECHANISM)


@dataclass(frozen=True, slots=True)
class User:
    """`password` is None where only a SCRAM credential was given: such a user cannot use PLAIN,
    which needs the password itself."""

    password: str | None
    credential: Credential


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """As whom this node logs in at others."""

    mechanism: str
    username: str
    password: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslSettings:
    """`users`: who may log in here. The logins: as whom this node logs in at others."""

    mechanisms: tuple[str, ...] = ()
    users: Mapping[str, User] = field(default_factory=dict)
    controller_login: Login | None = None
    broker_login: Login | None = None


# --- mechanisms ---------------------------------------------------------------------------


class ServerSession:
    """One connection's authentication. `principal` is set once it has succeeded."""

    def __init__(self, settings: SaslSettings, mechanism: str) -> None:
        self.principal: Principal | None = None
        self._users = settings.users
        self._mechanism = mechanism
        self._exchange: scram.ServerExchange | None = None
        self._username = ""

    def step(self, token: bytes) -> bytes:
        """The answer to a client's token. Raises `AuthenticationFailed`."""
        if self._mechanism == PLAIN:
            return self._plain(token)
        if self._exchange is None:
            self._username = scram.username_of(token)
            user = self._users.get(self._username)
            if user is None:
                raise AuthenticationFailed("wrong user or password")
            self._exchange = scram.ServerExchange(token, user.credential)
            return self._exchange.first()
        answer = self._exchange.final(token)
        self.principal = Principal("User", self._username)
        return answer

    def _plain(self, token: bytes) -> bytes:
        try:
            authorized_as, username, password = token.decode().split("\0")
        except ValueError:  # UnicodeDecodeError is one, too
            raise AuthenticationFailed("not a PLAIN message") from None
        if authorized_as not in ("", username):
            raise AuthenticationFailed("one user may not act for another")
        user = self._users.get(username)
        known = user.password if user is not None and user.password is not None else ""
        if not known or not hmac.compare_digest(known.encode(), password.encode()):
            raise AuthenticationFailed("wrong user or password")
        self.principal = Principal("User", username)
        return b""


def client_tokens(login: Login) -> Generator[bytes, bytes, None]:
    """A client's tokens: each is yielded, and the server's answer to it is sent in.

    Raises `AuthenticationFailed` where the server does not prove that it knows the password.
    """
    if login.mechanism == PLAIN:
        yield f"\0{login.username}\0{login.password}".encode()
        return
    exchange = scram.ClientExchange(login.username, login.password)
    server_first = yield exchange.first()
    server_final = yield exchange.final(server_first)
    exchange.verify(server_final)


# --- settings -----------------------------------------------------------------------------


def sasl_settings(settings: Settings) -> SaslSettings:
    """`sasl.enabled.mechanisms`, `sasl.users`, `sasl.users.file`, `sasl.username` and so on.
    Raises `ConfigError`."""
    mechanisms = tuple(names(settings.get("sasl.enabled.mechanisms", scram.MECHANISM)))
    for mechanism in mechanisms:
        _check_mechanism("sasl.enabled.mechanisms", mechanism)
    if not mechanisms:
        raise ConfigError("sasl.enabled.mechanisms is empty: PLAIN, SCRAM-SHA-256 or both")
    return SaslSettings(
        mechanisms=mechanisms,
        users=_users(settings),
        controller_login=_login(settings, "sasl.mechanism.controller.protocol", mechanisms[0]),
        broker_login=_login(settings, "sasl.mechanism.inter.broker.protocol", mechanisms[0]),
    )


def _check_mechanism(key: str, mechanism: str) -> None:
    if mechanism not in MECHANISMS:
        raise ConfigError(f"{key}={mechanism}: it is one of {', '.join(MECHANISMS)}")


def _login(settings: Settings, key: str, default: str) -> Login | None:
    mechanism = settings.get(key, default)
    _check_mechanism(key, mechanism)
    username, password = settings.get("sasl.username"), settings.get("sasl.password")
    if not username and not password:
        return None
    if not username or not password:
        raise ConfigError("sasl.username and sasl.password go together: one of them is missing")
    return Login(mechanism=mechanism, username=username, password=password)


def _users(settings: Settings) -> dict[str, User]:
    """`sasl.users=alice=secret;bob=...` and the lines of `sasl.users.file`."""
    users: dict[str, User] = {}
    for item in filter(None, (each.strip() for each in settings.get("sasl.users", "").split(";"))):
        _add_user(users, "sasl.users", item)
    path = readable_file(settings, "sasl.users.file")
    if path is not None:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            raise ConfigError(f"sasl.users.file={path}: not UTF-8 text") from None
        for number, line in enumerate(lines, 1):
            if line.strip() and not line.lstrip().startswith("#"):
                _add_user(users, f"sasl.users.file={path}, line {number}", line.strip())
    return users


def _add_user(users: dict[str, User], where: str, item: str) -> None:
    name, equals, secret = item.partition("=")
    if not (name and equals and secret):
        raise ConfigError(f"{where}: not of the form name=password")
    if name in users:
        raise ConfigError(f"{where}: {name} is there twice")
    if secret.startswith(f"{scram.MECHANISM}$"):
        try:
            users[name] = User(None, Credential.parse(secret))
        except ValueError as error:
            raise ConfigError(f"{where}: {name}: {error}") from None
    else:
        users[name] = User(secret, Credential.of(secret))
