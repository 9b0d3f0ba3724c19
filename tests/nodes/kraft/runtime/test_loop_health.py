"""D.0's events of a process' health: clocks, errors that nothing handled, loops that stalled."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from test_two_planes import config_in, started

from nodes.kraft import server
from nodes.kraft.events import ErrorEvents, EventLog
from nodes.kraft.runtime import loops
from nodes.kraft.runtime.loops import STALL_MS, Vitals
from nodes.kraft.server import Node


def events_in(directory: Path) -> list[dict[str, Any]]:
    lines = (directory / "data" / "events.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def lived(node: Node, seconds: float, *works: Any) -> None:
    """Run a node for a while, on the loop that it makes for itself."""

    async def main() -> None:
        running = asyncio.ensure_future(node.run())
        await started(node)
        for work in works:
            work(node)
        await asyncio.sleep(seconds)
        node.stop("test")
        await running

    with asyncio.Runner(loop_factory=node.loop) as runner:
        runner.run(main())


def test_clocks_are_reported_at_the_start_and_over_and_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "CLOCK_EVERY_S", 0.05)
    before = time.time_ns()
    lived(Node(config_in(tmp_path)), 0.3)
    reported = [each for each in events_in(tmp_path) if each["type"] == "clock"]
    assert len(reported) >= 3
    assert all(each["wall_ns"] >= before for each in reported)
    assert [each["mono_ns"] for each in reported] == sorted(each["mono_ns"] for each in reported)


def test_a_node_that_has_ended_does_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A snapshot that was due then was begun, and reported as an error that nothing handled."""
    node, begun = Node(config_in(tmp_path)), list[str]()

    async def main() -> None:
        running = asyncio.ensure_future(node.run())
        await started(node)
        node.stop("test")
        await running
        monkeypatch.setattr(node, "_do_what_is_due", lambda: begun.append("too late"))
        await asyncio.sleep(1)  # by which a timer that is still set has rung

    with asyncio.Runner(loop_factory=node.loop) as runner:
        runner.run(main())
    assert not begun


def test_a_loop_that_does_not_run_says_for_how_long(tmp_path: Path) -> None:
    """Either one: a callback that blocks, on the loop where it runs."""

    def block_control(_: Node) -> None:
        time.sleep(0.4)

    def block_data(node: Node) -> None:
        node._data_loop.post(time.sleep, 0.5)

    lived(Node(config_in(tmp_path)), 0.8, block_control, block_data)
    reported = [each for each in events_in(tmp_path) if each["type"] == "stall"]
    by_loop = {each["loop"]: each["ms"] for each in reported}
    assert by_loop.keys() == {"control", "data"}
    assert 390 <= by_loop["control"] < 2000
    assert 490 <= by_loop["data"] < 2000


def test_short_turns_are_no_stalls() -> None:
    stalls: list[tuple[int, int]] = []
    vitals = Vitals(lambda *found: stalls.append(found))

    async def main() -> None:
        for _ in range(20):
            time.sleep(0.005)
            await asyncio.sleep(0.005)

    with asyncio.Runner(loop_factory=vitals.loop) as runner:
        runner.run(main())
    assert stalls == []
    assert vitals.turns.total >= 20
    assert vitals.idle.total > 0.05


def test_a_wait_that_outlasts_its_time_out_is_a_stall() -> None:
    """A stopped process runs no callbacks that could take long."""
    stalls: list[tuple[int, int]] = []
    vitals = Vitals(lambda *found: stalls.append(found))
    vitals.waited(10.0, beyond_s=0.0)
    vitals.waited(10.0, beyond_s=(STALL_MS + 1) / 1000)
    assert [ms for ms, _ in stalls] == [STALL_MS + 1]


def test_how_long_a_process_waited_for_a_core_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """As much of a stall as the kernel's accounts of the threads grew by, and no more than all.
    One that ends takes its own with it, and none of the others'."""
    accounts = [(5_000, 0), (5_100, 200), (9_000, 200), (9_350,)]
    reported = iter([{str(task): ms * 10**6 for task, ms in enumerate(each)} for each in accounts])
    monkeypatch.setattr(loops, "run_delays", lambda: next(reported))
    stalls: list[tuple[int, int]] = []
    vitals = Vitals(lambda *found: stalls.append(found))
    vitals.turned(0.001)
    vitals.turned(0.5)
    vitals.turned(1.0)
    vitals.turned(0.4)
    assert stalls == [(500, 300), (1000, 1000), (400, 350)]


def test_the_kernel_tells_who_waits_for_a_core() -> None:
    """More threads than this machine has cores, each of a process that is counted by itself."""
    spin = "import os, time\nend = time.monotonic() + 0.5\nwhile time.monotonic() < end: pass\n"
    reported = (
        "from nodes.kraft.runtime.run_delay import run_delays; print(sum(run_delays().values()))"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", spin + reported], stdout=subprocess.PIPE, text=True)
        for _ in range(3 * (os.cpu_count() or 1))
    ]
    delays = [int(process.communicate()[0]) for process in processes]
    assert max(delays) > 100_000_000


def test_an_exception_that_nothing_handled_is_an_event(tmp_path: Path) -> None:
    """On either loop; what is only logged, without an exception, is none."""

    def fail(node: Node) -> None:
        async def broken() -> None:
            raise RuntimeError("a defect")

        assert node.data is not None
        data = node.data
        node._data_loop.post(lambda: tasks.append(data.spawn(broken())) or None)  # type: ignore[func-returns-value]
        logging.getLogger("test").error("only a line")

    tasks: list[Any] = []
    lived(Node(config_in(tmp_path)), 0.2, fail)
    reported = [each for each in events_in(tmp_path) if each["type"] == "error"]
    assert len(reported) == 1
    assert reported[0]["where"].startswith("nodes.kraft.runtime.tasks:")
    assert reported[0]["message"].endswith("RuntimeError: a defect")


def test_lines_of_many_threads_are_whole_and_in_order(tmp_path: Path) -> None:
    tapped: list[str] = []
    log = EventLog(tmp_path / "events.jsonl", "n", lambda type, _: tapped.append(type))

    def write(name: str) -> None:
        for number in range(200):
            log.emit(name, number=number, text='"\n')

    threads = [threading.Thread(target=write, args=(name,)) for name in ("a", "b", "c")]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    lines = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [line["seq"] for line in lines] == list(range(600))
    assert [line["time_ns"] for line in lines] == sorted(line["time_ns"] for line in lines)
    assert len(tapped) == 600
    for name in ("a", "b", "c"):
        assert [line["number"] for line in lines if line["type"] == name] == list(range(200))


def test_an_event_that_cannot_be_written_hurts_no_logger() -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    handler = ErrorEvents(fail)
    logging.raiseExceptions, before = False, logging.raiseExceptions
    try:
        record = logging.LogRecord("x", logging.ERROR, "", 1, "m", (), (OSError, OSError(), None))
        handler.handle(record)
    finally:
        logging.raiseExceptions = before
