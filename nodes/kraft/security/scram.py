"""SCRAM-SHA-256 (RFC 5802, RFC 7677), without channel binding. Pure but for the nonces.

The server keeps of a password what cannot be turned back into it: salt, iterations, stored key
and server key. Both sides prove that they know the password, or that, without saying it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import unicodedata
from dataclasses import dataclass
from typing import Final

MECHANISM: Final = "SCRAM-SHA-256"
MIN_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 100_000
"""Of a server that asks for more a client wants to know nothing: it would be busy for too long."""
GS2_HEADER: Final = "n,,"


class AuthenticationFailed(Exception):
    """Somebody is not who they claim to be, or does not speak the mechanism."""


@dataclass(frozen=True, slots=True)
class Credential:
    """What a server keeps of one user's password."""

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes

    @classmethod
    def of(
        cls, password: str, *, salt: bytes | None = None, iterations: int = MIN_ITERATIONS
    ) -> Credential:
        salt = secrets.token_bytes(16) if salt is None else salt
        salted = salted_password(password, salt, iterations)
        client_key = _hmac(salted, b"Client Key")
        stored_key = hashlib.sha256(client_key).digest()
        return cls(salt, iterations, stored_key, _hmac(salted, b"Server Key"))

    @classmethod
    def parse(cls, text: str) -> Credential:
        """`SCRAM-SHA-256$<iterations>:<salt>$<stored key>:<server key>`, base64 (the form in
        which PostgreSQL keeps them). Raises `ValueError`."""
        try:
            mechanism, front, back = text.split("$")
            iterations, salt = front.split(":")
            stored_key, server_key = back.split(":")
            found = cls(_decoded(salt), int(iterations), _decoded(stored_key), _decoded(server_key))
        except ValueError:
            raise ValueError(
                f"not of the form {MECHANISM}$<iterations>:<salt>$<stored key>:<server key>"
            ) from None
        if mechanism != MECHANISM:
            raise ValueError(f"mechanism {mechanism}: it is {MECHANISM}")
        if not MIN_ITERATIONS <= found.iterations <= MAX_ITERATIONS:
            raise ValueError(f"{iterations} iterations: {MIN_ITERATIONS} to {MAX_ITERATIONS}")
        if len(found.stored_key) != 32 or len(found.server_key) != 32:
            raise ValueError("a key that is not 32 bytes long")
        return found

    def __str__(self) -> str:
        return (
            f"{MECHANISM}${self.iterations}:{_encoded(self.salt)}"
            f"${_encoded(self.stored_key)}:{_encoded(self.server_key)}"
        )


def salted_password(password: str, salt: bytes, iterations: int) -> bytes:
    """RFC 5802's SaltedPassword: the slow part."""
    normal = unicodedata.normalize("NFKC", password)
    return hashlib.pbkdf2_hmac("sha256", normal.encode(), salt, iterations)


# --- the server's side --------------------------------------------------------------------


def username_of(client_first: bytes) -> str:
    """Who wants to log in. Raises `AuthenticationFailed`."""
    header, bare = _split_client_first(client_first)
    _, authorized_as = header.split(",", 1)
    name = _unescaped(_attributes(bare, "n", "r")["n"])
    if authorized_as and _unescaped(authorized_as.removeprefix("a=").rstrip(",")) != name:
        raise AuthenticationFailed("one user may not act for another")
    return name


