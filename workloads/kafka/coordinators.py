"""Who coordinates a group, or the transactions of an id; remembered until it proves wrong."""

from collections.abc import Mapping
from typing import Final

from kio.schema.find_coordinator.v3.request import FindCoordinatorRequest
from kio.schema.find_coordinator.v3.response import FindCoordinatorResponse
from kio.static.primitive import i8

from workloads.kafka.broker_client import BrokerClient
from workloads.kafka.codec import expected
from workloads.kafka.connection import Breakdown
from workloads.kafka.leaders import LOOKUP_S, NoAnswer
from workloads.kafka.messages import refused

GROUP: Final = 0
TRANSACTIONS: Final = 1
"""Kinds of coordinators (FindCoordinator's `key_type`)."""


class Coordinators:
    """Looks coordinators of one kind up. For one thread at a time."""

    def __init__(self, lookup: BrokerClient, names: Mapping[int, str], kind: int) -> None:
        """`names`: broker id to the node's name."""
        self._lookup, self._names, self._kind = lookup, names, kind
        self._known: dict[str, str] = {}

    def find(self, key: str) -> str:
        """The node that coordinates this group, or transactional id. Raises `NoAnswer`."""
        if key not in self._known:
            self._known[key] = self._ask(key)
        return self._known[key]

    def forget(self, key: str) -> None:
        """It was wrong: look again next time."""
        self._known.pop(key, None)

    def _ask(self, key: str) -> str:
        request = FindCoordinatorRequest(key=key, key_type=i8(self._kind))
        try:
            node, response = self._lookup.call(request, deadline_s=LOOKUP_S)
        except Breakdown as error:
            raise NoAnswer(error.code, str(error), error.node) from error
        found = expected(FindCoordinatorResponse, response)
        if found.error_code != 0:
            refusal = refused(found.error_code, found.error_message)
            raise NoAnswer(refusal.code, refusal.message, node)
        name = self._names.get(int(found.node_id))
        if name is None:
            raise NoAnswer("COORDINATOR_NOT_AVAILABLE", f"{node} knows none", node)
        return name
