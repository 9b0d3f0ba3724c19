"""Requests and answers between the harness, the hub and the nodes' agents.

A message is two lengths (4 bytes each, big-endian), a JSON object and raw bytes. A connection
carries one request and its answer. An answer with "errno" is an `OSError` of the other side.
"""

import json
import os
import socket
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

_LENGTHS: Final = struct.Struct(">II")

Fields = dict[str, Any]
Handler = Callable[[Fields, bytes, socket.socket], None]


def send(peer: socket.socket, fields: Mapping[str, Any], body: bytes = b"") -> None:
    """Write one message."""
    header = json.dumps(fields).encode()
    peer.sendall(_LENGTHS.pack(len(header), len(body)) + header + body)


def receive(peer: socket.socket) -> tuple[Fields, bytes]:
    """Read one message. Raises `ConnectionError` when the peer is gone."""
    header_size, body_size = _LENGTHS.unpack(_exactly(peer, _LENGTHS.size))
    fields: Fields = json.loads(_exactly(peer, header_size))
    return fields, _exactly(peer, body_size)


def _exactly(peer: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = peer.recv(min(size - len(data), 1 << 20))
        if not piece:
            raise ConnectionError("the other side hung up")
        data += piece
    return bytes(data)


def send_error(peer: socket.socket, error: OSError) -> None:
    send(peer, {"errno": error.errno or 0, "text": error.strerror or str(error)})


def raise_error(answer: Fields) -> None:
    """Raise the `OSError` that an answer tells of, if it does."""
    if "errno" in answer:
        if not answer["errno"]:
            raise OSError(answer["text"])
        raise OSError(answer["errno"], answer["text"])


class Directory:
    """Unix sockets in a directory whose path may be longer than a socket's address (108 bytes)."""

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_PATH | os.O_DIRECTORY)

    def _address(self, name: str) -> str:
        return f"/proc/self/fd/{self._handle}/{name}.sock"

    def listen(self, name: str) -> socket.socket:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self._address(name))
        listener.listen(128)
        return listener

    def connect(self, name: str, timeout_s: float | None = None) -> socket.socket:
        peer = socket.socket(socket.AF_UNIX)
        peer.settimeout(timeout_s)
        try:
            peer.connect(self._address(name))
        except BaseException:
            peer.close()
            raise
        return peer

    def close(self) -> None:
        os.close(self._handle)
