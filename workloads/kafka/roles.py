"""The roles of nodes that serve Kafka's protocol, as a system's layout names them."""

from collections.abc import Mapping, Sequence
from typing import Final

from framework.plugins.system import NodeSpec

BROKER: Final = "broker"
CONTROLLER: Final = "controller"
ONE_OF_EACH: Final[Mapping[str, int]] = {CONTROLLER: 1, BROKER: 1}
"""So many nodes a workload needs at least."""
LISTENERS: Final[Mapping[str, str]] = {BROKER: "client", CONTROLLER: "controller"}
"""Role -> the port at which clients ask it."""


def brokers(nodes: Sequence[NodeSpec]) -> list[str]:
    """The names of those that are."""
    return [node.name for node in nodes if BROKER in node.roles]
