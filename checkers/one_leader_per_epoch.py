"""At most one leader per epoch (Raft's election safety; D.3).

Every sighting of a leader counts, from whoever tells it: nodes that say they lead, nodes that
say whom they follow, what was saved of the quorum's state, the records that begin a leader's
epoch, and the epochs that clients were shown by the controller that answered them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from framework.checking.findings import concluded, finding
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import LeaderAnnounced
from framework.evidence.kinds import (
    Appended,
    Booted,
    Claimed,
    Elected,
    EpochSaved,
    Evidence,
    RoleTaken,
    evidence_of,
)
from framework.evidence.run_events import RunEvents, node_ids
from framework.history.pairing import Operation
from framework.plugins.checker import Finding


@dataclass(frozen=True, slots=True)
class Sighting:
    """`leader` led `epoch`: an id, or a node's name where its id is not known."""

    epoch: int
    leader: int | str
    how: str
    witness: Evidence | Operation


def one_leader_per_epoch(events: RunEvents) -> Outcome:
    seen = 0
    first: dict[int, dict[int | str, Sighting]] = {}
    for sighting in sightings(events):
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
        [each.witness for each in sightings if isinstance(each.witness, Evidence)],
    )


def _name(leader: int | str) -> str:
    return leader if isinstance(leader, str) else f"id {leader}"


def sightings(events: RunEvents) -> Iterator[Sighting]:
    ids = node_ids(events)
    for each in events.evidence:
        me: int | str = ids.get(each.node, each.node)
        match each:
            case Elected(epoch=epoch):
                yield Sighting(epoch, me, f"{each.node} won the election", each)
            case Claimed(epoch=epoch):
                yield Sighting(epoch, me, f"{each.node} claimed it", each)
            case Appended(epoch=epoch, leading=True):
                yield Sighting(epoch, me, f"{each.node} appended as leader", each)
            case RoleTaken(epoch=epoch, role="leader"):
                yield Sighting(epoch, me, f"{each.node} took the role", each)
            case RoleTaken(epoch=epoch, leader=int(leader)):
                yield Sighting(epoch, leader, f"{each.node} knew it as leader", each)
            case EpochSaved(epoch=epoch, leader=int(leader)):
                yield Sighting(epoch, leader, f"{each.node} knew it as leader", each)
            case Booted(saved_epoch=int(epoch), saved_leader=int(leader)):
                yield Sighting(epoch, leader, f"saved by {each.node}", each)
            case LeaderAnnounced(epoch=epoch, leader=leader) if leader >= 0:
                yield Sighting(epoch, leader, "the record that begins the epoch", each)
    yield from _shown_to_clients(events, ids)


def _shown_to_clients(events: RunEvents, ids: Mapping[str, int]) -> Iterator[Sighting]:
    """A describe that a voter answers is answered by the active controller itself, after a read
    barrier."""
    nodes = events.plan.get("nodes") or {}
    for operation in events.operations:
        epoch, node = (operation.ext or {}).get("epoch"), operation.node
        if not operation.ok or operation.f != "describe" or epoch is None or node is None:
            continue
        if nodes.get(node, {}).get("votes"):
            how = f"{node} answered operation {operation.index} as leader"
            yield Sighting(epoch, ids.get(node, node), how, operation)


class OneLeaderPerEpoch(RunChecker):
    name = "one-leader-per-epoch"
    summary = (
        "No epoch of the quorum has two leaders, whoever tells of them: nodes, their saved state, "
        "the log, or answers to clients"
    )
    requires = evidence_of(Elected)
    check_run = RunCheck(
        one_leader_per_epoch,
        evidence=(Booted, EpochSaved, RoleTaken, Elected, Appended, Claimed, LeaderAnnounced),
        fs=("describe",),
    )
