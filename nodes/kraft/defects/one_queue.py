"""A node with one queue: a request to its controller waits in line with those of its clients, first
come, first served."""

import asyncio
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from kio.static.protocol import RequestPayload

from nodes.kraft.net.listener import Listener, RequestContext
from nodes.kraft.net.queue import FairQueue
from nodes.kraft.server import Node

ANY: Final = b""
"""The one kind of request that there is."""


@dataclass(frozen=True, slots=True)
class InLine:
    """In the data plane's queue instead of a connection and what it sent. `served`: its turn."""

    served: Callable[[], object]
    open: bool = True


def install() -> None:
    handled, answered, put = Listener._serve, Node._on_control, FairQueue.put

    def first_come(self: FairQueue[Any], kind: Hashable, item: Any) -> None:
        put(self, ANY, item)

    def serve(self: Listener, connection: Any, data: bytes) -> None:
        if isinstance(connection, InLine):
            connection.served()
        else:
            handled(self, connection, data)

    def on_control(self: Node, context: RequestContext[RequestPayload]) -> None:
        if self.data is None or not self.data.listeners:
            answered(self, context)
            return
        control = asyncio.get_running_loop()
        turn = partial(control.call_soon_threadsafe, partial(answered, self, context))
        queue = self.data.listeners[0]._queue
        self._data_loop.post(queue.put, ANY, (InLine(turn), b""))  # type: ignore[arg-type]

    FairQueue.put = first_come  # type: ignore[method-assign]
    Listener._serve = serve  # type: ignore[method-assign]
    Node._on_control = on_control  # type: ignore[method-assign]
