"""One accepted connection: TLS, then frames, one at a time, and limits on its patience.

It is muted while its request waits for the answer, as in Kafka: answers leave in the order of the
requests, and one client fills at most one place of the queue.
"""

from __future__ import annotations

import asyncio
import ssl
import struct
import time
from typing import Final, Protocol

from nodes.kraft.net.gate import Gate
from nodes.kraft.net.limits import Limits
from nodes.kraft.security.principal import ANONYMOUS
from nodes.kraft.security.sasl import SaslSettings
from nodes.kraft.security.tls import principal_of
from nodes.kraft.wire.codec import frame

READ_AHEAD_BYTES: Final = 65536
"""How much of later requests is read while one waits for its answer. Larger frames need a part
of the listener's memory before they are read."""
GRACE_S: Final = 2.0
"""How long a closed connection may take to send what was written before."""


class Owner(Protocol):
    """The listener, as its connections see it."""

    name: str
    limits: Limits
    tls: ssl.SSLContext | None
    sasl: SaslSettings | None

    def opened(self, connection: Connection) -> bool:
        """Count it; False: there are too many."""

    def closed(self, connection: Connection) -> None:
        """Forget it."""

    def offer(self, connection: Connection, data: bytes) -> None:
        """A whole frame; the connection is muted."""

    def reserve(self, connection: Connection, size: int) -> bool:
        """Memory for a large frame. False: `go_on` is called when there may be some."""

    def release(self, size: int) -> None:
        """That memory is free again."""

    def complain(self, connection: Connection, text: str) -> None:
        """Write a line about it."""


class Connection(asyncio.Protocol):
    """`open`: neither closed nor lost. `gate`: who is there."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._transport: asyncio.Transport | None = None
        self._securing: asyncio.Task[None] | None = None
        self._buffer = bytearray()
        self._secured = False
        self._muted = False
        self._full = False
        self._waits_for_memory = False
        self._reserved = 0
        self._made = self._heard = time.monotonic()
        self._frame_since: float | None = None
        self._full_since: float | None = None
        self._closed_at: float | None = None
        self.gate = Gate(owner.sasl)
        self.peer = "?"
        self.host = ""
        self.open = False

    # --- life -----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        address = transport.get_extra_info("peername")
        self.peer, self.host = str(address), address[0] if address else ""
        self.open = self._owner.opened(self)
        if not self.open:
            transport.abort()
        elif self._owner.tls is None:
            self._secured = True
        else:
            transport.pause_reading()
            self._securing = asyncio.get_running_loop().create_task(
                self._secure(transport, self._owner.tls)
            )

    async def _secure(self, transport: asyncio.Transport, context: ssl.SSLContext) -> None:
        """TLS on top. A listener of its own kind of TLS would count a connection only when the
        handshake is over, which somebody who never ends it knows how to use."""
        secure: asyncio.Transport | None = None
        try:
            secure = await asyncio.get_running_loop().start_tls(
                transport,
                self,
                context,
                server_side=True,
                ssl_handshake_timeout=self._owner.limits.setup_ms / 1000,
                ssl_shutdown_timeout=GRACE_S,
            )
        except asyncio.CancelledError:
            self.connection_lost(None)
            raise
        except OSError as error:
            if self.open:
                self._owner.complain(self, f"TLS handshake failed: {error or type(error).__name__}")
        if secure is None or not self.open:  # None: the peer left in the middle
            transport.abort()
            self.connection_lost(None)
            return
        self._transport = secure
        self._secured = True
        if self._owner.sasl is None:
            self.gate = Gate(None, principal_of(secure.get_extra_info("peercert")) or ANONYMOUS)
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        self.open = False
        self._buffer.clear()
        self._free()
        self._owner.closed(self)

    def close(self) -> None:
        """Send what is written, then close."""
        self.open = False
        self._closed_at = self._closed_at or time.monotonic()
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        self.open = False
        if self._securing is not None:
            self._securing.cancel()
        if self._transport is not None:
            self._transport.abort()

    def overdue(self, now: float) -> str | None:
        """Why this connection is at its end, if it is: it took too long for something."""
        limits = self._owner.limits
        if self._closed_at is not None:
            return "does not read" if now - self._closed_at > GRACE_S else None
        if not (self._secured and self.gate.open):
            return "took too long to log in" if now - self._made > limits.setup_ms / 1e3 else None
        if self._full_since is not None and now - self._full_since > limits.frame_ms / 1e3:
            return "does not read its answers"
        if self._muted or self._waits_for_memory:
            return None
        if self._frame_since is not None and now - self._frame_since > limits.frame_ms / 1e3:
            return "took too long to send a request"
        return "idle" if now - self._heard > limits.idle_ms / 1e3 else None

    # --- reading --------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._heard = time.monotonic()
        held = self._muted or self._full
        if held and len(self._buffer) > READ_AHEAD_BYTES and self._transport is not None:
            self._transport.pause_reading()
        self._next()

    def go_on(self) -> None:
        """Read and serve on, if nothing else is in the way."""
        if self.open and self._transport is not None and not self._muted and not self._full:
            if self._waits_for_memory:
                self._waits_for_memory, self._frame_since = False, None
            self._transport.resume_reading()
            self._next()

    def _next(self) -> None:
        """Hand the next frame over, if it is whole."""
        if not self._secured or self._muted or self._full or not self.open:
            return
        if not self._buffer:
            self._frame_since = None
            return
        if self._frame_since is None:
            self._frame_since = time.monotonic()
        if len(self._buffer) < 4:
            return
        (size,) = struct.unpack_from(">i", self._buffer)
        limits = self._owner.limits
        if not 0 < size <= (limits.request_bytes if self.gate.open else limits.unproven_bytes):
            self._owner.complain(self, f"frame of {size} bytes")
            self.close()
        elif size > READ_AHEAD_BYTES and not self._reserved and not self._reserve(size):
            return
        elif len(self._buffer) >= 4 + size:
            data = bytes(self._buffer[4 : 4 + size])
            del self._buffer[: 4 + size]
            self._muted, self._frame_since = True, None
            self._owner.offer(self, data)

    def _reserve(self, size: int) -> bool:
        if self._owner.reserve(self, size):
            self._reserved = size
            return True
        assert self._transport is not None
        self._waits_for_memory = True
        self._transport.pause_reading()
        return False

    def _free(self) -> None:
        if self._reserved:
            size, self._reserved = self._reserved, 0
            self._owner.release(size)

    # --- writing --------------------------------------------------------------------------

    def reply(self, body: bytes) -> None:
        """Send the answer to the request in hand and go on to the next."""
        if self._transport is not None and self.open:
            self._transport.write(frame(body))
            self.skip()

    def skip(self) -> None:
        """Go on to the next request."""
        if self.open:
            self._free()
            self._heard = time.monotonic()
            self._muted = False
            self.go_on()

    def pause_writing(self) -> None:
        """The answers wait for their reader; so do its further requests."""
        self._full, self._full_since = True, time.monotonic()

    def resume_writing(self) -> None:
        self._full, self._full_since = False, None
        self.go_on()
