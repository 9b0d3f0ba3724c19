"""Worker threads: each does one operation at a time and reports its completion."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final, Protocol, TypeAlias

from framework.generators.base import Thread
from framework.history.event import NEMESIS, Completion, CompletionType, Event, Invocation, Process
from framework.plugins.outcomes import NO_CLIENT
from framework.plugins.workload import Client
from framework.run.outbox import Outbox

log: Final = logging.getLogger(__name__)

Reports: TypeAlias = "Outbox[tuple[Worker, Completion]]"
OpenClient: TypeAlias = Callable[[int], Client]
"""Thread -> a new client. May raise: then the operation failed without effect."""

CLIENT_TYPES: Final[tuple[CompletionType, ...]] = ("ok", "fail", "info")
NEMESIS_TYPES: Final[tuple[CompletionType, ...]] = ("info",)


class NemesisActor(Protocol):
    """Who carries out the nemesis's operations."""

    def invoke(self, op: Invocation) -> Completion:
        """Do it; the completion, of type info."""


def crashed(op: Invocation, code: str, message: str) -> Completion:
    """The completion of an operation of which nobody knows whether it took effect."""
    return op.completed("info", error=(code, message))


def validated(op: Invocation, completion: object, types: tuple[CompletionType, ...]) -> Completion:
    """`completion` where it can complete `op`, else an info that says what is wrong with it."""
    if not isinstance(completion, Event):
        return crashed(op, "INVALID_COMPLETION", f"not an event: {completion!r:.200}")
    problems = []
    if completion.type == "invoke" or completion.type not in types:
        problems.append(f"type {completion.type!r} is none of {', '.join(types)}")
    if completion.process != op.process:
        problems.append(f"process {completion.process!r} is not {op.process!r}")
    if completion.f != op.f:
        problems.append(f"f {completion.f!r} is not {op.f!r}")
    if completion.key != op.key:
        problems.append(f"key {completion.key!r} is not {op.key!r}")
    if completion.error is not None and not _is_error(completion.error):
        problems.append(f"error {completion.error!r:.200} is not (code, message)")
    if problems or completion.type == "invoke":
        return crashed(op, "INVALID_COMPLETION", "; ".join(problems))
    if isinstance(completion, Completion):
        return completion
    return op.completed(
        completion.type,
        completion.value,
        error=completion.error,
        node=completion.node,
        ext=completion.ext,
    )


def _is_error(error: object) -> bool:
    return (
        isinstance(error, tuple)
        and len(error) == 2
        and all(isinstance(part, str) for part in error)
    )


class Worker(threading.Thread):
    """One thread with an inbox that holds one operation. Never takes a second one before it
    has reported the first."""

    def __init__(self, owner: Thread, outbox: Reports) -> None:
        super().__init__(name=f"worker-{owner}", daemon=True)
        self.owner = owner
        self._outbox = outbox
        self._inbox: SimpleQueue[Invocation | None] = SimpleQueue()

    def give(self, op: Invocation) -> None:
        """Have `op` done. Only to a worker that has reported all it was given."""
        self._inbox.put(op)

    def dismiss(self) -> None:
        """End after what it is doing."""
        self._inbox.put(None)

    def run(self) -> None:
        while (op := self._inbox.get()) is not None:
            try:
                completion = self.complete(op)
            except BaseException as error:
                completion = crashed(op, type(error).__name__, str(error))
            self._outbox.put((self, completion))
            self.reported(completion)
        self.closed()

    def complete(self, op: Invocation) -> Completion:
        """Do `op`. Whatever is raised becomes an info."""
        raise NotImplementedError

    def reported(self, completion: Completion) -> None:
        """Called after each report."""

    def closed(self) -> None:
        """Called at the end."""


class ClientWorker(Worker):
    """Does operations through a client, which lives as long as a process."""

    def __init__(self, owner: Thread, outbox: Reports, opens: Callable[[], Client]) -> None:
        super().__init__(owner, outbox)
        self._opens = opens
        self._client: Client | None = None
        self._process: Process | None = None

    def complete(self, op: Invocation) -> Completion:
        if self._client is None or self._process != op.process:
            self.closed()
            try:
                self._client = self._opens()
            except BaseException as error:
                message = f"{type(error).__name__}: {error}"
                log.info("no client for process %s: %s", op.process, message)
                return op.completed(
                    "fail", op.value, error=(NO_CLIENT, message), node=op.node, ext=op.ext
                )
            self._process = op.process
        return validated(op, self._client.invoke(op), CLIENT_TYPES)

    def reported(self, completion: Completion) -> None:
        if completion.type == "info":
            self.closed()

    def closed(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            try:
                client.close()
            except BaseException as error:
                log.warning("a client of thread %s could not be closed: %s", self.owner, error)


class NemesisWorker(Worker):
    """Does the nemesis's operations."""

    def __init__(self, outbox: Reports, actor: NemesisActor) -> None:
        super().__init__(NEMESIS, outbox)
        self._actor = actor

    def complete(self, op: Invocation) -> Completion:
        return validated(op, self._actor.invoke(op), NEMESIS_TYPES)
