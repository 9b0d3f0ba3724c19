"""At most one leader per epoch (Raft's election safety; D.3).

Every sighting of a leader counts, from whoever tells it: nodes that say they lead, nodes that
say whom they follow, what was saved in quorum-state, LeaderChange records, and the epochs that
clients were shown by the controller that answered them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from checkers.kernels.evidence import (
    Evidence,
    NodeEvent,
    Operation,
    concluded,
    finding,
    node_ids,
    record_of,
)
from framework.checking.keyed import Outcome
from framework.plugins.checker import Finding

EVENTS = ("boot", "epoch", "role", "elected", "append", "claim", "apply")
FS = ("describe",)


@dataclass(frozen=True, slots=True)
class Sighting:
    """`leader` led `epoch`: an id, or a node's name where its id is not known."""

    epoch: int
    leader: int | str
    how: str
    witness: NodeEvent | Operation


def one_leader(evidence: Evidence) -> Outcome:
    seen = 0
    first: dict[int, dict[int | str, Sighting]] = {}
    for sighting in sightings(evidence):
        seen += 1
        first.setdefault(sighting.epoch, {}).setdefault(sighting.leader, sighting)
    findings = [
        _two_leaders(epoch, list(leaders.values()))
        for epoch, leaders in sorted(first.items())
        if _conflicting(leaders)
    ]
    return concluded(seen, findings, {"epochs": len(first)})


def _conflicting(leaders: dict[int | str, Sighting]) -> bool:
    """A name whose id is not known may be any one of the ids, but two names are two nodes."""
    names = sum(isinstance(leader, str) for leader in leaders)
    return names > 1 or len(leaders) - names > 1


def _two_leaders(epoch: int, sightings: list[Sighting]) -> Finding:
    who = "; ".join(f"{_name(each.leader)} ({each.how})" for each in sightings)
    return finding(
        f"epoch {epoch} had {len(sightings)} leaders: {who}",
        [each.witness for each in sightings if isinstance(each.witness, Operation)],
        [each.witness for each in sightings if isinstance(each.witness, NodeEvent)],
    )


def _name(leader: int | str) -> str:
    return leader if isinstance(leader, str) else f"id {leader}"


def sightings(evidence: Evidence) -> Iterator[Sighting]:
    ids = node_ids(evidence)
    for event in evidence.events:
        fields = event.fields
        me: int | str = ids.get(event.node, event.node)
        match event.type:
            case "elected":
                yield Sighting(fields["epoch"], me, f"{event.node} won the election", event)
            case "claim":
                yield Sighting(fields["epoch"], me, f"{event.node} claimed it", event)
            case "append" if fields.get("leader"):
                yield Sighting(fields["epoch"], me, f"{event.node} appended as leader", event)
            case "role" if fields.get("role") == "leader":
                yield Sighting(fields["epoch"], me, f"{event.node} took the role", event)
            case "role" | "epoch" if _is_id(fields.get("leader_id")):
                how = f"{event.node} knew it as leader"
                yield Sighting(fields["epoch"], fields["leader_id"], how, event)
            case "boot" if _is_id((fields.get("quorum") or {}).get("leader_id")):
                quorum = fields["quorum"]
                how = f"saved by {event.node}"
                yield Sighting(quorum["epoch"], quorum["leader_id"], how, event)
            case "apply" if "LeaderChange" in str(fields.get("kind")):
                leader = record_of(event).get("leader_id")
                if isinstance(leader, int) and leader >= 0:
                    yield Sighting(fields["epoch"], leader, "LeaderChange record", event)
    yield from _shown_to_clients(evidence, ids)


def _shown_to_clients(evidence: Evidence, ids: dict[str, int]) -> Iterator[Sighting]:
    """A describe is answered by the active controller itself, after a read barrier."""
    nodes = evidence.plan.get("nodes") or {}
    for operation in evidence.operations:
        epoch, node = (operation.ext or {}).get("epoch"), operation.node
        if not operation.ok or operation.f != "describe" or epoch is None or node is None:
            continue
        if "controller" in (nodes.get(node, {}).get("roles") or ()):
            how = f"{node} answered operation {operation.index} as leader"
            yield Sighting(epoch, ids.get(node, node), how, operation)


def _is_id(value: object) -> bool:
    return isinstance(value, int) and value >= 0
