"""TLS: the node's certificate, whom it trusts, and who a client's certificate says it is.

Kafka's settings for PEM files: the keystore is one file with the private key and the certificate
chain, the truststore one with the certificates of those that may sign.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from nodes.kraft.security.principal import ANONYMOUS, Principal
from nodes.kraft.settings import ConfigError, Settings, one_of, readable_file

CLIENT_AUTH: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}
_SHORT: Final = {
    "commonName": "CN",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "countryName": "C",
    "streetAddress": "STREET",
    "domainComponent": "DC",
    "userId": "UID",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """`truststore` None: nobody's certificate is believed. `check_hostname`: a server's
    certificate must name the host that was called."""

    keystore: Path | None = None
    key_password: str | None = None
    truststore: Path | None = None
    client_auth: str = "none"
    check_hostname: bool = True


def tls_settings(settings: Settings) -> TlsSettings:
    """`ssl.keystore.location` and its kin; files are read once, to see that they can be. Raises
    `ConfigError`."""
    for key in ("ssl.keystore.type", "ssl.truststore.type"):
        one_of(settings, key, ("PEM",), "PEM")
    algorithm = one_of(settings, "ssl.endpoint.identification.algorithm", ("https", ""), "https")
    found = TlsSettings(
        keystore=readable_file(settings, "ssl.keystore.location"),
        key_password=settings.get("ssl.key.password"),
        truststore=readable_file(settings, "ssl.truststore.location"),
        client_auth=one_of(settings, "ssl.client.auth", tuple(CLIENT_AUTH), "none"),
        check_hostname=algorithm == "https",
    )
    if found.client_auth != "none" and found.truststore is None:
        raise ConfigError(
            f"ssl.client.auth={found.client_auth}: ssl.truststore.location is missing, so no "
            "client's certificate could be believed"
        )
    client_context(found)
    return found


def server_context(tls: TlsSettings, *, client_auth: bool = True) -> ssl.SSLContext:
    """For a listener. `client_auth` False: clients show no certificate, they log in by SASL.
    Raises `ConfigError`."""
    if tls.keystore is None:
        raise ConfigError("ssl.keystore.location is missing: a listener with TLS needs one")
    context = _context(ssl.PROTOCOL_TLS_SERVER, tls)
    context.verify_mode = CLIENT_AUTH[tls.client_auth] if client_auth else ssl.CERT_NONE
    context.options |= ssl.OP_NO_RENEGOTIATION
    return context


def client_context(tls: TlsSettings) -> ssl.SSLContext:
    """For connections to others. Raises `ConfigError`."""
    context = _context(ssl.PROTOCOL_TLS_CLIENT, tls)
    context.check_hostname = tls.check_hostname
    return context


def _context(protocol: int, tls: TlsSettings) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if tls.keystore is not None:
        try:
            # Without a password OpenSSL would ask at the terminal.
            context.load_cert_chain(tls.keystore, password=tls.key_password or "")
        except (ssl.SSLError, OSError) as error:
            raise ConfigError(
                f"ssl.keystore.location={tls.keystore}: no private key with its certificates "
                f"in PEM ({error})"
            ) from None
    if tls.truststore is not None:
        try:
            context.load_verify_locations(tls.truststore)
        except (ssl.SSLError, OSError) as error:
            raise ConfigError(
                f"ssl.truststore.location={tls.truststore}: no certificates in PEM ({error})"
            ) from None
    return context


# --- principals ---------------------------------------------------------------------------


def principal_of(certificate: Mapping[str, Any] | None) -> Principal:
    """Whom a client's certificate (as of `SSLSocket.getpeercert`) is for, by Kafka's default
    rule: its whole distinguished name, in RFC 2253's form. No certificate: anonymous."""
    subject = certificate.get("subject") if certificate else None
    return Principal("User", distinguished_name(subject)) if subject else ANONYMOUS


def distinguished_name(subject: tuple[tuple[tuple[str, str], ...], ...]) -> str:
    """RFC 2253: the last part first, parts by commas, several values of one part by plus."""
    return ",".join(
        "+".join(f"{_SHORT.get(name, name)}={_escaped(value)}" for name, value in part)
        for part in reversed(subject)
    )


def _escaped(value: str) -> str:
    text = "".join(f"\\{char}" if char in ',+"\\<>;' else char for char in value)
    if text.startswith(("#", " ")):
        text = f"\\{text}"
    if text.endswith(" ") and len(value) > 1:
        text = f"{text[:-1]}\\ "
    return text
