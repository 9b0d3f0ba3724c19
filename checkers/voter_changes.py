"""Who votes changes by requests alone, one voter at a time, and nobody is told otherwise (KIP-853).

The committed log names the voters, from its disks: each record of that kind is held against the one
before it, against the requests of clients, and against what leaders told of who votes. A set is in
force in a log as soon as it stands there: a leader may tell of one that is never committed, but of
none that it has no record of.

Where voters are and who follows without a vote is held against other such answers, and the plan:
disks are not asked of it.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from checkers.folds.cluster.observed import Judgement
from checkers.folds.history.quorum_views import WHO_VOTES
from checkers.folds.history.values import asked_voter, voters_view
from checkers.folds.metadata_log.disk_logs import DISK_KINDS, CommittedOnDisks, committed_on_disks
from checkers.folds.quorum.explained import NEVER, Explained, Made, Request, explained
from checkers.folds.quorum.leader_records import badly_elected
from checkers.folds.quorum.told_voters import FOLLOWS, PLACES, followers_told, places_told
from checkers.folds.quorum.voter_sets import (
    Change,
    Step,
    Voters,
    VoterSets,
    changes,
    text,
    voter_sets,
)
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import LeaderAnnounced, VotersNamed
from framework.evidence.ids import Offset
from framework.evidence.kinds import disk_of
from framework.evidence.quorum import LogOnDisk, SnapshotFile, Voter
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation
from framework.plugins.capabilities import VOTER_CHANGES
from framework.plugins.checker import CLIENTS, DISKS, Clause, Count, Finding

ASKS: Final[Mapping[str, str]] = {"add-voter": "add", "remove-voter": "remove"}

RECORDED: Final = Clause(
    name="asked-is-recorded",
    says="Each acknowledged change of who votes is a record of the committed log, one each",
    compares="acknowledged changes",
    floor=2,
    because="one that leaves and one that comes back",
    sources=(CLIENTS, DISKS),
    blind="a change that is undone by a second record before anybody looks, where somebody asked "
    "for that one as well and was not answered",
)
ASKED: Final = Clause(
    name="recorded-was-asked",
    says="Each change of who votes in the committed log came of a request of its own, which "
    "was not refused",
    compares="changes in the committed log",
    floor=2,
    because="one that leaves and one that comes back",
    sources=(CLIENTS, DISKS),
    blind="a change that was asked for once, and not answered, but made at another time; requests "
    "that somebody else sent",
)
ORDER: Final = Clause(
    name="one-order",
    says="Changes stand in the committed log in an order, and by a time, in which they may have "
    "been asked for",
    compares="changes in the committed log",
    floor=2,
    because="two can be the wrong way round",
    sources=(CLIENTS, DISKS),
    blind="changes whose requests were under way at a time",
)
ONE: Final = Clause(
    name="one-at-a-time",
    says="Each record that says who votes differs from the one before it by one voter at most",
    compares="records that change who votes",
    floor=2,
    because="one that leaves and one that comes back",
    sources=(DISKS,),
    blind="whether the record before it was committed by then; a voter's addresses",
)
TOLD: Final = Clause(
    name="told-is-in-force",
    says="Who votes by a leader's word is in force in its log: between its high watermark, or what "
    "was acknowledged before it was asked, and the end of its log",
    compares="answers of leaders that say who votes",
    floor=4,
    because="two sets of voters, told twice each",
    sources=(CLIENTS, DISKS),
    blind="a leader that was deposed, and does not know it; which of several sets it had, where it "
    "does not tell the end of its log",
)
ELECTED: Final = Clause(
    name="voters-elect",
    says="Who leads an epoch is a voter by the log below its record, which names those voters, and "
    "a majority of them elected it, itself among them",
    compares="leaders' records in the committed log",
    floor=2,
    because="the first one is elected by who voted in the beginning",
    sources=(DISKS,),
    blind="votes that are not in the record",
)
SNAPSHOTS: Final = Clause(
    name="snapshots-agree",
    says="A snapshot names those voters whom the log below its end does",
    compares="snapshots that name voters",
    floor=2,
    because="two nodes, or two moments",
    sources=(DISKS,),
    blind="snapshots that are gone",
)
BY_DISKS: Final = (RECORDED, ASKED, ORDER, ONE, TOLD, ELECTED, SNAPSHOTS)
CLAUSES: Final = (*BY_DISKS, PLACES, FOLLOWS)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that may have had an effect."""

    operation: Operation
    change: Change

    @property
    def request(self) -> Request:
        operation = self.operation
        return Request(self.change, operation.index, operation.end if operation.ok else None)


@dataclass(frozen=True, slots=True)
class Run:
    """All that is compared. `made`: the changes of the log, each with its record; `ended`: reads in
    the order of their ends."""

    left: CommittedOnDisks
    sets: VoterSets
    asked: Sequence[Asked]
    made: Sequence[tuple[Change, Step]]
    reads: Sequence[Operation]
    ended: Sequence[Operation]


