"""Kill: SIGKILL, and a restart to heal. A crash: what was not flushed to disk is still in the
page cache, so that nothing but the process's memory is lost. (`power` takes that along.)"""

import signal
from dataclasses import dataclass, field

import tenacity

from framework.history.event import Json
from framework.plugins.fault import Probe
from framework.plugins.system import Cluster
from nemesis.inspect import process_state
from nemesis.processes import Processes, ProcessNemesis, verdict

GONE_WITHIN_S = 5.0


@dataclass(frozen=True, slots=True)
class Killed(Processes):
    """Nodes whose processes are killed. See `framework.plugins.fault.Injection`."""

    former: dict[str, int] = field(default_factory=dict, compare=False)
    """Node -> the pid that was killed. Only for evidence: healing does without it."""

    def inject(self, cluster: Cluster) -> None:
        pids = self.each(lambda node: _kill(cluster, node))
        self.former.update({node: pid for node, pid in pids.items() if pid is not None})

    def heal(self, cluster: Cluster) -> None:
        """Start what is not running. A node that runs is left alone."""
        self.each(lambda node: None if cluster.is_running(node) else cluster.start(node))

    def probe(self, cluster: Cluster) -> Probe:
        seen = self.each(lambda node: self._look(cluster, node))
        return verdict((one["state"] is None for one in seen.values()), seen)

    def _look(self, cluster: Cluster, node: str) -> dict[str, Json]:
        pid = cluster.pid(node)
        return {
            "pid": pid,
            "state": None if pid is None else process_state(cluster.host(node), pid),
            "killed": self.former.get(node),
        }


class Kill(ProcessNemesis):
    """Entry point `kill` of `framework.nemeses`."""

    name = "kill"
    act = "SIGKILL"
    injection = Killed
    ends_processes = True


def _kill(cluster: Cluster, node: str) -> int | None:
    """Kill the node, and wait until it is gone; the pid that it had."""
    host, pid = cluster.host(node), cluster.pid(node)
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
