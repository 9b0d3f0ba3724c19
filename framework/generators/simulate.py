"""Runs a generator without a cluster, in virtual time: what would it do?

    >>> simulate(limit(3, repeat(op("read"))), threads=2, completion=quick)

The answer is the history of such a run. Clients that answer at once, late, never or wrongly are
played by an `Answer`.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from framework.generators.base import (
    Context,
    Generator,
    GeneratorError,
    Pending,
    Source,
    Thread,
    thread_for,
)
from framework.generators.sources import NS_PER_S, lift
from framework.history.event import NEMESIS, Completion, CompletionType, Event, Invocation, Process

Answer: TypeAlias = Callable[[Invocation, int], tuple[int, Completion]]
"""(invocation, how many came before it) -> (ns until it completes, the completion)."""


def completes(*types: CompletionType, after_s: float) -> Answer:
    """Operations complete as these types in turn, `after_s` seconds later."""
    latency = round(after_s * NS_PER_S)

    def answer(op: Invocation, n: int) -> tuple[int, Completion]:
        type = types[n % len(types)]
        return latency, op.completed(type, op.value, node=op.node, ext=op.ext)

    return answer


quick = completes("ok", after_s=0)
"""Everything succeeds in no time."""
perfect = completes("ok", after_s=10e-9)
"""Everything succeeds in 10 ns."""
perfect_info = completes("info", after_s=10e-9)
"""Everything crashes in 10 ns."""
imperfect = completes("fail", "info", "ok", after_s=10e-9)
"""Fails, crashes and succeeds in turn, in 10 ns."""


def simulate(
    generator: Source,
    *,
    threads: int = 3,
    seed: int = 0,
    completion: Answer = perfect,
    max_ops: int = 1000,
) -> list[Event]:
    """The history of `generator` on `threads` client threads and a nemesis.

    Ends when the generator does, or after `max_ops` invocations; operations under way then are
    completed. Nemesis operations complete as info. Raises `GeneratorError` for an offer that
    cannot be invoked, and where the generator waits with nothing under way to wait for.
    """
    return _Simulation(lift(generator), threads, seed, completion, max_ops).run()


class _Simulation:
    def __init__(
        self, generator: Generator, threads: int, seed: int, completion: Answer, max_ops: int
    ) -> None:
        self.generator = generator
        self.clients = threads
        self.seed = seed
        self.completion = completion
        self.max_ops = max_ops
        self.time = 0
        self.processes: dict[Thread, Process] = {t: t for t in range(threads)}
        self.processes[NEMESIS] = NEMESIS
        self.threads = frozenset(self.processes)
        self.free = self.threads
        self.under_way: list[tuple[int, int, Thread, Completion]] = []
        """(time of completion, index of invocation, thread, completion), a heap"""
        self.history: list[Event] = []
        self.invoked = 0

    def run(self) -> list[Event]:
        while self.invoked < self.max_ops:
            if self.under_way and self.under_way[0][0] <= self.time:
                self._complete()
                continue
            offer = self.generator.offer(self._context())
            if offer is None:
                break
            if isinstance(offer.op, Pending):
                self.generator = offer.after
                self._wait(offer.op.until)
            elif offer.op.time is not None and offer.op.time > self.time:
                self._wait(offer.op.time)
            else:
                thread = thread_for(self._context(), offer.op)
                self.generator = offer.after
                self._invoke(thread, offer.op)
        while self.under_way:
            self._complete()
        return self.history

    def _context(self) -> Context:
        return Context(
            time=self.time,
            threads=self.threads,
            free=self.free,
            processes=self.processes,
            seed=self.seed,
        )

    def _wait(self, until: int | None) -> None:
        """Let the virtual time go on to the next thing that can happen."""
        if self.under_way and (until is None or self.under_way[0][0] <= until):
            self._complete()
        elif until is None:
            raise GeneratorError(
                f"the generator is pending for ever: nothing is under way at {self.time} ns"
            )
        else:
            self.time = max(self.time, until)

    def _invoke(self, thread: Thread, op: Invocation) -> None:
        op = replace(op, index=len(self.history), time=self.time)
        latency, completion = self.completion(op, self.invoked)
        if thread == NEMESIS:
            completion = replace(completion, type="info")
        heapq.heappush(self.under_way, (self.time + latency, op.index, thread, completion))
        self.invoked += 1
        self.free -= {thread}
        self._record(op)

    def _complete(self) -> None:
        time, _, thread, completion = heapq.heappop(self.under_way)
        self.time = max(self.time, time)
        self.free |= {thread}
        self._record(replace(completion, index=len(self.history), time=self.time))
        process = completion.process
        if completion.type == "info" and isinstance(process, int):
            self.processes = {**self.processes, thread: process + self.clients}

    def _record(self, event: Event) -> None:
        self.history.append(event)
        self.generator = self.generator.update(self._context(), event)
