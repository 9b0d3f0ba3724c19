"""Requests that go to any broker: creates and deletes, which it forwards, and metadata."""

import time
from collections.abc import Mapping
from typing import Final

from kio.static.protocol import RequestPayload, ResponsePayload

from workloads.kafka.connection import Breakdown, Connection

DEADLINE_S: Final = 3.0


class BrokerClient:
    """Asks the brokers in turn, or one of them, once: what it answers, or fails to, is the
    operation's result. For one thread at a time."""

    def __init__(self, connections: Mapping[str, Connection], first: int = 0) -> None:
        """`connections`: a broker's name to a connection to its client listener. `first`: the
        position of the one to ask first."""
        self._connections = connections
        self._names = list(connections)
        self._position = first % len(self._names)

    def call(
        self, request: RequestPayload, *, node: str | None = None, deadline_s: float = DEADLINE_S
    ) -> tuple[str, ResponsePayload]:
        """(node, response). Raises `NotSent`, `FateUnknown`."""
        name = node or self._names[self._position]
        if node is None:
            self._position = (self._position + 1) % len(self._names)
        try:
            return name, self._connections[name].call(request, time.monotonic() + deadline_s)
        except Breakdown as error:
            error.node = name
            raise
