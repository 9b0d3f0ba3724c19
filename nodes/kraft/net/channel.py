"""A channel to another node: one connection, one request at a time."""

import asyncio
import itertools
import struct
from typing import Any, Final

from nodes.kraft.wire.codec import MalformedRequest, decode_response, encode_request, frame

MAX_ANSWER_BYTES: Final = 100 * 2**20


class NotSent(Exception):
    """The request did not leave: no connection. It had no effect."""


class FateUnknown(Exception):
    """The request left, no answer came: whether it took effect is unknown."""


class Channel:
    """Sends requests to one address; connects when needed, and anew after every failure."""

    def __init__(self, host: str, port: int, client_id: str) -> None:
        self._host = host
        self._port = port
        self._client_id = client_id
        self._correlation = itertools.count()
        self._busy = asyncio.Lock()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def call(self, request: Any, timeout_s: float) -> Any:
        """The response entity. Raises `NotSent`, `FateUnknown`."""
        async with self._busy:
            correlation_id = next(self._correlation) & 0x7FFFFFFF
            try:
                async with asyncio.timeout(timeout_s):
                    reader, writer = await self._connected()
            except (OSError, TimeoutError, UnicodeError) as error:  # the last: no host's name
                raise NotSent(f"{self._host}:{self._port}: {error}") from error
            try:
                async with asyncio.timeout(timeout_s):
                    return await self._exchange(reader, writer, request, correlation_id)
            except (OSError, TimeoutError, EOFError, MalformedRequest) as error:
                raise FateUnknown(f"{self._host}:{self._port}: {error!r}") from error

    async def _exchange(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        request: Any,
        correlation_id: int,
    ) -> Any:
        done = False
        try:
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
            done = True
            return response
        finally:
            if not done:  # a late answer must never be taken for that of a later request
                self.close()

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is not None and _is_over(*self._streams):
            self.close()
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        return self._streams

    def close(self) -> None:
        """Drop the connection; the next call makes a new one."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


def _is_over(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Whether the peer has closed or reset the connection."""
    return reader.at_eof() or writer.is_closing()
