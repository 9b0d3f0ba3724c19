"""`GET /metrics`, and nothing else: a server of a few dozen lines that strangers cannot hurt.

One request a connection, of at most `MAX_HEAD_BYTES`, within `TIMEOUT_S`; no more than
`MAX_CONNECTIONS` at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from nodes.kraft.metrics.exposition import CONTENT_TYPE

MAX_HEAD_BYTES: Final = 8192
MAX_CONNECTIONS: Final = 20
TIMEOUT_S: Final = 5.0


class MetricsEndpoint:
    """Serves what `render` gives."""

    def __init__(self, render: Callable[[], str]) -> None:
        self._render = render
        self._server: asyncio.Server | None = None
        self._open = 0

    async def start(self, host: str, port: int) -> None:
        """Bind and listen. Raises `OSError`."""
        self._server = await asyncio.start_server(
            self._serve, host or None, port, limit=MAX_HEAD_BYTES
        )

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            if self._open <= MAX_CONNECTIONS:
                async with asyncio.timeout(TIMEOUT_S):
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(self._answer(head))
                    await writer.drain()
        except (OSError, TimeoutError, EOFError, asyncio.LimitOverrunError):
            pass  # whoever it was is not worth a line
        finally:
            self._open -= 1
            writer.close()

    def _answer(self, head: bytes) -> bytes:
        method, _, rest = head.partition(b"\r\n")[0].partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if method not in (b"GET", b"HEAD"):
            return _response("405 Method Not Allowed", "")
        if path != b"/metrics":
            return _response("404 Not Found", "")
        return _response("200 OK", self._render(), head_only=method == b"HEAD")


def _response(status: str, body: str, *, head_only: bool = False) -> bytes:
    data = body.encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {CONTENT_TYPE}\r\n"
        f"Content-Length: {len(data)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + (b"" if head_only else data)
