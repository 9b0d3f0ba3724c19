"""The interpreter: runs a generator against real clients and records what happened.

One scheduler (the calling thread) stamps every event, so the history is one total order. Each
client thread and the nemesis have a worker with an inbox of one; completions come back through
one queue.

What makes the history sound:

- An invocation is stamped and journaled before its worker sees it, a completion is stamped when
  the scheduler receives it. So recorded intervals contain the real ones, never the reverse.
- Completions are taken before new operations are asked for. Otherwise an operation would be
  recorded as concurrent with one that had ended.
- After an info nobody knows when, or whether, the operation takes effect: its process never acts
  again, and the thread goes on as process + threads. Observers only read, and stay who they are.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from queue import Empty
from time import monotonic
from typing import Final, Protocol

from framework.errors import EngineError, UsageError
from framework.generators.base import (
    Context,
    Generator,
    GeneratorError,
    Offer,
    Pending,
    Source,
    Thread,
    thread_for,
)
from framework.generators.sources import NOTHING, NS_PER_S, lift
from framework.history.event import (
    NEMESIS,
    Completion,
    Event,
    Invocation,
    Process,
    observer_of,
)
from framework.plugins.workload import Client
from framework.run.outbox import Outbox
from framework.run.workers import (
    ClientWorker,
    NemesisActor,
    NemesisWorker,
    OpenClient,
    Reports,
    Worker,
    crashed,
)

log: Final = logging.getLogger(__name__)

POLL_S: Final = 0.005
"""Longest wait on a pending generator: one that is not ours may look at more than events."""
STOP_POLL_S: Final = 0.02
"""Longest wait on anything, so that `stop` is seen soon."""
JOIN_S: Final = 1.0
"""How long workers get to close their clients at the end, all together."""


class EventLog(Protocol):
    """Where events are written as they happen: `framework.history.journal.Journal`."""

    @property
    def next_index(self) -> int: ...

    def write(self, event: Event) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """How a run went."""

    invoked: int
    """Operations invoked, the nemesis's and observers' included."""
    completed: Mapping[str, int]
    """Type -> completions, the same included."""
    given_up: int
    """Operations of clients whose worker did not answer in time."""
    stopped: bool
    """`stop` ended it, not the generator."""
    elapsed_ns: int
    processes: Mapping[int, int]
    """Thread -> its process at the end, for a run that goes on with the same history."""


def run(
    generator: Source,
    *,
    open_client: OpenClient,
    nemesis: NemesisActor,
    journal: EventLog,
    threads: int,
    seed: int,
    clock: Callable[[], int],
    stop: threading.Event,
    on_event: Callable[[Event], None] | None = None,
    op_timeout_s: float = 10.0,
    grace_s: float = 5.0,
    processes: Mapping[int, int] | None = None,
    observers: Mapping[str, Callable[[], Client]] | None = None,
) -> RunSummary:
    """Run `generator` until it is exhausted, or `stop` is set, and everything has completed.

    `clock` is ns since the run began. A client operation that takes longer than `op_timeout_s`
    is an info, and its thread gets a new worker. Once `stop` is set nothing new is invoked;
    what is under way gets `grace_s` to complete, then is an info. `on_event` sees each event
    after it was journaled. `observers`: node -> opens the client of the thread that asks it.

    Raises `GeneratorError` where the generator raises or offers nonsense, after what was under
    way was awaited as for `stop`; and what `journal` raises when it cannot write.
    """
    return _Scheduler(
        generator=lift(generator),
        open_client=open_client,
        nemesis=nemesis,
        journal=journal,
        clients=threads,
        seed=seed,
        clock=clock,
        stop=stop,
        on_event=on_event,
        op_timeout_ns=round(op_timeout_s * NS_PER_S),
        grace_s=grace_s,
        processes={t: t if processes is None else processes[t] for t in range(threads)},
        observers={observer_of(node): opens for node, opens in (observers or {}).items()},
    ).run()


@dataclass(slots=True, kw_only=True, eq=False)
class _Scheduler:
    """The mutable state of one run. Used by one thread."""

    generator: Generator
    open_client: OpenClient
    nemesis: NemesisActor
    journal: EventLog
    clients: int
    seed: int
    clock: Callable[[], int]
    stop: threading.Event
    on_event: Callable[[Event], None] | None
    op_timeout_ns: int
    grace_s: float
    processes: Mapping[Thread, Process]
    """Never changed in place: contexts share it."""
    observers: Mapping[Thread, Callable[[], Client]]
    """Thread -> opens its client."""
    threads: frozenset[Thread] = field(init=False)
    free: frozenset[Thread] = field(init=False)
    workers: dict[Thread, Worker] = field(init=False)
    outbox: Reports = field(default_factory=Outbox)
    open: dict[Thread, Invocation] = field(default_factory=dict)
    """Operations under way, the oldest first."""
    completed: dict[str, int] = field(default_factory=lambda: {"ok": 0, "fail": 0, "info": 0})
    given_up: int = 0

    def __post_init__(self) -> None:
        self.processes = {**self.processes, NEMESIS: NEMESIS}
        self.threads = self.free = frozenset((*self.processes, *self.observers))
        self.workers = {t: self._client_worker(t) for t in (*range(self.clients), *self.observers)}
        self.workers[NEMESIS] = NemesisWorker(self.outbox, self.nemesis)

    def run(self) -> RunSummary:
        began = self.clock()
        for worker in self.workers.values():
            worker.start()
        try:
            try:
                self._main_phase()
            except (EngineError, UsageError):
                self._await_open()
                raise
            self._await_open()
        finally:
            self._dismiss()
        completed = sum(self.completed.values())
        return RunSummary(
            invoked=completed,
            completed=dict(self.completed),
            given_up=self.given_up,
            stopped=self.stop.is_set(),
            elapsed_ns=self.clock() - began,
            processes={
                thread: process
                for thread, process in self.processes.items()
                if isinstance(thread, int) and isinstance(process, int)
            },
        )

    # -- the loop

    def _main_phase(self) -> None:
        """Until the generator is exhausted and all has completed, or `stop` is set."""
        exhausted = False
        while not self.stop.is_set():
            while not self.outbox.empty():
                self._take(0)
            self._give_up_overdue()
            if exhausted and not self.open:
                return
            if exhausted or not self.free:
                self._take(STOP_POLL_S)
                continue
            now = self.clock()
            context = self._context(now)
            offer = self._ask(context)
            if offer is None:
                exhausted = True
            elif isinstance(offer.op, Pending):
                self.generator = offer.after
                self._take(_wait_s(offer.op.until, now, POLL_S))
            elif offer.op.time is not None and offer.op.time > now:
                self._take(_wait_s(offer.op.time, now, STOP_POLL_S))
            else:
                self._invoke(thread_for(context, offer.op), offer.op, offer.after)

    def _await_open(self) -> None:
        """Wait for what is under way; what has not completed after the grace is an info."""
        self.generator = NOTHING  # it will not be asked again, and may be what failed
        deadline = monotonic() + self.grace_s
        while self.open and (left := deadline - monotonic()) > 0:
            self._give_up_overdue()
            self._take(min(left, STOP_POLL_S))
        for thread in list(self.open):
            self._give_up(thread, "INTERRUPTED", "the run ended before an answer came")

    def _dismiss(self) -> None:
        """Let workers close their clients. One that is stuck is left behind; it is a daemon."""
        for worker in self.workers.values():
            worker.dismiss()
        deadline = monotonic() + JOIN_S
        for worker in self.workers.values():
            worker.join(max(0.0, deadline - monotonic()))

    # -- the generator

    def _context(self, time: int) -> Context:
        return Context(
            time=time,
            threads=self.threads,
            free=self.free,
            processes=self.processes,
            seed=self.seed,
        )

    def _ask(self, context: Context) -> Offer | None:
        try:
            return self.generator.offer(context)
        except Exception as error:
            raise self._generator_error("to offer an operation", error) from error

    def _update(self, event: Event) -> None:
        assert event.time is not None
        try:
            self.generator = self.generator.update(self._context(event.time), event)
        except Exception as error:
            raise self._generator_error(f"about {event}", error) from error

    def _generator_error(self, asked: str, error: Exception) -> EngineError | UsageError:
        if isinstance(error, EngineError | UsageError):
            return error
        return GeneratorError(
            f"the generator raised {type(error).__name__}: {error} when asked {asked}; "
            f"free threads {sorted(map(str, self.free))}, generator {self.generator!r:.500}"
        )

    # -- events

    def _invoke(self, thread: Thread, op: Invocation, after: Generator) -> None:
        event = Invocation(
            index=self.journal.next_index,
            time=self.clock(),
            process=op.process,
            f=op.f,
            key=op.key,
            value=op.value,
            node=op.node,
            ext=op.ext,
        )
        try:
            self.journal.write(event)
        except (TypeError, ValueError, RecursionError) as error:
            raise GeneratorError(f"a generator offered what is not JSON ({error}): {op}") from error
        self.free -= {thread}
        self.open[thread] = event
        self.workers[thread].give(event)
        self._tell(event)
        self.generator = after
        self._update(event)

    def _take(self, wait_s: float) -> bool:
        """Record a completion if one comes in time."""
        try:
            worker, completion = self.outbox.take(wait_s)
        except Empty:
            return False
        if self.workers.get(worker.owner) is worker:
            self._complete(worker.owner, completion)
        return True  # a worker that was given up answers too late: that one is dropped

    def _complete(self, thread: Thread, completion: Completion) -> None:
        op = self.open.pop(thread)
        event = self._record(op, completion)
        self.completed[event.type] += 1
        self.free |= {thread}
        self._tell(event)
        try:
            self._update(event)
        finally:
            if event.type == "info" and isinstance(op.process, int):
                self.processes = {**self.processes, thread: op.process + self.clients}

    def _record(self, op: Invocation, completion: Completion) -> Completion:
        event = Completion(
            index=self.journal.next_index,
            time=self.clock(),
            type=completion.type,
            process=op.process,
            f=op.f,
            key=op.key,
            value=completion.value,
            error=completion.error,
            node=completion.node,
            ext=completion.ext,
        )
        try:
            self.journal.write(event)
        except (TypeError, ValueError, RecursionError) as error:
            event = replace(
                crashed(op, "INVALID_COMPLETION", f"not JSON: {error}"),
                index=event.index,
                time=event.time,
            )
            self.journal.write(event)
        return event

    def _tell(self, event: Event) -> None:
        if self.on_event is not None:
            try:
                self.on_event(event)
            except Exception:
                log.exception("on_event failed at event %d; it is not called again", event.index)
                self.on_event = None

    # -- workers that do not answer

    def _client_worker(self, thread: Thread) -> Worker:
        opens = (
            partial(self.open_client, thread) if isinstance(thread, int) else self.observers[thread]
        )
        return ClientWorker(thread, self.outbox, opens)

    def _give_up_overdue(self) -> None:
        latest = self.clock() - self.op_timeout_ns
        while (thread := next((t for t in self.open if t != NEMESIS), None)) is not None:
            if (self.open[thread].time or 0) > latest:
                return  # and the others are younger
            self.given_up += 1
            limit_s = self.op_timeout_ns / NS_PER_S
            self._give_up(thread, "TIMEOUT", f"the client did not return within {limit_s:g} s")

    def _give_up(self, thread: Thread, code: str, message: str) -> None:
        """Complete an operation as an info, and put a new worker in place of the stuck one."""
        stuck = self.workers[thread]
        log.warning("giving up %s: %s", self.open[thread], message)
        stuck.dismiss()
        if thread != NEMESIS:
            worker = self._client_worker(thread)
            worker.start()
            self.workers[thread] = worker
        self._complete(thread, crashed(self.open[thread], code, message))


def _wait_s(until: int | None, now: int, most_s: float) -> float:
    """How long to wait for a completion before asking again."""
    return most_s if until is None else min(most_s, max(0, until - now) / NS_PER_S)
