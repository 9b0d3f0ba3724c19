"""Network partitions: nodes drop each other's packets, by drop rules at the receiver.

Harness and clients reach every node all the while: only packets between nodes are dropped.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, Literal

from framework.errors import UsageError
from framework.generators import Generator
from framework.history.event import Json
from framework.plugins.fault import Fault, Probe, Victims
from framework.plugins.host import Ability, HostProvider
from framework.plugins.system import Cluster, NodeSpec
from framework.plugins.targets import check_targets, pick
from nemesis.options import need_times, schedule, targets_of
from nemesis.partition import grudges, reach, rules
from nemesis.partition.grudges import Grudge

SHAPES: Final = {
    "halves": (2, grudges.halves),
    "one-way": (2, grudges.one_way),
    "bridge": (3, grudges.bridge),
    "majorities-ring": (4, grudges.majorities_ring),
}
"""Shape -> the smallest core that it fits, and how it is drawn."""

_ALONE: Final = {"one": "isolate-one", "leader": "isolate-leader"}


@dataclass(frozen=True, slots=True)
class PartitionOptions:
    """`shape`: always this one. `target`: whom to isolate, instead of `--target`, several by +; of
    a bridge, who is in the middle. `interval`: instead of `--interval`, s. `after`: once, so many s
    after the main phase began, and for `lasts` s (None: to its end), instead of again and again."""

    shape: Literal["any", "halves", "one-way", "bridge", "majorities-ring", "isolate"] = "any"
    target: str = ""
    interval: float | None = None
    after: float | None = None
    lasts: float | None = None

    def __post_init__(self) -> None:
        need_times(self.interval, self.after, self.lasts)
        if self.target and self.shape in SHAPES and self.shape != "bridge":
            raise ValueError(f"shape={self.shape} is drawn over all nodes and takes no target")


@dataclass(frozen=True, slots=True)
class Cut:
    """Who drops whose packets. See `framework.plugins.fault.Injection`."""

    shape: str
    drops: Mapping[str, Sequence[str]]
    """Node -> nodes it does not hear."""
    addresses: Mapping[str, str]
    """Address of each of those."""

    def to_json(self) -> Victims:
        return {
            node: {
                "drops": list(sources),
                "addresses": [self.addresses[source] for source in sources],
            }
            for node, sources in self.drops.items()
        }

    def spares(self, cluster: Cluster) -> Sequence[str]:
        """See `framework.plugins.fault.Sparing`."""
        return grudges.together(self.drops, cluster.nodes, cluster.voters())

    def cuts_off(self, cluster: Cluster) -> Sequence[str]:
        """See `framework.plugins.fault.CutsOff`."""
        return grudges.cut_off(self.drops, cluster.nodes, cluster.voters())

    def inject(self, cluster: Cluster) -> None:
        self._each(
            lambda node: rules.drop(
                cluster.host(node), [self.addresses[source] for source in self.drops[node]]
            )
        )

    def heal(self, cluster: Cluster) -> None:
        self._each(lambda node: rules.forget(cluster.host(node)))

    def probe(self, cluster: Cluster) -> Probe:
        grudge = {node: list(sources) for node, sources in self.drops.items()}
        cut, free = reach.pairs(grudge, cluster.nodes)
        return reach.judge(cut, free, reach.look(cluster, grudge, [*cut, *free]))

    def _each(self, act: Callable[[str], None]) -> None:
        with ThreadPoolExecutor(len(self.drops)) as pool:
            list(pool.map(act, self.drops))


def _texts(value: Json) -> list[str]:
    """A list of texts in the ledger. Raises `TypeError`."""
    if not isinstance(value, list):
        raise TypeError(f"no list: {value!r:.100}")
    return [str(each) for each in value]


class PartitionFault:
    """See `framework.plugins.fault.Fault`."""

    name = "partition"
    ends_processes = False

    def __init__(self, options: PartitionOptions) -> None:
        self._options = options

    def check(self, nodes: Sequence[NodeSpec]) -> None:
        least, _ = SHAPES.get(self._options.shape, (2, None))
        voters = sum(spec.votes for spec in nodes)
        if len(nodes) < 2:
            raise UsageError("nemesis partition needs 2 nodes or more, --nodes has 1")
        if (voters if voters > 1 else len(nodes)) < least:
            raise UsageError(
                f"nemesis partition: shape={self._options.shape} needs {least} nodes that vote"
            )
        check_targets(targets_of(self._options.target), nodes)

    def abilities(self, hosts: HostProvider) -> Sequence[Ability]:
        without = ", ".join(hosts.lacking(["nft"]))
        detail = f"no nft on {without}" if without else "nft"
        return [Ability("packet filter", not without, detail, "apt-get install nftables")]

    def plan(
        self, cluster: Cluster, targets: Sequence[str], leader: str | None, rng: random.Random
    ) -> Cut:
        if len(cluster.nodes) < 2:
            raise UsageError("a partition needs two nodes or more; the cluster has one")
        shape, grudge = self._drawn(cluster, targets, leader, rng)
        addresses = {
            source: cluster.host(source).address
            for sources in grudge.values()
            for source in sources
        }
        return Cut(shape, grudge, addresses)

    def from_json(self, shape: str, victims: Victims) -> Cut:
        drops = {node: _texts(victim["drops"]) for node, victim in victims.items()}
        addresses: dict[str, str] = {}
        for node, victim in victims.items():
            addresses |= zip(drops[node], _texts(victim["addresses"]), strict=True)
        return Cut(shape, drops, addresses)

    def _drawn(
        self, cluster: Cluster, targets: Sequence[str], leader: str | None, rng: random.Random
    ) -> tuple[str, Grudge]:
        asked = targets_of(self._options.target) or targets
        match self._options.shape:
            case "bridge" if self._options.target:
                return "bridge", _bridge(cluster, asked, leader, rng)
            case "any" if not asked:
                return _any(cluster, leader, rng)
            case "any" | "isolate":
                return _isolated(cluster, asked, leader, rng)
            case shape:
                core, rest = _core(cluster)
                return shape, SHAPES[shape][1](core, rest, rng)


class Partition:
    """Entry point `partition` of `framework.nemeses`. See `framework.plugins.fault.Nemesis`."""

    name = "partition"
    Options = PartitionOptions

    def __init__(self, options: PartitionOptions | None = None) -> None:
        self._options = options or PartitionOptions()

    @property
    def faults(self) -> Sequence[Fault]:
        return [PartitionFault(self._options)]

    def schedule(self, interval_s: float) -> Generator:
        options = self._options
        return schedule(self.name, options.interval or interval_s, options.after, options.lasts)


def _bridge(
    cluster: Cluster, targets: Sequence[str], leader: str | None, rng: random.Random
) -> Grudge:
    """One of a target's nodes in the middle; any node, where none of them votes."""
    core, rest = _core(cluster)
    _, group = pick(cluster, targets, leader, rng)
    among = [node for node in group if node in core]
    return grudges.bridge(core, rest, rng, middle=rng.choice(among) if among else None)


