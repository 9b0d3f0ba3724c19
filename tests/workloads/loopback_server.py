"""A server on loopback that speaks Kafka's protocol."""

import struct
from collections.abc import Callable
from typing import Any, BinaryIO

from framework.testing import loopback
from framework.testing.loopback import Silence
from nodes.kraft.wire.codec import decode_request, encode_response, frame

CLOSE, HANG = Silence.CLOSE, Silence.HANG


class LoopbackServer(loopback.LoopbackServer[Any, Any]):
    """`answer`: request entity -> response entity, raw bytes of a frame's inside, or silence."""

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self._headers: dict[int, Any] = {}
        super().__init__(answer, read=self._decode, write=self._encode)

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


def _exactly(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data
