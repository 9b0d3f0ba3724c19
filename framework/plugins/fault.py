"""Faults: what is done, to whom, how it is seen and undone; and the packages that offer them.

A `Nemesis` is a package: faults, and a schedule of when which begins and ends. A `Fault` plans;
an `Injection` is a fault with its victims, written down before anything is done to them.
"""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, Self, TypeAlias, runtime_checkable

from framework.generators.base import Generator
from framework.generators.sources import op
from framework.history.event import Invocation, Json
from framework.plugins.host import Ability, HostProvider
from framework.plugins.system import Cluster, NodeSpec, System


@dataclass(frozen=True, slots=True)
class FaultOp:
    """An operation of the nemesis: start or stop a fault. In histories `start-kill`. `target`: whom
    a start aims at, where the user restricts nothing."""

    verb: Literal["start", "stop"]
    fault: str
    target: str = field(default="", compare=False)

    @property
    def f(self) -> str:
        """As the history names it."""
        return f"{self.verb}-{self.fault}"

    def op(self) -> Invocation:
        """The operation, for generators."""
        return op(self.f, value={"target": self.target} if self.target else None)

    @classmethod
    def parse(cls, f: str) -> Self | None:
        """The inverse of `f`; None for any other operation of the nemesis."""
        verb, _, fault = f.partition("-")
        match verb:
            case "start" | "stop" if fault:
                return cls(verb, fault)
        return None


DOWN: Final = "down"
"""In the result of a start that was skipped: nodes for whose processes it has to wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What was seen when looking. `bites` None: could not be told."""

    bites: bool | None
    evidence: Mapping[str, Json]


Victims: TypeAlias = Mapping[str, Mapping[str, Json]]
"""Node -> what is done to it, by names that the fault chooses, as the ledger holds it."""


class Injection(Protocol):
    """A fault on its victims, a frozen value. Written to the ledger before `inject` is called,
    so that healing never depends on the harness having lived through it."""

    @property
    def shape(self) -> str:
        """Which variant: "halves", "isolate-leader", "one", ..."""

    def to_json(self) -> Victims:
        """Enough for `Fault.from_json`. Never empty."""

    def inject(self, cluster: Cluster) -> None:
        """Do it. May raise; the runner then heals."""

    def heal(self, cluster: Cluster) -> None:
        """Undo it. Idempotent, total: works after a half-done inject."""

    def probe(self, cluster: Cluster) -> Probe:
        """Look whether the fault holds right now: before (must not), during (must), after
        healing (must not)."""


@runtime_checkable
class Sparing(Protocol):
    """An injection that leaves others alone than those that `to_json` does not name, as a cut does:
    the one node behind it and the others all drop packets, and most of them still work together.
    What the ledger says of it decides which silence of the system a fault excuses."""

    def spares(self, cluster: Cluster) -> Collection[str]:
        """Nodes that work on, and reach each other."""


@runtime_checkable
class CutsOff(Protocol):
    """An injection that takes nodes from the system, though they may live: stopped, or behind a
    cut. What the ledger says of it decides whom the others must miss."""

    def cuts_off(self, cluster: Cluster) -> Collection[str]:
        """Nodes that exchange nothing with any voter that could lead while it holds."""


@runtime_checkable
class OnProcesses(Protocol):
    """An injection that does something to the processes of its victims. While another fault has
    ended one of those it is not made: what is drawn waits until that one is healed
    (`framework.plugins.schedules`), a script goes on without it."""

    def processes_of(self) -> Collection[str]:
        """The nodes whose processes are to run when it is made."""


@runtime_checkable
class LosesData(Protocol):
    """An injection that takes some of what its victims had written from their disks."""

    def loses_data(self, cluster: Cluster) -> Collection[str]:
        """The nodes that may have less afterwards than they had told others that they have."""

    def keeps_data(self, cluster: Cluster) -> Collection[str]:
        """The other nodes that have such data, and lose none."""


class Fault(Protocol):
    """A kind of fault."""

    @property
    def name(self) -> str:
        """In the ledger, and after `start-` and `stop-` in the history."""

    @property
    def ends_processes(self) -> bool:
        """Its victims' processes end, and healing starts them again. Rules go by it: a process that
        ends for no such reason is a finding."""

    def check(self, nodes: Sequence[NodeSpec]) -> None:
        """Raises `UsageError` for a cluster that is too small for it, or that has not whom it
        aims at by its options."""

    def abilities(self, hosts: HostProvider) -> Sequence[Ability]:
        """Whether it can be done on these hosts, machine by machine where they differ
        (`hosts.lacking`)."""

    def plan(
        self, cluster: Cluster, targets: Sequence[str], leader: str | None, rng: random.Random
    ) -> Injection:
        """Choose a variant and victims. Pure but for `rng`. `targets` restricts the choice
        (`framework.plugins.targets`; empty: anybody). Never without victims: where the cluster
        is too small for a shape, another shape is taken; where none fits, raises `UsageError`."""

    def from_json(self, shape: str, victims: Victims) -> Injection:
        """The injection that the ledger holds."""


class Nemesis(Protocol):
    """A package of faults (entry-point group `framework.nemeses`). Built without arguments, or
    with an instance of its `Options` where it has such a class: a frozen dataclass with defaults,
    filled from `--nemesis NAME:KEY=VALUE` (`framework.plugins.options`)."""

    name: str

    @property
    def faults(self) -> Sequence[Fault]:
        """What it can do; the schedule names them."""

    def schedule(self, interval_s: float) -> Generator:
        """When which fault starts and stops: operations as `FaultOp.op` makes them, for the
        nemesis's one thread. `interval_s` is the command line's, for want of an option. What is
        active at the end is healed by the runner. `framework.plugins.schedules` has the usual
        ones."""


@runtime_checkable
class Drastic(Protocol):
    """A nemesis after which a system may have lost what it had acknowledged and be right. So it is
    done where it is named, and is none of `all`; and not every system can have it."""

    requires: frozenset[str]
    """Capabilities of the system (`framework.plugins.capabilities`)."""

    def check_system(
        self, system: System, nodes: Sequence[NodeSpec], targets: Sequence[str]
    ) -> None:
        """Raises `UsageError` where it could cost this system nothing. `targets`: the command
        line's; none: the framework draws them."""
