"""One vote per voter and epoch, and none for a candidate with less of the log (D.4; KIP-595).

What a voter gave is known from the vote that each of its processes left on its disk, from the
records that begin an epoch, which name who voted for its leader, from its own votes, what it saved
and what it booted with, over all its incarnations, and from the winners, who name their voters.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from checkers.folds.metadata_log.node_log import LogFold, accounts
from framework.checking.cuts import cut_by_node
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import LeaderAnnounced
from framework.evidence.kinds import Evidence, either_of, evidence_of
from framework.evidence.processes import Booted
from framework.evidence.quorum import Appended, Elected, EpochSaved, LogBegan, Truncated, Voted
from framework.evidence.relations import relation_of
from framework.evidence.run_events import RunEvents, alone, node_ids, unreported
from framework.plugins.capabilities import OR
from framework.plugins.checker import DISKS, EVENTS, Clause, Count, Finding


@dataclass(frozen=True, slots=True)
class Grant:
    """`voter` gave its vote in `epoch` to `candidate` (ids; a name where the id is unknown)."""

    voter: int | str
    epoch: int
    candidate: int | str
    witness: Evidence


VOTES: Final = frozenset({OR.join(("kept-votes", *evidence_of(Voted)))})
"""Without them a leader's own record is all that is known of who voted for it."""

ONE_CANDIDATE: Final = Clause(
    name="one-candidate",
    says="A voter gives its vote in an epoch to one candidate, over all its restarts",
    compares="mentions of a vote, by another than who mentioned that voter and epoch first",
    floor=2,
    because="a vote that is mentioned once has nothing to differ from; who leads in the end has "
    "two voters at least, and what they saved can differ from the record that names them",
    sources=(DISKS, EVENTS),
    blind="a vote that the voter tells nobody of, and that its candidate does not win by",
)
LONG_ENOUGH: Final = Clause(
    name="long-enough-log",
    says="A voter votes for no candidate whose log is behind its own",
    compares="votes held against the voter's own log",
    floor=2,
    because="each election that is won has at least one vote of another; two are two elections, or "
    "two voters",
    sources=(EVENTS,),
    blind="the candidate's log is what it said, not what it had",
)


GIVEN: Final = (Booted, EpochSaved, Voted, Elected, LeaderAnnounced)
"""By which votes are known; whoever's they are, any node may tell of them."""


def one_vote(events: RunEvents) -> Outcome:
    given = [each for each in grants(events) if events.has(each.voter)]
    votes = relation_of(
        given,
        voter=(repr(each.voter) for each in given),
        epoch=(each.epoch for each in given),
        candidate=(repr(each.candidate) for each in given),
        origin=("/".join(_origin(each.witness)) for each in given),
    )
    twice = [votes.objects(rows) for rows in votes.disagreeing("voter", "epoch", on="candidate")]
    findings = [_two_votes(each) for each in twice]
    distinct = len(votes.first("voter", "epoch"))
    mentions = len(votes.first("voter", "epoch", "origin"))
    compared, shorter = _to_shorter_logs(events)
    why = alone(events.plan, voting=True)
    counts: dict[str, Count] = {
        ONE_CANDIDATE.name: why or mentions - distinct,
        LONG_ENOUGH.name: why or unreported(events.plan) or compared,
    }
    return weighed(counts, [*findings, *shorter], {"grants": distinct})


def _origin(witness: Evidence) -> tuple[str, ...]:
    """Who says so: all nodes have the same record, but each incarnation speaks for itself."""
    if isinstance(witness, LeaderAnnounced):
        return (witness.kind,)
    return witness.kind, witness.source, witness.node, witness.incarnation


def _two_votes(given: Sequence[Grant]) -> Finding:
    candidates = " and ".join(str(grant.candidate) for grant in given)
    return finding(
        f"voter {given[0].voter} voted for candidates {candidates} in epoch {given[0].epoch}",
        evidence=[grant.witness for grant in given],
        clause=ONE_CANDIDATE.name,
    )


def grants(events: RunEvents) -> Iterator[Grant]:
    ids = node_ids(events)
    said: Iterable[Evidence] = events.of(*GIVEN)
    for each in said:
        me: int | str = ids.get(each.node, each.node)
        match each:
            case Voted(granted=True, epoch=epoch, candidate=candidate):
                yield Grant(me, epoch, candidate, each)
            case EpochSaved(epoch=epoch, vote=int(vote)):
                yield Grant(me, epoch, vote, each)
            case Booted(saved_epoch=int(epoch), saved_vote=int(vote)):
                yield Grant(me, epoch, vote, each)
            case LeaderAnnounced(epoch=epoch, leader=leader, votes=votes):
                for granter in votes:
                    yield Grant(granter, epoch, leader, each)
            case Elected(epoch=epoch, votes=votes) if isinstance(me, int):
                for voter in {*votes, me}:
                    yield Grant(voter, epoch, me, each)


def _to_shorter_logs(events: RunEvents) -> tuple[int, list[Finding]]:
    """The candidate's (last epoch, end offset) must not be below the voter's: as the voter says
    itself, and as its appends and truncations up to then add up to. Also how many were compared."""
    compared, findings = 0, []
    for account in accounts(events):
        if not events.has(account.node):
            continue
        log = LogFold()
        for each in account.history:
            log.feed(each)
            if not isinstance(each, Voted) or not each.granted:
                continue
            logs = {"said": each.own_log, "written": log.last}
            compared += any(own is not None for own in logs.values())
            findings += _to_a_shorter_log(each, logs)[:1]
    return compared, findings


def _to_a_shorter_log(vote: Voted, logs: Mapping[str, tuple[int, ...] | None]) -> list[Finding]:
    """`logs`: by who says so, where the voter's own ended."""
    return [
        finding(
            f"{vote.node} voted in epoch {vote.epoch} for candidate {vote.candidate}, whose log "
            f"ends at (epoch, offset) {vote.candidate_log}, before its own {own} ({source})",
            evidence=[vote],
            clause=LONG_ENOUGH.name,
        )
        for source, own in logs.items()
        if own is not None and vote.candidate_log < own
    ]


class OneVote(RunChecker):
    name = "one-vote"
    summary = (
        "Each voter gives one candidate at most its vote in an epoch, over all its restarts, and "
        "none to a candidate whose log is behind its own"
    )
    requires = either_of(EpochSaved, LeaderAnnounced) | VOTES
    clauses = (ONE_CANDIDATE, LONG_ENOUGH)
    check_run = RunCheck(
        one_vote,
        evidence=(Booted, EpochSaved, Voted, Elected, Appended, Truncated, LogBegan),
        disk=(EpochSaved, LeaderAnnounced),
        by=cut_by_node(*GIVEN),
    )
