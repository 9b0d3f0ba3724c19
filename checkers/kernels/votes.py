"""One vote per voter and epoch, and none for a candidate with less of the log (D.4; KIP-595).

What a voter gave is known from its own `vote` and `epoch` events and boots, over all its
incarnations, and from the winners, who name their voters.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from checkers.kernels.evidence import (
    Evidence,
    NodeEvent,
    concluded,
    finding,
    incarnations,
    node_ids,
)
from checkers.kernels.metadata_log import LogFold
from framework.checking.keyed import Outcome
from framework.plugins.checker import Finding

EVENTS = ("boot", "epoch", "vote", "elected", "append", "truncate", "log_start")


@dataclass(frozen=True, slots=True)
class Grant:
    """`voter` gave its vote in `epoch` to `candidate` (ids; a name where the id is unknown)."""

    voter: int | str
    epoch: int
    candidate: int | str
    event: NodeEvent


def one_vote(evidence: Evidence) -> Outcome:
    seen = 0
    first: dict[tuple[int | str, int], dict[int | str, Grant]] = {}
    for grant in grants(evidence):
        seen += 1
        first.setdefault((grant.voter, grant.epoch), {}).setdefault(grant.candidate, grant)
    findings = [
        _two_votes(voter, epoch, list(given.values()))
        for (voter, epoch), given in sorted(first.items(), key=lambda item: str(item[0]))
        if len(given) > 1
    ]
    findings += _to_shorter_logs(evidence)
    return concluded(seen, findings, {"grants": len(first)})


def _two_votes(voter: int | str, epoch: int, given: list[Grant]) -> Finding:
    candidates = " and ".join(str(grant.candidate) for grant in given)
    return finding(
        f"voter {voter} voted for candidates {candidates} in epoch {epoch}",
        events=[grant.event for grant in given],
    )


def grants(evidence: Evidence) -> Iterator[Grant]:
    ids = node_ids(evidence)
    for event in evidence.events:
        fields = event.fields
        me: int | str = ids.get(event.node, event.node)
        if event.type == "vote" and fields["granted"]:
            yield Grant(me, fields["epoch"], fields["candidate_id"], event)
        elif event.type == "epoch" and _voted(fields):
            yield Grant(me, fields["epoch"], fields["voted_id"], event)
        elif event.type == "boot" and _voted(fields.get("quorum") or {}):
            yield Grant(me, fields["quorum"]["epoch"], fields["quorum"]["voted_id"], event)
        elif event.type == "elected" and isinstance(me, int):
            for voter in {*(fields.get("votes") or ()), me}:
                yield Grant(voter, fields["epoch"], me, event)


def _voted(fields: object) -> bool:
    voted = fields.get("voted_id") if isinstance(fields, dict) else None
    return isinstance(voted, int) and voted >= 0


def _to_shorter_logs(evidence: Evidence) -> Iterator[Finding]:
    """The candidate's (last epoch, end offset) must not be below the voter's: as the voter says
    itself, and as its appends and truncations up to then add up to."""
    for lives in incarnations(evidence.events).values():
        log = LogFold()
        for event in (event for life in lives for event in life):
            log.feed(event)
            if event.type != "vote" or not event.fields["granted"]:
                continue
            candidate = tuple(event.fields["candidate_last"])
            for own, source in ((event.fields.get("own_last"), "said"), (log.last, "written")):
                if own is not None and candidate < tuple(own):
                    yield finding(
                        f"{event.node} voted in epoch {event.fields['epoch']} for candidate "
                        f"{event.fields['candidate_id']}, whose log ends at (epoch, offset) "
                        f"{candidate}, before its own {tuple(own)} ({source})",
                        events=[event],
                    )
                    break
