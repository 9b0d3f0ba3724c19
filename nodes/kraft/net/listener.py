"""One listener: its own socket, its own bounded queue, its own handler (KIP-291).

A connection is muted while its request waits for the answer, as in Kafka: answers leave in the
order of the requests, and one client fills at most one place of the queue. A full queue stops
the reading, not the node; so does a client that does not read its answers. Between two requests
the handler lets the loop go round, so that listeners take turns.
"""

from __future__ import annotations

import asyncio
import logging
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from nodes.kraft.security.principal import ANONYMOUS, Principal
from nodes.kraft.wire.codec import (
    MalformedRequest,
    UnsupportedVersion,
    decode_request,
    encode_response,
    frame,
)

log: Final = logging.getLogger(__name__)

READ_AHEAD_BYTES: Final = 65536
"""How much of later requests is read while one waits for its answer."""


NO_ANSWER: Final = object()
"""Nothing is sent, as a Produce with acks=0 has it; the connection goes on to its next request."""


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A decoded request that waits for `answer(response)`; None closes the connection, and
    `NO_ANSWER` goes on without one.

    `principal`: who sent it, as far as the listener's security protocol tells. `host`: the
    sender's IP address. `peer`: address and port, for logs."""

    listener: str
    peer: str
    header: Any
    request: Any
    answer: Callable[[Any | None], None]
    principal: Principal = ANONYMOUS
    host: str = ""


class Listener:
    """Accepts connections on one address; hands requests to `dispatch` one after another."""

    def __init__(
        self,
        name: str,
        *,
        capacity: int,
        dispatch: Callable[[Inquiry], None],
        unsupported: Callable[[UnsupportedVersion], bytes | None],
        max_request_bytes: int = 16 * 2**20,
        max_connections: int = 1000,
    ) -> None:
        self.name = name
        self.max_request_bytes = max_request_bytes
        self.unsupported = unsupported
        self._dispatch = dispatch
        self._max_connections = max_connections
        self._queue: asyncio.Queue[tuple[_Connection, bytes]] = asyncio.Queue(capacity)
        self._connections: set[_Connection] = set()
        self._server: asyncio.Server | None = None
        self._handler: asyncio.Task[None] | None = None

    async def start(self, host: str, port: int) -> None:
        """Bind, listen and serve. Raises `OSError`."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Connection(self), host or None, port, backlog=256, reuse_address=True
        )
        self._handler = loop.create_task(self._handle())

    async def close(self) -> None:
        """Stop listening and drop every connection."""
        if self._server is not None:
            self._server.close()
        if self._handler is not None:
            self._handler.cancel()
        for connection in list(self._connections):
            connection.close()

    @property
    def queued(self) -> int:
        """Requests that wait for the handler."""
        return self._queue.qsize()

    def opened(self, connection: _Connection) -> bool:
        """False: too many connections."""
        if len(self._connections) >= self._max_connections:
            return False
        self._connections.add(connection)
        return True

    def closed(self, connection: _Connection) -> None:
        self._connections.discard(connection)

    def offer(self, connection: _Connection, data: bytes) -> None:
        """Queue a frame; where the queue is full the (muted) connection waits for a place."""
        try:
            self._queue.put_nowait((connection, data))
        except asyncio.QueueFull:
            connection.waiting = asyncio.ensure_future(self._queue.put((connection, data)))

    async def _handle(self) -> None:
        while True:
            connection, data = await self._queue.get()
            if not connection.open:
                continue  # nobody waits for the answer: the request is not carried out
            try:
                self._serve(connection, data)
            except Exception:
                log.exception("%s: request from %s failed", self.name, connection.peer)
                connection.close()
            await asyncio.sleep(0)  # `get` of a queue that is not empty does not wait

    def _serve(self, connection: _Connection, data: bytes) -> None:
        try:
            header, request = decode_request(data)
        except UnsupportedVersion as error:
            body = self.unsupported(error)
            if body is None:
                log.warning("%s: %s from %s is not served here", self.name, error, connection.peer)
                connection.close()
            else:
                connection.reply(body)
            return
        except MalformedRequest as error:
            log.warning("%s: malformed request from %s: %s", self.name, connection.peer, error)
            connection.close()
            return
        correlation_id = header.correlation_id

        def answer(response: Any | None) -> None:
            if response is None:
                connection.close()
                return
            if response is NO_ANSWER:
                connection.skip()
                return
            try:
                body = encode_response(response, correlation_id=correlation_id)
            except Exception:
                log.exception("%s: answer to %s cannot be written", self.name, connection.peer)
                connection.close()
            else:
                connection.reply(body)

        inquiry = Inquiry(
            self.name, connection.peer, header, request, answer, ANONYMOUS, connection.host
        )
        self._dispatch(inquiry)


class _Connection(asyncio.Protocol):
    """Frames of one connection, one at a time."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._muted = False
        self._full = False
        self.waiting: asyncio.Future[None] | None = None
        self.peer = "?"
        self.host = ""
        self.open = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        address = transport.get_extra_info("peername")
        self.peer, self.host = str(address), address[0] if address else ""
        self.open = self._listener.opened(self)
        if not self.open:
            log.warning("%s: too many connections, refused %s", self._listener.name, self.peer)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.open = False
        if self.waiting is not None:
            self.waiting.cancel()
        self._listener.closed(self)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        held = self._muted or self._full
        if held and len(self._buffer) > READ_AHEAD_BYTES and self._transport is not None:
            self._transport.pause_reading()
        self._next()

    def pause_writing(self) -> None:
        """The answers wait for their reader; so do its further requests."""
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        self._go_on()

    def reply(self, body: bytes) -> None:
        """Send the answer to the request in hand and go on to the next."""
        if self._transport is None or not self.open:
            return
        self._transport.write(frame(body))
        self.skip()

    def skip(self) -> None:
        """Go on to the next request."""
        self._muted = False
        self._go_on()

    def _go_on(self) -> None:
        if self._transport is not None and not self._muted and not self._full:
            self._transport.resume_reading()
            self._next()

    def close(self) -> None:
        self.open = False
        if self._transport is not None:
            self._transport.close()

    def _next(self) -> None:
        if self._muted or self._full or not self.open or len(self._buffer) < 4:
            return
        (size,) = struct.unpack_from(">i", self._buffer)
        if not 0 < size <= self._listener.max_request_bytes:
            log.warning("%s: frame of %d bytes from %s", self._listener.name, size, self.peer)
            self.close()
            return
        if len(self._buffer) < 4 + size:
            return
        data = bytes(self._buffer[4 : 4 + size])
        del self._buffer[: 4 + size]
        self._muted = True
        self._listener.offer(self, data)
