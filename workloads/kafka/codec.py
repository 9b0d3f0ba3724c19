"""Requests to bytes, and bytes to responses: by kio alone, and nothing of a node's.

The nodes have a codec of their own. A mistake in one of the two is then seen, where the same
mistake in both ends would not be.
"""

import io
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from kio.index import load_response_schema
from kio.serial import entity_writer
from kio.static.primitive import i32
from kio.static.protocol import Entity, RequestPayload, ResponsePayload

from framework.plugins.dialect import UnexpectedResponse
from workloads.kafka.entities import reader_of

E = TypeVar("E", bound=Entity)
R = TypeVar("R", bound=ResponsePayload)


class MalformedResponse(Exception):
    """The bytes are no response to the request."""


@dataclass(frozen=True, slots=True)
class Codec:
    """`messages`: types of requests that Kafka does not have, with those of their responses."""

    messages: Mapping[type, type] = field(default_factory=dict)

    def is_own(self, request: RequestPayload) -> bool:
        """Whether it is one that Kafka does not have."""
        return type(request) in self.messages

    def encode_request(
        self, request: RequestPayload, *, correlation_id: int, client_id: str
    ) -> bytes:
        """A request as it goes on a socket: length, header, body."""
        header = request.__header_schema__(
            request_api_key=request.__api_key__,
            request_api_version=request.__version__,
            correlation_id=i32(correlation_id),
            client_id=client_id,
        )
        buffer = io.BytesIO()
        for entity in (header, request):
            entity_writer(type(entity))(buffer, entity)
        data = buffer.getvalue()
        return struct.pack(">i", len(data)) + data

    def decode_response(
        self, request: RequestPayload, data: bytes, *, correlation_id: int
    ) -> ResponsePayload:
        """The response in the bytes after the length. Raises `MalformedResponse`, also where it
        answers another request: its body is not looked at then."""
        schema = self._response_to(request)
        header, size = _read(schema.__header_schema__, data, 0)
        if header.correlation_id != correlation_id:
            raise MalformedResponse(
                f"correlation id {header.correlation_id} answers {correlation_id}"
            )
        return _read(schema, data, size)[0]

    def _response_to(self, request: RequestPayload) -> type[ResponsePayload]:
        own: type[ResponsePayload] | None = self.messages.get(type(request))
        return own or load_response_schema(request.__api_key__, request.__version__)


def expected(schema: type[R], response: ResponsePayload) -> R:
    """The response, which is one to a request whose responses are of that schema. Raises
    `UnexpectedResponse`."""
    if not isinstance(response, schema):
        raise UnexpectedResponse(f"{response!r:.300}")
    return response


def _read(schema: type[E], data: bytes, at: int) -> tuple[E, int]:
    """An entity, and how many bytes it took."""
    try:
        return reader_of(schema)(data, at)
    except Exception as error:  # whatever a reader makes of bytes that are none
        raise MalformedResponse(f"{schema.__name__}: {error}") from error
