"""Bytes from a socket before a deadline, which is on the clock of `time.monotonic`."""

import socket
import time


def exactly(connection: socket.socket, size: int, deadline: float) -> bytes:
    """So many bytes. Raises `OSError`."""
    data = bytearray()
    while len(data) < size:
        connection.settimeout(left(deadline))
        chunk = connection.recv(size - len(data))
        if not chunk:
            raise ConnectionError("the connection closed in the middle of an answer")
        data += chunk
    return bytes(data)


def left(deadline: float) -> float:
    """How much time is left, s. Raises `TimeoutError` where none is."""
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise TimeoutError("no time was left")
    return remaining
