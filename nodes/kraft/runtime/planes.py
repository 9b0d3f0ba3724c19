"""The data loop: a second thread with an asyncio loop of its own, and what lives on it (KIP-291).

The control loop (the main thread) runs the replica, the controller and the broker's life cycle;
the data loop runs the client listeners and all that clients ask for. Neither ever waits for the
other: the data loop reads immutable values by reference, the control loop posts.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeVar, TypeVarTuple, cast

from kio.static.protocol import RequestPayload

from nodes.kraft.broker.lifecycle import Transition
from nodes.kraft.config import Config
from nodes.kraft.ids import BrokerEpoch
from nodes.kraft.metadata.image import Image
from nodes.kraft.net.listener import RequestContext, Response
from nodes.kraft.runtime.forwarding import Forwarder
from nodes.kraft.security.authorizer import Operation, ResourceType
from nodes.kraft.wire.api_keys import ApiKey

if TYPE_CHECKING:
    from nodes.kraft.wire.requests import ClientRequest

log: Final = logging.getLogger(__name__)

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
R = TypeVar("R", bound="ClientRequest")
Handler: TypeAlias = "Callable[[RequestContext[ClientRequest]], None]"
"""Serves one client request: calls `Plane.reply` once, now or later. Runs on the data loop."""

JOIN_S: Final = 2.0


def serves(key: ApiKey[R], handler: Callable[[RequestContext[R]], None]) -> tuple[int, Handler]:
    """An entry of a table of handlers. By its key alone is a request given to this handler, so that
    it is one of `R`."""
    return key, cast("Handler", handler)


class DataWatcher:
    """What parts of the data plane hear on the data loop. Methods do nothing here."""

    def committed(self, end_offset: int, image: Image) -> None:
        """Everything below `end_offset` is committed and in `image`."""

    def moved(self, transition: Transition) -> None:
        """The broker's life cycle changed its state."""


class Service(DataWatcher):
    """A part of the data plane that serves api keys. Registered with `DataPlane`, which makes it
    a watcher too, starts it before the listeners and closes it after them."""

    def handlers(self) -> Mapping[int, Handler]:
        """Api key -> its handler."""
        return {}

    async def start(self) -> None:
        """Open what is needed. Runs on the data loop."""

    async def close(self) -> None:
        """Let go of it."""


class Plane(Protocol):
    """What the data plane offers to its services; all of it is for the data loop alone."""

    @property
    def config(self) -> Config: ...

    watchers: list[DataWatcher]
    forwarder: Forwarder
    """Carries requests to the active controller, as a client or as this broker itself."""

    def serving(self) -> bool:
        """ACTIVE, and the lease not over at this very moment (A.1.55, 56)."""

    def image(self) -> Image:
        """The newest image that was posted to the data loop."""

    def leader_id(self) -> int:
        """The active controller's id as far as is known; -1: not."""

    def broker_epoch(self) -> BrokerEpoch:
        """This broker's epoch; -1: none."""

    def allowed(
        self,
        context: RequestContext[RequestPayload],
        operation: Operation,
        resource_type: ResourceType,
        resource_name: str,
    ) -> bool:
        """Whether the sender of `context` may do that."""

    def reply(self, context: RequestContext[RequestPayload], response: Response) -> None:
        """Answer a client's request; None closes its connection."""

    def spawn(self, coroutine: Coroutine[object, object, None]) -> asyncio.Task[None]:
        """Run a task of the data plane. Where it fails, the node stops."""

    def emit(self, type: str, **fields: object) -> None:
        """Write an event (docs/operating.md)."""


class LoopThread:
    """An asyncio loop in a thread of its own."""

    def __init__(
        self,
        name: str,
        stop: Callable[[str], None],
        new_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop,
    ) -> None:
        self._name = name
        self._stop = stop
        self._new_loop = new_loop
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Make the loop and run it; inputs may be posted once this returns."""
        self._loop = self._new_loop()
        self._thread = threading.Thread(
            target=self._run, args=(self._loop,), name=self._name, daemon=True
        )
        self._thread.start()

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        except BaseException as error:
            log.exception("%s loop failed", self._name)
            self._stop(f"fatal: {self._name} loop: {type(error).__name__}: {error}")
            raise
        finally:
            _cancel_all(loop)
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    @property
    def running(self) -> bool:
        """Whether it was started and not closed."""
        return self._loop is not None

    def post(self, function: Callable[[*Ts], None], *args: *Ts) -> None:
        """Call `function` on the loop, in the order of the posts; nothing where it is closed.
        A failure stops the node: what the loop's owner knows would be out of date for good."""
        loop = self._loop
        if loop is None:
            return
        try:
            loop.call_soon_threadsafe(self._guarded, function, args)
        except RuntimeError:  # closed meanwhile
            log.debug("%s loop is closed", self._name)

    def _guarded(self, function: Callable[..., None], args: tuple[object, ...]) -> None:
        try:
            function(*args)
        except Exception as error:
            log.exception("%s loop: %r failed", self._name, function)
            self._stop(f"fatal: {type(error).__name__}: {error}")

    async def run(self, coroutine: Coroutine[object, object, T]) -> T:
        """Await a coroutine that runs on the loop, from another loop."""
        assert self._loop is not None
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, self._loop))

    def close(self) -> None:
        """Stop the loop, cancel what is left on it, and wait for the thread."""
        loop, self._loop = self._loop, None
        if loop is None or self._thread is None:
            return
        with suppress(RuntimeError):  # it died, and is closed
            loop.call_soon_threadsafe(loop.stop)
        self._thread.join(JOIN_S)
        if self._thread.is_alive():
            log.error("%s loop did not end within %.0f s", self._name, JOIN_S)


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