class ServerExchange:
    """A server's part of one exchange with a client that claims to own `credential`."""

    def __init__(self, client_first: bytes, credential: Credential, nonce: str | None = None):
        header, bare = _split_client_first(client_first)
        self._credential = credential
        self._nonce = _attributes(bare, "n", "r")["r"] + (nonce or secrets.token_urlsafe(24))
        self._binding = _encoded(f"{header},".encode())
        salt = _encoded(credential.salt)
        self._first = f"r={self._nonce},s={salt},i={credential.iterations}"
        self._signed = f"{bare},{self._first}"

    def first(self) -> bytes:
        """server-first-message."""
        return self._first.encode()

    def final(self, client_final: bytes) -> bytes:
        """server-final-message, once the proof holds. Raises `AuthenticationFailed`."""
        text = _text(client_final)
        without_proof, comma, _ = text.rpartition(",p=")
        found = _attributes(text, "c", "r", "p")
        if not comma or found["c"] != self._binding or found["r"] != self._nonce:
            raise AuthenticationFailed("not the answer to this server's challenge")
        signed = f"{self._signed},{without_proof}".encode()
        signature = _hmac(self._credential.stored_key, signed)
        proof = _base64(found["p"])
        if len(proof) != len(signature):
            raise AuthenticationFailed("a proof of another length")
        client_key = _xor(proof, signature)
        claimed = hashlib.sha256(client_key).digest()
        if not hmac.compare_digest(claimed, self._credential.stored_key):
            raise AuthenticationFailed("wrong user or password")
        return f"v={_encoded(_hmac(self._credential.server_key, signed))}".encode()


# --- the client's side --------------------------------------------------------------------


class ClientExchange:
    """A client's part of one exchange."""

    def __init__(self, username: str, password: str, nonce: str | None = None) -> None:
        self._password = password
        self._nonce = nonce or secrets.token_urlsafe(24)
        self._bare = f"n={_escaped(username)},r={self._nonce}"
        self._signature = b""

    def first(self) -> bytes:
        """client-first-message."""
        return (GS2_HEADER + self._bare).encode()

    def final(self, server_first: bytes) -> bytes:
        """client-final-message. Raises `AuthenticationFailed`."""
        text = _text(server_first)
        found = _attributes(text, "r", "s", "i")
        nonce, count = found["r"], found["i"]
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise AuthenticationFailed("not the answer to this client's challenge")
        if not (count.isascii() and count.isdecimal() and len(count) < 8):
            raise AuthenticationFailed(f"{count[:20]} iterations")
        if not MIN_ITERATIONS <= int(count) <= MAX_ITERATIONS:
            raise AuthenticationFailed(f"{count} iterations")
        salted = salted_password(self._password, _base64(found["s"]), int(count))
        client_key = _hmac(salted, b"Client Key")
        without_proof = f"c={_encoded(GS2_HEADER.encode())},r={nonce}"
        signed = f"{self._bare},{text},{without_proof}".encode()
        proof = _xor(client_key, _hmac(hashlib.sha256(client_key).digest(), signed))
        self._signature = _hmac(_hmac(salted, b"Server Key"), signed)
        return f"{without_proof},p={_encoded(proof)}".encode()

    def verify(self, server_final: bytes) -> None:
        """That the server knows the password, too. Raises `AuthenticationFailed`."""
        found = _base64(_attributes(_text(server_final), "v")["v"])
        if not hmac.compare_digest(found, self._signature):
            raise AuthenticationFailed("the server does not know the password")


# --- messages -----------------------------------------------------------------------------


def _split_client_first(data: bytes) -> tuple[str, str]:
    """gs2-header without its last comma, and client-first-message-bare."""
    flag, authorized_as, bare = [*_text(data).split(",", 2), "", ""][:3]
    if flag not in ("n", "y"):
        raise AuthenticationFailed("channel binding is not supported")
    if authorized_as and not authorized_as.startswith("a="):
        raise AuthenticationFailed("not a SCRAM message")
    return f"{flag},{authorized_as}", bare


def _attributes(text: str, *wanted: str) -> dict[str, str]:
    """`wanted` attributes, which must be there in that order; others may follow."""
    parts = text.split(",")
    found = {}
    for name, part in zip(wanted, [*parts, *[""] * len(wanted)], strict=False):
        if not part.startswith(f"{name}="):
            raise AuthenticationFailed(f"not a SCRAM message: no {name}= in its place")
        found[name] = part[2:]
    return found


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise AuthenticationFailed("not a SCRAM message: no UTF-8") from None


def _escaped(name: str) -> str:
    return unicodedata.normalize("NFKC", name).replace("=", "=3D").replace(",", "=2C")


def _unescaped(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")


def _base64(text: str) -> bytes:
    try:
        return _decoded(text)
    except ValueError:
        raise AuthenticationFailed("not a SCRAM message: no base64") from None


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _hmac(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "sha256")


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))
