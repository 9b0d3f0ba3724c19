"""What nodes tell anybody of the quorum that they form (D.3, D.6, D.8): the harness's observer, or
clients."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from checkers.folds.cluster.observed import (
    ANSWERS,
    Judgement,
    Nodes,
    answered,
    asked_ns,
    ended_ns,
    span_ns,
)
from checkers.folds.history.lives import Lives
from checkers.folds.history.observations import VIEWS
from checkers.folds.history.peace import Quiet, fencing_ns
from checkers.folds.history.quorum_views import View
from checkers.folds.history.roles import CONTROLLER, fixed_voters, ids_in
from checkers.folds.history.sweeps import falls
from framework.checking.findings import finding
from framework.evidence.run_events import RunEvents
from framework.history.event import Recorded
from framework.history.pairing import Operation
from framework.plugins.capabilities import VOTER_CHANGES
from framework.plugins.checker import CLIENTS, LEDGER, Clause, Count, Finding

ONE_LEADER: Final = Clause(
    name="one-leader",
    says="An epoch of the quorum has one leader, whichever node tells of it",
    compares="answers that name the leader of an epoch which another node had named",
    floor=6,
    because="two rounds of three nodes, the fewest that can disagree and still work",
    sources=(CLIENTS, LEDGER),
    blind="an epoch that was over before anybody was asked; two that lead, and say the same of "
    "one; whether who leads is a voter",
)
ALL_VOTE: Final = Clause(
    name="all-vote",
    says="A leader that tells of those who vote tells of each once, and of nobody else",
    compares="answers of leaders that tell of voters, held against the plan",
    floor=4,
    because="a leader tells it in each round, through several nodes; four are two rounds",
    sources=(CLIENTS, LEDGER),
    blind="leaders that tell of no voter at all; where voters come and go (there it is "
    "voter-changes' question, of what clients were told)",
)
NO_WAY_BACK: Final = Clause(
    name="no-way-back",
    says="Neither the leader epoch nor the high watermark that a process tells goes back; nor does "
    "that of a leader in its epoch, nor the end of its log",
    compares="answers of a process, or of a leader in its epoch, after another one of its own",
    floor=6,
    because="two answers each of three nodes after their first; a run of 10 s has more",
    sources=(CLIENTS, LEDGER),
    blind="what goes back and forth between two questions; a restart that the harness did not make",
)
COMMITTED_KEPT: Final = Clause(
    name="committed-kept",
    says="What was told to be committed is in the log of whoever leads later",
    compares="answers of leaders about their log, after a high watermark was told",
    floor=4,
    because="a leader tells it in each round, of itself and through others; four are two rounds",
    sources=(CLIENTS, LEDGER),
    blind="records that were exchanged for others: lengths of logs are compared; a leader that "
    "does not tell of its own log",
)
MAJORITY_HAS: Final = Clause(
    name="majority-has",
    says="A leader calls nothing committed that by its own word a majority of those who vote lacks",
    compares="answers of leaders that tell how far the logs of enough voters are",
    floor=4,
    because="as for all-vote",
    sources=(LEDGER,),
    blind="a leader that says of all that they have everything; where voters come and go, as what "
    "was committed stays so",
)
LET_GO: Final = Clause(
    name="let-go",
    says="No node goes on for long as the leader of an epoch that is over",
    compares="answers of nodes that had led, asked after a later epoch was told of",
    floor=2,
    because="one may be a last word; where fewer were asked for, there was no occasion. Where a "
    "former leader was asked three times in peace, this run needs two of each such one: "
    "silence does not show that it let go, and is a finding of heard where it lasts",
    sources=(LEDGER,),
    blind="leaders that are deposed where nobody asks, or for less time than it takes to fence a "
    "broker; silence that a fault excuses",
)
ASKED: Final = 3
"""Questions: of fewer each one in vain may have met a bad moment."""
ONE_NODE: Final = "the cluster is one node"
NOT_FIXED: Final = "who votes may change, or the plan does not say who does"
NOBODY_DEPOSED: Final = "nobody who had led was asked after a later epoch was told of"


def one_leader(views: Iterable[View], nodes: Nodes) -> Judgement:
    first: dict[int, View] = {}
    compared, findings = 0, {}
    for view in views:
        if view.leader < 0:
            continue
        before = first.setdefault(view.epoch, view)
        compared += before.operation.node != view.operation.node
        if before.leader != view.leader and view.epoch not in findings:
            findings[view.epoch] = finding(
                f"epoch {view.epoch} of the quorum has two leaders: {before}; {view}",
                [before.operation, view.operation],
                clause=ONE_LEADER.name,
            )
    return compared if len(nodes) > 1 else ONE_NODE, list(findings.values())


def all_vote(views: Iterable[View], plan: Mapping[str, Recorded]) -> Judgement:
    """A quorum that nobody may change is the plan's, in every answer."""
    members = sorted(fixed_voters(plan))
    if not members:
        return NOT_FIXED, ()
    answers = [each for each in views if each.voters]
    wrong = [each for each in answers if sorted(each.voters) != members]
    findings = [
        finding(
            f"leader {each.leader} in epoch {each.epoch} tells, by {each.operation.node} "
            f"(operation {each.operation.index}), that {sorted(each.voters)} vote, and {members} "
            "do",
            [each.operation],
            clause=ALL_VOTE.name,
        )
        for each in wrong[:1]
    ]
    return len(answers), findings


