"""A system under test: how to lay it out, install, start, find and stop it."""

from __future__ import annotations

import signal
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from framework.errors import UsageError
from framework.evidence.kinds import Evidence
from framework.history.event import Json, Recorded
from framework.plugins.host import Fleet, Host, Image
from framework.plugins.kept import keep
from framework.plugins.promise import Promised

if TYPE_CHECKING:  # clients in processes of their own do without pyarrow, and its threads
    from framework.plugins.checker import Table

RECOVERY_S: Final = 30.0
PID_FILE: Final = "node.pid"
"""In a node's workdir: the pid of its main process, as it was started last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSpec:
    """One node of the cluster before it has a host."""

    name: str
    roles: frozenset[str]
    """Roles as the system names them. Targets and settings may name them too: `broker` is a
    role, `brokers` the target that means all nodes with it."""
    ports: Mapping[str, int]
    """Listener name -> port, e.g. {"client": 9092, "controller": 9093}."""
    ids: Mapping[str, int] = field(default_factory=dict)
    """Role -> numeric id inside the system."""
    votes: bool = False
    """Its vote counts in the control plane's quorum."""


def voters_of(nodes: Collection[NodeSpec]) -> list[str]:
    """Names of the nodes that vote, sorted; all nodes of a system that marks none."""
    return sorted(each.name for each in nodes if each.votes) or sorted(each.name for each in nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A laid-out cluster on its hosts: the one handle by which nodes are reached."""

    system: System
    fleet: Fleet
    nodes: Mapping[str, NodeSpec]
    seed: int
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Node -> its settings from the command line (`--set`), which go before the system's own."""
    defect: str | None = None

    def host(self, node: str) -> Host:
        return self.fleet.hosts[node]

    def with_role(self, role: str) -> list[str]:
        """Names of the nodes that have this role, sorted."""
        return sorted(name for name, spec in self.nodes.items() if role in spec.roles)

    def voters(self) -> list[str]:
        """Names of the nodes that vote, sorted; all nodes of a system that marks none."""
        return voters_of(self.nodes.values())

    def pid_file(self, node: str) -> str:
        """Path, on its host, of the file with the node's pid."""
        return f"{self.host(node).workdir}/{PID_FILE}"

    def pid(self, node: str) -> int | None:
        """Pid of the node's main process, as it was started last. None: never started."""
        try:
            return int(self.host(node).read(self.pid_file(node)))
        except FileNotFoundError:
            return None

    def is_running(self, node: str) -> bool:
        """True while the node's process lives (stopped counts)."""
        pid = self.pid(node)
        return pid is not None and self.host(node).alive(pid)

    def start(self, node: str) -> int:
        """Start the node's process; its pid. After a kill, what the former one left is kept."""
        self.keep(node)
        pid = self.system.start(self, node)
        self.host(node).write(self.pid_file(node), f"{pid}\n".encode())
        return pid

    def keep(self, node: str) -> None:
        """Copy what the node's process, which has ended, left on its disk: to be called before
        that changes (`framework.plugins.kept`). A node that was never started left nothing."""
        pid = self.pid(node)
        if pid is not None:
            host = self.host(node)
            keep(host, host.workdir, self.system.keeps(self, node), pid)

    def stop(self, node: str) -> None:
        """End the node's process, politely first. One that does not run is left alone."""
        pid = self.pid(node)
        if pid is not None and self.host(node).alive(pid):
            self.system.stop(self, node, pid)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeState:
    """What a node says of itself when asked; None where it did not answer."""

    node: str
    ready: bool
    """It serves in all its roles."""
    leader: bool
    """It claims to lead the control plane now."""
    term: int = 0
    """Orders claims to lead: of two, the one with the higher term is the later one."""
    fields: Mapping[str, Json] = field(default_factory=dict)
    """The rest, as the system reports it: offset, digest, ... The engine reads nothing here."""


class System(Protocol):
    """A kind of system (entry-point group `framework.systems`). Built with no arguments.

    What has a body here is right for most of those that nobody wrote for this framework; a class
    that names this one as its base has it so.
    """

    name: str
    defects: Mapping[str, str] = {}
    """Switchable defects: name -> one line on what is wrong then."""
    capabilities: frozenset[str] = frozenset()
    """What workloads and checkers may require of it (`framework.plugins.capabilities`)."""
    costly: Mapping[str, str] = {}
    """Of `capabilities` those that cost much, and what: a workload that requires one is run where
    it is named, and is none of `all`."""

    def layout(self, nodes: str | None) -> Sequence[NodeSpec]:
        """Nodes from the user's `--nodes` (None: the default). Raises `UsageError`."""

    def image(self) -> Image:
        """What a machine must carry to be a node."""

    def image_with(
        self, nodes: Sequence[NodeSpec], settings: Mapping[str, Mapping[str, str]]
    ) -> Image:
        """The same for these nodes with these settings, which may say what runs. By itself the
        same for all."""
        return self.image()

    def versions(
        self, nodes: Sequence[NodeSpec], settings: Mapping[str, Mapping[str, str]]
    ) -> Mapping[str, str]:
        """What software these nodes are, name -> version, for plan.json. By itself nothing: it is
        a part of the framework, or the machines' own."""
        return {}

    def get(self, version: str | None) -> str:
        """Bring a release of its software to this machine, where that is no package of the
        machine's own (`kraft-proof get`). None: the one that is meant where none is named. Where
        it is now. Raises `UsageError`, and `EngineError` where it cannot be had."""
        raise UsageError(
            f"get {self.name}: there is nothing to get, machines have it or are given it"
        )

    def check_settings(
        self, nodes: Sequence[NodeSpec], settings: Mapping[str, Mapping[str, str]]
    ) -> None:
        """Raises `UsageError` for settings (node -> key -> value) that these nodes would not
        start with: unknown keys, values that cannot be. Nothing has been started yet. By itself a
        system has no settings."""
        for key in sorted({key for each in settings.values() for key in each}):
            raise UsageError(f"--set {key}: system {self.name} has no settings")

    def defect_settings(self, defect: str) -> Sequence[str]:
        """What `--set` would say to put one of `defects` into all nodes, where settings say that.
        By itself nothing: `start` finds it in `Cluster.defect`."""
        return ()

    def capabilities_with(
        self, nodes: Sequence[NodeSpec], settings: Mapping[str, Mapping[str, str]]
    ) -> frozenset[str]:
        """Of `capabilities` those that it has with these settings. By itself all."""
        return self.capabilities

    def promises(self, plan: Mapping[str, Recorded]) -> Mapping[str, Promised]:
        """`checker/clause` -> who promises what it says, of the software that a stored run tested;
        or that nobody does: then it is not judged. A clause that is not here is judged. By itself
        nothing is said of any."""
        return {}

    def recovery_s(
        self, nodes: Sequence[NodeSpec], settings: Mapping[str, Mapping[str, str]]
    ) -> float:
        """How long, by its time-outs, every kind of operation may fail once no fault is left, or
        none but of a minority: what fails for longer is stuck. By itself `RECOVERY_S`."""
        return RECOVERY_S

    def fencing_s(
        self, nodes: Sequence[NodeSpec], settings: Mapping[str, Mapping[str, str]]
    ) -> float:
        """How long, by its time-outs, a node of which the others hear nothing may be taken for one
        that works, where most nodes are left alone. By itself as long as anything may take."""
        return self.recovery_s(nodes, settings)

    def install(self, cluster: Cluster, node: str) -> None:
        """Put configuration on the node's host: the system's own, and over it what
        `cluster.settings` says of the node. By itself nothing."""
        return

    def start(self, cluster: Cluster, node: str) -> int:
        """Start the node's process; its pid on its host. Also restarts after a kill."""

    def state(self, cluster: Cluster, node: str, timeout_s: float = 1.0) -> NodeState | None:
        """Ask a node."""

    def settled(self, cluster: Cluster) -> str | None:
        """None once all nodes agree and serve; else what is still missing, in a few words."""

    def stop(self, cluster: Cluster, node: str, pid: int) -> None:
        """End the process, politely first. By itself SIGTERM."""
        cluster.host(node).signal(pid, signal.SIGTERM)

    def environment(self, cluster: Cluster) -> Mapping[str, str]:
        """Variables for commands that run inside (`up`), e.g. BOOTSTRAP_SERVERS. By itself none."""
        return {}

    def artifacts(self, cluster: Cluster, node: str) -> Sequence[str]:
        """Directories on the host to collect, each fetched under nodes/<node>/. By itself the
        node's workdir."""
        return [cluster.host(node).workdir]

    def keeps(self, cluster: Cluster, node: str) -> Sequence[str]:
        """Patterns, below the node's workdir, of the files that say what it stored, what matters
        most first: they are copied whenever a process of it has ended and another one is about to
        change them. By itself none."""
        return ()

    def restated(self, operations: Table) -> Table:
        """The operations of a stored run (`framework.history.columns.OPERATIONS`, without `run`) in
        today's words, where an older release of workloads or of this adapter recorded them in
        others. By itself as they are."""
        return operations

    def observe(self, folder: Path, plan: Mapping[str, Recorded]) -> Iterable[Evidence]:
        """What the nodes of a stored run left behind below its folder, in the framework's words
        (`framework.evidence`), each incarnation's in order; what was read from the files that they
        keep has the source `disk`. Raises `UsageError` for files that are not what nodes write.
        Older runs, too. By itself nothing: a black box."""
        return ()


@dataclass(frozen=True, slots=True)
class Unforced:
    """A file of which the end may not be forced to the disk: of its `size` bytes those from
    `forced` on. `path`: below its node's workdir. `log`: of which log it is the end, by the name
    that clients use, or its id; `ends`: so many bytes hold its records up to that offset, both
    rising, from 0 bytes on."""

    path: str
    forced: int
    size: int
    log: str = ""
    ends: Sequence[tuple[int, int]] = ()

    def holds(self, size: int) -> int:
        """Up to which offset so many of its bytes hold the log, and all files before it."""
        return max(offset for end, offset in self.ends if end <= size)


@runtime_checkable
class LeavesUnforced(Protocol):
    """A system that leaves some of what it writes to the operating system, which writes it to the
    disk when it likes: a machine that loses power takes that along (capability `unforced-data`).
    What the system forces there before it relies on it is none of this."""

    def keeps_unforced(self, node: NodeSpec) -> bool:
        """Whether such a node has files of which that can be said."""

    def unforced(self, cluster: Cluster, node: str) -> Sequence[Unforced]:
        """Those of a node whose process has ended, and that was not stopped in good order; of a
        log that has a name also where all of it was forced. May raise what `Host` raises."""


@runtime_checkable
class FormatsDisks(Protocol):
    """A system whose nodes keep all that they store in one directory, and start with an empty one
    in its place: a disk that broke is replaced, and formatted by whoever runs it (capability
    `formatted-disks`)."""

    disk: str
    """That directory, below a node's workdir."""

    def newly_formatted(self, cluster: Cluster, node: str, number: int) -> Mapping[str, bytes]:
        """Path below that directory -> content, of all files on the disk of that number, any but
        0, before the node's process starts. Whatever names a disk has another value for each."""


@runtime_checkable
class ObservesNodes(Protocol):
    """A system whose nodes can be read apart, so that several are at once: what it observes of the
    run as a whole, and of each node, is together what it observes."""

    def observe_run(self, plan: Mapping[str, Recorded]) -> Iterable[Evidence]:
        """What no file of a node says."""

    def observe_node(
        self, folder: Path, plan: Mapping[str, Recorded], node: str
    ) -> Iterable[Evidence]:
        """What was left below nodes/`node`/."""
