"""A workload: what clients do, and who does it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from framework.generators.base import Generator
from framework.history.event import Completion, Invocation
from framework.plugins.system import Cluster, NodeSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadOptions:
    """What the command line says to a workload."""

    seed: int
    threads: int
    """Client threads that this workload has to itself."""
    rate: float
    """Operations a second, all its threads together."""
    capabilities: frozenset[str] = frozenset()
    """Of the system: what may be used beyond what the workload requires."""
    nodes: Sequence[NodeSpec] = ()
    """Of the cluster, by `--nodes`: how many, their names, roles and who votes."""


class Client(Protocol):
    """One process's connection to the system. Used by one thread at a time."""

    def invoke(self, op: Invocation) -> Completion:
        """Do it and wait. Returns the completion: same process, f and key, type ok, fail or
        info. Anything raised becomes an info. Must return within 10 s."""

    def close(self) -> None:
        """Give back sockets. Never raises."""


class Workload(Protocol):
    """Entry-point group `framework.workloads`. Built without arguments, or with an instance of its
    `Options` where it has such a class: a frozen dataclass with defaults, filled from
    `--workload NAME:KEY=VALUE` (`framework.plugins.options`)."""

    name: str
    requires: frozenset[str]
    """Capabilities that the system must have (`framework.plugins.capabilities`)."""
    provides: frozenset[str]
    """What a run with it observes, of which checkers say what they need."""
    min_roles: Mapping[str, int]
    """Role -> how many nodes of it are needed at least."""
    min_threads: int

    def generator(self, options: WorkloadOptions) -> Generator:
        """The main phase. Endless or not; the runner limits it in time. No rate of its own
        beyond what it must have: the runner staggers by `options.rate`."""

    def final_generator(self, options: WorkloadOptions) -> Generator:
        """Final reads, after everything is healed and settled. Must end."""

    def client(self, cluster: Cluster, thread: int) -> Client:
        """A new client. `thread` lets clients spread over nodes; the completion's `node`
        says which one it used."""


@runtime_checkable
class NeedsMore(Protocol):
    """A workload that needs more of this machine than the project does. It is run where it is
    named, and is none of `all`, which does not depend on what else is installed."""

    more: str
    """What it needs, in a word or two."""

    def lacking(self) -> str | None:
        """Why it cannot be had here, in a few words that say what would help; None: it can."""


@runtime_checkable
class NamesNodes(Protocol):
    """A workload whose options name nodes of the cluster."""

    def check_nodes(self, nodes: Sequence[NodeSpec]) -> None:
        """Before anything is started. Raises `UsageError` for names that fit no node."""
