"""The generator protocol and the context that a generator sees.

A generator is an immutable value. Asking it for an operation changes nothing: the answer comes
with the generator to go on with, and most answers are thrown away by combinators. All
randomness comes from the context's counter-based stream, so that one seed fixes a schedule.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from framework.errors import EngineError
from framework.generators.randomness import mix64
from framework.history.event import NEMESIS, Event, Invocation, Process, is_observer
from framework.quick import quick

Thread: TypeAlias = int | str
"""0, 1, ... for clients; the others have the name of their process: the nemesis and observers."""


class GeneratorError(EngineError):
    """A generator raised, or offered what cannot be done."""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a generator may know: the time, the threads, who is free, and the seed."""

    time: int
    """ns since the run began"""
    threads: frozenset[Thread]
    free: frozenset[Thread]
    processes: Mapping[Thread, Process]
    """The process that each client and the nemesis are now. Never restricted: it always lists
    the whole run."""
    seed: int

    def fork(self, label: int) -> Context:
        """The same context with another seed, for one of several children: whoever asks more
        than one child, or one child more than once, gives each a label of its own."""
        return Context(
            time=self.time,
            threads=self.threads,
            free=self.free,
            processes=self.processes,
            seed=mix64(self.seed, label),
        )

    def within(self, threads: frozenset[Thread]) -> Context:
        """The same context with only these threads in it."""
        return Context(
            time=self.time,
            threads=self.threads & threads,
            free=self.free & threads,
            processes=self.processes,
            seed=self.seed,
        )

    def thread_of(self, process: Process) -> Thread | None:
        """The thread that is this process now."""
        processes = self.processes
        if isinstance(process, int):
            # A retired process is followed by process + clients, so this is nearly always it.
            clients = len(processes) - (NEMESIS in processes)
            if clients and processes.get(process % clients) == process:
                return process % clients
        elif is_observer(process):
            return process
        return next((thread for thread, p in processes.items() if p == process), None)

    def rng(self, label: int = 0) -> random.Random:
        """A stream that the seed and `label` fix, for choices inside one offer."""
        return random.Random(mix64(self.seed, label))


@dataclass(frozen=True, slots=True)
class Pending:
    """Nothing now, perhaps later: from `until` (ns since the run began) on, or (None) only after
    some event. Test for it with isinstance; `PENDING` is merely the one without a time."""

    until: int | None = None


PENDING: Final = Pending()


@quick
@dataclass(frozen=True, slots=True)
class Offer:
    """An answer: an operation (type "invoke", with `time` set and `process` a free process) or
    a `Pending`, and the generator after it.

    `time` is when the operation was due. One in the past is late: it goes first. One in the
    future is thrown away and asked for again then; prefer `Pending(until)`, whose `after` is
    kept. Combinators keep the `after` of whoever is pending, and of the one operation that is
    taken.
    """

    op: Invocation | Pending
    after: Generator


class Generator(Protocol):
    """A schedule."""

    def offer(self, context: Context) -> Offer | None:
        """The next operation, or None: exhausted for good."""

    def update(self, context: Context, event: Event) -> Generator:
        """The generator after `event` (an invocation or a completion) happened.

        The context is that of the event: its time; for a completion the thread is free again,
        but still under the process that the event names."""


Source: TypeAlias = Generator | Invocation
"""What combinators take: a generator, or an operation as `op` makes it, which stands for itself
once."""


def thread_for(context: Context, op: Invocation) -> Thread:
    """The free thread that an offered operation goes to. Raises `GeneratorError` where the
    operation is not one that can be invoked."""
    if op.type != "invoke":
        raise GeneratorError(f"a generator offered an event of type {op.type!r}: {op}")
    if op.time is None:
        raise GeneratorError(f"a generator offered an operation without a time: {op}")
    thread = context.thread_of(op.process)
    if thread is None or thread not in context.free:
        raise GeneratorError(
            f"a generator offered an operation for a busy or unknown process: {op}"
        )
    return thread
