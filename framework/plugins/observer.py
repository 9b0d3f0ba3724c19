"""An observer: what asks every node of a run, at intervals, what it would tell anybody.

Its operations stand in the history under processes of their own, one a node, and are no clients'
(`framework.history.event.is_observer`). What a node answers, and that it does not, is what the
harness itself saw.
"""

from collections.abc import Sequence, Set
from typing import Final, Protocol

from framework.history.event import Invocation
from framework.plugins.system import Cluster, NodeSpec, System
from framework.plugins.workload import Client

OBSERVE_S: Final = 2.0
"""How often every node is asked, where nobody says otherwise."""


class Observer(Protocol):
    """Entry-point group `framework.observers`. Built without arguments."""

    name: str
    requires: frozenset[str]
    """Capabilities that the system must have (`framework.plugins.capabilities`)."""

    def questions(
        self, system: System, node: NodeSpec, capabilities: Set[str]
    ) -> Sequence[Invocation]:
        """The operations by which a node is asked, in order. They change nothing. `capabilities`:
        of the system as it is set."""

    def client(self, cluster: Cluster, node: str) -> Client:
        """What asks them of this node. Waits for no answer longer than about a second, and tries
        nothing twice: a node that does not answer has been observed."""
