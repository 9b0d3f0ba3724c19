"""Certificates for tests: an authority of their own, and whom it vouches for."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """Signs certificates; `truststore` is what those need who shall believe them."""

    def __init__(self, directory: Path, name: str = "test authority") -> None:
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = (
            self._builder(self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self._certificate = certificate.public_bytes(serialization.Encoding.PEM)
        self.truststore = directory / f"{name.replace(' ', '-')}.pem"
        self.truststore.write_bytes(self._certificate)

    def keystore(self, *names: tuple[x509.ObjectIdentifier, str], host: str = "127.0.0.1") -> Path:
        """A file with a key and a certificate for it, for these parts of a name and that host."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(kind, value) for kind, value in names])
        alternative = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host))])
        certificate = (
            self._builder(subject, key)
            .add_extension(alternative, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        path = self._directory / f"{names[-1][1]}-{host}.pem"
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
            + self._certificate
        )
        return path

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey
    ) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=1))
        )


def common_name(name: str) -> tuple[x509.ObjectIdentifier, str]:
    return (NameOID.COMMON_NAME, name)
