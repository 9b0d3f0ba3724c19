"""A door into the cluster's network for clients of others: a SOCKS5 proxy on loopback (RFC 1928).

Ordinary clients open sockets of their own, and know nothing of networks that only the fleet can
reach, nor of what a listener asks for before Kafka's protocol begins. Through this they connect
to the addresses that brokers advertise, and speak plainly: `KafkaSystem.connect` does the rest.
"""

import socket
import socketserver
import struct
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, TypeAlias

from framework.plugins.system import Cluster
from workloads.kafka.roles import BROKER, LISTENERS
from workloads.kafka.system import system_of

Address: TypeAlias = tuple[str, int]

CONNECT_TIMEOUT_S: Final = 2.0
CHUNK_BYTES: Final = 64 * 1024
_VERSION, _PLAIN, _CONNECT, _IPV4 = 5, 0, 1, 1
_DONE, _REFUSED = 0, 4
"""Replies: succeeded, host unreachable."""


class Relay:
    """Until closed. Connections that it carries end with it."""

    def __init__(self, cluster: Cluster) -> None:
        names: Mapping[Address, str] = {
            (cluster.host(node).address, cluster.nodes[node].ports[LISTENERS[BROKER]]): node
            for node in cluster.with_role(BROKER)
        }
        carried: set[socket.socket] = set()

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with suppress(OSError, struct.error):
                    carry(self.request, cluster, names, carried)

        self.brokers = [f"{address}:{port}" for address, port in names]
        """As clients of theirs name them."""
        self.nodes = list(names.values())
        """In the same order."""
        self._carried = carried
        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="relay", daemon=True
        ).start()

    @property
    def url(self) -> str:
        host, port = self._server.server_address[:2]
        return f"socks5://{host!s}:{port}"

    def close(self) -> None:
        """Never raises."""
        self._server.shutdown()
        self._server.server_close()
        for each in tuple(self._carried):
            _end(each)


def carry(
    client: socket.socket,
    cluster: Cluster,
    names: Mapping[Address, str],
    carried: set[socket.socket],
) -> None:
    """Connect a client to the node that it asks for, until either ends."""
    node = names.get(_asked(client))
    try:
        if node is None:
            raise OSError("no such broker")
        broker = system_of(cluster).connect(cluster, node, LISTENERS[BROKER], CONNECT_TIMEOUT_S)
    except OSError:
        client.sendall(_reply(_REFUSED))
        return
    broker.settimeout(None)
    both = {client, broker}
    carried |= both
    try:
        client.sendall(_reply(_DONE))
        back = threading.Thread(target=_pump, args=(broker, client), daemon=True)
        back.start()
        _pump(client, broker)
        back.join()
    finally:
        carried -= both
        broker.close()


def _asked(client: socket.socket) -> Address:
    """The address to connect to. Raises `OSError` for what is no such request."""
    _, methods = struct.unpack("!BB", _exactly(client, 2))
    _exactly(client, methods)
    client.sendall(struct.pack("!BB", _VERSION, _PLAIN))
    _, command, _, kind = struct.unpack("!BBBB", _exactly(client, 4))
    if (command, kind) != (_CONNECT, _IPV4):
        raise OSError(f"SOCKS: command {command} to an address of kind {kind}")
    address, port = struct.unpack("!4sH", _exactly(client, 6))
    return socket.inet_ntoa(address), port


def _reply(code: int) -> bytes:
    return struct.pack("!BBBB4sH", _VERSION, code, 0, _IPV4, bytes(4), 0)


def _exactly(client: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = client.recv(size - len(data))
        if not part:
            raise OSError("closed")
        data += part
    return data


def _pump(source: socket.socket, sink: socket.socket) -> None:
    """Until either is closed, then end both."""
    with suppress(OSError):
        while data := source.recv(CHUNK_BYTES):
            sink.sendall(data)
    _end(source)
    _end(sink)


def _end(each: socket.socket) -> None:
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
