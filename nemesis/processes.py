"""What faults against processes share: their options and victims, and one act on all at once."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from framework.generators import Generator
from framework.history.event import Json
from framework.plugins.fault import Probe
from framework.plugins.host import Ability, HostProvider
from framework.plugins.schedules import alternate
from framework.plugins.system import Cluster, NodeSpec
from framework.plugins.targets import check_targets, pick
from nemesis.options import need_positive, targets_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ProcessOptions:
    """`target`: instead of `--target`, several by +. `interval`: instead of `--interval`, s.
    `count`: of the target's nodes so many at most."""

    target: str = ""
    interval: float | None = None
    count: int | None = None

    def __post_init__(self) -> None:
        need_positive(interval=self.interval, count=self.count)


@dataclass(frozen=True, slots=True)
class Victims:
    """Nodes to whose processes something is done. Node -> the file with its pid."""

    shape: str
    act: str
    pid_files: Mapping[str, str]

    def to_json(self) -> Mapping[str, Json]:
        return {node: {"deed": self.act, "pid_file": file} for node, file in self.pid_files.items()}

    @classmethod
    def from_json(cls, shape: str, victims: Mapping[str, Any]) -> Self:
        acts = {str(victim["deed"]) for victim in victims.values()}
        files = {node: str(victim["pid_file"]) for node, victim in victims.items()}
        return cls(shape, acts.pop(), files)

    def each(self, act: Callable[[str], T]) -> dict[str, T]:
        """Do something for every victim at once. An error is raised after all have ended."""
        with ThreadPoolExecutor(len(self.pid_files)) as pool:
            return dict(zip(self.pid_files, pool.map(act, self.pid_files), strict=True))


@dataclass(frozen=True, slots=True)
class ProcessFault:
    """Whom a fault against processes aims at. What it does is the subclasses'."""

    name: str
    act: str
    options: ProcessOptions

    def check(self, nodes: Sequence[NodeSpec]) -> None:
        check_targets(targets_of(self.options.target), nodes)

    def abilities(self, hosts: HostProvider) -> Sequence[Ability]:
        return [Ability("signals", True, self.act)]

    def victims(
        self, cluster: Cluster, targets: Sequence[str], leader: str | None, rng: random.Random
    ) -> Victims:
        """Whom it hits this time."""
        shape, nodes = pick(cluster, targets_of(self.options.target) or targets, leader, rng)
        if self.options.count is not None and self.options.count < len(nodes):
            nodes = sorted(rng.sample(nodes, self.options.count))
        return Victims(shape, self.act, {node: cluster.pid_file(node) for node in nodes})

    def schedule(self, interval_s: float) -> Generator:
        """In turns, at the options' interval or else at this one."""
        return alternate(self.name, self.options.interval or interval_s)


def verdict(held: Iterable[bool], evidence: Mapping[str, Json]) -> Probe:
    """Bites on all victims: True; on none: False; on some: it cannot be told."""
    seen = set(held)
    return Probe(bites=seen.pop() if len(seen) == 1 else None, evidence=evidence)
