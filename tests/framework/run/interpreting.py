"""Runs of the interpreter with clients in memory, for its tests."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from framework.generators import (
    Source,
    op,
    repeat,
)
from framework.history.event import Event
from framework.history.jsonl import encode
from framework.run.interpreter import RunSummary, run

ZERO_NS = time.monotonic_ns()
WRITE = repeat(op("write", "x", 1))


@dataclass
class Memory:
    """A journal in memory, as strict as the real one."""

    events: list[Event] = field(default_factory=list)

    @property
    def next_index(self) -> int:
        return len(self.events)

    def write(self, event: Event) -> None:
        assert event.index == len(self.events)
        encode(event)
        self.events.append(event)


@dataclass
class Clients:
    """Opens clients that answer through a function, and counts what becomes of them."""

    answer: Callable[[Event], Any]
    opened: list[int] = field(default_factory=list)
    closed: list[int] = field(default_factory=list)
    refuse: Callable[[int], bool] = lambda count: False

    def open(self, thread: int) -> "OneClient":
        self.opened.append(thread)
        if self.refuse(len(self.opened)):
            raise ConnectionRefusedError("nobody listens")
        return OneClient(self, thread)


@dataclass
class OneClient:
    clients: Clients
    thread: int
    busy: bool = False

    def invoke(self, op: Event) -> Event:
        assert not self.busy, "one operation at a time"
        self.busy = True
        try:
            return self.clients.answer(op)  # type: ignore[no-any-return]
        finally:
            self.busy = False

    def close(self) -> None:
        self.clients.closed.append(self.thread)


class Idle:
    """A nemesis that does nothing, well."""

    def invoke(self, op: Event) -> Event:
        return replace(op, type="info")


def ok(op: Event) -> Event:
    return replace(op, type="ok")


def interpret(
    generator: Source,
    answer: Callable[[Event], Any] | Clients = ok,
    *,
    threads: int = 3,
    nemesis: Any = None,
    stop: threading.Event | None = None,
    journal: Memory | None = None,
    **options: Any,
) -> tuple[list[Event], RunSummary]:
    journal = journal if journal is not None else Memory()
    source = answer if isinstance(answer, Clients) else Clients(answer)
    summary = run(
        generator,
        open_client=source.open,
        nemesis=nemesis or Idle(),
        journal=journal,
        threads=threads,
        seed=1,
        clock=lambda: time.monotonic_ns() - ZERO_NS,
        stop=stop or threading.Event(),
        **options,
    )
    well_formed(journal.events)
    return journal.events, summary


def well_formed(history: list[Event]) -> None:
    """Dense indices, times in order, each invocation completed once, no life after an info."""
    assert [event.index for event in history] == list(range(len(history)))
    times = [event.time or 0 for event in history]
    assert times == sorted(times)
    open_ops: dict[int | str, Event] = {}
    retired = set()
    for event in history:
        assert event.process not in retired
        if event.type == "invoke":
            assert event.process not in open_ops
            open_ops[event.process] = event
        else:
            begun = open_ops.pop(event.process)
            assert (begun.f, begun.key) == (event.f, event.key)
            if event.type == "info" and event.process != "nemesis":
                retired.add(event.process)
    assert not open_ops


def errors(history: list[Event]) -> list[tuple[str, str] | None]:
    return [event.error for event in history if event.type in ("fail", "info")]


def after_threads_end(condition: Callable[[], bool]) -> None:
    """Wait for a thread of ours that ends on its own."""
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)
