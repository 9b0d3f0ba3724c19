"""Kafka's framing: headers and bodies to bytes and back, for Kafka's messages and our own.

A frame on a socket is a signed 32-bit length and that many bytes; functions here take and give
the bytes after the length. Whatever is decoded is checked first (wire/structure.py): hostile
bytes raise `MalformedRequest`, and cost no more than they weigh.
"""

import io
import struct
from functools import cache
from typing import Final, TypeVar

from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i16, i32
from kio.static.protocol import Entity, RequestHeader, RequestPayload, ResponsePayload

from nodes.kraft.wire.debug import (
    DescribeNodeRequest,
    DescribeNodeResponse,
    ReadTopicsRequest,
    ReadTopicsResponse,
)
from nodes.kraft.wire.heartbeats import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    ControllerHeartbeatRequest,
    ControllerHeartbeatResponse,
)
from nodes.kraft.wire.structure import checked

E = TypeVar("E", bound=Entity)

_OWN: Final[dict[tuple[int, int], tuple[type[RequestPayload], type[ResponsePayload]]]] = {
    (50, 0): (BrokerHeartbeatRequest, BrokerHeartbeatResponse),
    (51, 0): (ControllerHeartbeatRequest, ControllerHeartbeatResponse),
    (10000, 0): (ReadTopicsRequest, ReadTopicsResponse),
    (10001, 0): (DescribeNodeRequest, DescribeNodeResponse),
}


class MalformedRequest(Exception):
    """The bytes are no message that this node understands; the connection has to close."""


class UnsupportedVersion(Exception):
    """A well-formed header with an api key or version that is not known."""

    def __init__(self, api_key: int, api_version: int, correlation_id: int) -> None:
        super().__init__(f"api key {api_key} version {api_version}")
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id


@cache
def request_schema(api_key: int, version: int) -> type[RequestPayload]:
    """The entity of a request. Raises `KeyError` where there is none."""
    if (api_key, version) in _OWN:
        return _OWN[api_key, version][0]
    try:
        return load_request_schema(api_key, version)
    except Exception as error:
        raise KeyError((api_key, version)) from error


@cache
def response_schema(api_key: int, version: int) -> type[ResponsePayload]:
    """The entity of the response. Raises `KeyError` where there is none."""
    if (api_key, version) in _OWN:
        return _OWN[api_key, version][1]
    try:
        return load_response_schema(api_key, version)
    except Exception as error:
        raise KeyError((api_key, version)) from error


def encode_entity(entity: Entity) -> bytes:
    """An entity's body alone."""
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def decode_entity(schema: type[E], data: bytes, offset: int = 0) -> E:
    """The inverse of `encode_entity`; bytes after the entity are ignored, and so are tagged
    fields that `schema` does not know. Raises `MalformedRequest`."""
    return _decode(schema, data, offset)[0]


def _decode(schema: type[E], data: bytes, offset: int) -> tuple[E, int]:
    """The entity, and where it ends in `data`."""
    try:
        clean, end = checked(schema, data, offset)
        entity, _ = entity_reader(schema)(clean, offset)
    except Exception as error:
        raise MalformedRequest(f"{schema.__name__}: {error}") from error
    return entity, end + len(data) - len(clean)


def encode_request(request: RequestPayload, *, correlation_id: int, client_id: str) -> bytes:
    """Header and body of a request."""
    header = request.__header_schema__(
        request_api_key=request.__api_key__,
        request_api_version=request.__version__,
        correlation_id=i32(correlation_id),
        client_id=client_id,
    )
    return encode_entity(header) + encode_entity(request)


def decode_request(data: bytes) -> tuple[RequestHeader, RequestPayload]:
    """A request's header and body. Raises `MalformedRequest`, `UnsupportedVersion`."""
    if len(data) < 8:
        raise MalformedRequest(f"{len(data)} bytes are too few for a request header")
    api_key, version, correlation_id = struct.unpack_from(">hhi", data)
    try:
        schema = request_schema(api_key, version)
    except KeyError:
        raise UnsupportedVersion(api_key, version, correlation_id) from None
    header, size = _decode(schema.__header_schema__, data, 0)
    return header, decode_entity(schema, data, size)


def encode_response(response: ResponsePayload, *, correlation_id: int) -> bytes:
    """Header and body of a response."""
    header = response.__header_schema__(correlation_id=i32(correlation_id))
    return encode_entity(header) + encode_entity(response)


def decode_response(api_key: int, version: int, data: bytes) -> tuple[int, ResponsePayload]:
    """The correlation id and the body of a response to a request of that key and version.

    Raises `MalformedRequest` where the bytes are no such response.
    """
    schema = response_schema(api_key, version)
    header, size = _decode(schema.__header_schema__, data, 0)
    return header.correlation_id, decode_entity(schema, data, size)


def frame(data: bytes) -> bytes:
    """The bytes with their length before them, as they go on a socket."""
    return struct.pack(">i", len(data)) + data


API_VERSIONS: Final = i16(18)
