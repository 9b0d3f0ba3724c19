"""Runs of the interpreter with clients in memory.

    >>> history, summary = interpret(limit(3, repeat(op("read"))))

The answer to each operation is a function's; what is under test is a generator, a client, or what
the interpreter makes of them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import tenacity

from framework.generators import Source, op, repeat
from framework.history.event import Completion, Event, Invocation
from framework.history.jsonl import encode
from framework.plugins.workload import Client
from framework.run.interpreter import RunSummary, run
from framework.run.workers import NemesisActor

_ZERO_NS: Final = time.monotonic_ns()
"""For all runs: one may go on with the history of another."""
WRITE: Final = repeat(op("write", "x", 1))
"""Writes of one value, for ever."""


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

    answer: Callable[[Invocation], Completion]
    opened: list[int] = field(default_factory=list)
    closed: list[int] = field(default_factory=list)
    refuse: Callable[[int], bool] = lambda count: False
    """Whether the client cannot be opened; how many were, this one included."""

    def open(self, thread: int) -> Client:
        """A new client. Raises `ConnectionRefusedError`."""
        self.opened.append(thread)
        if self.refuse(len(self.opened)):
            raise ConnectionRefusedError("nobody listens")
        return OneClient(self, thread)


@dataclass
class OneClient:
    """One of `Clients`. Fails a test in which it is asked for two operations at a time."""

    clients: Clients
    thread: int
    busy: bool = False

    def invoke(self, op: Invocation) -> Completion:
        assert not self.busy, "one operation at a time"
        self.busy = True
        try:
            return self.clients.answer(op)
        finally:
            self.busy = False

    def close(self) -> None:
        self.clients.closed.append(self.thread)


class Idle:
    """A nemesis that does nothing, well."""

    def invoke(self, op: Invocation) -> Completion:
        return op.completed("info", op.value)


def ok(op: Invocation) -> Completion:
    """It was done."""
    return op.completed("ok", op.value)


def interpret(
    generator: Source,
    answer: Callable[[Invocation], Completion] | Clients = ok,
    *,
    threads: int = 3,
    nemesis: NemesisActor | None = None,
    stop: threading.Event | None = None,
    journal: Memory | None = None,
    **options: Any,
) -> tuple[list[Event], RunSummary]:
    """The history of a run, which is `well_formed`, and its summary. `options` are those of
    `framework.run.interpreter.run`, and so is what it raises."""
    journal = journal if journal is not None else Memory()
    clients = answer if isinstance(answer, Clients) else Clients(answer)
    summary = run(
        generator,
        open_client=clients.open,
        nemesis=nemesis or Idle(),
        journal=journal,
        threads=threads,
        seed=1,
        clock=lambda: time.monotonic_ns() - _ZERO_NS,
        stop=stop or threading.Event(),
        **options,
    )
    well_formed(journal.events)
    return journal.events, summary


def well_formed(history: list[Event]) -> None:
    """Asserts dense indices, times in order, each invocation completed once, and no life after
    an info."""
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
            if event.type == "info" and isinstance(event.process, int):
                retired.add(event.process)
    assert not open_ops


def errors(history: list[Event]) -> list[tuple[str, str] | None]:
    """What went wrong, in the order in which it was seen."""
    return [event.error for event in history if event.type in ("fail", "info")]


def eventually(condition: Callable[[], object], timeout_s: float = 120.0) -> None:
    """Wait until a condition holds that another thread brings about. Raises
    `tenacity.RetryError`."""
    wait = tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda held: not held),
        stop=tenacity.stop_after_delay(timeout_s),
        wait=tenacity.wait_fixed(0.001),
    )
    wait(condition)
