"""The client of all our workloads: does any of their operations, at any node that serves it."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from kio.static.protocol import RequestPayload

from framework.history.event import Completion, Invocation
from framework.plugins.dialect import Exchange, UnexpectedResponse
from framework.plugins.outcomes import Failure, Ok, Refused, completion
from framework.plugins.system import Cluster
from workloads.kafka.broker_client import BrokerClient
from workloads.kafka.codec import Codec
from workloads.kafka.connection import Breakdown, Connection, no_answer
from workloads.kafka.controller_client import ControllerClient
from workloads.kafka.messages import EXCHANGES
from workloads.kafka.system import system_of


class KafkaClient:
    """One process's connections, made when first used. Implements the engine's `Client`."""

    def __init__(
        self, cluster: Cluster, thread: int, started: Callable[[Invocation], None] = lambda _: None
    ) -> None:
        """`thread` spreads clients over the nodes. `started` hears of every operation before it
        is sent."""
        dialect = system_of(cluster).dialect()
        self._outcomes = dialect.outcomes
        self._exchanges: Mapping[str, Exchange[Any, Any]] = {**EXCHANGES, **dialect.exchanges}
        self._started = started
        name, codec = f"workload-{thread}", Codec(dialect.messages)
        self._controllers = connections(cluster, "controller", "controller", name, codec)
        self._brokers = connections(cluster, "broker", "client", name, codec)
        self._controller = ControllerClient(self._controllers, dialect.outcomes, thread)
        self._broker = BrokerClient(self._brokers, thread)

    def invoke(self, invocation: Invocation) -> Completion:
        """The completion, within about 3 s."""
        exchange = self._exchanges[invocation.f]
        request = exchange.request(invocation)
        self._started(invocation)
        node: str | None = None
        result: Ok | Refused | Failure
        try:
            node, response = self._call(invocation, exchange.at, request)
            result = exchange.answer(invocation, response)
        except (Breakdown, UnexpectedResponse) as error:
            node = error.node if isinstance(error, Breakdown) else node
            result = no_answer(self._outcomes, invocation.f, error)
        if isinstance(result, Refused):
            result = self._outcomes.refused(invocation.f, result, retried=exchange.forwarded)
        return completion(invocation, result, node)

    def close(self) -> None:
        """Close all connections."""
        for connection in (*self._controllers.values(), *self._brokers.values()):
            connection.close()

    def _call(self, invocation: Invocation, at: str, request: RequestPayload) -> tuple[str, Any]:
        if at == "broker":
            return self._broker.call(request, node=invocation.node)
        return self._controller.call(request, read=invocation.f in self._outcomes.reads)


def connections(
    cluster: Cluster, role: str, listener: str, client_id: str, codec: Codec
) -> Mapping[str, Connection]:
    """A connection, not yet open, to that listener of each node with the role that has it."""
    return {
        node: Connection(
            partial(system_of(cluster).connect, cluster, node, listener), client_id, codec
        )
        for node in cluster.with_role(role)
        if listener in cluster.nodes[node].ports
    }
