"""Two loops in one process: neither waits for the other, and a failure of one ends the node."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from nodes.kraft.config import Config, from_settings
from nodes.kraft.metadata.image import EMPTY
from nodes.kraft.runtime.data import DataPlane
from nodes.kraft.runtime.planes import LoopThread
from nodes.kraft.server import Node


def config_in(directory: Path) -> Config:
    return from_settings(
        {
            "process.roles": "broker",
            "broker.id": "4",
            "cluster.id": "test",
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "controller.quorum.voters": "1@127.0.0.1:1",
            "log.dirs": str(directory / "data"),
        }
    )


async def started(node: Node) -> None:
    """Wait until it listens."""
    assert node.data is not None
    while not node.data.listeners:
        await asyncio.sleep(0.005)


def test_posts_are_carried_out_in_order_in_the_other_thread() -> None:
    seen: list[tuple[int, str]] = []
    thread = LoopThread("data", lambda _: None)
    thread.start()
    for number in range(100):
        thread.post(lambda n=number: seen.append((n, threading.current_thread().name)))

    async def main() -> int:
        return await thread.run(asyncio.sleep(0, 7))

    assert asyncio.run(main()) == 7
    thread.close()
    assert seen == [(number, "data") for number in range(100)]
    thread.post(lambda: seen.clear())
    assert len(seen) == 100, "closed: nothing is carried out any more"


def test_a_post_that_fails_stops_the_node_with_a_reason() -> None:
    stopped: list[str] = []
    thread = LoopThread("data", stopped.append)
    thread.start()
    thread.post(lambda: 1 / 0)  # type: ignore[arg-type,return-value]
    asyncio.run(thread.run(asyncio.sleep(0)))
    thread.close()
    assert stopped == ["fatal: ZeroDivisionError: division by zero"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_loop_that_died_is_closed_like_any_other() -> None:
    """Else the rest of the node would not be closed."""
    stopped: list[str] = []
    thread = LoopThread("data", stopped.append)
    thread.start()
    inner = thread._thread
    assert inner is not None
    thread.post(sys.exit, 3)
    inner.join(60)
    assert stopped == ["fatal: data loop: SystemExit: 3"]
    thread.post(print)
    thread.close()
    assert not thread.running


def test_closing_cancels_what_still_runs() -> None:
    ended: list[str] = []

    async def linger() -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            ended.append("cancelled")

    async def main() -> None:
        tasks.append(asyncio.get_running_loop().create_task(linger()))
        await asyncio.sleep(0)

    tasks: list[Any] = []
    thread = LoopThread("data", lambda _: None)
    thread.start()
    asyncio.run(thread.run(main()))
    thread.close()
    assert ended == ["cancelled"]


def test_a_data_loop_that_hangs_delays_neither_the_control_loop_nor_the_end(
    tmp_path: Path,
) -> None:
    """A.6.9: KIP-291 at its hardest: a handler that never returns."""
    node = Node(config_in(tmp_path))
    released = threading.Event()

    async def main() -> tuple[str, float]:
        running = asyncio.ensure_future(node.run())
        await started(node)
        node._data_loop.post(released.wait)  # type: ignore[arg-type]
        latest = 0.0
        for _ in range(50):
            before = time.monotonic()
            await asyncio.sleep(0.005)
            latest = max(latest, time.monotonic() - before)
        node.stop("test")
        async with asyncio.timeout(120):
            reason = await running
        return reason, latest

    try:
        reason, latest = asyncio.run(main())
    finally:
        released.set()
    assert reason == "test"
    assert latest < 1.0


def test_a_failure_on_the_data_loop_ends_the_process_with_its_reason(tmp_path: Path) -> None:
    node = Node(config_in(tmp_path))

    async def fail() -> None:
        raise RuntimeError("a defect")

    async def main() -> str:
        running = asyncio.ensure_future(node.run())
        await started(node)
        assert node.data is not None
        node._data_loop.post(lambda: spawn(node.data))
        async with asyncio.timeout(120):
            return await running

    def spawn(plane: DataPlane | None) -> None:
        assert plane is not None
        plane.spawn(fail())

    assert asyncio.run(main()) == "fatal: RuntimeError: a defect"


def test_watchers_hear_of_commits_on_the_data_loop(tmp_path: Path) -> None:
    node = Node(config_in(tmp_path))
    heard: list[tuple[int, str]] = []

    class Watching:
        def committed(self, end_offset: int, image: Any) -> None:
            heard.append((end_offset, threading.current_thread().name))

        def moved(self, transition: Any) -> None:
            pass

    assert node.data is not None
    node.data.watchers.append(Watching())  # type: ignore[arg-type]

    async def main() -> None:
        running = asyncio.ensure_future(node.run())
        await started(node)
        node.committed(7, EMPTY)
        while not heard or heard[-1][0] != 7:
            await asyncio.sleep(0.001)
        node.stop("test")
        await running

    asyncio.run(main())
    assert {name for _, name in heard} == {"data"}
