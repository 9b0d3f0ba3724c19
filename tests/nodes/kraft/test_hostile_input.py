"""Strangers' bytes against a living node, for a few seconds; `fuzz.py` does it for any time."""

from __future__ import annotations

import contextlib
import socket
import struct
from pathlib import Path

import pytest

from nodes.kraft.wire.debug import DescribeNodeRequest
from tests.nodes.kraft.fuzz import Fuzz
from tests.nodes.kraft.loopback import Loopback, call

pytestmark = pytest.mark.xdist_group("processes")


def test_a_node_outlives_nonsense_on_every_listener(tmp_path: Path) -> None:
    """It answers on, logs no unhandled exception, and does not grow."""
    fuzz = Fuzz(tmp_path, seed=7)
    assert fuzz.run(5) == []
    assert sum(fuzz.sent.values()) > 50


def test_memory_is_bounded_whatever_is_promised_and_however_much_is_sent(tmp_path: Path) -> None:
    """Lengths of gigabytes, requests of tens of thousands of objects, hundreds of connections
    with a part of a large request each."""
    with Loopback(tmp_path, combined=1, queued_max_request_bytes=str(2**25)) as cluster:
        cluster.ready()
        port = cluster.client["n1"]
        process = cluster.processes["n1"]

        def resident_mib() -> float:
            pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
            return pages * 4096 / 2**20

        before = resident_mib()
        lie = struct.pack(">hhih", 19, 2, 1, -1) + struct.pack(">i", 2**31 - 1)
        many = struct.pack(">hhih", 3, 1, 1, -1) + struct.pack(">i", 10**6) + b"\0\1a" * 10**6
        for body in (lie, many) * 5:
            with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                connection.sendall(struct.pack(">i", len(body)) + body)
                assert connection.recv(1) == b""
        large = struct.pack(">i", 2**24) + bytes(2**18)
        held = []
        for _ in range(200):
            connection = socket.create_connection(("127.0.0.1", port), timeout=60)
            connection.settimeout(0.05)
            with contextlib.suppress(TimeoutError):  # it reads no further
                connection.sendall(large * 4)
            held.append(connection)
        assert resident_mib() - before < 150, "200 x 16 MiB were promised, 200 x 1 MiB sent"
        call(port, DescribeNodeRequest())
        for connection in held:
            connection.close()
        call(port, DescribeNodeRequest())
        assert process.poll() is None
