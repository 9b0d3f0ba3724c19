"""KIP-291 in the form that it takes here: a combined process with two planes."""

from __future__ import annotations

import asyncio
import datetime
import struct
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from kio.schema.api_versions.v0.request import ApiVersionsRequest
from kio.schema.delete_topics.v6.request import DeleteTopicsRequest
from kio.schema.errors import ErrorCode
from kio.static.primitive import i32Timedelta
from test_two_planes import started

from nodes.kraft.config import CONTROL_QUEUE_CAPACITY, from_settings
from nodes.kraft.net.channel import Channel, FateUnknown
from nodes.kraft.runtime.forwarding import MAX_UNDER_WAY, Forwarded, Forwarder
from nodes.kraft.server import Node
from nodes.kraft.wire.codec import encode_request, frame
from nodes.kraft.wire.debug import DescribeNodeRequest
from nodes.kraft.wire.heartbeats import ControllerHeartbeatRequest
from tests.nodes.kraft.loopback import free_ports

CAPACITY = 50
OWN = 1
"""Requests that may wait on the control side with no client there: the node's own broker half asks
its own controller half, one request at a time."""
SECOND = i32Timedelta.parse(datetime.timedelta(seconds=1))


class Both:
    """A combined node in this process, with its ports."""

    def __init__(self, directory: Path) -> None:
        self.control, self.client = free_ports(2)
        self.node = Node(
            from_settings(
                {
                    "process.roles": "broker,controller",
                    "broker.id": "4",
                    "controller.id": "1",
                    "cluster.id": "test",
                    "listeners": f"CLIENT://127.0.0.1:{self.client},C://127.0.0.1:{self.control}",
                    "controller.listeners": "C",
                    "listener.security.protocol.map": "C:PLAINTEXT,CLIENT:PLAINTEXT",
                    "controller.quorum.voters": f"1@127.0.0.1:{self.control}",
                    "log.dirs": str(directory / "data"),
                    "queued.max.requests": str(CAPACITY),
                }
            )
        )

    def run(self, body: Callable[[], Awaitable[None]]) -> None:
        async def main() -> None:
            running = asyncio.ensure_future(self.node.run())
            await started(self.node)
            try:
                async with asyncio.timeout(120):
                    await body()
            finally:
                self.node.stop("test")
                await running

        with asyncio.Runner(loop_factory=self.node.loop) as runner:
            runner.run(main())

    def queue_sizes(self) -> tuple[int, int]:
        """Of the control side, and of the data side."""
        sources = self.node._sources()
        return sum(each.queued for each in sources.control()), sum(
            each.queued for each in sources.data()
        )


def asking(correlation_id: int) -> bytes:
    request = DescribeNodeRequest()
    return frame(encode_request(request, correlation_id=correlation_id, client_id="t"))


def test_a_full_data_queue_delays_no_control_request(tmp_path: Path) -> None:
    """A.2.10, A.2.11, A.2.14, A.6.9: the data handler hangs, its queue fills to the brim and stays
    so; the control side answers as if there were nobody, and none of them waits in its queue."""
    both = Both(tmp_path)
    release = threading.Event()

    async def body() -> None:
        data = both.node.data
        assert data is not None
        data._describe = lambda: release.wait(120)  # the one request that hangs
        clients = [
            await asyncio.open_connection("127.0.0.1", both.client) for _ in range(2 * CAPACITY)
        ]
        for number, (_, writer) in enumerate(clients):
            writer.write(asking(number))
        await asyncio.sleep(0.3)
        channel = Channel("127.0.0.1", both.control, "t")
        latest = 0.0
        for _ in range(50):
            began = time.monotonic()
            await channel.call(ApiVersionsRequest(), 5)
            latest = max(latest, time.monotonic() - began)
        control, _ = both.queue_sizes()
        assert control <= OWN
        assert latest < 1.0
        channel.close()
        release.set()
        for _, writer in clients:
            writer.close()

    try:
        both.run(body)
    finally:
        release.set()


def test_the_data_queue_holds_its_capacity_and_no_more(tmp_path: Path) -> None:
    """A.2.13, A.2.14: and it is counted apart from the control side's."""
    both = Both(tmp_path)
    seen: list[tuple[int, int]] = []

    async def body() -> None:
        data = both.node.data
        assert data is not None
        healthy = data._describe

        def slow() -> Any:
            seen.append(both.queue_sizes())
            time.sleep(0.002)
            return healthy()

        data._describe = slow
        clients = [
            await asyncio.open_connection("127.0.0.1", both.client) for _ in range(3 * CAPACITY)
        ]
        for number, (_, writer) in enumerate(clients):
            writer.write(asking(number))
        for reader, writer in clients:
            (size,) = struct.unpack(">i", await reader.readexactly(4))
            await reader.readexactly(size)
            writer.close()

    both.run(body)
    assert max(size for _, size in seen) == CAPACITY
    assert max(control for control, _ in seen) <= OWN


