"""One listener: its own acceptor, its own bounded queue, its own handler (KIP-291).

A full queue stops the reading, not the node; so does a client that does not read its answers.
Between two requests the handler lets the loop go round, so that connections and listeners take
turns; kinds of requests take turns in the queue (net/queue.py).
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import struct
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, Generic, Literal, TypeAlias, TypeVar

from kio.static.protocol import RequestHeader, RequestPayload, ResponsePayload

from nodes.kraft.metrics.meters import Rate
from nodes.kraft.net.connection import Connection
from nodes.kraft.net.gate import SaslRequest
from nodes.kraft.net.limits import Limits
from nodes.kraft.net.queue import FairQueue
from nodes.kraft.net.rate_limited_log import RateLimitedLog
from nodes.kraft.security.principal import ANONYMOUS, Principal
from nodes.kraft.security.sasl import SaslSettings
from nodes.kraft.wire.codec import (
    MalformedRequest,
    UnsupportedVersion,
    decode_request,
    encode_response,
)

log: Final = logging.getLogger(__name__)

MOST_SWEEP_S: Final = 1.0


class _NoAnswer(Enum):
    NO_ANSWER = auto()


NO_ANSWER: Final = _NoAnswer.NO_ANSWER
"""Nothing is sent, as a Produce with acks=0 has it; the connection goes on to its next request."""

Response: TypeAlias = ResponsePayload | Literal[_NoAnswer.NO_ANSWER] | None
RequestT = TypeVar("RequestT", bound=RequestPayload, covariant=True)


@dataclass(frozen=True, slots=True)
class RequestContext(Generic[RequestT]):
    """A decoded request that waits for `answer(response)`; None closes the connection, and
    `NO_ANSWER` goes on without one.

    `principal`: who sent it, as far as the listener's security protocol tells. `host`: the
    sender's IP address. `peer`: address and port, for logs."""

    listener: str
    peer: str
    header: RequestHeader
    request: RequestT
    answer: Callable[[Response], None]
    principal: Principal = ANONYMOUS
    host: str = ""


