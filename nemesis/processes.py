"""What faults against processes share: their plans, and one deed on every victim at once."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from framework.history.event import Json
from framework.plugins.fault import Plan, Probe
from framework.plugins.host import Host
from framework.plugins.system import Cluster
from nemesis.inspect import PID_FILE
from nemesis.targets import pick

T = TypeVar("T")


def plan_for(
    fault: str,
    deed: str,
    cluster: Cluster,
    targets: Sequence[str],
    leader: str | None,
    rng: random.Random,
) -> Plan:
    """Victims: node -> {"deed", "pid_file": where its pid is at any time}."""
    shape, nodes = pick(cluster, targets, leader, rng)
    victims: dict[str, Json] = {
        node: {"deed": deed, "pid_file": f"{cluster.host(node).workdir}/{PID_FILE}"}
        for node in nodes
    }
    return Plan(fault=fault, shape=shape, victims=victims)


def on_victims(cluster: Cluster, plan: Plan, deed: Callable[[Host], T]) -> dict[str, T]:
    """Do something on every victim's host at once. An error is raised after all have ended."""
    with ThreadPoolExecutor(len(plan.victims)) as pool:
        done = pool.map(lambda node: deed(cluster.host(node)), plan.victims)
        return dict(zip(plan.victims, done, strict=True))


def verdict(held: Iterable[bool], evidence: Mapping[str, Json]) -> Probe:
    """Bites on all victims: True; on none: False; on some: it cannot be told."""
    seen = set(held)
    return Probe(bites=seen.pop() if len(seen) == 1 else None, evidence=evidence)
