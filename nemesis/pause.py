"""Pause: SIGSTOP and SIGCONT. What a node lives through in a long garbage collection, a
suspended machine, or a starved one: it stops, knows nothing of it, and goes on."""

import signal
from dataclasses import dataclass

from framework.history.event import Json
from framework.plugins.fault import Probe
from framework.plugins.system import Cluster
from nemesis.inspect import process_state
from nemesis.processes import Processes, ProcessNemesis, verdict

STOPPED = "T"


@dataclass(frozen=True, slots=True)
class Paused(Processes):
    """Nodes whose processes are stopped. See `framework.plugins.fault.Injection`."""

    def inject(self, cluster: Cluster) -> None:
        self.each(lambda node: _send(cluster, node, signal.SIGSTOP))

    def heal(self, cluster: Cluster) -> None:
        self.each(lambda node: _send(cluster, node, signal.SIGCONT))

    def probe(self, cluster: Cluster) -> Probe:
        seen = self.each(lambda node: _look(cluster, node))
        return verdict((one["state"] == STOPPED for one in seen.values()), seen)


class Pause(ProcessNemesis):
    """Entry point `pause` of `framework.nemeses`."""

    name = "pause"
    act = "SIGSTOP"
    injection = Paused
    ends_processes = False


def _send(cluster: Cluster, node: str, number: signal.Signals) -> None:
    pid = cluster.pid(node)
    if pid is not None:
        cluster.host(node).signal(pid, number)


def _look(cluster: Cluster, node: str) -> dict[str, Json]:
    pid = cluster.pid(node)
    return {
        "pid": pid,
        "state": None if pid is None else process_state(cluster.host(node), pid),
    }
