"""Power: a machine loses it. SIGKILL, then the end of what had been left to the operating system to
write to the disk is cut off, and a restart to heal. Or the disk goes with it, whole: the machine
comes back with an empty one, formatted anew.

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
from typing import Final, Literal

from framework.errors import EngineError, UsageError
from framework.history.event import Json
from framework.plugins.capabilities import FORMATTED_DISKS, UNFORCED
from framework.plugins.fault import Fault, Injection, Probe, Victims
from framework.plugins.system import (
    Cluster,
    FormatsDisks,
    LeavesUnforced,
    NodeSpec,
    System,
    Unforced,
    voters_of,
)
from framework.plugins.targets import may_mean
from nemesis.kill import Killed
from nemesis.options import targets_of
from nemesis.processes import ProcessFault, ProcessNemesis, ProcessOptions

ACT: Final = "SIGKILL, and what was not forced to the disk is lost"
DISK_ACT: Final = "SIGKILL, and an empty disk in the place of its own"
_DRAW_BITS: Final = 32


@dataclass(frozen=True, slots=True)
class PowerOptions(ProcessOptions):
    """`loses`: what goes with the power. See `ProcessOptions` for the others."""

    loses: Literal["unforced", "disk"] = "unforced"

    @property
    def whole_disks(self) -> bool:
        return self.loses == "disk"


@dataclass(frozen=True, slots=True)
class PowerCut(Killed):
    """Nodes that lose power. `draws`: by node, what decides how much each of its files loses. See
    `framework.plugins.fault.Injection`."""

    draws: Mapping[str, int] = field(default_factory=dict)
    lost: dict[str, "Lost"] = field(default_factory=dict, compare=False)
    """By node. Only for evidence and the probe: healing does without it."""

    def to_json(self) -> Victims:
        return {
            node: {**victim, "draw": self.draws[node]}
            for node, victim in Killed.to_json(self).items()
        }

    def loses_data(self, cluster: Cluster) -> Collection[str]:
        return [node for node in self.pid_files if _keeps_unforced(cluster, node)]

    def keeps_data(self, cluster: Cluster) -> Collection[str]:
        others = set(cluster.nodes).difference(self.pid_files)
        return [node for node in others if _keeps_unforced(cluster, node)]

    def inject(self, cluster: Cluster) -> None:
        Killed.inject(self, cluster)
        self.lost.update(self.each(lambda node: self.lose(cluster, node)))

    def lose(self, cluster: Cluster, node: str) -> "Lost":
        return _lose(cluster, node, self.draws[node])

    def probe(self, cluster: Cluster) -> Probe:
        """It bites where the processes are gone, and something with one of them: without that it is
        a kill."""
        killed = Killed.probe(self, cluster)
        evidence: dict[str, Json] = {}
        for node, seen in killed.evidence.items():
            assert isinstance(seen, Mapping)
            evidence[node] = {**seen, **self.lost.get(node, Lost()).told()}
        bites = any(each.cut for each in self.lost.values()) if killed.bites else killed.bites
        return replace(killed, bites=bites, evidence=evidence)


@dataclass(frozen=True, slots=True)
class DiskLost(PowerCut):
    """Nodes that lose power and disk. `draws`: the numbers of the disks that they come back with.
    What is lost is the directory as a whole, and of each log all."""

    def loses_data(self, cluster: Cluster) -> Collection[str]:
        return self.pid_files.keys()

    def lose(self, cluster: Cluster, node: str) -> "Lost":
        return _replace_disk(cluster, node, self.draws[node])


@dataclass(frozen=True, slots=True)
class Lost:
    """What a node lost. `cut`: of each file that became shorter, its bytes before and after;
    `kept`: of each log, by its name, the offset up to which it was forced to the disk, up to which
    it was left, and up to which it went before. None: nobody knows."""

    cut: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    kept: Mapping[str, tuple[int, int, int]] | None = None

    def told(self) -> dict[str, Json]:
        """As the ledger has it."""
        told: dict[str, Json] = {
            "lost_bytes": sum(before - after for before, after in self.cut.values()),
            "cut": {path: list(sizes) for path, sizes in self.cut.items()},
        }
        if self.kept is not None:
            told["kept"] = {log: list(offsets) for log, offsets in self.kept.items()}
        return told


@dataclass(frozen=True, slots=True)
class DiskFault(ProcessFault):
    """Loss of whole disks. See `framework.plugins.fault.Fault`. A voter never loses its own: Raft
    promises nothing for a voter that forgets how it voted."""

    def check(self, nodes: Sequence[NodeSpec]) -> None:
        ProcessFault.check(self, nodes)
        voters = set(voters_of(nodes))
        if voters == {each.name for each in nodes}:
            raise UsageError("power:loses=disk: all nodes vote, and no voter may lose its disk")
        if named := sorted(voters.intersection(targets_of(self.options.target))):
            raise UsageError(f"power:loses=disk: {named[0]} votes, and no voter may lose its disk")

    def plan(
        self, cluster: Cluster, targets: Sequence[str], leader: str | None, rng: random.Random
    ) -> Injection:
        """Of those that are aimed at the ones that do not vote; where that is nobody, or nobody is
        asked for, one that does not."""
        able = sorted(set(cluster.nodes).difference(cluster.voters()))
        if targets_of(self.options.target) or targets:
            shape, aimed = self.victims(cluster, targets, leader, rng)
            nodes = [node for node in aimed if node in able]
        else:
            nodes = []
        if not nodes:
            shape, nodes = "one", [rng.choice(able)]
        files = {node: cluster.pid_file(node) for node in nodes}
        numbers = {node: rng.randrange(1, 1 << _DRAW_BITS) for node in nodes}
        return DiskLost(shape, self.act, files, draws=numbers)

    def from_json(self, shape: str, victims: Victims) -> Injection:
        return _from_json(DiskLost, shape, self.act, victims)


@dataclass(frozen=True, slots=True)
class PowerFault(ProcessFault):
    """Loss of what was not forced. See `framework.plugins.fault.Fault`."""

    def plan(
        self, cluster: Cluster, targets: Sequence[str], leader: str | None, rng: random.Random
    ) -> Injection:
        """Where nobody is asked for, or nobody with something to lose is met, one of the nodes
        that have."""
        able = {each for each in cluster.nodes if _keeps_unforced(cluster, each)}
        shape, nodes = "one", list[str]()
        if targets_of(self.options.target) or targets:
            shape, aimed = self.victims(cluster, targets, leader, rng)
            nodes = list(aimed)
        if not nodes or (able and able.isdisjoint(nodes)):
            shape, nodes = "one", [rng.choice(sorted(able or cluster.nodes))]
        files = {node: cluster.pid_file(node) for node in nodes}
        return PowerCut(
            shape, self.act, files, draws={node: rng.getrandbits(_DRAW_BITS) for node in nodes}
        )

    def from_json(self, shape: str, victims: Victims) -> Injection:
        return _from_json(PowerCut, shape, self.act, victims)


def _from_json(made: type[PowerCut], shape: str, act: str, victims: Victims) -> Injection:
    files = {node: str(victim["pid_file"]) for node, victim in victims.items()}
    draws = {node: int(str(victim["draw"])) for node, victim in victims.items()}
    return made(shape, act, files, draws=draws)


class Power(ProcessNemesis):
    """Entry point `power` of `framework.nemeses`."""

    Options = PowerOptions
    name = "power"
    ends_processes = True

    def __init__(self, options: PowerOptions | None = None) -> None:
        options = options or PowerOptions()
        ProcessNemesis.__init__(self, options)
        self.whole_disks = options.whole_disks
        self.requires = frozenset({FORMATTED_DISKS if self.whole_disks else UNFORCED})

    def check_system(
        self, system: System, nodes: Sequence[NodeSpec], targets: Sequence[str]
    ) -> None:
        """See `framework.plugins.fault.Drastic`. Nodes that force all that they write lose nothing
        but their process: that is `kill`."""
        if self.whole_disks or not isinstance(system, LeavesUnforced):
            return
        able = {spec.name for spec in nodes if system.keeps_unforced(spec)}
        for target in targets_of(self.options.target) or targets:
            if able.isdisjoint(may_mean(nodes, target)):
                raise UsageError(
                    f"power of {target}: forced to the disk is all that is there, and nothing can "
                    f"be lost; aim at {', '.join(sorted(able)) or 'no node of these'}, or use kill"
                )

    @property
    def faults(self) -> Sequence[Fault]:
        if self.whole_disks:
            return [DiskFault(self.name, DISK_ACT, DiskLost, self.options, True)]
        return [PowerFault(self.name, ACT, PowerCut, self.options, True)]


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


def _lose(cluster: Cluster, node: str, draw: int) -> Lost:
    """Cut a node's files."""
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
    return Lost(
        {each.path: (each.size, left[each.path]) for each in files if each.path in left},
        {
            each.log: (
                each.holds(each.forced),
                each.holds(left.get(each.path, each.size)),
                each.holds(each.size),
            )
            for each in files
            if each.log
        },
    )


def _replace_disk(cluster: Cluster, node: str, number: int) -> Lost:
    """Put an empty disk in the place of a node's. The new one is
    whole before the old one goes, so that the node starts, whatever becomes of the harness."""
    system, host = cluster.system, cluster.host(node)
    if not isinstance(system, FormatsDisks):
        raise EngineError(f"system {system.name} does not say what is on an empty disk")
    disk, kept = f"{host.workdir}/{system.disk}", None
    if isinstance(system, LeavesUnforced):
        files = system.unforced(cluster, node)
        kept = {each.log: (0, 0, each.holds(each.size)) for each in files if each.log}
    for path, content in system.newly_formatted(cluster, node, number).items():
        host.write(f"{disk}.new/{path}", content)
    script = 'set -e; du -sb "$1" | cut -f1; rm -rf "$1"; mv "$1.new" "$1"; du -sb "$1" | cut -f1'
    before, after = map(int, host.run(["sh", "-c", script, "sh", disk]).out.split())
    cut = {system.disk: (before, after)} if after < before else {}
    return Lost(cut, kept)


def _keeps_unforced(cluster: Cluster, node: str) -> bool:
    system = cluster.system
    return isinstance(system, LeavesUnforced) and system.keeps_unforced(cluster.nodes[node])
