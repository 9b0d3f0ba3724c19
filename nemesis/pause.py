"""Pause: SIGSTOP and SIGCONT. What a node lives through in a long garbage collection, a
suspended machine, or a starved one: it stops, knows nothing of it, and goes on."""

import random
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from framework.generators import Generator
from framework.history.event import Json
from framework.plugins.fault import Fault, Probe
from framework.plugins.system import Cluster
from nemesis.inspect import process_state
from nemesis.processes import ProcessFault, ProcessOptions, Victims, verdict

STOPPED = "T"


@dataclass(frozen=True, slots=True)
class Paused(Victims):
    """Nodes whose processes are stopped. See `framework.plugins.fault.Injection`."""

    def inject(self, cluster: Cluster) -> None:
        self.each(lambda node: _send(cluster, node, signal.SIGSTOP))

    def heal(self, cluster: Cluster) -> None:
        self.each(lambda node: _send(cluster, node, signal.SIGCONT))

    def probe(self, cluster: Cluster) -> Probe:
        seen = self.each(lambda node: _look(cluster, node))
        return verdict((one["state"] == STOPPED for one in seen.values()), seen)


class PauseFault(ProcessFault):
    """See `framework.plugins.fault.Fault`."""

    def plan(
        self, cluster: Cluster, targets: Sequence[str], leader: str | None, rng: random.Random
    ) -> Paused:
        victims = self.victims(cluster, targets, leader, rng)
        return Paused(victims.shape, victims.act, victims.pid_files)

    def from_json(self, shape: str, victims: Mapping[str, Json]) -> Paused:
        return Paused.from_json(shape, victims)


class Pause:
    """Entry point `pause` of `framework.nemeses`. See `framework.plugins.fault.Nemesis`."""

    name = "pause"
    Options = ProcessOptions

    def __init__(self, options: ProcessOptions | None = None) -> None:
        self._fault = PauseFault(self.name, "SIGSTOP", options or ProcessOptions())

    @property
    def faults(self) -> Sequence[Fault]:
        return [self._fault]

    def schedule(self, interval_s: float) -> Generator:
        return self._fault.schedule(interval_s)


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
