"""A server on loopback that speaks Kafka's protocol."""

import datetime
import socket
import struct
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from kio.schema.api_versions.v3 import response as versions
from kio.schema.errors import ErrorCode
from kio.static.primitive import i16, i32Timedelta

from framework.testing import loopback
from framework.testing.loopback import Silence
from nodes.kraft.wire.codec import decode_request, encode_response, frame
from workloads.kafka.versions import WHICH

CLOSE, HANG = Silence.CLOSE, Silence.HANG


class LoopbackServer(loopback.LoopbackServer[Any, Any]):
    """`answer`: request entity -> response entity, raw bytes of a frame's inside, or silence.
    `apis`: api key -> versions, which clients are told before their first request; that they asked
    is not among what was `seen`."""

    def __init__(
        self, answer: Callable[[Any], Any], apis: Mapping[int, tuple[int, int]] | None = None
    ) -> None:
        self._headers: dict[int, Any] = {}
        self.apis, self.negotiations = dict(apis or {}), 0
        self.told: Any = None
        """Instead of that: another answer."""
        super().__init__(answer, read=self._decode, write=self._encode)

    def _converse(self, connection: socket.socket) -> None:
        with connection.makefile("rb") as stream:
            while stream.peek(1):
                request = self._decode(stream)
                if request == WHICH:
                    self.negotiations += 1
                    answer: Any = self.told or versions_told(self.apis)
                else:
                    self.seen.append(request)
                    answer = self.answer(request)
                if answer is CLOSE:
                    return
                if answer is not HANG:
                    connection.sendall(self._encode(request, answer))

    def _decode(self, stream: BinaryIO) -> Any:
        (size,) = struct.unpack(">i", _exactly(stream, 4))
        header, request = decode_request(_exactly(stream, size))
        self._headers[id(request)] = header
        return request

    def _encode(self, request: Any, answer: Any) -> bytes:
        header = self._headers.pop(id(request))
        if not isinstance(answer, bytes):
            answer = encode_response(answer, correlation_id=header.correlation_id)
        return frame(answer)


def versions_told(apis: Mapping[int, tuple[int, int]]) -> versions.ApiVersionsResponse:
    """An answer to ApiVersions."""
    return versions.ApiVersionsResponse(
        error_code=ErrorCode.none,
        api_keys=tuple(
            versions.ApiVersion(api_key=i16(key), min_version=i16(low), max_version=i16(high))
            for key, (low, high) in apis.items()
        ),
        throttle_time=i32Timedelta.parse(datetime.timedelta()),
    )


def _exactly(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data
