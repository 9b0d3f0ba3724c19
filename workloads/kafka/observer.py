"""Asks nodes that speak Kafka's protocol what they tell anybody of their cluster.

Each node by one client, over connections of its own: an answer is this node's, and a node that does
not answer is waited for alone. Nothing is tried twice.
"""

from __future__ import annotations

import time
from collections.abc import Sequence, Set
from dataclasses import replace
from functools import partial
from typing import Final, cast

from kio.schema.list_offsets.v7.response import ListOffsetsResponse

from framework.generators import op
from framework.history.event import Completion, Invocation
from framework.plugins.dialect import Dialect, Exchanges, UnexpectedResponse
from framework.plugins.outcomes import (
    Answer,
    Failure,
    Ok,
    Refused,
    completion,
)
from framework.plugins.system import Cluster, NodeSpec, System
from workloads.kafka.codec import Codec, expected
from workloads.kafka.connection import Breakdown, Connection, no_answer
from workloads.kafka.descriptions import (
    EXCHANGES,
    NEEDS,
    PASSED_ON,
    ROLES,
    Led,
    ends_answer,
    ends_request,
    led_by,
)
from workloads.kafka.operations.descriptions import TopicsView
from workloads.kafka.roles import BROKER, LISTENERS
from workloads.kafka.system import KafkaSystem, system_of

ANSWER_S: Final = 1.0


class KafkaObserver:
    """The `kafka` observer."""

    name: str = "kafka"
    requires: frozenset[str] = frozenset({"kafka-descriptions"})

    def questions(
        self, system: System, node: NodeSpec, capabilities: Set[str]
    ) -> Sequence[Invocation]:
        """Those that a node with these roles has an answer for."""
        known = {*_exchanges(cast(KafkaSystem, system).dialect()), "log-ends", *NEEDS}
        known -= {f for f, needed in NEEDS.items() if needed not in capabilities}
        asked = [
            op(f, node=node.name)
            for f, roles in ROLES.items()
            if f in known and _listener(roles, node) is not None
        ]
        if "describe-node" not in known and node.roles >= LISTENERS.keys():
            f, role = PASSED_ON
            asked.append(op(f, value=role, node=node.name))
        return asked

    def client(self, cluster: Cluster, node: str) -> NodeClient:
        return NodeClient(cluster, node)


class NodeClient:
    """Asks one node. Implements the engine's `Client`."""

    def __init__(self, cluster: Cluster, node: str) -> None:
        system, self._spec = system_of(cluster), cluster.nodes[node]
        dialect = system.dialect()
        self._exchanges = {**_exchanges(dialect), **dialect.of_observer(cluster)}
        self._outcomes = replace(dialect.outcomes, reads=frozenset(ROLES))
        codec = Codec(dialect.messages)
        self._connections = {
            listener: Connection(
                partial(system.connect, cluster, node, listener),
                f"observer-{node}",
                codec,
                negotiates=True,
            )
            for listener in self._spec.ports
        }
        self._led: Led = {}
        """By the newest metadata of this node."""

    def invoke(self, invocation: Invocation) -> Completion:
        """The completion, within `ANSWER_S`: ok, or, as nothing was to be done, fail."""
        result: Answer | Failure
        try:
            result = self._asked(invocation)
        except (Breakdown, UnexpectedResponse) as error:
            result = no_answer(self._outcomes, invocation.f, error)
        if isinstance(result, Refused):
            result = self._outcomes.refused(invocation.f, result, retried=False)
        return completion(invocation, result, self._spec.name)

    def _asked(self, invocation: Invocation) -> Answer:
        asked_as = invocation.value
        roles = [asked_as] if isinstance(asked_as, str) else ROLES[invocation.f]
        listener = _listener(roles, self._spec)
        assert listener is not None  # no question is asked of a node that is not for it
        connection = self._connections[listener]
        deadline = time.monotonic() + ANSWER_S
        if invocation.f == "log-ends":
            ends = connection.call(ends_request(self._led), deadline)
            return ends_answer(self._led, expected(ListOffsetsResponse, ends))
        exchange = self._exchanges[invocation.f]
        response = connection.call(exchange.request(invocation), deadline)
        while (further := exchange.then(response)) is not None:
            response = connection.call(further.request, deadline)
        answer = exchange.answer(invocation, response)
        if invocation.f == "describe-topics" and isinstance(answer, Ok):
            self._led = led_by(TopicsView.from_json(answer.value), self._spec.ids[BROKER])
        return answer

    def close(self) -> None:
        """Close all connections."""
        for connection in self._connections.values():
            connection.close()


def _exchanges(dialect: Dialect) -> Exchanges:
    return {**EXCHANGES, **dialect.exchanges}


def _listener(roles: Sequence[str], node: NodeSpec) -> str | None:
    """Where a node is asked as the first of these roles that it has; None: it has none."""
    listeners = (LISTENERS[role] for role in roles if role in node.roles)
    return next((each for each in listeners if each in node.ports), None)
