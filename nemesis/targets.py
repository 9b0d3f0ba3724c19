"""Whom a fault aims at: names such as "leader" or "minority", resolved to nodes.

Sizes are counted over the control plane, the nodes with the role "controller", because that is
where a quorum is lost or kept; in a system without that role, over all nodes. Nothing here
resolves to no node in silence: a name that fits nobody is passed over (jepsen's minority-third of
three nodes is nobody, and its fault then a no-op).
"""

import random
from collections.abc import Sequence
from typing import Final

from framework.errors import UsageError
from framework.plugins.system import Cluster

CONTROL: Final = "controller"
ANY: Final = ("leader", "one", "minority", "majority", "brokers", "all")
"""What is drawn from when the user restricts nothing."""


def control_plane(cluster: Cluster) -> list[str]:
    """The nodes that vote; all nodes where no role says so. Sorted."""
    return cluster.with_role(CONTROL) or sorted(cluster.nodes)


def pick(
    cluster: Cluster, targets: Sequence[str], leader: str | None, rng: random.Random
) -> tuple[str, list[str]]:
    """One of the targets and its nodes, at least one, sorted.

    A target that fits nobody now ("leader" in an election) gives way to another of those asked
    for, and in the end to one node of the control plane, under the name "one". Raises
    `UsageError` for a name that no cluster has.
    """
    candidates = list(targets or ANY)
    rng.shuffle(candidates)
    for target in candidates:
        nodes = resolve(cluster, target, leader, rng)
        if nodes:
            return target, nodes
    return "one", [rng.choice(control_plane(cluster))]


def resolve(cluster: Cluster, target: str, leader: str | None, rng: random.Random) -> list[str]:
    """The nodes that a target means now, sorted; maybe none."""
    voters = control_plane(cluster)
    match target:
        case "one":
            return [rng.choice(sorted(cluster.nodes))]
        case "leader":
            return [leader] if leader is not None and leader in cluster.nodes else []
        case "followers":
            return [node for node in voters if node != leader] if leader else []
        case "minority":
            return sorted(rng.sample(voters, (len(voters) - 1) // 2))
        case "majority":
            return sorted(rng.sample(voters, len(voters) // 2 + 1))
        case "all":
            return sorted(cluster.nodes)
        case "controllers" | "brokers":
            return cluster.with_role(target.removesuffix("s"))
    if target not in cluster.nodes:
        raise UsageError(f"no target {target!r}: it is none of the nodes {sorted(cluster.nodes)}")
    return [target]
