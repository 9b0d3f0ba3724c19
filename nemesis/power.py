"""Power: a machine loses it. SIGKILL, then the end of what had been left to the operating system to
write to the disk is cut off, and a restart to heal.

Of each file that the system names (`LeavesUnforced`) what lies behind the bytes that it had forced
there may be gone: from a byte on that is drawn, so that half a batch may be left, as much as all of
it, or nothing. Files lose their ends independently of each other.

Not modelled: blocks that reach the disk in another order than they were written in, so that there
are holes; torn or damaged sectors; names of new files that are gone while their directory was not
forced; and that an operating system writes by itself what has waited for long (Linux: for 30 s), so
that more may be lost here than in most machines, but never what was forced. Only the node's own
process is met, not others on its host.
"""

import random
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from framework.errors import EngineError
from framework.history.event import Json
from framework.plugins.capabilities import UNFORCED
from framework.plugins.fault import Fault, Injection, Probe, Victims
from framework.plugins.system import Cluster, LeavesUnforced, Unforced
from nemesis.kill import Killed
from nemesis.options import targets_of
from nemesis.processes import ProcessFault, ProcessNemesis

ACT: Final = "SIGKILL, and what was not forced to the disk is lost"
_DRAW_BITS: Final = 32


@dataclass(frozen=True, slots=True)
class PowerCut(Killed):
    """Nodes that lose power. `draws`: by node, what decides how much each of its files loses. See
    `framework.plugins.fault.Injection`."""

    draws: Mapping[str, int] = field(default_factory=dict)
    cut: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict, compare=False)
    """By node, of each file that became shorter: its bytes before and after. Only for evidence and
    the probe: healing does without it."""

    def to_json(self) -> Victims:
        return {
            node: {**victim, "draw": self.draws[node]}
            for node, victim in Killed.to_json(self).items()
        }

    def loses_data(self, cluster: Cluster) -> Collection[str]:
        return [node for node in self.pid_files if _keeps_unforced(cluster, node)]

    def inject(self, cluster: Cluster) -> None:
        Killed.inject(self, cluster)
        self.cut.update(self.each(lambda node: _lose(cluster, node, self.draws[node])))

    def probe(self, cluster: Cluster) -> Probe:
        """It bites where the processes are gone, and something with one of them: without that it is
        a kill."""
        killed = Killed.probe(self, cluster)
        evidence: dict[str, Json] = {}
        for node, seen in killed.evidence.items():
            assert isinstance(seen, Mapping)
            evidence[node] = {**seen, **_told(self.cut.get(node, {}))}
        bites = any(self.cut.values()) if killed.bites else killed.bites
        return replace(killed, bites=bites, evidence=evidence)


@dataclass(frozen=True, slots=True)
class PowerFault(ProcessFault):
    """See `framework.plugins.fault.Fault`."""

    def plan(
        self, cluster: Cluster, targets: Sequence[str], leader: str | None, rng: random.Random
    ) -> Injection:
        """Where nobody is asked for, one of the nodes that have something to lose."""
        if targets_of(self.options.target) or targets:
            shape, nodes = self.victims(cluster, targets, leader, rng)
        else:
            able = [each for each in sorted(cluster.nodes) if _keeps_unforced(cluster, each)]
            shape, nodes = "one", [rng.choice(able or sorted(cluster.nodes))]
        files = {node: cluster.pid_file(node) for node in nodes}
        return PowerCut(
            shape, self.act, files, draws={node: rng.getrandbits(_DRAW_BITS) for node in nodes}
        )

    def from_json(self, shape: str, victims: Victims) -> Injection:
        files = {node: str(victim["pid_file"]) for node, victim in victims.items()}
        draws = {node: int(str(victim["draw"])) for node, victim in victims.items()}
        return PowerCut(shape, self.act, files, draws=draws)


class Power(ProcessNemesis):
    """Entry point `power` of `framework.nemeses`."""

    name = "power"
    act = ACT
    injection = PowerCut
    ends_processes = True
    requires = frozenset({UNFORCED})

    @property
    def faults(self) -> Sequence[Fault]:
        return [PowerFault(self.name, self.act, self.injection, self.options, True)]


def left_after(files: Iterable[Unforced], draw: int) -> dict[str, int]:
    """Path -> how many bytes are left, of the files that become shorter. Never fewer than were
    forced to the disk. Depends on nothing but its arguments, and of a file not on the others."""
    left = {
        each.path: random.Random(f"{draw} {each.path}").randint(each.forced, each.size)
        for each in files
        if each.forced < each.size
    }
    return {
        each.path: left[each.path] for each in files if left.get(each.path, each.size) < each.size
    }


def _lose(cluster: Cluster, node: str, draw: int) -> dict[str, tuple[int, int]]:
    """Cut a node's files; of each that became shorter, its bytes before and after."""
    if not isinstance(cluster.system, LeavesUnforced):
        raise EngineError(f"system {cluster.system.name} does not say what a node may lose")
    files, host = list(cluster.system.unforced(cluster, node)), cluster.host(node)
    left = left_after(files, draw)
    if left:
        lines = [
            f"truncate -s {size} {shlex.quote(f'{host.workdir}/{path}')}"
            for path, size in left.items()
        ]
        host.run(["sh"], stdin="\n".join(["set -e", *lines, ""]))
    return {each.path: (each.size, left[each.path]) for each in files if each.path in left}


def _keeps_unforced(cluster: Cluster, node: str) -> bool:
    system = cluster.system
    return isinstance(system, LeavesUnforced) and system.keeps_unforced(cluster.nodes[node])


def _told(cut: Mapping[str, tuple[int, int]]) -> dict[str, Json]:
    """As the ledger has it."""
    return {
        "lost_bytes": sum(before - after for before, after in cut.values()),
        "cut": {path: list(sizes) for path, sizes in cut.items()},
    }
