"""Requests of clients at a controller: in an Envelope (KIP-590), as brokers forward them.

Both systems take them so, and the Python node no other way. Only the principal in it is written
otherwise: Kafka's is its DefaultPrincipalData, the node's has an id of the request (B.9.4).
"""

from __future__ import annotations

import socket
import struct
import uuid
from typing import Any, Final

from kio.schema.api_versions.v3.request import ApiVersionsRequest
from kio.schema.default_principal_data.v0.data import DefaultPrincipalData
from kio.schema.envelope.v0.request import EnvelopeRequest
from kio.schema.errors import ErrorCode
from kio.static.protocol import RequestPayload

from benchmarks.beside_kafka.client import connection
from benchmarks.beside_kafka.measuring import Failed
from framework.plugins.system import Cluster
from nodes.kraft.wire.codec import encode_entity
from nodes.kraft.wire.forwarding import ForwardedPrincipal
from workloads.kafka.codec import Codec
from workloads.kafka.roles import CONTROLLER

CORRELATION_ID: Final = 1
HOST: Final = socket.inet_aton("127.0.0.1")
_VERSION: Final = struct.pack(">h", 0)


class AtController:
    """A connection to a controller, for one thread at a time."""

    def __init__(self, cluster: Cluster, node: str) -> None:
        self._connection = connection(cluster, node, CONTROLLER)
        self._principal = PRINCIPALS[cluster.system.name]
        self._codec = Codec()

    def call(self, request: RequestPayload, deadline: float) -> Any:
        """As `Connection.call` has it, and raises `Failed` where the controller did not open the
        envelope, as one does that is not active."""
        if isinstance(request, ApiVersionsRequest):  # of the connection itself
            return self._connection.call(request, deadline)
        data = self._codec.encode_request(
            request, correlation_id=CORRELATION_ID, client_id="beside"
        )
        envelope = EnvelopeRequest(
            request_data=data[4:],  # without its length
            request_principal=self._principal(),
            client_host_address=HOST,
        )
        answer: Any = self._connection.call(envelope, deadline)
        if answer.error_code != 0 or answer.response_data is None:
            raise Failed(f"an envelope is refused: {ErrorCode(answer.error_code).name}")
        return self._codec.decode_response(
            request, answer.response_data, correlation_id=CORRELATION_ID
        )

    def close(self) -> None:
        self._connection.close()


def _of_node() -> bytes:
    """As the forwarding broker itself; every request with an id of its own."""
    return encode_entity(ForwardedPrincipal(type="", name="", request_id=uuid.uuid4()))


def _of_kafka() -> bytes:
    """Behind the version of its form."""
    return _VERSION + encode_entity(
        DefaultPrincipalData(type_="User", name="ANONYMOUS", token_authenticated=False)
    )


PRINCIPALS: Final = {"kraft": _of_node, "kafka": _of_kafka}
