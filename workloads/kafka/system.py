"""What these workloads ask of a system under test: that it speaks Kafka's protocol, and how.

Roles are `broker`, with port `client` and a numeric id, and, where its exchanges ask them,
`controller`, with port `controller`.
"""

import socket
from typing import Protocol, cast

from framework.evidence.brokers import BrokerState
from framework.plugins.dialect import Dialect
from framework.plugins.system import Cluster


class ProcessDescription(Protocol):
    """What a broker's process says of itself."""

    @property
    def incarnation(self) -> str: ...

    @property
    def broker_state(self) -> BrokerState:
        """`active`: it holds its id and serves."""

    @property
    def broker_epoch(self) -> int:
        """-1: it does not hold its id."""


class ExtraBroker(Protocol):
    """One slot of a broker id: a port, a directory and at most one process. No fault aims at it.

    A second process of the same id, which is to take the id over, runs in another slot.
    """

    serves_s: float
    """How long a process that is started may take to serve, in s, or an id to be free."""

    @property
    def broker_id(self) -> int: ...

    @property
    def node(self) -> str:
        """The node whose host it shares."""

    @property
    def process(self) -> str:
        """The name by which its process tells of itself."""

    def connect(self, timeout_s: float) -> socket.socket:
        """A connection to its process on which clients can send requests. Raises `OSError`."""

    def start(self) -> None:
        """Start a process; what an earlier one left in the slot is its own to find."""

    def running(self) -> bool:
        """Whether the slot's process runs."""

    def kill(self) -> None:
        """SIGKILL, and wait until the process has gone. Raises `TimeoutError`."""

    def drain(self, timeout_s: float) -> str | None:
        """SIGTERM, and wait until the process has gone; why it says it went. Raises
        `TimeoutError`."""

    def granted(self, reason: str | None) -> bool | None:
        """Whether such a reason says that it was let go, as it had asked; None: it says nothing."""

    def describe(self) -> ProcessDescription | None:
        """Ask the process; None where it does not answer."""

    def refused(self) -> bool:
        """Whether its process was told last that another one has its id, which a system may leave
        to the first for as long as that lives."""


class KafkaSystem(Protocol):
    """A system under test (`framework.plugins.system.System`) that speaks Kafka's protocol."""

    def dialect(self) -> Dialect:
        """What it says otherwise than Kafka, or alone, and what its answers mean. Its exchanges
        come before those of `workloads.kafka.messages`."""

    def connect(
        self, cluster: Cluster, node: str, listener: str, timeout_s: float
    ) -> socket.socket:
        """A connection to that port of the node on which requests can be sent: whatever its
        listener asks for before that, as TLS or a login, is done. Raises `OSError`."""

    def extra_broker(
        self, cluster: Cluster, *, broker_id: int, number: int, slot: int
    ) -> ExtraBroker:
        """A broker beside the cluster's own (capability `extra-brokers`). `number`: the how
        manieth of them it is, from 0; `slot`: 0 or 1."""


def system_of(cluster: Cluster) -> KafkaSystem:
    """The cluster's system."""
    return cast(KafkaSystem, cluster.system)
