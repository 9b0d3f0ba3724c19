"""Certificates for tests, as files."""

from __future__ import annotations

from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import NameOID

from nodes.kraft.adapter import certificates


class Authority:
    """Signs certificates; `truststore` is what those need who shall believe them."""

    def __init__(self, directory: Path, name: str = "test authority") -> None:
        self._directory = directory
        self._authority = certificates.Authority(0, name)
        self.truststore = directory / f"{name.replace(' ', '-')}.pem"
        self.truststore.write_bytes(self._authority.certificate)

    def keystore(self, *names: tuple[x509.ObjectIdentifier, str], host: str = "127.0.0.1") -> Path:
        """A file with a key and a certificate for it, for these parts of a name and that host."""
        subject = x509.Name([x509.NameAttribute(kind, value) for kind, value in names])
        path = self._directory / f"{names[-1][1]}-{host}.pem"
        path.write_bytes(self._authority.keystore(subject, host))
        return path


def common_name(name: str) -> tuple[x509.ObjectIdentifier, str]:
    return (NameOID.COMMON_NAME, name)