@dataclass(frozen=True, slots=True)
class Reading:
    """A number that an answer tells, and what it stands for."""

    operation: Operation
    value: int
    view: View


def no_way_back(views: Iterable[View], lives: Lives) -> Judgement:
    groups: dict[tuple[object, str], list[Reading]] = defaultdict(list)
    for view in views:
        for of_whom, what, value in _told(view, lives):
            groups[of_whom, what].append(Reading(view.operation, value, view))
    findings = [
        finding(
            f"{what}, went back: {before.view}; then {after.view}",
            [before.operation, after.operation],
            clause=NO_WAY_BACK.name,
        )
        for (_, what), own in groups.items()
        for before, after in falls(own)
    ]
    return sum(len(own) - 1 for own in groups.values()), findings


def _told(view: View, lives: Lives) -> Iterator[tuple[object, str, int]]:
    """Numbers that do not go back: whose, what they are, and how high."""
    life = lives.of(view.operation) if view.its_own else None
    if life is not None:
        process = f"{view.operation.node}, though it was not restarted"
        yield life, f"the leader epoch of {process}", view.epoch
        if view.high_watermark >= 0:
            yield life, f"the high watermark of {process}", view.high_watermark
    if view.of_leader:
        leader = f"leader {view.leader} in epoch {view.epoch}"
        led = view.leader, view.epoch
        if view.high_watermark >= 0:
            yield led, f"the high watermark of {leader}", view.high_watermark
        if view.end is not None:
            yield led, f"the end of the log of {leader}", view.end


def committed_kept(views: Sequence[View]) -> Judgement:
    """Sweeps over questions with the highest high watermark of each epoch that had been told."""
    ended = sorted(views, key=lambda each: each.operation.end or 0)
    asked = sorted(views, key=lambda each: each.operation.index)
    highest: dict[int, View] = {}
    at, compared = 0, 0
    findings = []
    for view in asked:
        while ended[at].operation.precedes(view.operation):  # none precedes itself
            before = highest.setdefault(ended[at].epoch, ended[at])
            if ended[at].high_watermark > before.high_watermark:
                highest[ended[at].epoch] = ended[at]
            at += 1
        if view.end is None:
            continue
        bound = [each for epoch, each in highest.items() if epoch <= view.epoch]
        compared += bool(bound)
        most = max((*bound, view), key=lambda each: each.high_watermark)
        if most.high_watermark > view.end:
            findings.append(
                finding(
                    f"the log of leader {view.leader} in epoch {view.epoch} ends at {view.end} "
                    f"(operation {view.operation.index}), below what had been told to be "
                    f"committed: {most}",
                    [most.operation, view.operation],
                    clause=COMMITTED_KEPT.name,
                )
            )
    return compared, findings


