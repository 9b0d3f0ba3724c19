"""The live progress: what it counts and shows, on terminals and elsewhere, and what it costs."""

import io
import os
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from rich.console import Console

from framework.history.event import Event
from framework.run.progress import Progress, Throughput, strip


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def console(terminal: bool) -> Console:
    return Console(
        file=io.StringIO(), force_terminal=terminal, width=90, color_system=None, _environ={}
    )


def text(of: Console) -> str:
    assert isinstance(of.file, io.StringIO)
    return of.file.getvalue()


def shown(progress: Progress) -> str:
    plain = console(terminal=False)
    plain.print(progress.block(90))
    return text(plain)


def event(kind: Any, process: int | str = 0) -> Event:
    return Event(type=kind, process=process, f="create")


def make(clock: Clock, limit_s: float | None = 60.0, terminal: bool = False) -> Progress:
    return Progress(time_limit_s=limit_s, console=console(terminal), clock=clock)


def test_outcomes_of_clients_are_counted() -> None:
    clock = Clock()
    progress = make(clock)
    progress.phase("main")
    for kind in ("ok", "ok", "fail", "info"):
        progress.event(event("invoke"))
        progress.event(event(kind))
    progress.event(event("invoke"))
    progress.event(event("info", "nemesis"))
    clock.now += 2
    assert progress.line() == "main 2 s of 60 s | 2.0 op/s | ok 2 fail 1 info 1"
    block = shown(progress)
    for part in ("main", "2 s of 60 s", "ok 2", "fail 1", "info 1", "open 1"):
        assert part in block


def test_throughput_is_of_the_last_seconds() -> None:
    throughput = Throughput(0.0)
    for tenth in range(100):
        throughput.add(tenth / 10)
    assert throughput.rate(10.0) == pytest.approx(10, rel=0.1)
    assert throughput.rate(30.0) == 0
    assert not throughput.buckets


def test_throughput_of_the_first_second() -> None:
    throughput = Throughput(5.0)
    for _ in range(20):
        throughput.add(5.5)
    assert throughput.rate(6.0) == pytest.approx(20)


def test_strip_fills_where_faults_were_active() -> None:
    assert strip([(10.0, 20.0), (35.0, 35.5)], 40.0, 8) == "··██···█"
    assert strip([], 40.0, 4) == "····"


def test_fault_lane_follows_the_faults() -> None:
    clock = Clock()
    progress = make(clock, limit_s=10.0)
    progress.phase("main")
    clock.now += 2
    progress.fault("partition halves")
    clock.now += 1
    progress.fault("partition halves, kill one")
    assert "partition halves, kill one for 1 s" in shown(progress)
    clock.now += 1
    progress.fault(None)
    clock.now += 6
    lane = next(line for line in shown(progress).splitlines() if "█" in line)
    bar = lane.split()[1]
    assert bar.count("█") == pytest.approx(len(bar) * 0.2, abs=2)
    assert "none now" in shown(progress)


def test_plain_lines_where_nobody_watches() -> None:
    progress = make(Clock())
    with progress:
        progress.phase("set up")
        progress.say("seed 7, results in results/[x]")
        progress.fault("kill leader")
        progress.fault(None)
    lines = text(progress._console).splitlines()
    assert lines[0].startswith("set up 0 s")
    assert lines[1] == "seed 7, results in results/[x]"
    assert lines[2:] == ["fault: kill leader", "fault: none, healed"]


def test_plain_lines_come_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("framework.run.progress.PLAIN_INTERVAL_S", 0.01)
    progress = make(Clock())
    printed = threading.Event()
    monkeypatch.setattr(progress, "say", lambda line: printed.set())
    with progress:
        assert printed.wait(60)


def test_terminal_has_one_block_and_lines_that_stay() -> None:
    progress = make(Clock(), terminal=True)
    with progress:
        progress.phase("main")
        progress.event(event("invoke"))
        progress.event(event("ok"))
        progress.say("a line that stays")
    seen = text(progress._console)
    assert "a line that stays" in seen
    assert "ok 1" in seen
    progress.stop()  # again, for nothing


def test_drawing_errors_break_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **kwargs: object) -> None:
        raise OSError("the terminal is gone")

    progress = make(Clock(), terminal=True)
    monkeypatch.setattr(progress, "block", broken)
    monkeypatch.setattr(progress._console, "print", broken)
    with progress:
        progress.phase("main")
        progress.event(event("ok"))
        progress.fault("pause one")
        progress.say("unseen")
        progress.print("unseen")
    assert progress.line().startswith("main")


def test_drawing_waits_for_nobody() -> None:
    progress = make(Clock(), terminal=True)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with progress._lock:
            held.set()
            done.wait(120)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(120)
    progress._renderable()
    assert thread.is_alive(), "it still holds the lock"
    done.set()
    thread.join()


def test_events_from_many_threads_are_all_counted() -> None:
    progress = make(Clock())

    def count() -> None:
        for _ in range(500):
            progress.event(event("invoke"))
            progress.event(event("ok"))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "ok 2000 " in progress.line()


def test_an_event_is_cheap() -> None:
    progress = Progress(time_limit_s=60, console=console(terminal=False))
    completion = event("ok")
    best_s = min(_time_s(progress, completion) for _ in range(5))
    assert best_s / 2000 < 20e-6


def _time_s(progress: Progress, completion: Event) -> float:
    began = time.thread_time()  # which other threads and processes do not lengthen
    for _ in range(2000):
        progress.event(completion)
    return time.thread_time() - began


def test_a_reader_that_went_away_ends_no_run() -> None:
    """As in `run | head`: rich would leave the program, with the exit code of an INVALID."""
    code = (
        "from framework.run.progress import Progress\n"
        "progress = Progress()\n"
        "for _ in range(3):\n"
        "    progress.say('x')\n"
        "raise SystemExit(7)\n"
    )
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as stdout:
        done = subprocess.run([sys.executable, "-c", code], stdout=stdout, timeout=60)
    assert done.returncode == 7