def voter_changes(events: RunEvents) -> Outcome:
    run = _run(events)
    judged: dict[Clause, Judgement] = {
        PLACES: places_told(run.reads),
        FOLLOWS: followers_told(run.reads, events.plan),
    }
    told = {clause.name: count for clause, (count, _) in judged.items()}
    by_word = [each for _, found in judged.values() for each in found]
    if run.sets.why:  # what is on disks cannot be held against anything
        return weighed({**dict.fromkeys([each.name for each in BY_DISKS], 0), **told}, by_word)
    findings = [*_not_recorded(run), *_not_asked(run)]
    order = explained(_dated(run), [each.request for each in run.asked])
    if not findings and order.whole is False:
        findings.append(_no_order(run, order))
    elections = [each for each in run.left.records if isinstance(each, LeaderAnnounced)]
    snapshots = [
        each
        for each in events.of(SnapshotFile)
        if each.voters is not None and each.end_offset <= run.left.end
    ]
    findings += [
        *by_word,
        *_many_at_once(run.sets),
        *_wrongly_told(run),
        *(wrong for each in elections for wrong in _elected(each, run.sets)),
        *(wrong for each in snapshots for wrong in _snapshot(each, run.sets)),
    ]
    counts: dict[str, Count] = {
        RECORDED.name: sum(each.operation.ok for each in run.asked),
        ASKED.name: len(run.made),
        ORDER.name: 0 if order.whole is None else len(run.made),
        ONE.name: sum(bool(step.changes) for step in run.sets.steps),
        TOLD.name: len(run.reads),
        ELECTED.name: ELECTED.count(len(elections), _one_leader(elections)),
        SNAPSHOTS.name: len(snapshots),
        **told,
    }
    return weighed(counts, findings, {"changes": len(run.made), "elections": len(elections)})


def _one_leader(elections: Sequence[LeaderAnnounced]) -> str:
    return "the committed log has the record of one leader" if len(elections) == 1 else ""


def _run(events: RunEvents) -> Run:
    left = committed_on_disks(events)
    sets = voter_sets(events, left)
    asked = [
        Asked(each, ("add" if ASKS[each.f] == "add" else "remove", _voter(each)))
        for each in events.operations
        if each.f in ASKS and not each.failed
    ]
    made = [(change, step) for step in sets.steps for change in step.changes]
    reads = [each for each in events.operations if each.f == WHO_VOTES and each.ok]
    return Run(left, sets, asked, made, reads, sorted(reads, key=lambda each: each.end or 0))


def _voter(change: Operation) -> Voter:
    value = asked_voter(change)
    return Voter(id=value["id"], directory=value["directory"])


# --- requests and records -----------------------------------------------------------------


def _not_recorded(run: Run) -> Iterator[Finding]:
    """Of each kind of change, more that were acknowledged than there are."""
    there = Counter(change for change, _ in run.made)
    acknowledged = _by_change([each for each in run.asked if each.operation.ok])
    for change, own in acknowledged.items():
        if len(own) > there[change]:
            yield finding(
                f"to {_named(change)} was acknowledged {len(own)} times, and stands in the "
                f"committed log {there[change]} times (operations "
                f"{', '.join(str(each.index) for each in own)})",
                own,
                _records(run, change),
                clause=RECORDED.name,
                by=[DISKS],
            )


def _not_asked(run: Run) -> Iterator[Finding]:
    """Of each kind of change, more that there are than were asked for."""
    asked = _by_change(run.asked)
    for change, times in Counter(change for change, _ in run.made).items():
        own = asked.get(change, [])
        if times > len(own):
            yield finding(
                f"to {_named(change)} stands in the committed log {times} times, and was asked "
                f"for, and not refused, {len(own)} times",
                own,
                _records(run, change),
                clause=ASKED.name,
                by=[CLIENTS],
            )


def _dated(run: Run) -> list[Made]:
    """The changes of the log, each with the end of the first answer by which it was committed."""
    shown: list[tuple[Offset, int]] = []
    """(high watermark, end of the answer that told it first), rising."""
    for read in run.ended:
        high = voters_view(read)["high_watermark"]
        if not shown or high > shown[-1][0]:
            shown.append((high, read.end or 0))
    dated = []
    for change, step in run.made:
        at = bisect_right(shown, step.record.offset, key=lambda each: each[0])
        dated.append(Made(change, shown[at][1] if at < len(shown) else NEVER))
    return dated


def _no_order(run: Run, order: Explained) -> Finding:
    """Where it ends that requests can be put in the log's order."""
    at = min(len(order.requests), len(run.made) - 1)
    change, step = run.made[at]
    own = _by_change(run.asked)[change]
    return finding(
        f"in no order of the requests is the change at offset {step.record.offset}, to "
        f"{_named(change)}, behind the {at} before it, made by when somebody was shown it, and "
        "each acknowledged one in the log",
        own,
        [step.record],
        clause=ORDER.name,
    )


def _by_change(asked: Sequence[Asked]) -> Mapping[Change, list[Operation]]:
    found: dict[Change, list[Operation]] = defaultdict(list)
    for each in asked:
        found[each.change].append(each.operation)
    return found


def _records(run: Run, change: Change) -> list[VotersNamed]:
    return [step.record for made, step in run.made if made == change]


