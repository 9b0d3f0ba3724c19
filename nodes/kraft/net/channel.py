"""A channel to another node: one connection, one request at a time."""

from __future__ import annotations

import asyncio
import itertools
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, overload

from kio.static.protocol import RequestPayload, ResponsePayload

from nodes.kraft.config import Config
from nodes.kraft.net.login import login_requests
from nodes.kraft.net.secure import ChannelSecurity, to_controllers
from nodes.kraft.security.sasl import Login
from nodes.kraft.security.scram import AuthenticationFailed
from nodes.kraft.wire.codec import MalformedRequest, decode_response, encode_request, frame

if TYPE_CHECKING:
    from kio.schema.allocate_producer_ids.v0 import (
        AllocateProducerIdsRequest,
        AllocateProducerIdsResponse,
    )
    from kio.schema.alter_partition.v3 import AlterPartitionRequest, AlterPartitionResponse
    from kio.schema.envelope.v0 import EnvelopeRequest, EnvelopeResponse
    from kio.schema.fetch.v16 import FetchRequest, FetchResponse

    from nodes.kraft.wire.debug import DescribeNodeRequest, DescribeNodeResponse
    from nodes.kraft.wire.heartbeats import (
        BrokerHeartbeatRequest,
        BrokerHeartbeatResponse,
        ControllerHeartbeatRequest,
        ControllerHeartbeatResponse,
    )
    from nodes.kraft.wire.quorum import QuorumRequest, QuorumResponse

MAX_ANSWER_BYTES: Final = 100 * 2**20
TLS_SHUTDOWN_S: Final = 2.0

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class NotSent(Exception):
    """The request did not leave: no connection. It had no effect."""


class FateUnknown(Exception):
    """The request left, no answer came: whether it took effect is unknown."""


class Channel:
    """Sends requests to one address; connects when needed, and anew after every failure."""

    def __init__(
        self,
        host: str,
        port: int,
        client_id: str,
        security: ChannelSecurity | None = None,
        address: Callable[[], tuple[str, int]] | None = None,
    ) -> None:
        """`address`: asked anew for each connection, where the other node may move."""
        self._address = address
        self._host = host
        self._port = port
        self._client_id = client_id
        self._security = security or ChannelSecurity()
        self._correlation = itertools.count()
        self._busy = asyncio.Lock()
        self._streams: Streams | None = None

    @overload
    async def call(
        self, request: BrokerHeartbeatRequest, timeout_s: float
    ) -> BrokerHeartbeatResponse: ...

    @overload
    async def call(
        self, request: ControllerHeartbeatRequest, timeout_s: float
    ) -> ControllerHeartbeatResponse: ...

    @overload
    async def call(
        self, request: AlterPartitionRequest, timeout_s: float
    ) -> AlterPartitionResponse: ...

    @overload
    async def call(
        self, request: AllocateProducerIdsRequest, timeout_s: float
    ) -> AllocateProducerIdsResponse: ...

    @overload
    async def call(self, request: EnvelopeRequest, timeout_s: float) -> EnvelopeResponse: ...

    @overload
    async def call(
        self, request: DescribeNodeRequest, timeout_s: float
    ) -> DescribeNodeResponse: ...

    @overload
    async def call(self, request: FetchRequest, timeout_s: float) -> FetchResponse: ...

    @overload
    async def call(self, request: QuorumRequest, timeout_s: float) -> QuorumResponse: ...

    async def call(self, request: RequestPayload, timeout_s: float) -> ResponsePayload:
        """The response entity. Raises `NotSent`, `FateUnknown`."""
        async with self._busy:
            try:
                async with asyncio.timeout(timeout_s):
                    streams = await self._connected()
            except (
                OSError,
                TimeoutError,
                UnicodeError,  # no host's name
                EOFError,
                MalformedRequest,
                AuthenticationFailed,
            ) as error:
                raise NotSent(f"{self._host}:{self._port}: {error!r}") from error
            done = False
            try:
                async with asyncio.timeout(timeout_s):
                    response = await self._exchange(streams, request)
                    done = True
                    return response
            except (OSError, TimeoutError, EOFError, MalformedRequest) as error:
                raise FateUnknown(f"{self._host}:{self._port}: {error!r}") from error
            finally:
                if not done:  # a late answer must never be taken for that of a later request
                    self.close()

    async def _exchange(self, streams: Streams, request: RequestPayload) -> ResponsePayload:
        reader, writer = streams
        correlation_id = next(self._correlation) & 0x7FFFFFFF
        data = encode_request(request, correlation_id=correlation_id, client_id=self._client_id)
        writer.write(frame(data))
        await writer.drain()
        (size,) = struct.unpack(">i", await reader.readexactly(4))
        if not 0 < size <= MAX_ANSWER_BYTES:
            raise MalformedRequest(f"answer of {size} bytes")
        body = await reader.readexactly(size)
        answered, response = decode_response(request.__api_key__, request.__version__, body)
        if answered != correlation_id:
            raise MalformedRequest(f"answer to {answered} instead of {correlation_id}")
        return response

    # --- connecting -----------------------------------------------------------------------

    async def _connected(self) -> Streams:
        if self._streams is not None and _is_over(*self._streams):
            self.close()
        if self._streams is None:
            if self._address is not None:
                self._host, self._port = self._address()
            context = self._security.tls
            streams = await asyncio.open_connection(
                self._host,
                self._port,
                ssl=context,
                ssl_shutdown_timeout=TLS_SHUTDOWN_S if context is not None else None,
            )
            try:
                if self._security.login is not None:
                    await self._log_in(streams, self._security.login)
            except BaseException:
                streams[1].close()
                raise
            self._streams = streams
        return self._streams

    async def _log_in(self, streams: Streams, login: Login) -> None:
        requests = login_requests(login)
        request = next(requests)
        with suppress(StopIteration):
            while True:
                request = requests.send(await self._exchange(streams, request))

    def close(self) -> None:
        """Drop the connection; the next call makes a new one."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


def to_controller(config: Config, controller_id: int) -> Channel:
    """A channel to a controller, wherever it is by now, in the protocol of its listener."""
    return Channel(
        *config.addresses.of(controller_id),
        config.name,
        to_controllers(config),
        lambda: config.addresses.of(controller_id),
    )


class ControllerChannels:
    """A channel to each controller, made when first used. Whoever must not wait behind somebody
    else's requests has some of its own."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._made: dict[int, Channel] = {}

    def to(self, controller_id: int) -> Channel:
        """The channel to that controller."""
        if controller_id not in self._made:
            self._made[controller_id] = to_controller(self._config, controller_id)
        return self._made[controller_id]

    def close(self) -> None:
        """Drop all connections."""
        for channel in self._made.values():
            channel.close()


def _is_over(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Whether the peer has closed or reset the connection."""
    return reader.at_eof() or writer.is_closing()