def test_threads_of_one_plane_never_serve_the_other(tmp_path: Path) -> None:
    """A.2.7, A.2.9: acceptors, queues and handlers are apart, down to the threads."""
    both = Both(tmp_path)
    served: dict[str, set[str]] = {"control": set(), "data": set()}

    async def body() -> None:
        node, data = both.node, both.node.data
        assert data is not None
        (control_side,), (data_side,) = node._listeners, data.listeners
        assert control_side._queue is not data_side._queue
        for side, listener in (("control", control_side), ("data", data_side)):
            healthy = listener._dispatch

            def watched(context: Any, side: str = side, healthy: Any = healthy) -> None:
                served[side].add(threading.current_thread().name)
                healthy(context)

            listener._dispatch = watched
        for port in (both.client, both.control):
            channel = Channel("127.0.0.1", port, "t")
            for _ in range(10):
                await channel.call(DescribeNodeRequest(), 5)
            channel.close()

    both.run(body)
    assert served == {"control": {"MainThread"}, "data": {"data"}}


def test_the_control_queue_has_twenty_places(tmp_path: Path) -> None:
    """A.2.8, A.6.10"""
    both = Both(tmp_path)

    async def body() -> None:
        (control,) = both.node._listeners
        assert control.limits.capacity == CONTROL_QUEUE_CAPACITY == 20
        assert both.node.data is not None
        assert both.node.data.listeners[0].limits.capacity == CAPACITY

    both.run(body)


def test_the_control_queue_fills_to_its_places_and_no_further(tmp_path: Path) -> None:
    """A.2.8, A.2.13, A.6.10: more controllers' and brokers' requests than it has places wait
    outside, none is lost, and the metric is what waits in it."""
    both = Both(tmp_path)
    queued: list[int] = []

    async def body() -> None:
        (control,) = both.node._listeners
        healthy = control._dispatch

        def slow(context: Any) -> None:
            queued.append(both.queue_sizes()[0])
            time.sleep(0.002)
            healthy(context)

        control._dispatch = slow
        peers = [
            await asyncio.open_connection("127.0.0.1", both.control)
            for _ in range(4 * CONTROL_QUEUE_CAPACITY)
        ]
        for number, (_, writer) in enumerate(peers):
            writer.write(asking(number))
        for reader, writer in peers:
            (size,) = struct.unpack(">i", await reader.readexactly(4))
            await reader.readexactly(size)
            writer.close()

    both.run(body)
    assert max(queued) == CONTROL_QUEUE_CAPACITY


def test_a_brokers_listener_is_no_controllers(tmp_path: Path) -> None:
    """A.1.82, A.1.85: also where the process is the active controller."""
    both = Both(tmp_path)

    async def body() -> None:
        channel = Channel("127.0.0.1", both.client, "t")
        request = ControllerHeartbeatRequest(controller_id=1, last_snapshot_offset=0)  # type: ignore[arg-type]
        response = await channel.call(request, 5)
        assert response.error_code == ErrorCode.not_controller.value
        assert not response.start_snapshot
        channel.close()

    both.run(body)


def test_a_flood_of_forwarded_requests_takes_few_places_of_the_controller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D.17: neither its connections nor its queue; who finds no place in time was not sent."""
    under_way = most = 0

    async def call(*_: Any) -> Any:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        try:
            await asyncio.sleep(0.2)
        finally:
            under_way -= 1
        raise FateUnknown("slow")

    monkeypatch.setattr(Channel, "call", call)

    async def main() -> list[Forwarded]:
        forwarder = Forwarder(Both(tmp_path).node.config, lambda: 1)
        request = DeleteTopicsRequest(topics=(), timeout=SECOND)
        waits = [forwarder.forward(request, 0.15) for _ in range(10 * MAX_UNDER_WAY)]
        return await asyncio.gather(*waits)

    outcomes = asyncio.run(main())
    assert most == MAX_UNDER_WAY
    unknown = sum(told.unknown for told in outcomes)
    assert unknown == MAX_UNDER_WAY, "the others' requests never left"
