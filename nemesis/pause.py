"""Pause: SIGSTOP and SIGCONT. What a node lives through in a long garbage collection, a
suspended machine, or a starved one: it stops, knows nothing of it, and goes on."""

import random
import signal
from collections.abc import Sequence

from framework.history.event import Json
from framework.plugins.fault import Plan, Probe
from framework.plugins.host import Ability, Host, HostProvider
from framework.plugins.system import Cluster
from nemesis.inspect import node_pid, process_state
from nemesis.processes import on_victims, plan_for, verdict
from nemesis.targets import ANY

STOPPED = "T"


class Pause:
    """Entry point `pause` of `framework.nemeses`. See `framework.plugins.fault.Nemesis`."""

    name = "pause"
    min_nodes = 1
    shapes: Sequence[str] = ANY

    def abilities(self, hosts: HostProvider) -> Sequence[Ability]:
        return [Ability("signals", True, "SIGSTOP and SIGCONT")]

    def plan(
        self, cluster: Cluster, targets: Sequence[str], leader: str | None, rng: random.Random
    ) -> Plan:
        return plan_for(self.name, "SIGSTOP", cluster, targets, leader, rng)

    def inject(self, cluster: Cluster, plan: Plan) -> None:
        on_victims(cluster, plan, lambda host: _send(host, signal.SIGSTOP))

    def heal(self, cluster: Cluster, plan: Plan) -> None:
        on_victims(cluster, plan, lambda host: _send(host, signal.SIGCONT))

    def probe(self, cluster: Cluster, plan: Plan) -> Probe:
        seen = on_victims(cluster, plan, _look)
        return verdict((one["state"] == STOPPED for one in seen.values()), seen)


def _send(host: Host, number: signal.Signals) -> None:
    pid = node_pid(host)
    if pid is not None:
        host.signal(pid, number)


def _look(host: Host) -> dict[str, Json]:
    pid = node_pid(host)
    return {"pid": pid, "state": None if pid is None else process_state(host, pid)}