def _isolated(
    cluster: Cluster, targets: Sequence[str], leader: str | None, rng: random.Random
) -> tuple[str, Grudge]:
    """Cut one of the targets off from everybody else."""
    target, group = pick(cluster, targets, leader, rng)
    return _ALONE.get(target, "isolate-group"), grudges.isolate(group, cluster.nodes)


def _core(cluster: Cluster) -> tuple[list[str], list[str]]:
    """The nodes over which shapes are drawn, and the others: voters, if there are two."""
    core = cluster.voters()
    if len(core) < 2:
        core = sorted(cluster.nodes)
    return core, [node for node in sorted(cluster.nodes) if node not in core]


def _any(cluster: Cluster, leader: str | None, rng: random.Random) -> tuple[str, Grudge]:
    """One of the shapes that fit, each as likely as the others."""
    core, rest = _core(cluster)
    fits = set(SHAPES)
    if len(cluster.voters()) < 2:
        fits.remove("bridge")  # the only voter may be in the middle, and would miss nobody
    fitting = [name for name, (least, _) in SHAPES.items() if name in fits and len(core) >= least]
    shape = rng.choice([*fitting, "isolate-one", "isolate-leader"])
    if shape in SHAPES:
        return shape, SHAPES[shape][1](core, rest, rng)
    if shape == "isolate-leader" and leader is not None and leader in cluster.nodes:
        return shape, grudges.isolate([leader], cluster.nodes)
    return "isolate-one", grudges.isolate([rng.choice(core)], cluster.nodes)
