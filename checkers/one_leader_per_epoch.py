"""At most one leader per epoch (Raft's election safety; D.3).

Every sighting of a leader counts, from whoever tells it: the records that begin an epoch, in all
logs that processes left on disks; what they saved of the quorum's state; nodes that say they lead,
nodes that say whom they follow, also to an observer who asked; and the epochs that clients were
shown by the controller that answered them.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from checkers.folds.values import revealed
from framework.checking.findings import finding, weighed
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
    either_of,
)
from framework.evidence.run_events import RunEvents, alone, node_ids, unreported, voters
from framework.history.pairing import Operation
from framework.plugins.checker import CLIENTS, DISKS, EVENTS, LEDGER, Clause, Count, Finding

READS: Final = ("describe", "follow")
VIEWS: Final = ("describe-node", "describe-quorum")
"""What an observer asks, that shows who leads."""

RECORDS: Final = Clause(
    name="one-record",
    says="The records that begin an epoch name one leader, in every log that ever held one",
    compares="nodes whose logs name the leader of an epoch that another's log names as well",
    floor=2,
    because="it takes two logs to differ, and each voter of the plan has to be among them",
    sources=(DISKS, EVENTS),
    blind="a leader whose record is on no disk that was read",
)
CLAIMS: Final = Clause(
    name="one-claim",
    says="Nobody leads, follows or answers as another leader of an epoch than the one there is",
    compares="nodes and clients who say who leads an epoch, beside others who say so",
    floor=2,
    because="it takes two to differ; where nodes tell of themselves, each voter has to",
    sources=(CLIENTS, LEDGER, DISKS, EVENTS),
    blind="a second leader whom neither clients nor the nodes that follow it mention",
)


@dataclass(frozen=True, slots=True)
class Sighting:
    """`leader` led `epoch`: an id, or a node's name where its id is not known. `said_by`: who says
    so."""

    epoch: int
    leader: int | str
    how: str
    witness: Evidence | Operation
    said_by: str

    @property
    def clause(self) -> str:
        return (RECORDS if isinstance(self.witness, LeaderAnnounced) else CLAIMS).name


@dataclass(slots=True)
class Epoch:
    """Who is said to have led it: the first sighting of each. `said_by`: who says so, by clause."""

    first: dict[int | str, Sighting] = field(default_factory=dict)
    said_by: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def add(self, sighting: Sighting) -> None:
        self.first.setdefault(sighting.leader, sighting)
        self.said_by[sighting.clause].add(sighting.said_by)

    def compared(self, clause: Clause) -> set[str]:
        """Who was held against another."""
        own = self.said_by[clause.name]
        others = own if clause is RECORDS else own | self.said_by[RECORDS.name]
        return own if len(others) > 1 else set()


def one_leader_per_epoch(events: RunEvents) -> Outcome:
    epochs: dict[int, Epoch] = defaultdict(Epoch)
    for sighting in sightings(events):
        epochs[sighting.epoch].add(sighting)
    findings = [
        _two_leaders(number, list(epoch.first.values()))
        for number, epoch in sorted(epochs.items())
        if _conflicting(epoch.first)
    ]
    records, claims = (
        {each for epoch in epochs.values() for each in epoch.compared(clause)}
        for clause in (RECORDS, CLAIMS)
    )
    who, why = set(voters(events.plan)), alone(events.plan)
    counts: dict[str, Count] = {
        RECORDS.name: why or (len(records), len(records | who)),
        CLAIMS.name: why or (len(claims), 0 if unreported(events.plan) else len(claims | who)),
    }
    return weighed(counts, findings, {"epochs": len(epochs)})


def _conflicting(leaders: dict[int | str, Sighting]) -> bool:
    """A name whose id is not known may be any one of the ids, but two names are two nodes."""
    names = sum(isinstance(leader, str) for leader in leaders)
    return names > 1 or len(leaders) - names > 1


def _two_leaders(epoch: int, sightings: list[Sighting]) -> Finding:
    """Of records alone, or of what is claimed beside them."""
    who = "; ".join(f"{_name(each.leader)} ({each.how})" for each in sightings)
    records = all(each.clause == RECORDS.name for each in sightings)
    return finding(
        f"epoch {epoch} had {len(sightings)} leaders: {who}",
        [each.witness for each in sightings if isinstance(each.witness, Operation)],
        [each.witness for each in sightings if isinstance(each.witness, Evidence)],
        clause=(RECORDS if records else CLAIMS).name,
    )


def _name(leader: int | str) -> str:
    return leader if isinstance(leader, str) else f"id {leader}"


def sightings(events: RunEvents) -> Iterator[Sighting]:
    ids = node_ids(events)
    for each in events.evidence:
        me: int | str = ids.get(each.node, each.node)
        match each:
            case Elected(epoch=epoch):
                yield Sighting(epoch, me, f"{each.node} won the election", each, each.node)
            case Claimed(epoch=epoch):
                yield Sighting(epoch, me, f"{each.node} claimed it", each, each.node)
            case Appended(epoch=epoch, leading=True):
                yield Sighting(epoch, me, f"{each.node} appended as leader", each, each.node)
            case RoleTaken(epoch=epoch, role="leader"):
                yield Sighting(epoch, me, f"{each.node} took the role", each, each.node)
            case RoleTaken(epoch=epoch, leader=int(leader)):
                yield Sighting(epoch, leader, f"{each.node} knew it as leader", each, each.node)
            case EpochSaved(epoch=epoch, leader=int(leader)):
                yield Sighting(epoch, leader, f"{each.node} knew it as leader", each, each.node)
            case Booted(saved_epoch=int(epoch), saved_leader=int(leader)):
                yield Sighting(epoch, leader, f"saved by {each.node}", each, each.node)
            case LeaderAnnounced(epoch=epoch, leader=leader) if leader >= 0:
                yield Sighting(epoch, leader, "the record that begins the epoch", each, each.node)
    yield from _shown_to_clients(events, ids)
    yield from _shown_to_the_observer(events.observations)


def _shown_to_clients(events: RunEvents, ids: Mapping[str, int]) -> Iterator[Sighting]:
    """A read that a voter answers, and says in which epoch, is answered by the active controller
    itself."""
    nodes = events.plan.get("nodes") or {}
    for operation in events.operations:
        epoch, node = revealed(operation).get("epoch"), operation.node
        if not operation.ok or operation.f not in READS or epoch is None or node is None:
            continue
        if nodes.get(node, {}).get("votes"):
            how = f"{node} answered operation {operation.index} as leader"
            yield Sighting(epoch, ids.get(node, node), how, operation, f"clients of {node}")


def _shown_to_the_observer(observations: Iterable[Operation]) -> Iterator[Sighting]:
    for operation in observations:
        node, view = operation.node, operation.result
        if not operation.ok or operation.f not in VIEWS or node is None:
            continue
        match view:
            case {"leader": int(leader), "leader_epoch": int(epoch)} if leader >= 0:
                yield Sighting(epoch, leader, f"{node} named it to an observer", operation, node)


class OneLeaderPerEpoch(RunChecker):
    name = "one-leader-per-epoch"
    summary = (
        "No epoch of the quorum has two leaders, whoever tells of them: the log, nodes and what "
        "they saved, or answers to clients and observers"
    )
    requires = either_of(LeaderAnnounced, EpochSaved)
    clauses = (RECORDS, CLAIMS)
    check_run = RunCheck(
        one_leader_per_epoch,
        evidence=(Booted, EpochSaved, RoleTaken, Elected, Appended, Claimed, LeaderAnnounced),
        disk=(EpochSaved, LeaderAnnounced),
        fs=READS,
        observations=True,
    )