class Listener:
    """Accepts connections on one address; hands requests to `dispatch` one after another.

    `unsupported` gives the body that answers a request of an unknown kind; None: there is none,
    the connection closes. `tls` and `sasl`: what the listener asks of clients, None: not that.
    """

    def __init__(
        self,
        name: str,
        *,
        dispatch: Callable[[RequestContext[RequestPayload]], None],
        unsupported: Callable[[UnsupportedVersion], bytes | None],
        limits: Limits | None = None,
        tls: ssl.SSLContext | None = None,
        sasl: SaslSettings | None = None,
    ) -> None:
        self.name = name
        self.limits = limits or Limits()
        self.tls = tls
        self.sasl = sasl
        self.requests = Rate()
        """Requests handled."""
        self.busy = Rate()
        """Seconds in the handler."""
        self._unsupported = unsupported
        self._dispatch = dispatch
        self._rate_limited_log = RateLimitedLog(log)
        self._queue: FairQueue[tuple[Connection, bytes]] = FairQueue(self.limits.capacity)
        self._connections: set[Connection] = set()
        self._hosts: Counter[str] = Counter()
        self._reserved = 0
        self._short_of_memory: deque[Connection] = deque()
        self._server: asyncio.Server | None = None
        self._tasks: list[asyncio.Task[None]] = []

    # --- life -----------------------------------------------------------------------------

    async def start(self, host: str, port: int) -> None:
        """Bind, listen and serve. Raises `OSError`."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Connection(self), host or None, port, backlog=256, reuse_address=True
        )
        self._tasks = [loop.create_task(self._handle()), loop.create_task(self._sweep())]

    async def close(self) -> None:
        """Stop listening and drop every connection."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        for connection in list(self._connections):
            connection.close()

    @property
    def queued(self) -> int:
        """Requests that wait for the handler."""
        return len(self._queue)

    @property
    def connections(self) -> int:
        return len(self._connections)

    # --- for connections (connection.Owner) -----------------------------------------------

    def opened(self, connection: Connection) -> bool:
        limits, host = self.limits, connection.host
        if len(self._connections) >= limits.connections:
            self.complain(connection, "refused: too many connections")
            return False
        if self._hosts[host] >= limits.connections_per_host:
            self.complain(connection, "refused: too many connections from there")
            return False
        self._connections.add(connection)
        self._hosts[host] += 1
        return True

    def closed(self, connection: Connection) -> None:
        if connection not in self._connections:
            return
        self._connections.discard(connection)
        self._hosts[connection.host] -= 1
        if not self._hosts[connection.host]:
            del self._hosts[connection.host]

    def offer(self, connection: Connection, data: bytes) -> None:
        self._queue.put(data[:2], (connection, data))

    def reserve(self, connection: Connection, size: int) -> bool:
        if self._reserved and self._reserved + size > self.limits.queued_bytes:
            self._short_of_memory.append(connection)
            return False
        self._reserved += size
        return True

    def release(self, size: int) -> None:
        self._reserved -= size
        waiting, self._short_of_memory = self._short_of_memory, deque()
        for connection in waiting:  # whoever still finds none waits again, in the same order
            connection.go_on()

    def complain(self, connection: Connection, text: str) -> None:
        self._rate_limited_log.warning("%s: %s: %s", self.name, connection.peer, text)

    # --- the handler ----------------------------------------------------------------------

    async def _handle(self) -> None:
        while True:
            connection, data = await self._queue.get()
            if not connection.open:
                continue  # nobody waits for the answer: the request is not carried out
            began = time.monotonic()
            try:
                self._serve(connection, data)
            except Exception:
                log.exception("%s: request from %s failed", self.name, connection.peer)
                connection.close()
            self.requests.add()
            self.busy.add(time.monotonic() - began)
            await asyncio.sleep(0)  # `get` of a queue that is not empty does not wait

    def _serve(self, connection: Connection, data: bytes) -> None:
        gate = connection.gate
        if gate.bare_tokens:
            self._token(connection, data)
            return
        if len(data) < 2 or not gate.admits(struct.unpack_from(">h", data)[0]):
            self.complain(connection, "sends requests before it has logged in")
            connection.close()
            return
        try:
            header, request = decode_request(data)
        except UnsupportedVersion as error:
            body = self._unsupported(error)
            if body is None:
                self.complain(connection, f"{error} is not served here")
                connection.close()
            else:
                connection.reply(body)
            return
        except MalformedRequest as error:
            self.complain(connection, f"malformed request: {str(error)[:200]}")
            connection.close()
            return
        if isinstance(request, SaslRequest):
            self._log_in(connection, header, request)
            return
        context = RequestContext(
            self.name,
            connection.peer,
            header,
            request,
            self._answering(connection, header.correlation_id),
            gate.principal,
            connection.host,
        )
        self._dispatch(context)

    def _answering(self, connection: Connection, correlation_id: int) -> Callable[[Response], None]:
        def answer(response: Response) -> None:
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

        return answer

    # --- logging in -----------------------------------------------------------------------

    def _log_in(self, connection: Connection, header: RequestHeader, request: SaslRequest) -> None:
        response = connection.gate.answer(request)
        connection.reply(encode_response(response, correlation_id=header.correlation_id))
        self._turn_away(connection)

    def _token(self, connection: Connection, token: bytes) -> None:
        answer = connection.gate.token(token)
        if answer is not None:
            connection.reply(answer)
        self._turn_away(connection)

    def _turn_away(self, connection: Connection) -> None:
        """Close it where its login failed; the answer that says so leaves first."""
        if connection.gate.failed is not None:
            self.complain(connection, f"login failed: {connection.gate.failed}")
            connection.close()

    # --- patience -------------------------------------------------------------------------

    async def _sweep(self) -> None:
        """Drop the connections that take too long."""
        limits = self.limits
        shortest_s = min(limits.idle_ms, limits.setup_ms, limits.frame_ms) / 1000
        while True:
            await asyncio.sleep(min(MOST_SWEEP_S, shortest_s / 4))
            now = time.monotonic()
            for connection in list(self._connections):
                why = connection.overdue(now)
                if why is not None:
                    if why != "idle":
                        self.complain(connection, why)
                    connection.abort()
