"""A fault: how to inject it, how to heal it, and how to see both."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from framework.history.event import Json
from framework.plugins.host import Ability, HostProvider
from framework.plugins.system import Cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One injection before it happens. Written to the ledger before `inject` is called, so
    that healing never depends on the harness having lived through it."""

    fault: str
    shape: str
    """Which variant: "halves", "isolate-leader", "one", ..."""
    victims: Mapping[str, Json]
    """Node -> what is done to it; JSON, enough to heal from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What was seen when looking. `bites` None: could not be told."""

    bites: bool | None
    evidence: Mapping[str, Json]


class Nemesis(Protocol):
    """A kind of fault (entry-point group `framework.nemeses`). Built with no arguments."""

    name: str
    shapes: Sequence[str]
    min_nodes: int
    """A smaller cluster has no such fault."""

    def abilities(self, hosts: HostProvider) -> Sequence[Ability]:
        """Whether it can be done on these hosts, machine by machine where they differ
        (`hosts.lacking`)."""

    def plan(
        self, cluster: Cluster, targets: Sequence[str], leader: str | None, rng: random.Random
    ) -> Plan:
        """Choose a variant and victims. Pure but for `rng`. `targets` restricts the choice
        (names as in DESIGN: "one", "minority", "majority", "all", "leader", "followers",
        "controllers", "brokers", a node's name; empty: any shape). Never an empty plan: where
        the cluster is too small for a shape, another shape is taken; where none fits, raises
        `UsageError`."""

    def inject(self, cluster: Cluster, plan: Plan) -> None:
        """Do it. May raise; the runner then heals."""

    def heal(self, cluster: Cluster, plan: Plan) -> None:
        """Undo it. Idempotent, total: works after a half-done inject."""

    def probe(self, cluster: Cluster, plan: Plan) -> Probe:
        """Look whether the fault holds right now: before (must not), during (must), after
        healing (must not)."""
