"""Servers that answer as a test says: lines of text."""

import socket
from collections.abc import Iterator
from typing import Any, BinaryIO

import pytest

from framework.plugins.system import NodeSpec
from framework.testing.loopback import LoopbackServer, Silence, cluster_of
from framework.testing.memory import eventually


def read_line(stream: BinaryIO) -> str:
    return stream.readline().decode().strip()


@pytest.fixture
def server() -> Iterator[LoopbackServer[str, str]]:
    with LoopbackServer(
        str.upper, read=read_line, write=lambda _, answer: f"{answer}\n".encode()
    ) as server:
        yield server


def test_it_answers_and_remembers(server: LoopbackServer[str, str]) -> None:
    with server.open(1.0) as connection:
        connection.sendall(b"a\nb\n")
        lines = connection.makefile()
        assert [lines.readline(), lines.readline()] == ["A\n", "B\n"]
    with server.open(1.0) as connection:
        connection.sendall(b"c\n")
        connection.shutdown(socket.SHUT_WR)
        assert connection.makefile().read() == "C\n"
    assert server.seen == ["a", "b", "c"]


def test_it_can_close_and_hang(server: LoopbackServer[str, str]) -> None:
    server.answer = lambda _: Silence.CLOSE
    with server.open(10.0) as connection:
        connection.sendall(b"a\n")
        assert connection.recv(1) == b""
    server.answer = lambda _: Silence.HANG
    with server.open(0.05) as connection:
        connection.sendall(b"a\n")
        with pytest.raises(TimeoutError):
            connection.recv(1)
    assert server.seen == ["a", "a"]


def test_a_server_that_is_stopped_refuses(server: LoopbackServer[str, str]) -> None:
    with server.open(10.0) as connection:
        eventually(lambda: server.connections)
        server.stop()
        assert connection.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        server.open(1.0)


def test_a_cluster_of_servers_is_reached_by_address_and_port(
    server: LoopbackServer[str, str],
) -> None:
    system: Any = object()
    nodes = [NodeSpec(name="n1", roles=frozenset({"member"}), ports={"client": 7})]
    cluster = cluster_of({"n1": server}, nodes, system)
    address = cluster.host("n1").address
    with cluster.fleet.connect(address, 7, 1.0) as connection:
        connection.sendall(b"a\n")
        assert connection.makefile().readline() == "A\n"
    with pytest.raises(ConnectionRefusedError):
        cluster.fleet.connect(address, 8, 1.0)
