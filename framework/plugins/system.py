"""A system under test: how to lay it out, install, start, find and stop it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from framework.history.event import Json
from framework.plugins.host import Fleet, Host, Image


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSpec:
    """One node of the cluster before it has a host."""

    name: str
    roles: frozenset[str]
    """Roles as the system names them; targets may use them ("controller", "broker")."""
    ports: Mapping[str, int]
    """Listener name -> port, e.g. {"client": 9092, "controller": 9093}."""
    ids: Mapping[str, int] = field(default_factory=dict)
    """Role -> numeric id inside the system."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A laid-out cluster on its hosts."""

    fleet: Fleet
    nodes: Mapping[str, NodeSpec]
    seed: int
    options: Mapping[str, str]
    """System settings from the command line (`--defect` is "defect")."""

    def host(self, node: str) -> Host:
        return self.fleet.hosts[node]

    def with_role(self, role: str) -> list[str]:
        """Names of the nodes that have this role, sorted."""
        return sorted(name for name, spec in self.nodes.items() if role in spec.roles)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeState:
    """What a node says of itself when asked; None where it did not answer."""

    node: str
    ready: bool
    """It serves in all its roles."""
    leader: bool
    """It claims to lead the control plane now."""
    fields: Mapping[str, Json]
    """The rest, as the system reports it: epoch, offset, digest, ..."""


class System(Protocol):
    """A kind of system (entry-point group `framework.systems`). Built with no arguments."""

    name: str
    defects: Mapping[str, str]
    """Switchable defects: name -> one line on what is wrong then."""
    capabilities: frozenset[str]
    """What workloads and checkers may require of it (`framework.plugins.capabilities`)."""

    def layout(self, nodes: str | None) -> Sequence[NodeSpec]:
        """Nodes from the user's `--nodes` (None: the default). Raises `UsageError`."""

    def image(self) -> Image:
        """What a machine must carry to be a node."""

    def install(self, cluster: Cluster, node: str) -> None:
        """Put configuration on the node's host."""

    def start(self, cluster: Cluster, node: str) -> int:
        """Start the node's process; its pid on its host. Also restarts after a kill."""

    def state(self, cluster: Cluster, node: str, timeout_s: float = 1.0) -> NodeState | None:
        """Ask a node."""

    def settled(self, cluster: Cluster) -> str | None:
        """None once all nodes agree and serve; else what is still missing, in a few words."""

    def stop(self, cluster: Cluster, node: str, pid: int) -> None:
        """End the process, politely first."""

    def environment(self, cluster: Cluster) -> Mapping[str, str]:
        """Variables for commands that run inside (`up`), e.g. BOOTSTRAP_SERVERS."""

    def artifacts(self, cluster: Cluster, node: str) -> Sequence[str]:
        """Directories on the host to collect, each fetched under nodes/<node>/."""
