"""Pause: SIGSTOP and SIGCONT. What a node lives through in a long garbage collection, a
suspended machine, or a starved one: it stops, knows nothing of it, and goes on."""

import signal
from dataclasses import dataclass
from typing import Final

import tenacity

from framework.history.event import Json
from framework.plugins.fault import Probe
from framework.plugins.system import Cluster
from nemesis.inspect import process_state
from nemesis.processes import Processes, ProcessNemesis, verdict

STOPPED: Final = "T"
STILL_WITHIN_S: Final = 2.0
"""A thread that is told to stop does so when it next has a core."""


@dataclass(frozen=True, slots=True)
class Paused(Processes):
    """Nodes whose processes are stopped. See `framework.plugins.fault.Injection`."""

    def inject(self, cluster: Cluster) -> None:
        self.each(lambda node: _stop(cluster, node))

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


def _stop(cluster: Cluster, node: str) -> None:
    """Whether it stands still in the end is for the probe to say."""
    _send(cluster, node, signal.SIGSTOP)
    wait = tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda seen: seen["state"] not in (STOPPED, None)),
        stop=tenacity.stop_after_delay(STILL_WITHIN_S),
        wait=tenacity.wait_fixed(0.02),
        retry_error_callback=lambda _: None,
    )
    wait(_look, cluster, node)


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
