"""How a plan names the roles of Kafka's protocol, and the ids that nodes have in them.

This is the one place of the checkers that knows it; a system that speaks that protocol says the
same, whatever its nodes are.
"""

from collections.abc import Mapping, Set
from typing import Final

from framework.evidence.run_events import voters
from framework.history.event import Recorded
from framework.plugins.capabilities import VOTER_CHANGES

BROKER: Final = "broker"
CONTROLLER: Final = "controller"


def roles_of(plan: Mapping[str, Recorded]) -> dict[str, set[str]]:
    """Node of the plan -> its roles; none, where the plan does not say."""
    nodes = plan.get("nodes") or {}
    return {name: set(node.get("roles") or ()) for name, node in nodes.items()}


def with_roles(plan: Mapping[str, Recorded], *asked: str) -> set[str]:
    """The nodes of the plan that have all of these."""
    return {name for name, own in roles_of(plan).items() if own.issuperset(asked)}


def may_be_broker(plan: Mapping[str, Recorded], node: str | None) -> bool:
    """Whether it is one, or the plan says nothing of its roles."""
    own = roles_of(plan).get(node or "")
    return not own or BROKER in own


def ids_in(plan: Mapping[str, Recorded], role: str) -> dict[str, int]:
    """Node of the plan -> its id in a role, of those that have one."""
    nodes = plan.get("nodes") or {}
    found = {name: (node.get("ids") or {}).get(role) for name, node in nodes.items()}
    return {name: number for name, number in found.items() if isinstance(number, int)}


def nodes_by_id(plan: Mapping[str, Recorded], role: str) -> dict[int, str]:
    """Id in a role -> node of the plan."""
    return {number: name for name, number in ids_in(plan, role).items()}


def fixed_voters(plan: Mapping[str, Recorded]) -> Set[int]:
    """Ids of those who vote from the beginning to the end; none: clients may change that, or the
    plan does not say."""
    ids = ids_in(plan, CONTROLLER)
    if VOTER_CHANGES in (plan.get("provides") or ()):
        return frozenset()
    return frozenset(ids[name] for name in voters(plan) if name in ids)
