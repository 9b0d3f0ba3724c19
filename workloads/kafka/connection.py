"""One blocking connection to a node: one request, then its response, before a deadline.

Two errors are told apart, because a history needs to know which one it was: `NotSent` (the node
cannot have seen the request) and `FateUnknown` (it may have). After either the socket is closed,
so that a late answer can never be taken for the answer to a later request.

A node is asked once which versions of messages it has, and not with each socket: a request to one
that is paused is then sent, and may take effect later, as those of clients do that were connected.
"""

import socket
import ssl
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from kio.schema.api_versions.v3.response import ApiVersionsResponse
from kio.static.protocol import RequestPayload, ResponsePayload

from framework.plugins.dialect import UnexpectedResponse
from framework.plugins.outcomes import (
    CLIENT_TIMED_OUT,
    CONNECTION_FAILED,
    CONNECTION_LOST,
    MALFORMED_RESPONSE,
    Failure,
    OutcomeTable,
)
from workloads.kafka.codec import Codec, MalformedResponse
from workloads.kafka.versions import WHICH, CannotBeSaid, Versions, answered

Open = Callable[[float], socket.socket]
"""Connects within so many seconds, or raises `OSError`."""

NO_COMMON_VERSION: Final = "NO_COMMON_VERSION"
"""The request says what no version of it does that the node has."""
CONNECT_TIMEOUT_S: Final = 1.0
MAX_RESPONSE_BYTES: Final = 64 * 1024 * 1024


class Breakdown(Exception):
    """There is no answer. `code` is one of the names in `framework.plugins.outcomes`; `node`
    says who was asked, where the caller knows its name."""

    sent = True
    """Whether some of the request was."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.node: str | None = None


def no_answer(outcomes: OutcomeTable, f: str, error: Breakdown | UnexpectedResponse) -> Failure:
    """The completion of operation `f` that got none, or one that nobody understands."""
    if isinstance(error, Breakdown):
        return outcomes.unanswered(f, error.code, str(error), sent=error.sent)
    return outcomes.unanswered(f, MALFORMED_RESPONSE, str(error), sent=True)


class NotSent(Breakdown):
    """Not a byte of the request left: it certainly has no effect."""

    sent = False

    def __init__(self, message: str, code: str = CONNECTION_FAILED) -> None:
        super().__init__(code, message)


class FateUnknown(Breakdown):
    """The request, or some of it, was sent: it may take effect, now or later."""


class Connection:
    """Connects when needed, and again after an error. For one thread at a time."""

    def __init__(
        self,
        open_socket: Open,
        client_id: str,
        codec: Codec | None = None,
        *,
        negotiates: bool = False,
    ) -> None:
        """`negotiates`: requests are said, and answered, in versions that the node has; else as
        they are written."""
        self._codec = codec or Codec()
        self._versions = None if negotiates else Versions({})
        self._open = open_socket
        self._client_id = client_id
        self._socket: socket.socket | None = None
        self._correlation_id = 0

    def call(self, request: RequestPayload, deadline: float) -> ResponsePayload:
        """Send a kio request entity; its response entity, of the same version. `deadline` is on the
        clock of `time.monotonic`. Raises `NotSent`, `FateUnknown`."""
        connected = self._connected(deadline)
        said = self._said(request)
        response = self._exchanged(connected, said, deadline)
        if said is request:
            return response
        try:
            return answered(request, response)
        except CannotBeSaid as error:
            raise FateUnknown(MALFORMED_RESPONSE, str(error)) from error

    def send(self, request: RequestPayload, deadline: float) -> None:
        """Send a request that is not answered (Produce with acks=0). Raises as `call`."""
        connected = self._connected(deadline)
        self._send(connected, self._said(request), deadline)

    def _said(self, request: RequestPayload) -> RequestPayload:
        """As the node can hear it."""
        if self._versions is None or self._codec.is_own(request):
            return request
        try:
            return self._versions.said(request)
        except CannotBeSaid as error:
            raise NotSent(str(error), NO_COMMON_VERSION) from error

    def _exchanged(
        self, connected: socket.socket, request: RequestPayload, deadline: float
    ) -> ResponsePayload:
        self._send(connected, request, deadline)
        try:
            return self._response(request, _receive(connected, deadline))
        except BaseException:
            self.close()
            raise

    def _send(self, connected: socket.socket, request: RequestPayload, deadline: float) -> None:
        self._correlation_id += 1
        data = self._codec.encode_request(
            request, correlation_id=self._correlation_id, client_id=self._client_id
        )
        try:
            _send(connected, data, deadline)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Give the socket back. Never raises."""
        connected, self._socket = self._socket, None
        if connected is not None:
            with suppress(OSError):
                connected.close()

    def _connected(self, deadline: float) -> socket.socket:
        if self._socket is not None and _gone(self._socket):
            self.close()
        if self._socket is None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise NotSent("no time was left to connect")
            try:
                self._socket = self._open(min(left, CONNECT_TIMEOUT_S))
            except OSError as error:
                raise NotSent(f"connect: {error}") from error
        if self._versions is None:
            self._versions = self._negotiated(self._socket, deadline)
        return self._socket

    def _negotiated(self, connected: socket.socket, deadline: float) -> Versions:
        try:
            told = self._exchanged(connected, WHICH, deadline)
        except Breakdown as error:
            raise NotSent(f"ApiVersions: {error}") from error
        if not isinstance(told, ApiVersionsResponse) or told.error_code != 0:
            self.close()
            raise NotSent(f"ApiVersions: {told!r:.300}")
        return Versions.of(told)

    def _response(self, request: RequestPayload, data: bytes) -> ResponsePayload:
        try:
            return self._codec.decode_response(request, data, correlation_id=self._correlation_id)
        except MalformedResponse as error:
            raise FateUnknown(MALFORMED_RESPONSE, str(error)) from error


