"""Certificates for runs: an authority of their own, and whom it vouches for, in PEM."""

from __future__ import annotations

import datetime
import ipaddress
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from framework.seeds import stream

CURVE: Final = ec.SECP256R1()
LASTS: Final = datetime.timedelta(days=365)
EARLIER: Final = datetime.timedelta(days=1)
"""Machines whose clocks are behind believe them too."""
KEY_BITS: Final = 255
"""Any number of so many bits that is not 0 is a key of the curve."""


class Authority:
    """Signs certificates. Its keys are fixed by `seed` and `name`: made anew, it is the same one.
    `certificate`: what those need who shall believe it."""

    def __init__(self, seed: int, name: str = "kraft-proof") -> None:
        self._seed = seed
        self._name = common_name(name)
        self._key = self._drawn(name)
        self._identifier = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        signs = x509.KeyUsage(
            digital_signature=False,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=True,
            crl_sign=True,
            encipher_only=False,
            decipher_only=False,
        )
        self.certificate: bytes = self._signed(
            self._builder(self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(signs, critical=True)
            .add_extension(self._identifier, critical=False)
        )

    def keystore(self, subject: x509.Name, address: str) -> bytes:
        """A private key, a certificate for it, and the authority's. `address`: the IP address that
        it vouches for."""
        key = self._drawn(self._name.rfc4514_string(), subject.rfc4514_string(), address)
        alternative = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
        signer = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(self._identifier)
        certificate = self._signed(
            self._builder(subject, key)
            .add_extension(alternative, critical=False)
            .add_extension(signer, critical=False)
        )
        secret = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        return secret + certificate + self.certificate

    def _drawn(self, *names: str) -> ec.EllipticCurvePrivateKey:
        number = stream(self._seed, "certificates", *names).getrandbits(KEY_BITS)
        return ec.derive_private_key(number, CURVE)

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
            .not_valid_before(now - EARLIER)
            .not_valid_after(now + LASTS)
        )

    def _signed(self, builder: x509.CertificateBuilder) -> bytes:
        certificate = builder.sign(self._key, hashes.SHA256())
        return certificate.public_bytes(serialization.Encoding.PEM)


def common_name(name: str) -> x509.Name:
    """A name that is nothing but a common name."""
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
