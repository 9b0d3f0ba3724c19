"""What faults against processes share: their options and victims, and one act on all at once."""

import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, TypeVar

from framework.generators import Generator
from framework.history.event import Json
from framework.plugins.fault import Fault, Injection, Probe, Victims
from framework.plugins.host import Ability, HostProvider
from framework.plugins.options import need_positive
from framework.plugins.system import Cluster, NodeSpec
from framework.plugins.targets import check_targets, pick
from nemesis.options import need_times, schedule, targets_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ProcessOptions:
    """`target`: instead of `--target`, several by +. `interval`: instead of `--interval`, s.
    `count`: of the target's nodes so many at most. `after`: once, so many s after the main phase
    began, and for `lasts` s (None: to its end), instead of again and again."""

    target: str = ""
    interval: float | None = None
    count: int | None = None
    after: float | None = None
    lasts: float | None = None

    def __post_init__(self) -> None:
        need_positive(count=self.count)
        need_times(self.interval, self.after, self.lasts)


@dataclass(frozen=True, slots=True)
class Processes:
    """Nodes to whose processes something is done. Node -> the file with its pid."""

    shape: str
    act: str
    pid_files: Mapping[str, str]

    def to_json(self) -> Victims:
        # The act is called `deed` in ledgers of all releases: their form stays.
        return {node: {"deed": self.act, "pid_file": file} for node, file in self.pid_files.items()}

    def cuts_off(self, cluster: Cluster) -> Collection[str]:
        """A process that is stopped, or has ended, says nothing."""
        return self.pid_files.keys()

    def processes_of(self) -> Collection[str]:
        return self.pid_files.keys()

    def each(self, act: Callable[[str], T]) -> dict[str, T]:
        """Do something for every victim at once. An error is raised after all have ended."""
        with ThreadPoolExecutor(len(self.pid_files)) as pool:
            return dict(zip(self.pid_files, pool.map(act, self.pid_files), strict=True))


class MakesInjection(Protocol):
    """An injection from what `Processes` are made of."""

    def __call__(self, shape: str, act: str, pid_files: Mapping[str, str]) -> Injection: ...


@dataclass(frozen=True, slots=True)
class ProcessFault:
    """A fault against processes. See `framework.plugins.fault.Fault`."""

    name: str
    act: str
    """What is done to a victim, as the ledger names it."""
    injection: MakesInjection
    options: ProcessOptions
    ends_processes: bool

    def check(self, nodes: Sequence[NodeSpec]) -> None:
        check_targets(targets_of(self.options.target), nodes)

    def abilities(self, hosts: HostProvider) -> Sequence[Ability]:
        return [Ability("signals", True, self.act)]

    def plan(
        self, cluster: Cluster, targets: Sequence[str], leader: str | None, rng: random.Random
    ) -> Injection:
        shape, nodes = self.victims(cluster, targets, leader, rng)
        return self.injection(shape, self.act, {node: cluster.pid_file(node) for node in nodes})

    def victims(
        self, cluster: Cluster, targets: Sequence[str], leader: str | None, rng: random.Random
    ) -> tuple[str, Sequence[str]]:
        """By which name nodes are aimed at, and those that are hit."""
        shape, nodes = pick(cluster, targets_of(self.options.target) or targets, leader, rng)
        if self.options.count is not None and self.options.count < len(nodes):
            nodes = sorted(rng.sample(nodes, self.options.count))
        return shape, nodes

    def from_json(self, shape: str, victims: Victims) -> Injection:
        files = {node: str(victim["pid_file"]) for node, victim in victims.items()}
        return self.injection(shape, self.act, files)


class ProcessNemesis:
    """A nemesis of one fault against processes. See `framework.plugins.fault.Nemesis`."""

    Options = ProcessOptions
    name: str
    act: str
    injection: MakesInjection
    ends_processes: bool

    def __init__(self, options: ProcessOptions | None = None) -> None:
        self.options = options or ProcessOptions()

    @property
    def faults(self) -> Sequence[Fault]:
        return [
            ProcessFault(self.name, self.act, self.injection, self.options, self.ends_processes)
        ]

    def schedule(self, interval_s: float) -> Generator:
        options = self.options
        return schedule(self.name, options.interval or interval_s, options.after, options.lasts)


def verdict(held: Iterable[bool], evidence: Mapping[str, Json]) -> Probe:
    """Bites on all victims: True; on none: False; on some: it cannot be told."""
    seen = set(held)
    return Probe(bites=seen.pop() if len(seen) == 1 else None, evidence=evidence)
