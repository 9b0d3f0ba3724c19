"""The client of all our workloads: does any of their operations, at any node that serves it."""

import time
from collections.abc import Callable, Mapping
from functools import partial

from kio.static.protocol import RequestPayload, ResponsePayload

from framework.history.event import Completion, Invocation
from framework.plugins.dialect import AnyExchange, Exchanges, UnexpectedResponse
from framework.plugins.outcomes import CLIENT_TIMED_OUT, Failure, Ok, Refused, completion
from framework.plugins.system import Cluster
from workloads.kafka import (
    broker_messages,
    configuration_messages,
    election_messages,
    feature_messages,
    reassignment_messages,
    report_messages,
    voter_messages,
)
from workloads.kafka.broker_client import BrokerClient
from workloads.kafka.codec import Codec
from workloads.kafka.connection import Breakdown, Connection, FateUnknown, NotSent, no_answer
from workloads.kafka.controller_client import SEARCH_S, ControllerClient
from workloads.kafka.messages import EXCHANGES
from workloads.kafka.roles import BROKER, CONTROLLER, LISTENERS
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
        self._exchanges: Exchanges = {
            **EXCHANGES,
            **configuration_messages.EXCHANGES,
            **broker_messages.EXCHANGES,
            **reassignment_messages.EXCHANGES,
            **election_messages.EXCHANGES,
            **feature_messages.EXCHANGES,
            **voter_messages.EXCHANGES,
            **report_messages.EXCHANGES,
            **dialect.exchanges,
            **dialect.of_client(cluster),
        }
        self._started = started
        name, codec = f"workload-{thread}", Codec(dialect.messages)
        self._controllers = connections(cluster, CONTROLLER, name, codec)
        self._brokers = connections(cluster, BROKER, name, codec)
        self._controller = ControllerClient(
            self._controllers, dialect.outcomes, thread, dialect.leadership
        )
        self._broker = BrokerClient(self._brokers, thread)

    def invoke(self, invocation: Invocation) -> Completion:
        """The completion, within about 3 s; of a read that takes several requests, 5 s."""
        exchange = self._exchanges[invocation.f]
        request = exchange.request(invocation)
        self._started(invocation)
        node: str | None = None
        result: Ok | Refused | Failure
        try:
            node, response = self._asked(invocation, exchange, request)
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

    def _asked(
        self, invocation: Invocation, exchange: AnyExchange, request: RequestPayload
    ) -> tuple[str, ResponsePayload]:
        """(node, response), the last one where there is more to be asked."""
        deadline = time.monotonic() + SEARCH_S
        node, response = self._call(invocation, exchange.at, request)
        while (further := exchange.then(response)) is not None:
            if time.monotonic() > deadline:
                raise FateUnknown(CLIENT_TIMED_OUT, "still more to be asked")
            if further.elsewhere:
                self._controller.turn()
            time.sleep(further.pause_s)
            try:
                node, response = self._call(invocation, exchange.at, further.request)
            except NotSent as error:  # what was asked before was
                raise FateUnknown(error.code, str(error)) from error
        return node, response

    def _call(
        self, invocation: Invocation, at: str, request: RequestPayload
    ) -> tuple[str, ResponsePayload]:
        if at == BROKER:
            return self._broker.call(request, node=invocation.node)
        return self._controller.call(request, read=invocation.f in self._outcomes.reads)


def connections(
    cluster: Cluster, role: str, client_id: str, codec: Codec
) -> Mapping[str, Connection]:
    """A connection, not yet open, to each node with the role that clients may ask."""
    listener = LISTENERS[role]
    return {
        node: Connection(
            partial(system_of(cluster).connect, cluster, node, listener),
            client_id,
            codec,
            negotiates=True,
        )
        for node in cluster.with_role(role)
        if listener in cluster.nodes[node].ports
    }