def _gone(connected: socket.socket) -> bool:
    """Whether an idle connection was closed by its peer: then, and only then, is there
    something to read. Seen before sending, this keeps a restarted node from turning the next
    request's fate unknown."""
    try:
        connected.setblocking(False)
        connected.recv(1)
    except (BlockingIOError, ssl.SSLWantReadError):
        return False  # with TLS there may have been something, but no data
    except OSError:
        return True
    return True


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _send(connected: socket.socket, data: bytes, deadline: float) -> None:
    sent = 0
    try:
        while sent < len(data):
            connected.settimeout(_left(deadline))
            sent += connected.send(data[sent:])
    except OSError as error:
        if sent == 0:
            raise NotSent(f"send: {error}") from error
        code = CLIENT_TIMED_OUT if isinstance(error, TimeoutError) else CONNECTION_LOST
        raise FateUnknown(code, f"{sent} of {len(data)} bytes were sent: {error}") from error


def _receive(connected: socket.socket, deadline: float) -> bytes:
    (size,) = struct.unpack(">i", _read(connected, 4, deadline))
    if not 4 <= size <= MAX_RESPONSE_BYTES:
        raise FateUnknown(MALFORMED_RESPONSE, f"a response of {size} bytes")
    return _read(connected, size, deadline)


def _read(connected: socket.socket, size: int, deadline: float) -> bytes:
    data = bytearray()
    try:
        while len(data) < size:
            connected.settimeout(_left(deadline))
            chunk = connected.recv(size - len(data))
            if not chunk:
                raise FateUnknown(CONNECTION_LOST, "the node closed the connection")
            data += chunk
    except TimeoutError as error:
        raise FateUnknown(CLIENT_TIMED_OUT, "no answer before the deadline") from error
    except OSError as error:
        raise FateUnknown(CONNECTION_LOST, f"receive: {error}") from error
    return bytes(data)
