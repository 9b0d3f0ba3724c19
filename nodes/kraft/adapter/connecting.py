"""The framework's own blocking connections to nodes, in whatever their listeners speak."""

import socket
import struct
import time
from contextlib import suppress

from kio.static.protocol import RequestPayload, ResponsePayload

from framework.plugins.host import Fleet
from nodes.adapting.sockets import exactly, left
from nodes.kraft.net.login import login_requests
from nodes.kraft.net.secure import ChannelSecurity
from nodes.kraft.security.sasl import Login
from nodes.kraft.security.scram import AuthenticationFailed
from nodes.kraft.wire.codec import MalformedRequest, decode_response, encode_request, frame


def connect(
    fleet: Fleet, address: str, port: int, security: ChannelSecurity, timeout_s: float
) -> socket.socket:
    """A connection on which requests can be sent: with TLS and logged in, where `security` says
    so. Raises `OSError`."""
    deadline = time.monotonic() + timeout_s
    connection = fleet.connect(address, port, timeout_s)
    try:
        if security.tls is not None:
            connection.settimeout(left(deadline))
            connection = security.tls.wrap_socket(connection, server_hostname=address)
        if security.login is not None:
            _log_in(connection, security.login, deadline)
    except (AuthenticationFailed, MalformedRequest) as error:
        connection.close()
        raise ConnectionError(f"login: {error}") from error
    except BaseException:
        connection.close()
        raise
    return connection


def exchange(
    connection: socket.socket, request: RequestPayload, deadline: float
) -> ResponsePayload:
    """The response. `deadline` is on the clock of `time.monotonic`. Raises `OSError`,
    `MalformedRequest`."""
    connection.settimeout(left(deadline))
    connection.sendall(frame(encode_request(request, correlation_id=0, client_id="framework")))
    (size,) = struct.unpack(">i", exactly(connection, 4, deadline))
    data = exactly(connection, size, deadline)
    return decode_response(request.__api_key__, request.__version__, data)[1]


def _log_in(connection: socket.socket, login: Login, deadline: float) -> None:
    requests = login_requests(login)
    request = next(requests)
    with suppress(StopIteration):
        while True:
            request = requests.send(exchange(connection, request, deadline))
