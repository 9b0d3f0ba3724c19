"""A node's socket on loopback that answers as a test says, and a cluster of such nodes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from types import SimpleNamespace
from typing import Any, BinaryIO, Generic, TypeVar, cast

from framework.plugins.host import Fleet
from framework.plugins.system import Cluster, NodeSpec, System

Request = TypeVar("Request")
Response = TypeVar("Response")


class Silence(Enum):
    """What a server does instead of answering."""

    CLOSE = "close the connection"
    HANG = "keep the connection, and never answer"


class LoopbackServer(Generic[Request, Response]):
    """Accepts any number of connections; `seen` holds the requests in order of arrival.

    `read` takes one request from a connection, on which there is something to read; what it
    raises of `EOFError`, `OSError` and `ValueError` ends the connection. `write` makes bytes of
    an answer to it.
    """

    def __init__(
        self,
        answer: Callable[[Request], Response | Silence],
        *,
        read: Callable[[BinaryIO], Request],
        write: Callable[[Request, Response], bytes],
    ) -> None:
        self.answer = answer
        self.seen: list[Request] = []
        self.connections: list[socket.socket] = []
        self._read, self._write = read, write
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> LoopbackServer[Request, Response]:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Refuse new connections and end the ones there are."""
        with suppress(OSError):  # stopped before
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.drop()

    def drop(self) -> None:
        """End the connections there are."""
        for connection in self.connections:
            with suppress(OSError):  # the peer was first
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        self.connections.clear()

    def open(self, timeout_s: float) -> socket.socket:
        """A connection to this server."""
        return socket.create_connection(("127.0.0.1", self.port), timeout_s)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError, EOFError, ValueError):
            self._converse(connection)
        with suppress(OSError):  # the peer was first
            connection.shutdown(socket.SHUT_RDWR)

    def _converse(self, connection: socket.socket) -> None:
        """Until the peer goes, or an answer is to close."""
        with connection.makefile("rb") as stream:
            while stream.peek(1):
                request = self._read(stream)
                self.seen.append(request)
                answer = self.answer(request)
                if answer is Silence.CLOSE:
                    return
                if answer is not Silence.HANG:
                    connection.sendall(self._write(request, answer))


def cluster_of(
    servers: Mapping[str, LoopbackServer[Any, Any]], nodes: Sequence[NodeSpec], system: System
) -> Cluster:
    """A cluster of these servers, for clients: its fleet can `connect`, and no more. A node's
    address is its name; its server stands for all its ports."""
    ports = {node.name: set(node.ports.values()) for node in nodes}

    def connect(address: str, port: int, timeout_s: float) -> socket.socket:
        if port not in ports[address]:
            raise ConnectionRefusedError(f"{address} has no listener with port {port}")
        return servers[address].open(timeout_s)

    hosts = {name: SimpleNamespace(name=name, address=name) for name in servers}
    fleet = cast(Fleet, SimpleNamespace(kind="loopback", hosts=hosts, connect=connect))
    return Cluster(system=system, fleet=fleet, nodes={node.name: node for node in nodes}, seed=0)
