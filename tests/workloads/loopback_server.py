"""A node's socket on loopback that answers as a test says."""

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from nodes.kraft.wire.codec import decode_request, encode_response, frame

Answer = Callable[[Any], Any]
"""Request entity -> response entity, raw bytes of a frame's inside, or one of the below."""
CLOSE = object()
"""Close the connection without an answer."""
HANG = object()
"""Never answer, keep the connection."""


class LoopbackServer:
    """Accepts any number of connections; `seen` holds the requests in order of arrival."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.seen: list[Any] = []
        self.connections: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> "LoopbackServer":
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
        try:
            while True:
                header, request = decode_request(_read_frame(connection))
                self.seen.append(request)
                answer = self.answer(request)
                if answer is HANG:
                    continue
                if answer is CLOSE:
                    connection.shutdown(socket.SHUT_RDWR)
                    return
                if not isinstance(answer, bytes):
                    answer = encode_response(answer, correlation_id=header.correlation_id)
                connection.sendall(frame(answer))
        except OSError:
            return


def _read_frame(connection: socket.socket) -> bytes:
    return _read(connection, struct.unpack(">i", _read(connection, 4))[0])


def _read(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        chunk = connection.recv(size - len(data))
        if not chunk:
            raise OSError("closed")
        data += chunk
    return data
