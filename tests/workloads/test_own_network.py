"""A network of a process's own: a client that knows no proxy, through it and the real relay, to a
server on loopback."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from random import Random
from typing import Any, cast

import pytest

from framework.plugins.system import Cluster, NodeSpec
from framework.testing.loopback import LoopbackServer, cluster_of
from nodes.kraft.adapter.system import KraftSystem
from workloads.kafka import own_network
from workloads.kafka.own_network import END, Delay, Requests
from workloads.kafka.relay import Relay

NODES = ("10.87.0.11", "10.87.0.12")
PORT = 9092
CLIENT = """
import json, socket, sys
from workloads.kafka import own_network
relay, brokers, nobody = json.loads(sys.argv[1])
own_network.enter(tuple(relay), [tuple(each) for each in brokers], own_network.Delay())
told = []
for address in brokers:
    with socket.create_connection(tuple(address), 10) as client:
        client.sendall(b"hello\\n")
        told.append(client.makefile("rb").readline().decode())
try:
    socket.create_connection(tuple(nobody), 5)
except OSError as error:
    told.append(type(error).__name__)
print(json.dumps(told))
"""


@pytest.fixture
def relay() -> Iterator[Relay]:
    """To two servers that answer each line, one in capitals, the other backwards."""
    nodes = [
        NodeSpec(name=node, roles=frozenset({"broker"}), ports={"client": PORT}) for node in NODES
    ]

    def server(answer: Any) -> LoopbackServer[bytes, bytes]:
        return LoopbackServer(
            answer, read=lambda stream: stream.readline(), write=lambda _, answer: answer
        )

    with server(bytes.upper) as one, server(lambda line: line[-2::-1] + b"\n") as other:
        servers = dict(zip(NODES, (one, other), strict=True))
        made = Relay(cast(Cluster, cluster_of(servers, nodes, KraftSystem())))
        yield made
        made.close()


def test_brokers_are_reached_at_their_addresses_and_nobody_else(relay: Relay) -> None:
    host, _, port = relay.url.removeprefix("socks5://").rpartition(":")
    asked = [(host, int(port)), [(node, PORT) for node in NODES], (host, int(port))]
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, json.dumps(asked)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["HELLO\n", "olleh\n", "ConnectionRefusedError"]


def request(kind: int) -> bytes:
    return bytes(4) + kind.to_bytes(2, "big") + bytes(10)


def test_only_requests_of_transactions_are_held_and_only_so_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held: list[float] = []
    monkeypatch.setattr(own_network.time, "sleep", held.append)
    requests = Requests(Delay(share=0.25, seconds=3.5), Random(1))
    for _ in range(400):
        requests.pass_on(request(3))
        requests.pass_on(b"")
    assert held == []
    for _ in range(400):
        requests.pass_on(request(END))
    assert 70 < len(held) < 130 and set(held) == {3.5}


def test_a_held_request_arrives_though_its_sender_has_gone() -> None:
    here, client = socket.socketpair()
    broker, there = socket.socketpair()
    client.sendall(request(END))
    client.close()
    begun = time.monotonic()
    own_network._pump(here, broker, Requests(Delay(share=1.0, seconds=0.05), Random(1)))
    assert there.recv(100) == request(END) and there.recv(100) == b""
    assert time.monotonic() - begun >= 0.05
    for each in (here, broker, there):
        each.close()
