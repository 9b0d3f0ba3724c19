"""One vote per voter and epoch, and none for a candidate with less of the log (D.4; KIP-595).

What a voter gave is known from its own votes, what it saved and what it booted with, over all its
incarnations, and from the winners, who name their voters.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from checkers.folds.node_log import LogFold
from framework.checking.findings import concluded, finding
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.kinds import (
    Appended,
    Booted,
    Elected,
    EpochSaved,
    Evidence,
    LogBegan,
    Truncated,
    Voted,
    evidence_of,
)
from framework.evidence.run_events import RunEvents, incarnations, node_ids
from framework.plugins.checker import Finding


@dataclass(frozen=True, slots=True)
class Grant:
    """`voter` gave its vote in `epoch` to `candidate` (ids; a name where the id is unknown)."""

    voter: int | str
    epoch: int
    candidate: int | str
    witness: Evidence


def one_vote(events: RunEvents) -> Outcome:
    seen = 0
    first: dict[tuple[int | str, int], dict[int | str, Grant]] = {}
    for grant in grants(events):
        seen += 1
        first.setdefault((grant.voter, grant.epoch), {}).setdefault(grant.candidate, grant)
    findings = [
        _two_votes(voter, epoch, list(given.values()))
        for (voter, epoch), given in sorted(first.items(), key=lambda item: str(item[0]))
        if len(given) > 1
    ]
    findings += _to_shorter_logs(events)
    return concluded(seen, findings, {"grants": len(first)})


def _two_votes(voter: int | str, epoch: int, given: list[Grant]) -> Finding:
    candidates = " and ".join(str(grant.candidate) for grant in given)
    return finding(
        f"voter {voter} voted for candidates {candidates} in epoch {epoch}",
        evidence=[grant.witness for grant in given],
    )


def grants(events: RunEvents) -> Iterator[Grant]:
    ids = node_ids(events)
    for each in events.evidence:
        me: int | str = ids.get(each.node, each.node)
        match each:
            case Voted(granted=True, epoch=epoch, candidate=candidate):
                yield Grant(me, epoch, candidate, each)
            case EpochSaved(epoch=epoch, vote=int(vote)):
                yield Grant(me, epoch, vote, each)
            case Booted(saved_epoch=int(epoch), saved_vote=int(vote)):
                yield Grant(me, epoch, vote, each)
            case Elected(epoch=epoch, votes=votes) if isinstance(me, int):
                for voter in {*votes, me}:
                    yield Grant(voter, epoch, me, each)


def _to_shorter_logs(events: RunEvents) -> Iterator[Finding]:
    """The candidate's (last epoch, end offset) must not be below the voter's: as the voter says
    itself, and as its appends and truncations up to then add up to."""
    for lives in incarnations(events.evidence).values():
        log = LogFold()
        for each in (each for life in lives for each in life):
            log.feed(each)
            if not isinstance(each, Voted) or not each.granted:
                continue
            for own, source in ((each.own_log, "said"), (log.last, "written")):
                if own is not None and each.candidate_log < own:
                    yield finding(
                        f"{each.node} voted in epoch {each.epoch} for candidate "
                        f"{each.candidate}, whose log ends at (epoch, offset) "
                        f"{each.candidate_log}, before its own {own} ({source})",
                        evidence=[each],
                    )
                    break


class OneVote(RunChecker):
    name = "one-vote"
    summary = (
        "Each voter gives one candidate at most its vote in an epoch, over all its restarts, and "
        "none to a candidate whose log is behind its own"
    )
    requires = evidence_of(Voted)
    check_run = RunCheck(
        one_vote,
        evidence=(Booted, EpochSaved, Voted, Elected, Appended, Truncated, LogBegan),
    )
