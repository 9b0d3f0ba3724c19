"""A partition that a broker has a replica of, as the parts of the data plane hand it on."""

from collections.abc import Callable
from enum import Enum
from typing import Protocol

from nodes.kraft.ids import BrokerId
from nodes.kraft.metadata.image import PartitionKey
from nodes.kraft.partition.state import Leading, PartitionState
from nodes.kraft.partition.steps import Input
from nodes.kraft.storage.partition_log import PartitionLog


class Change(Enum):
    """What is new about a partition: more in the log or another role; or a high watermark."""

    LOG = 1
    HIGH_WATERMARK = 2


class Hosted:
    """A partition here: its core's state, its log (None: nothing was ever written), and who
    waits for it to go on."""

    __slots__ = ("log", "state", "waiters")

    def __init__(self, state: PartitionState, log: PartitionLog | None) -> None:
        self.state = state
        self.log = log
        self.waiters: set[Callable[[], None]] | None = None

    def leading(self) -> Leading | None:
        role = self.state.role
        return role if isinstance(role, Leading) else None


class Replicas(Protocol):
    """Where a fetcher finds its partitions and takes what it fetched."""

    broker_id: BrokerId

    def get(self, key: PartitionKey) -> Hosted | None:
        """The replica of this broker; None: it has none."""

    def feed(self, key: PartitionKey, hosted: Hosted, event: Input) -> None:
        """Give the replica's core an input."""
