"""TLS, logins and the authorizer in a run: what nodes get beside the settings that ask for them,
and how the framework's own clients get through.

Keys and passwords are drawn from the run's seed. They are there to be tested, and keep no secret:
whoever has the run's folder has them. Nodes are one user, `node`, the framework's clients another,
`client`; by certificates they are `CN=node` and `CN=client`.
"""

import ssl
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from framework.seeds import stream
from nodes.adapting.properties import LISTENERS
from nodes.kraft.adapter.certificates import Authority, common_name
from nodes.kraft.endpoints import WITH_SASL, WITH_TLS, protocol_map
from nodes.kraft.net.secure import ChannelSecurity
from nodes.kraft.security import scram
from nodes.kraft.security.principal import ANONYMOUS
from nodes.kraft.security.sasl import Login
from nodes.kraft.security.tls import TlsSettings, client_context
from nodes.kraft.settings import names

NODE: Final = "node"
CLIENT: Final = "client"
NAMED: Final = frozenset({"User:node", "User:client", "User:CN=node", "User:CN=client"})
"""Both by login and by certificate: a controller also hears of clients whom a broker saw."""
NOWHERE: Final = "127.0.0.1"
"""The address in the certificate of the framework's clients, whom nobody calls."""

KEYSTORE: Final = "security/keystore.pem"
TRUSTSTORE: Final = "security/truststore.pem"
USERS: Final = "security/users"
"""Files below a node's workdir."""
MADE: Final = frozenset(
    {
        "sasl.password",
        "sasl.username",
        "sasl.users.file",
        "ssl.key.password",
        "ssl.keystore.location",
        "ssl.truststore.location",
    }
)
"""Settings that a run makes by itself: its hosts have no files of the user's."""

Settings = Mapping[str, str]


def own_settings(settings: Settings, *, workdir: str, seed: int) -> dict[str, str]:
    """What a node needs beside `settings`, for the protocols and the authorizer in them."""
    tls, sasl = _uses(settings)
    found = {}
    if tls:
        found["ssl.keystore.location"] = f"{workdir}/{KEYSTORE}"
        found["ssl.truststore.location"] = f"{workdir}/{TRUSTSTORE}"
    if sasl:
        found["sasl.users.file"] = f"{workdir}/{USERS}"
        found["sasl.username"] = NODE
        found["sasl.password"] = _password(seed, NODE)
    if settings.get("authorizer.enabled") == "true":
        seen = principals(NODE, settings) | principals(CLIENT, settings)
        found["super.users"] = ";".join(sorted(NAMED | seen))
    return found


def files(settings: Settings, *, address: str, seed: int) -> dict[str, bytes]:
    """The files that `own_settings` names: path below the node's workdir -> what is in it."""
    tls, sasl = _uses(settings)
    found = {}
    if tls:
        found[KEYSTORE] = _authority(seed).keystore(common_name(NODE), address)
        found[TRUSTSTORE] = _authority(seed).certificate
    if sasl:
        lines = [f"{user}={_password(seed, user)}\n" for user in (NODE, CLIENT)]
        found[USERS] = "".join(lines).encode()
    return found


def principals(who: str, settings: Settings) -> frozenset[str]:
    """As whom NODE or CLIENT is seen by a node with these settings, on its listeners."""
    found = set()
    for port in LISTENERS:
        protocol = _protocol(settings, port)
        if protocol in WITH_SASL:
            found.add(f"User:{who}")
        elif protocol in WITH_TLS and settings.get("ssl.client.auth", "none") != "none":
            found.add(f"User:CN={who}")
        else:
            found.add(str(ANONYMOUS))
    return frozenset(found)


# --- the framework's own clients ----------------------------------------------------------


def of_clients(settings: Settings, port: str, seed: int) -> ChannelSecurity:
    """How the framework's clients speak with a node of these settings on that port."""
    protocol = _protocol(settings, port)
    mechanism = names(settings.get("sasl.enabled.mechanisms", scram.MECHANISM))[0]
    return ChannelSecurity(
        tls=_client_context(seed) if protocol in WITH_TLS else None,
        login=Login(mechanism=mechanism, username=CLIENT, password=_password(seed, CLIENT))
        if protocol in WITH_SASL
        else None,
    )


def environment(settings: Settings, port: str, seed: int) -> dict[str, str]:
    """The same for clients of the user's, as variables; those of Kafka know each as a property.
    Nothing where the listener asks for nothing."""
    security = of_clients(settings, port, seed)
    found = {}
    if security.tls is not None:
        found["SSL_CA_PEM"] = _authority(seed).certificate.decode()
        found["SSL_KEYSTORE_PEM"] = _client_keystore(seed).decode()
    if security.login is not None:
        found["SASL_MECHANISM"] = security.login.mechanism
        found["SASL_USERNAME"] = security.login.username
        found["SASL_PASSWORD"] = security.login.password
    return {"SECURITY_PROTOCOL": _protocol(settings, port), **found} if found else {}


def _uses(settings: Settings) -> tuple[bool, bool]:
    """Whether any listener has TLS, and whether any has SASL."""
    protocols = {_protocol(settings, port) for port in LISTENERS}
    return bool(protocols & WITH_TLS), bool(protocols & WITH_SASL)


def _protocol(settings: Settings, port: str) -> str:
    return protocol_map(settings).get(LISTENERS[port], "PLAINTEXT")


def _password(seed: int, user: str) -> str:
    return f"{stream(seed, 'password', user).getrandbits(128):032x}"


@cache
def _authority(seed: int) -> Authority:
    return Authority(seed)


@cache
def _client_context(seed: int) -> ssl.SSLContext:
    with tempfile.TemporaryDirectory() as folder:
        keystore, truststore = Path(folder) / "keystore.pem", Path(folder) / "truststore.pem"
        keystore.write_bytes(_client_keystore(seed))
        truststore.write_bytes(_authority(seed).certificate)
        return client_context(TlsSettings(keystore=keystore, truststore=truststore))


def _client_keystore(seed: int) -> bytes:
    return _authority(seed).keystore(common_name(CLIENT), NOWHERE)
