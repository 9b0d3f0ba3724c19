"""The adapter's own questions to nodes, in versions that every release since 3.3 has."""

import io
import socket
import struct
from typing import Any

from kio.index import load_response_schema
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i32
from kio.static.protocol import RequestPayload

from nodes.adapting.sockets import exactly, left


def exchange(connection: socket.socket, request: RequestPayload, deadline: float) -> Any:
    """The response. `deadline` is on the clock of `time.monotonic`. Raises `OSError`, and
    `ValueError` for bytes that are none."""
    header = request.__header_schema__(
        request_api_key=request.__api_key__,
        request_api_version=request.__version__,
        correlation_id=i32(0),
        client_id="framework",
    )
    buffer = io.BytesIO()
    for entity in (header, request):
        entity_writer(type(entity))(buffer, entity)
    data = buffer.getvalue()
    connection.settimeout(left(deadline))
    connection.sendall(struct.pack(">i", len(data)) + data)
    (size,) = struct.unpack(">i", exactly(connection, 4, deadline))
    return _decoded(request, exactly(connection, size, deadline))


def _decoded(request: RequestPayload, data: bytes) -> Any:
    schema = load_response_schema(request.__api_key__, request.__version__)
    try:
        _, at = entity_reader(schema.__header_schema__)(data, 0)
        return entity_reader(schema)(data, at)[0]
    except Exception as error:  # whatever a reader makes of bytes that are none
        raise ValueError(f"no {schema.__name__}: {error}") from error
