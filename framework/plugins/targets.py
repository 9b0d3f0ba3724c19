"""Whom a fault aims at: names such as "leader" or "minority", resolved to nodes.

Sizes are counted over the nodes that vote, because that is where a quorum is lost or kept; in a
system that marks none, over all nodes. Nothing here resolves to no node in silence: a name that
fits nobody is passed over (jepsen's minority-third of three nodes is nobody, and its fault then a
no-op).
"""

import random
from collections.abc import Iterable, Sequence
from typing import Final

from framework.errors import UsageError
from framework.plugins.system import Cluster, NodeSpec, voters_of

FEW: Final = "few"
GROUPS: Final = ("one", "minority", FEW, "majority", "all", "leader", "followers")
"""Targets of every cluster. Beside them: each role with an s, and each node's name."""

_BEFORE: Final = ("leader", "one", "minority", "majority")


def role_groups(nodes: Iterable[NodeSpec]) -> dict[str, list[str]]:
    """Role with an s -> its nodes, both sorted."""
    specs = list(nodes)
    roles = sorted(set().union(*(spec.roles for spec in specs)))
    return {f"{role}s": sorted(spec.name for spec in specs if role in spec.roles) for role in roles}


def anybody(cluster: Cluster) -> list[str]:
    """What is drawn from when the user restricts nothing. Of the groups of roles only those
    without a vote: voters have `minority` and `majority`."""
    voters = set(cluster.voters())
    silent = [
        name
        for name, nodes in role_groups(cluster.nodes.values()).items()
        if not voters & set(nodes)
    ]
    return [*_BEFORE, *silent, "all"]


def check_targets(targets: Iterable[str], nodes: Sequence[NodeSpec]) -> None:
    """Raises `UsageError` for a target that this cluster never has."""
    known = [*GROUPS, *role_groups(nodes), *sorted(spec.name for spec in nodes)]
    for target in targets:
        if target not in known:
            raise UsageError(f"unknown target: {target!r} (known: {', '.join(known)})")


def pick(
    cluster: Cluster, targets: Sequence[str], leader: str | None, rng: random.Random
) -> tuple[str, list[str]]:
    """One of the targets and its nodes, at least one, sorted.

    A target that fits nobody now ("leader" in an election) gives way to another of those asked
    for, and in the end to one node that votes, under the name "one". Raises `UsageError` for a
    name that no cluster has.
    """
    candidates = list(targets or anybody(cluster))
    rng.shuffle(candidates)
    for target in candidates:
        nodes = resolve(cluster, target, leader, rng)
        if nodes:
            return target, nodes
    return "one", [rng.choice(cluster.voters())]


def resolve(cluster: Cluster, target: str, leader: str | None, rng: random.Random) -> list[str]:
    """The nodes that a target means now, sorted; maybe none."""
    voters = cluster.voters()
    match target:
        case "one":
            return [rng.choice(sorted(cluster.nodes))]
        case "leader":
            return [leader] if leader is not None and leader in cluster.nodes else []
        case "followers":
            return [node for node in voters if node != leader] if leader else []
        case "minority":
            return sorted(rng.sample(voters, (len(voters) - 1) // 2))
        case "few":
            return _few(cluster, rng)
        case "majority":
            return sorted(rng.sample(voters, len(voters) // 2 + 1))
        case "all":
            return sorted(cluster.nodes)
    if group := role_groups(cluster.nodes.values()).get(target):
        return group
    check_targets([target], list(cluster.nodes.values()))
    return [target]


def may_mean(nodes: Sequence[NodeSpec], target: str) -> set[str]:
    """The nodes that are among a target's at some time, of a target that this cluster has."""
    everybody = {spec.name for spec in nodes}
    match target:
        case "one" | "few" | "all":
            return everybody
        case "leader" | "followers" | "minority" | "majority":
            return set(voters_of(nodes))
    return set(role_groups(nodes).get(target, [target]))


def _few(cluster: Cluster, rng: random.Random) -> list[str]:
    """As many nodes as can be missed: most of the voters, and of the nodes with each role, are
    left."""
    groups = [cluster.voters(), *role_groups(cluster.nodes.values()).values()]
    gone: set[str] = set()
    for node in rng.sample(sorted(cluster.nodes), len(cluster.nodes)):
        missed = gone | {node}
        if all(2 * len(missed & set(group)) < len(group) for group in groups if node in group):
            gone = missed
    return sorted(gone)