def _named(change: Change) -> str:
    does, voter = change
    return f"{does} voter {voter.id} ({voter.directory})"


def _many_at_once(sets: VoterSets) -> Iterator[Finding]:
    for step in sets.steps:
        if len(step.changes) > 1:
            what = ", ".join(map(_named, step.changes))
            yield finding(
                f"the record at offset {step.record.offset} makes voters {text(step.before)} into "
                f"{text(step.after)}: {what}",
                evidence=[step.record],
                clause=ONE.name,
            )


# --- what leaders told --------------------------------------------------------------------


def _wrongly_told(run: Run) -> Iterator[Finding]:
    """Answers whose voters are in force nowhere in the leader's log, as far as it may reach."""
    acknowledged = list(_acknowledged(run))
    highest: dict[tuple[int, int], int] = defaultdict(int)
    at = 0
    for read in run.reads:
        while run.ended[at].precedes(read):  # none precedes itself
            before = voters_view(run.ended[at])
            led = (before["leader"], before["leader_epoch"])
            highest[led] = max(highest[led], before["high_watermark"])
            at += 1
        view = voters_view(read)
        epoch = view["leader_epoch"]
        there = [
            step.record.offset + 1
            for operation, step in acknowledged
            if operation.precedes(read) and step.record.epoch <= epoch
        ]
        low = max((view["high_watermark"], highest[view["leader"], epoch], *there))
        if (wrong := _in_force_nowhere(run, read, low)) is not None:
            yield wrong


def _acknowledged(run: Run) -> Iterator[tuple[Operation, Step]]:
    """Changes that were acknowledged, each with its record, where that is sure: all that asked for
    that change were answered, one after the other, and there are as many records. Leaders of its
    epoch and of later ones have it from then on."""
    for change, own in _by_change(run.asked).items():
        steps = [step for made, step in run.made if made == change]
        in_turn = all(one.precedes(other) for one, other in pairwise(own))
        if in_turn and len(steps) == len(own) and all(each.ok for each in own):
            yield from zip(own, steps, strict=True)


def _in_force_nowhere(run: Run, read: Operation, low: int) -> Finding | None:
    view = voters_view(read)
    told = frozenset(Voter(id=each["id"], directory=each["directory"]) for each in view["voters"])
    end = view["log_end"]
    high = run.left.end if end is None else max(end, low)
    sets = run.sets.between(low, high)
    if told in sets or _not_committed(run, read, told, sets):
        return None
    known = " or ".join(sorted(map(text, sets)))
    till = "the end of its log" if end is None else f"offset {end}, where its log ends,"
    return finding(
        f"leader {view['leader']} of epoch {view['leader_epoch']} told that {text(told)} vote, in "
        f"directories {sorted(each.directory for each in told)}; from offset {low} to {till} the "
        f"committed log has {known}",
        [read],
        [step.record for step in run.sets.within(low, high)],
        clause=TOLD.name,
        by=[DISKS],
    )


def _not_committed(run: Run, read: Operation, told: Voters, sets: set[Voters]) -> bool:
    """Whether the leader may have a record that was never committed, of a change that somebody had
    asked for: one, as there is none behind it before it is. Not so where the last record of its log
    is of its epoch, and committed: so is all that it had."""
    view = voters_view(read)
    last = run.left.entries.get((view["log_end"] or 0) - 1)
    if last is not None and last[0] == view["leader_epoch"]:
        return False
    asked = {each.change for each in run.asked if each.operation.index < (read.end or 0)}
    return any(len(done := changes(before, told)) == 1 and done[0] in asked for before in sets)


# --- elections and snapshots --------------------------------------------------------------


def _elected(record: LeaderAnnounced, sets: VoterSets) -> Iterator[Finding]:
    voters = {each.id for each in sets.at(record.offset)}
    if wrong := badly_elected(record, voters):
        yield finding(
            f"{sorted(voters)} vote by the log below offset {record.offset}, and leader "
            f"{record.leader}, whose epoch {record.epoch} begins there, {wrong}",
            evidence=[record],
            clause=ELECTED.name,
        )


def _snapshot(each: SnapshotFile, sets: VoterSets) -> Iterator[Finding]:
    named, known = frozenset(each.voters or ()), sets.at(each.end_offset)
    if named != known:
        yield finding(
            f"{each.node} has a snapshot up to {each.end_offset} by which {text(named)} vote, in "
            f"directories {sorted(one.directory for one in named)}; by the log below {text(known)} "
            f"do, in {sorted(one.directory for one in known)}",
            evidence=[each],
            clause=SNAPSHOTS.name,
        )


class VoterChanges(RunChecker):
    name = "voter-changes"
    summary = (
        "Who votes changes by requests alone, one voter at a time, as the log says, and leaders "
        "tell nobody otherwise"
    )
    requires = frozenset({VOTER_CHANGES}) | disk_of(VotersNamed, LogOnDisk)
    clauses = CLAUSES
    check_run = RunCheck(voter_changes, disk=DISK_KINDS, fs=(*ASKS, WHO_VOTES))
