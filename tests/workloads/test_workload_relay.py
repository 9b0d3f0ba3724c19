"""The door for clients of others: RFC 1928, byte by byte, to a server on loopback."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, cast

import pytest

from framework.plugins.system import Cluster, NodeSpec
from framework.testing.loopback import LoopbackServer, cluster_of
from nodes.kraft.adapter.system import KraftSystem
from workloads.kafka.relay import Relay

NODE, PORT = "10.9.8.7", 9092
"""A node of `cluster_of` is called as its address is."""
GREETING = b"\x05\x01\x00"


def wish(address: str = NODE, port: int = PORT, command: int = 1, kind: int = 1) -> bytes:
    return struct.pack("!BBBB4sH", 5, command, 0, kind, socket.inet_aton(address), port)


@pytest.fixture
def server() -> Iterator[LoopbackServer[bytes, bytes]]:
    """Answers each line with itself in capitals."""
    with LoopbackServer[bytes, bytes](
        bytes.upper, read=lambda stream: stream.readline(), write=lambda _, answer: answer
    ) as made:
        yield made


@pytest.fixture
def relay(server: LoopbackServer[bytes, bytes]) -> Iterator[Relay]:
    spec = NodeSpec(name=NODE, roles=frozenset({"broker"}), ports={"client": PORT})
    made = Relay(cast(Cluster, cluster_of({NODE: server}, [spec], KraftSystem())))
    yield made
    made.close()


def connected(relay: Relay) -> socket.socket:
    host, _, port = relay.url.removeprefix("socks5://").rpartition(":")
    return socket.create_connection((host, int(port)), 10)


def exactly(client: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = client.recv(size - len(data))
        assert part, f"closed after {data!r}"
        data += part
    return data


def through(relay: Relay) -> socket.socket:
    """A connection to the node."""
    client = connected(relay)
    client.sendall(GREETING)
    assert exactly(client, 2) == b"\x05\x00"
    client.sendall(wish())
    assert exactly(client, 10) == b"\x05\x00\x00\x01" + bytes(6)
    return client


def test_a_client_speaks_with_the_broker_that_it_names(relay: Relay) -> None:
    assert relay.brokers == [f"{NODE}:{PORT}"]
    with through(relay) as one, through(relay) as other:
        for client, line in ((one, b"hello\n"), (other, b"there\n"), (one, b"again\n")):
            client.sendall(line)
            assert exactly(client, len(line)) == line.upper()


@pytest.mark.parametrize("asked", [wish(port=9), wish(address="10.9.8.8")])
def test_who_is_no_broker_cannot_be_reached(relay: Relay, asked: bytes) -> None:
    with connected(relay) as client:
        client.sendall(GREETING)
        exactly(client, 2)
        client.sendall(asked)
        assert exactly(client, 10)[:2] == b"\x05\x04"
        assert client.recv(1) == b""


def test_a_broker_that_is_down_cannot_be_reached(
    relay: Relay, server: LoopbackServer[Any, Any]
) -> None:
    server.stop()
    with connected(relay) as client:
        client.sendall(GREETING)
        exactly(client, 2)
        client.sendall(wish())
        assert exactly(client, 10)[:2] == b"\x05\x04"


@pytest.mark.parametrize("asked", [wish(command=2), wish(kind=3), b"\x05\x01"])
def test_what_is_no_request_ends_the_connection(relay: Relay, asked: bytes) -> None:
    with connected(relay) as client:
        client.sendall(GREETING)
        exactly(client, 2)
        client.sendall(asked)
        with suppress(OSError):  # reset, where more had been sent than was read
            client.shutdown(socket.SHUT_WR)
            assert client.recv(1) == b""


def test_a_connection_ends_when_the_broker_ends_it(
    relay: Relay, server: LoopbackServer[Any, Any]
) -> None:
    with through(relay) as client:
        client.sendall(b"hello\n")
        exactly(client, 6)
        server.drop()
        assert client.recv(1) == b""


def test_a_connection_ends_with_the_relay(relay: Relay) -> None:
    with through(relay) as client:
        relay.close()
        assert client.recv(1) == b""
        with pytest.raises(OSError):
            connected(relay)
