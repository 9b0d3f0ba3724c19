"""At most one leader per epoch (Raft's election safety; D.3).

Every sighting of a leader counts, from whoever tells it: the records that begin an epoch, in all
logs that processes left on disks; what they saved of the quorum's state; nodes that say they lead,
nodes that say whom they follow, also to an observer or a client who asked; and the epochs that
clients were shown by the controller that answered them. A majority of those who vote has elected
each, by those records.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from checkers.folds.history.quorum_views import WHO_VOTES
from checkers.folds.history.roles import fixed_voters
from checkers.folds.history.values import revealed
from checkers.folds.quorum.leader_records import badly_elected, denied, naming, saved_votes
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import LeaderAnnounced
from framework.evidence.kinds import Evidence, either_of
from framework.evidence.processes import Booted
from framework.evidence.quorum import Appended, Claimed, Elected, EpochSaved, RoleTaken
from framework.evidence.relations import Relation, relation, relation_of
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
NAMELESS: Final = "no record names who voted"
CLAIMS: Final = Clause(
    name="one-claim",
    says="Nobody leads, follows or answers as another leader of an epoch than the one there is",
    compares="nodes and clients who say who leads an epoch, beside others who say so",
    floor=2,
    because="it takes two to differ; where nodes tell of themselves, each voter has to",
    sources=(CLIENTS, LEDGER, DISKS, EVENTS),
    blind="a second leader whom neither clients nor the nodes that follow it mention",
)
ELECTED: Final = Clause(
    name="majority",
    says="Whoever has the record that begins an epoch was elected by a majority of those who vote, "
    "itself among them, of whom none had saved a vote for another",
    compares="records on disks, or told, that begin an epoch and name who voted",
    floor=2,
    because="the first may stand on the one disk that is right",
    sources=(DISKS, EVENTS),
    blind="votes that are not in the record; where clients change who votes, voters that it leaves "
    "out (`voter-changes` holds those)",
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


def one_leader_per_epoch(events: RunEvents) -> Outcome:
    shown = _relation(list(sightings(events)))
    several = [shown.objects(rows) for rows in shown.disagreeing("epoch", on="leader")]
    findings = [_two_leaders(each) for each in several if _conflicting(each)]
    records, claims = _compared(shown, RECORDS), _compared(shown, CLAIMS)
    who, why = set(voters(events.plan)), alone(events.plan)
    elections, unfit = _elected(events)
    findings += unfit
    counts: dict[str, Count] = {
        ELECTED.name: why or (NAMELESS if records and not elections else elections),
        RECORDS.name: why or (len(records), len(records | who)),
        CLAIMS.name: why or (len(claims), 0 if unreported(events.plan) else len(claims | who)),
    }
    return weighed(counts, findings, {"epochs": len(shown.first("epoch"))})


def _relation(shown: Sequence[Sighting]) -> Relation[Sighting]:
    return relation_of(
        shown,
        epoch=(each.epoch for each in shown),
        leader=(repr(each.leader) for each in shown),
        clause=(each.clause for each in shown),
        said_by=(each.said_by for each in shown),
    )


def _compared(shown: Relation[Sighting], clause: Clause) -> set[str]:
    """Who told of a leader by this clause, of an epoch of which another told as well: records
    stand beside records, claims beside both."""
    others = shown.where(clause=RECORDS.name) if clause is RECORDS else shown
    told = others.take(others.first("epoch", "said_by"))
    several = told.where(told.counted("epoch") > 1)
    own = shown.where(clause=clause.name)
    beside = own.where(own.present_in(several, "epoch"))
    return set(beside.columns["said_by"].to_pylist())


def _elected(events: RunEvents) -> tuple[int, Sequence[Finding]]:
    """How many records name who voted, and the first of an epoch that is wrong."""
    named = naming(events.of(LeaderAnnounced))
    fixed = fixed_voters(events.plan)
    saved = saved_votes(events.of(EpochSaved), node_ids(events))
    findings: dict[int, Finding] = {}
    for each in named:
        in_force = fixed or set(each.voters)
        other = denied(each, saved)
        wrong = badly_elected(each, in_force)
        if other is not None:
            wrong = f"has the vote of {other.node}, which had saved one for {other.vote}"
        if wrong and each.epoch not in findings:
            findings[each.epoch] = finding(
                f"{sorted(in_force)} vote, and leader {each.leader} of epoch {each.epoch}, whose "
                f"record {each.node} has at offset {each.offset}, {wrong}",
                evidence=[each] if other is None else [each, other],
                clause=ELECTED.name,
            )
    return len(named), list(findings.values())


def _conflicting(leaders: Sequence[Sighting]) -> bool:
    """A name whose id is not known may be any one of the ids, but two names are two nodes."""
    names = sum(isinstance(each.leader, str) for each in leaders)
    return names > 1 or len(leaders) - names > 1


def _two_leaders(sightings: Sequence[Sighting]) -> Finding:
    """Of records alone, or of what is claimed beside them."""
    who = "; ".join(f"{_name(each.leader)} ({each.how})" for each in sightings)
    records = all(each.clause == RECORDS.name for each in sightings)
    return finding(
        f"epoch {sightings[0].epoch} had {len(sightings)} leaders: {who}",
        [each.witness for each in sightings if isinstance(each.witness, Operation)],
        [each.witness for each in sightings if isinstance(each.witness, Evidence)],
        clause=(RECORDS if records else CLAIMS).name,
    )


def _name(leader: int | str) -> str:
    return leader if isinstance(leader, str) else f"id {leader}"


def sightings(events: RunEvents) -> Iterator[Sighting]:
    ids = node_ids(events)
    for each in _telling(events.evidence):
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
    asked = (each for each in events.observations if each.f in VIEWS)
    yield from _named_to("an observer", asked)
    yield from _named_to("a client", (each for each in events.operations if each.f == WHO_VOTES))


def _telling(evidence: Sequence[Evidence]) -> Sequence[Evidence]:
    """All but what a leader appends behind its first batch of an epoch, and what others append."""
    rows = relation(evidence, "node", "epoch", "base_offset", "leading")
    chosen = ~np.asarray(rows.columns["base_offset"].is_valid())
    leading = np.flatnonzero(rows.equal("leading", True))
    chosen[leading[rows.take(leading).first("node", "epoch")]] = True
    return rows.objects(np.flatnonzero(chosen))


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


def _named_to(whom: str, asked: Iterable[Operation]) -> Iterator[Sighting]:
    for operation in asked:
        node, view = operation.node, operation.result
        if not operation.ok or node is None:
            continue
        match view:
            case {"leader": int(leader), "leader_epoch": int(epoch)} if leader >= 0:
                yield Sighting(epoch, leader, f"{node} named it to {whom}", operation, node)


class OneLeaderPerEpoch(RunChecker):
    name = "one-leader-per-epoch"
    summary = (
        "No epoch of the quorum has two leaders, whoever tells of them: the log, nodes and what "
        "they saved, or answers to clients and observers; a majority elected each"
    )
    requires = either_of(LeaderAnnounced, EpochSaved)
    clauses = (RECORDS, CLAIMS, ELECTED)
    check_run = RunCheck(
        one_leader_per_epoch,
        evidence=(Booted, EpochSaved, RoleTaken, Elected, Appended, Claimed, LeaderAnnounced),
        disk=(EpochSaved, LeaderAnnounced),
        fs=(*READS, WHO_VOTES),
        observations=True,
    )