def majority_has(views: Iterable[View], plan: Mapping[str, Recorded]) -> Judgement:
    """Kafka's leader tells its high watermark and its voters' ends of one moment, and takes the one
    from the others (KIP-595, `LeaderState`)."""
    if VOTER_CHANGES in (plan.get("provides") or ()):
        return NOT_FIXED, ()
    told = [(each, each.held) for each in views if each.held is not None]
    findings = [
        finding(
            f"{view} calls committed what a majority of those who vote does not have, by the same "
            f"answer: only up to {held}",
            [view.operation],
            clause=MAJORITY_HAS.name,
        )
        for view, held in told
        if view.high_watermark > held
    ]
    return len(told), findings[:1]


def let_go(events: RunEvents, views: Sequence[View], quiet: Sequence[Quiet]) -> Judgement:
    """Who is to be deposed for hearing of nobody has noticed by when others fence a silent one."""
    long_ns = fencing_ns(events.plan)
    machines, succeeded = events.machines, _Succession(views)
    controllers = ids_in(events.plan, CONTROLLER)
    own = {each.operation.index: each for each in views if of_itself(each, controllers)}
    asked: dict[str, list[Operation]] = defaultdict(list)
    for each in events.observations:
        if each.f in VIEWS:
            asked[str(each.node)].append(each)
    former, findings = [], []
    for node, operations in asked.items():
        machine = machines.of_clients(node)
        former.append(_since_deposed(operations, own, succeeded))
        for late, group in groupby(operations, lambda each: succeeded.late(own.get(each.index))):
            streak = list(group)
            span = span_ns(streak[0], streak[-1])
            if late is not None and len(streak) >= ANSWERS and machine.gave_ns(*span) >= long_ns:
                findings.append(_went_on(node, streak, late))
    return _heard_of(former, quiet), findings


def _heard_of(former: Sequence[Sequence[Operation]], quiet: Sequence[Quiet]) -> Count:
    """How many answers there are of those who had led, by the questions that each was asked since.
    Who was asked often enough in peace, when a node that lives answers, owes so many answers."""
    heard = [sum(map(answered, own)) for own in former]
    owing = [sum(any(each.holds(one) for each in quiet) for one in own) >= ASKED for own in former]
    told = [count for count, owes in zip(heard, owing, strict=True) if owes]
    if any(count < LET_GO.floor for count in told):
        return sum(min(count, LET_GO.floor) for count in told), LET_GO.floor * len(told)
    return sum(heard) if sum(heard) >= LET_GO.floor else NOBODY_DEPOSED


class _Succession:
    """From when on each epoch was over, by what was told of a later one."""

    def __init__(self, views: Iterable[View]) -> None:
        self._first: list[View] = []
        """Those that told of a higher epoch than all before, in the order of their ends."""
        for each in sorted(views, key=lambda each: each.operation.end or 0):
            if not self._first or each.epoch > self._first[-1].epoch:
                self._first.append(each)

    def after(self, epoch: int) -> View | None:
        """Who first told of a later one."""
        return next((each for each in self._first if each.epoch > epoch), None)

    def late(self, view: View | None) -> int | None:
        """The epoch of an answer that was asked for once that was over; else None."""
        later = None if view is None else self.after(view.epoch)
        if view is None or later is None or not later.operation.precedes(view.operation):
            return None
        return view.epoch


def of_itself(view: View, controllers: Mapping[str, int]) -> bool:
    """A node tells that it leads."""
    return view.leader >= 0 and controllers.get(str(view.operation.node)) == view.leader


def _since_deposed(
    operations: Iterable[Operation], own: Mapping[int, View], succeeded: _Succession
) -> list[Operation]:
    """What a node that had told that it leads was asked after somebody told of a later epoch."""
    led: View | None = None
    since = []
    for each in operations:
        later = None if led is None else succeeded.after(led.epoch)
        if later is not None and later.operation.precedes(each):
            since.append(each)
        led = own.get(each.index, led)
    return since


def _went_on(node: str, streak: Sequence[Operation], epoch: int) -> Finding:
    first, last = streak[0], streak[-1]
    return finding(
        f"{node} tells that it leads epoch {epoch} in {len(streak)} answers one after another, "
        f"from {asked_ns(first) / 1e9:.1f} s to {ended_ns(last) / 1e9:.1f} s, though a later "
        f"epoch had been told of before (operations {first.index} to {last.index})",
        [first, last],
        clause=LET_GO.name,
    )
