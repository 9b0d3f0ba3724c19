"""Kill: SIGKILL, and a restart to heal. A crash: what was not flushed to disk is still in the
page cache, so that nothing but the process's memory is lost."""

import random
import signal
from collections.abc import Sequence

import tenacity

from framework.history.event import Json
from framework.plugins import registry
from framework.plugins.fault import Plan, Probe
from framework.plugins.host import Ability, Host, HostProvider
from framework.plugins.system import Cluster, System
from nemesis.inspect import PID_FILE, node_pid, process_state
from nemesis.processes import on_victims, plan_for, verdict
from nemesis.targets import ANY

GONE_WITHIN_S = 5.0


class Kill:
    """Entry point `kill` of `framework.nemeses`. See `framework.plugins.fault.Nemesis`."""

    name = "kill"
    min_nodes = 1
    shapes: Sequence[str] = ANY

    def __init__(self) -> None:
        self._killed: dict[str, int] = {}
        """Only for evidence: healing does without it."""

    def abilities(self, hosts: HostProvider) -> Sequence[Ability]:
        return [Ability("signals", True, "SIGKILL, and a restart")]

    def plan(
        self, cluster: Cluster, targets: Sequence[str], leader: str | None, rng: random.Random
    ) -> Plan:
        return plan_for(self.name, "SIGKILL", cluster, targets, leader, rng)

    def inject(self, cluster: Cluster, plan: Plan) -> None:
        killed = on_victims(cluster, plan, _kill)
        self._killed |= {node: pid for node, pid in killed.items() if pid is not None}

    def heal(self, cluster: Cluster, plan: Plan) -> None:
        """Start what is not running. A node that runs is left alone."""
        system: System = registry.load("systems", cluster.options["system"])

        def restart(host: Host) -> None:
            pid = node_pid(host)
            if pid is None or not host.alive(pid):
                pid = system.start(cluster, host.name)
                host.write(f"{host.workdir}/{PID_FILE}", f"{pid}\n".encode())

        on_victims(cluster, plan, restart)

    def probe(self, cluster: Cluster, plan: Plan) -> Probe:
        seen = on_victims(cluster, plan, self._look)
        return verdict((one["state"] is None for one in seen.values()), seen)

    def _look(self, host: Host) -> dict[str, Json]:
        pid = node_pid(host)
        return {
            "pid": pid,
            "state": None if pid is None else process_state(host, pid),
            "killed": self._killed.get(host.name),
        }


def _kill(host: Host) -> int | None:
    """Kill the node, and wait until it is gone; the pid that it had."""
    pid = node_pid(host)
    if pid is None:
        return None
    host.signal(pid, signal.SIGKILL)
    wait = tenacity.Retrying(
        retry=tenacity.retry_if_result(bool),
        stop=tenacity.stop_after_delay(GONE_WITHIN_S),
        wait=tenacity.wait_fixed(0.02),
    )
    wait(host.alive, pid)
    return pid
