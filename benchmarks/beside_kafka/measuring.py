"""What a measurement is: figures with their units, and a function of a cluster that serves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from framework.plugins.system import Cluster

Better = Literal["more", "less"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a measurement, and which way it is better."""

    name: str
    unit: str
    better: Better


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much is done. `seconds`: of each measurement that goes on for a time. `quiet_s`: before
    it, a cluster that still does something is waited for so long at most. `partitions`, `led`:
    created in all; led by the broker that is shut down. `flood`: connections to each broker of a
    flood."""

    seconds: float = 3.0
    quiet_s: float = 15.0
    partitions: int = 100_000
    led: int = 10_000
    under_way: tuple[int, ...] = (1, 10, 100)
    batches: tuple[int, ...] = (16, 256)
    """Records of 1,000 bytes in a produce request."""
    flood: int = 100


SMALL: Final = Sizes(
    seconds=0.3, quiet_s=0, partitions=30, led=6, under_way=(1, 4), batches=(4,), flood=3
)
"""Takes seconds, and says nothing about how fast anything is."""


@dataclass(frozen=True, slots=True)
class Running:
    """A cluster that serves. `started_s`: from the start of its processes until it did."""

    cluster: Cluster
    started_s: float


class Measurement(Protocol):
    """`alone`: on a cluster of its own in each round, for it leaves much behind, or begins anew
    what had long been running."""

    name: str
    alone: bool

    def brokers(self, sizes: Sizes) -> int:
        """How many it needs."""

    def figures(self, sizes: Sizes) -> Sequence[Figure]:
        """What it tells, in the order of the table."""

    def measure(self, running: Running, sizes: Sizes) -> Mapping[str, float]:
        """Name of a figure -> its value. Raises `Failed`, `Breakdown`."""


class Failed(Exception):
    """There is no figure, and why."""


class WithThreeBrokers:
    """Base of most. By itself it shares a cluster with others."""

    alone = False

    def brokers(self, sizes: Sizes) -> int:
        return 3


def p99(values: Sequence[float]) -> float:
    """The 99th percentile, of at least one."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
