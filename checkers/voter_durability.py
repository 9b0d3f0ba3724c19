"""What a leader counted as a voter's is on that voter's disk (Raft: what was acknowledged is kept).

While a run goes on, the leader of the metadata log tells anybody how far each voter's log reaches,
and what is committed (DescribeQuorum, KIP-595). Below both, nothing may ever be cut off: a voter
whose disk ends before that, whatever killed it meanwhile, has acknowledged what it did not keep,
or the leader counted what was never there.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from checkers.folds.history.values import quorum_view
from checkers.folds.metadata_log.disk_logs import LOG_KINDS, DiskLog, disk_logs
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.kinds import disk_of
from framework.evidence.processes import Booted
from framework.evidence.quorum import LogOnDisk
from framework.evidence.run_events import RunEvents, alone, node_ids, uncollected, voters
from framework.history.pairing import Operation
from framework.plugins.capabilities import NODE_ANSWERS
from framework.plugins.checker import CLIENTS, DISKS, Clause, Count, Finding

ASKED: Final = "describe-quorum"

KEPT: Final = Clause(
    name="kept",
    says="What a leader said that a voter has, as far as it was committed, is on that voter's disk "
    "in the end",
    compares="voters' disks, held against what leaders said of them",
    floor=2,
    because="a leader's own log is one, and a majority of several voters has another; each voter "
    "of the plan has to be among them",
    sources=(CLIENTS, DISKS),
    blind="what was acknowledged after the last answer of a leader; records that were exchanged "
    "for others (log-matching's)",
)


@dataclass(frozen=True, slots=True)
class Counted:
    """By `operation`, a leader counts all below `offset` as a voter's, and as committed."""

    offset: int
    operation: Operation


def voter_durability(events: RunEvents) -> Outcome:
    left, counted = disk_logs(events.of(*LOG_KINDS)), _counted(events)
    held = [node for node in sorted(counted) if _readable(left.get(node))]
    findings = [lack for node in held for lack in _lacks(events, node, left[node], counted[node])]
    due = set(voters(events.plan)) - set(uncollected(events.plan))
    counts: dict[str, Count] = {
        KEPT.name: alone(events.plan, voting=True)
        or _unsaid(events, counted)
        or (len(held), len(due.union(held))),
    }
    return weighed(counts, findings, {"answers": len(_answers(events.observations))})


def _unsaid(events: RunEvents, counted: Mapping[str, Counted]) -> str:
    """Why there is nothing to hold disks against; empty: there is, or should be."""
    if not set(voters(events.plan)) & node_ids(events).keys():
        return "nobody tells which of its ids a node votes by"
    return "" if counted else "no leader said how far the logs of voters reach"


def _answers(observations: Sequence[Operation]) -> Sequence[Operation]:
    """Those of leaders that name voters."""
    return [each for each in observations if _names_voters(each)]


def _names_voters(answer: Operation) -> bool:
    return answer.f == ASKED and answer.ok and bool(quorum_view(answer).get("voters"))


def _counted(events: RunEvents) -> Mapping[str, Counted]:
    """Of each voter's node the most that any leader ever counted."""
    nodes = {number: node for node, number in node_ids(events).items()}
    found: dict[str, list[Counted]] = defaultdict(list)
    for answer in _answers(events.observations):
        view = quorum_view(answer)
        for voter, end in view["voters"] or ():
            offset = min(end, view["high_watermark"])
            if voter in nodes and offset > 0:
                found[nodes[voter]].append(Counted(offset, answer))
    return {node: max(each, key=lambda one: one.offset) for node, each in found.items()}


def _readable(log: DiskLog | None) -> bool:
    """Whether all that is on the disk can be read; what cannot is node-tells-the-truth's."""
    return log is not None and log.found is not None and not log.found.wrong


def _lacks(events: RunEvents, node: str, log: DiskLog, counted: Counted) -> Iterator[Finding]:
    end = max(log.end, *log.snapshots, 0)
    if end < counted.offset:
        leader = quorum_view(counted.operation)["leader"]
        yield finding(
            f"{node}'s log ends at {end} on its disk, though by operation "
            f"{counted.operation.index} leader {leader} had all below {counted.offset} from it, "
            "which was committed",
            [counted.operation],
            [log.found] if log.found is not None else [],
            clause=KEPT.name,
        )


class VoterDurability(RunChecker):
    name = "voter-durability"
    summary = (
        "What leaders counted as a voter's, and as committed, is on that voter's disk in the end"
    )
    requires = frozenset({NODE_ANSWERS}) | disk_of(LogOnDisk)
    clauses = (KEPT,)
    check_run = RunCheck(voter_durability, evidence=(Booted,), disk=LOG_KINDS, observations=True)
