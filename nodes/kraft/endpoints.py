"""Listeners and voters: where they are, and what they speak."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from nodes.kraft.settings import MAX_ID, MAX_PORT, ConfigError, is_number, names

SECURITY_PROTOCOLS: Final = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}
"""Name -> id of the protocols that listeners can speak."""
WITH_TLS: Final = frozenset({"SSL", "SASL_SSL"})
WITH_SASL: Final = frozenset({"SASL_PLAINTEXT", "SASL_SSL"})


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A listener: its name, where it is, and the security protocol that it speaks."""

    name: str
    host: str
    port: int
    protocol: str


@dataclass(frozen=True, slots=True)
class Voter:
    """A member of the metadata quorum."""

    id: int
    host: str
    port: int


def voters(settings: Mapping[str, str]) -> tuple[Voter, ...]:
    """`controller.quorum.voters`, or the draft's `controller.connect`. Raises `ConfigError`."""
    text = settings.get("controller.quorum.voters") or settings.get("controller.connect", "")
    if not text:
        raise ConfigError(
            "controller.quorum.voters is missing: id@host:port of each controller, by commas"
        )
    voters = []
    for item in names(text):
        ident, at, address = item.partition("@")
        host, colon, port = address.rpartition(":")
        right = is_number(ident, MAX_ID) and is_number(port, MAX_PORT) and int(port) > 0
        if not (at and colon and host and right):
            raise ConfigError(f"controller.quorum.voters: {item!r} is not of the form id@host:port")
        voters.append(Voter(int(ident), bare(host), int(port)))
    return tuple(voters)


def endpoints(
    settings: Mapping[str, str], key: str, protocols: Mapping[str, str]
) -> tuple[Endpoint, ...]:
    """The listeners that a setting names. Raises `ConfigError`."""
    found = []
    for item in names(settings.get(key, "")):
        name, separator, address = item.partition("://")
        host, colon, port = address.rpartition(":")
        if not (separator and colon and is_number(port, MAX_PORT)):
            raise ConfigError(f"{key}: {item!r} is not of the form NAME://host:port")
        if name not in protocols:
            raise ConfigError(f"{key}: listener.security.protocol.map has no entry for {name}")
        found.append(Endpoint(name, bare(host), int(port), protocols[name]))
    if len({each.name for each in found}) != len(found):
        raise ConfigError(f"{key} names one listener twice")
    return tuple(found)


def protocol_map(settings: Mapping[str, str]) -> dict[str, str]:
    """Listener's name -> protocol; each protocol's own name is one. Raises `ConfigError`."""
    found = {name: name for name in SECURITY_PROTOCOLS}
    for item in names(settings.get("listener.security.protocol.map", "")):
        name, colon, protocol = item.partition(":")
        if not colon or protocol not in SECURITY_PROTOCOLS:
            known = ", ".join(SECURITY_PROTOCOLS)
            raise ConfigError(
                f"listener.security.protocol.map: {item!r} is not NAME:PROTOCOL "
                f"(protocols: {known})"
            )
        found[name] = protocol
    return found


def controller_protocol(control_names: list[str], protocols: Mapping[str, str]) -> str:
    """What the controllers' listeners speak; a broker is told by their name, too, whose default
    is PLAINTEXT."""
    return protocols.get(control_names[0], "PLAINTEXT") if control_names else "PLAINTEXT"


def address(settings: Mapping[str, str], key: str) -> tuple[str, int] | None:
    """A setting `host:port`; None: not set. Raises `ConfigError`."""
    text = settings.get(key)
    if not text:
        return None
    host, colon, port = text.rpartition(":")
    if not (colon and is_number(port, MAX_PORT)):
        raise ConfigError(f"{key}={text}: it is host:port")
    return bare(host), int(port)


def bare(host: str) -> str:
    """An IPv6 address without the brackets that part it from the port."""
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host
