"""Network partitions: nodes drop each other's packets, by drop rules at the receiver.

Harness and clients reach every node all the while: only packets between nodes are dropped.
"""

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from framework.errors import UsageError
from framework.history.event import Json
from framework.plugins.fault import Plan, Probe
from framework.plugins.host import Ability, HostProvider
from framework.plugins.system import Cluster
from nemesis.partition import grudges, reach, rules
from nemesis.partition.grudges import Grudge
from nemesis.targets import control_plane, pick

SHAPES: Final = {
    "halves": (2, grudges.halves),
    "one-way": (2, grudges.one_way),
    "bridge": (3, grudges.bridge),
    "majorities-ring": (4, grudges.majorities_ring),
}
"""Shape -> the smallest core that it fits, and how it is drawn."""

_ALONE: Final = {"one": "isolate-one", "leader": "isolate-leader"}


class Partition:
    """Entry point `partition` of `framework.nemeses`. See `framework.plugins.fault.Nemesis`.

    Victims: node -> {"drops": nodes it does not hear, "addresses": theirs}.
    """

    name = "partition"
    min_nodes = 2
    shapes: Sequence[str] = (*SHAPES, "isolate-one", "isolate-leader", "isolate-group")

    def abilities(self, hosts: HostProvider) -> Sequence[Ability]:
        without = ", ".join(hosts.lacking(["nft"]))
        detail = f"no nft on {without}" if without else "nft"
        return [Ability("packet filter", not without, detail, "apt-get install nftables")]

    def plan(
        self, cluster: Cluster, targets: Sequence[str], leader: str | None, rng: random.Random
    ) -> Plan:
        nodes = sorted(cluster.nodes)
        if len(nodes) < 2:
            raise UsageError("a partition needs two nodes or more; the cluster has one")
        shape, grudge = (
            _at(cluster, targets, leader, rng) if targets else _any(cluster, leader, rng)
        )
        victims: dict[str, Json] = {
            node: {
                "drops": list(sources),
                "addresses": [cluster.host(source).address for source in sources],
            }
            for node, sources in grudge.items()
        }
        return Plan(fault=self.name, shape=shape, victims=victims)

    def inject(self, cluster: Cluster, plan: Plan) -> None:
        with ThreadPoolExecutor(len(plan.victims)) as pool:
            list(
                pool.map(
                    lambda node: rules.drop(cluster.host(node), plan.victims[node]["addresses"]),
                    plan.victims,
                )
            )

    def heal(self, cluster: Cluster, plan: Plan) -> None:
        with ThreadPoolExecutor(len(plan.victims)) as pool:
            list(pool.map(lambda node: rules.forget(cluster.host(node)), plan.victims))

    def probe(self, cluster: Cluster, plan: Plan) -> Probe:
        grudge = {node: list(victim["drops"]) for node, victim in plan.victims.items()}
        cut, free = reach.pairs(grudge, cluster.nodes)
        return reach.judge(cut, free, reach.look(cluster, grudge, [*cut, *free]))


def _at(
    cluster: Cluster, targets: Sequence[str], leader: str | None, rng: random.Random
) -> tuple[str, Grudge]:
    """Cut one of the targets off from everybody else."""
    target, group = pick(cluster, targets, leader, rng)
    return _ALONE.get(target, "isolate-group"), grudges.isolate(group, cluster.nodes)


def _any(cluster: Cluster, leader: str | None, rng: random.Random) -> tuple[str, Grudge]:
    """One of the shapes that fit, each as likely as the others."""
    core = control_plane(cluster)
    fits = set(SHAPES)
    if len(core) < 2:
        core = sorted(cluster.nodes)
        fits.remove("bridge")  # the only voter may be in the middle, and would miss nobody
    rest = [node for node in sorted(cluster.nodes) if node not in core]
    fitting = [name for name, (least, _) in SHAPES.items() if name in fits and len(core) >= least]
    shape = rng.choice([*fitting, "isolate-one", "isolate-leader"])
    if shape in SHAPES:
        return shape, SHAPES[shape][1](core, rest, rng)
    if shape == "isolate-leader" and leader is not None and leader in cluster.nodes:
        return shape, grudges.isolate([leader], cluster.nodes)
    return "isolate-one", grudges.isolate([rng.choice(core)], cluster.nodes)
