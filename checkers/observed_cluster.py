"""What nodes tell anybody of their cluster fits together, whoever is asked (D.3, D.6, D.8, D.13,
D.19).

Judged from the answers to the harness's observer alone, with its marks and its ledger: no node's
event and no client is asked. An answer holds for some moment between its question and its end;
answers are compared only where one had ended before the other was asked for.

What is owed is owed in peace: from a run's begin, from when the cluster was seen to settle, or from
when the system says that it needs no longer to recover, until the next fault. One bad moment of a
loaded machine is no finding: what is wrong has to stay wrong.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Final, TypeAlias, TypeVar

from checkers.folds.lives import Lives
from checkers.folds.observations import OWN_VIEW, VIEWS
from checkers.folds.peace import (
    FOREVER_NS,
    Quiet,
    Stretch,
    Upset,
    fencing_ns,
    missed_by_ns,
    owed_in,
    quiet_times,
)
from checkers.folds.peace import recovery_ns as recovery_of
from checkers.folds.roles import BROKER, CONTROLLER, ids_in, nodes_by_id
from checkers.folds.sweeps import falls
from checkers.folds.values import cluster_view, log_ends, quorum_view
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import NO_LEADER
from framework.evidence.machine import Machine
from framework.evidence.run_events import FaultRecord, RunEvents, voters
from framework.history.event import Recorded
from framework.history.pairing import Operation
from framework.plugins.capabilities import NODE_ANSWERS, VOTER_CHANGES
from framework.plugins.checker import LEDGER, Clause, Count, Finding
from framework.plugins.outcomes import CLIENT_TIMED_OUT, CONNECTION_FAILED, CONNECTION_LOST

TOPICS: Final = "describe-topics"
LISTS: Final = ("describe-cluster", TOPICS)
SILENCE: Final = frozenset({CLIENT_TIMED_OUT, CONNECTION_FAILED, CONNECTION_LOST})
"""Codes that no node gave."""
OURS: Final = frozenset({"NO_CLIENT"})
"""Codes of the engine: nobody was asked."""
TRIES: Final = 3
"""Questions in vain, of one node: fewer may have met a bad moment each."""
ANSWERS: Final = 2
"""Wrong answers of one node, one after another: the same."""

ONE_LEADER: Final = Clause(
    name="one-leader",
    says="An epoch of the quorum has one leader, whichever node tells of it",
    compares="answers that name the leader of an epoch which another node had named",
    floor=6,
    because="two rounds of three nodes, the fewest that can disagree and still work",
    sources=(LEDGER,),
    blind="an epoch that was over before anybody was asked; two that lead, and say the same of "
    "one; whether who leads is a voter",
)
NO_WAY_BACK: Final = Clause(
    name="no-way-back",
    says="Neither the leader epoch nor the high watermark that a process tells goes back; nor does "
    "that of a leader in its epoch",
    compares="answers of a process, or of a leader in its epoch, after another one of its own",
    floor=6,
    because="two answers each of three nodes after their first; a run of 10 s has more",
    sources=(LEDGER,),
    blind="what goes back and forth between two questions; a restart that the harness did not make",
)
COMMITTED_KEPT: Final = Clause(
    name="committed-kept",
    says="What was told to be committed is in the log of whoever leads later",
    compares="answers of leaders about their log, after a high watermark was told",
    floor=4,
    because="a leader tells it in each round, of itself and through others; four are two rounds",
    sources=(LEDGER,),
    blind="records that were exchanged for others: lengths of logs are compared; a leader that "
    "does not tell of its own log, or by whose word too few have what it calls committed",
)
LIVE_LISTED: Final = Clause(
    name="live-listed",
    says="In peace, brokers tell of every broker that lives",
    compares="lists of brokers in peace",
    floor=2,
    because="this run needs two of each of its brokers: what one says once is no state",
    sources=(LEDGER,),
    blind="brokers that are none of the plan's, as those that clients play; what is wrong for less "
    "time than recovery takes, where it is right again in the end",
)
DEAD_UNLISTED: Final = Clause(
    name="dead-unlisted",
    says="No broker tells for long of a broker whose process has ended, or which a fault keeps "
    "from every controller, or that it leads",
    compares="lists of brokers while a broker had been gone for longer than it takes to fence it",
    floor=2,
    because="what one says once is no state",
    sources=(LEDGER,),
    blind="brokers that are none of the plan's; one that is gone for a shorter time, or fenced "
    "though no fault keeps it from anybody",
)
ALL_IN_SYNC: Final = Clause(
    name="all-in-sync",
    says="In peace, a replica whose broker lives is not out of sync for long, nor is a partition "
    "without a leader that has one in sync",
    compares="answers of brokers in peace that tell of partitions",
    floor=2,
    because="one partition, shown twice",
    sources=(LEDGER,),
    blind="peace that is shorter than recovery; topics that an answer leaves out for their number",
)
ONE_ADDRESS: Final = Clause(
    name="one-address",
    says="A broker's id has one address, whoever tells it, and no other's",
    compares="mentions of an id's address beside another one",
    floor=6,
    because="two rounds of three brokers",
    sources=(LEDGER,),
    blind="brokers that are none of the plan's; a second process of an id that never gets it",
)
HEARD: Final = Clause(
    name="heard",
    says="A node that lives answers: in peace none is silent for long, or refuses for long to tell "
    "its own view of the quorum, or knows no leader in it",
    compares="answers, two of each node at most",
    floor=2,
    because="this run needs two of each node of the plan: who never answers told nothing wrong",
    sources=(LEDGER,),
    blind="silence that a fault excuses, or that lasts for less time than recovery takes; errors, "
    "where a node is asked for nothing that it has to know by itself",
)
LET_GO: Final = Clause(
    name="let-go",
    says="No node goes on for long as the leader of an epoch that is over",
    compares="answers of nodes that had led, asked after a later epoch was told of",
    floor=2,
    because="one may be a last word; where fewer were given, there was no occasion",
    sources=(LEDGER,),
    blind="leaders that are deposed where nobody asks, or for less time than it takes to fence a "
    "broker",
)
ALL_VOTE: Final = Clause(
    name="all-vote",
    says="A leader that tells of those who vote tells of each once, and of nobody else",
    compares="answers of leaders that tell of voters, held against the plan",
    floor=4,
    because="a leader tells it in each round, through several nodes; four are two rounds",
    sources=(LEDGER,),
    blind="leaders that tell of no voter at all; where voters come and go (there it is "
    "voter-changes' question, of what clients were told)",
)
CLAUSES: Final = (
    ONE_LEADER,
    ALL_VOTE,
    NO_WAY_BACK,
    COMMITTED_KEPT,
    LET_GO,
    LIVE_LISTED,
    DEAD_UNLISTED,
    ALL_IN_SYNC,
    ONE_ADDRESS,
    HEARD,
)

Lists: TypeAlias = "Sequence[BrokerList]"
Nodes: TypeAlias = Mapping[str, Mapping[str, Recorded]]
"""Of the plan."""


def observed_cluster(events: RunEvents) -> Outcome:
    nodes: Nodes = events.plan.get("nodes") or {}
    views, lists = list(_views(events.observations)), list(_lists(events.observations))
    recovery_ns = recovery_of(events.plan)
    quiet = quiet_times(events)
    judgements: dict[Clause, Judgement] = {
        ONE_LEADER: _one_leader(views, nodes),
        ALL_VOTE: _all_vote(views, events.plan),
        NO_WAY_BACK: _no_way_back(views, Lives(events.faults)),
        COMMITTED_KEPT: _committed_kept(views),
        LET_GO: _let_go(events, views),
        LIVE_LISTED: _live_listed(lists, quiet, events, recovery_ns),
        DEAD_UNLISTED: _dead_unlisted(lists, events, nodes),
        ALL_IN_SYNC: _all_in_sync(events, quiet, recovery_ns),
        ONE_ADDRESS: _one_address(lists, nodes_by_id(events.plan, BROKER)),
        HEARD: _heard(events, nodes, recovery_ns),
    }
    counts = {clause.name: count for clause, (count, _) in judgements.items()}
    findings = [each for _, found in judgements.values() for each in found]
    figures = {
        "answers": sum(map(_answered, events.observations)),
        "unanswered": sum(map(_unanswered, events.observations)),
        "epochs": len({each.epoch for each in views}),
    }
    return weighed(counts, findings, figures)


Judgement: TypeAlias = tuple[Count, Sequence[Finding]]
"""Of a clause: how much was compared, and what breaks it."""


# --- what was told ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The quorum by an answer. `leader`: -1, there is none. `end`: of the leader's log; None: not
    told. `voters`: as it names them, maybe one twice; empty: it names none."""

    operation: Operation
    leader: int
    epoch: int
    high_watermark: int
    end: int | None
    voters: Sequence[int] = ()

    def __str__(self) -> str:
        return (
            f"leader {self.leader} in epoch {self.epoch}, high watermark {self.high_watermark}, by "
            f"{self.operation.node} (operation {self.operation.index})"
        )


@dataclass(frozen=True, slots=True)
class BrokerList:
    """Brokers by an answer: id -> address, and of those that it names twice, another one.
    `leaders`: of the partitions that it tells of."""

    operation: Operation
    brokers: Mapping[int, str]
    others: Mapping[int, str]
    leaders: frozenset[int]


def _views(observations: Iterable[Operation]) -> Iterator[View]:
    for each in observations:
        if each.ok and each.f in VIEWS:
            reported = quorum_view(each)
            end = log_ends(reported).get(reported["leader"], -1)
            yield View(
                operation=each,
                leader=reported["leader"],
                epoch=reported["leader_epoch"],
                high_watermark=reported["high_watermark"],
                end=end if end >= 0 else None,
                voters=[number for number, _ in reported.get("voters") or ()],
            )


def _lists(observations: Iterable[Operation]) -> Iterator[BrokerList]:
    for each in observations:
        if each.ok and each.f in LISTS:
            reported = cluster_view(each)
            brokers, others = dict[int, str](), dict[int, str]()
            for broker in reported["brokers"]:
                address = f"{broker['host']}:{broker['port']}"
                if brokers.setdefault(broker["id"], address) != address:
                    others[broker["id"]] = address
            topics = reported.get("topics") or ()
            leaders = {own["leader"] for topic in topics for own in topic["partitions"]}
            yield BrokerList(each, brokers, others, frozenset(leaders))


def _answered(operation: Operation) -> bool:
    """The node said something, whatever it was."""
    return operation.ok or (operation.failed and operation.error_code not in {*SILENCE, *OURS})


def _unanswered(operation: Operation) -> bool:
    return operation.error_code in SILENCE


# --- the quorum ---------------------------------------------------------------------------


def _one_leader(views: Iterable[View], nodes: Nodes) -> Judgement:
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


ONE_NODE: Final = "the cluster is one node"


def _all_vote(views: Iterable[View], plan: Mapping[str, Recorded]) -> Judgement:
    """A quorum that nobody may change is the plan's, in every answer."""
    ids = ids_in(plan, CONTROLLER)
    members = sorted(ids[name] for name in voters(plan) if name in ids)
    if VOTER_CHANGES in (plan.get("provides") or ()) or not members:
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


NOT_FIXED: Final = "who votes may change, or the plan does not say who does"


@dataclass(frozen=True, slots=True)
class Reading:
    """A number that an answer tells, and what it stands for."""

    operation: Operation
    value: int
    view: View


def _no_way_back(views: Iterable[View], lives: Lives) -> Judgement:
    groups: dict[tuple[object, str], list[Reading]] = defaultdict(list)
    for view in views:
        operation = view.operation
        life: tuple[object, int] | None = (view.leader, view.epoch)
        who = f"leader {view.leader} in epoch {view.epoch}"
        if operation.f == OWN_VIEW:
            life, who = lives.of(operation), f"{operation.node}, though it was not restarted"
            if life is None:
                continue
            groups[life, f"the leader epoch of {who}"].append(Reading(operation, view.epoch, view))
        if view.high_watermark >= 0:
            reading = Reading(operation, view.high_watermark, view)
            groups[life, f"the high watermark of {who}"].append(reading)
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


def _committed_kept(views: Sequence[View]) -> Judgement:
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


def _let_go(events: RunEvents, views: Sequence[View]) -> Judgement:
    """Who is to be deposed for hearing of nobody has noticed by when others fence a silent one."""
    long_ns = fencing_ns(events.plan)
    machines, succeeded = events.machines, _Succession(views)
    controllers = ids_in(events.plan, CONTROLLER)
    own = {each.operation.index: each for each in views if _of_itself(each, controllers)}
    asked: dict[str, list[Operation]] = defaultdict(list)
    for each in events.observations:
        if each.f in VIEWS:
            asked[str(each.node)].append(each)
    compared, findings = 0, []
    for node, operations in asked.items():
        machine = machines.of_clients(node)
        compared += _of_former_leaders(operations, own, succeeded)
        for late, group in groupby(operations, lambda each: succeeded.late(own.get(each.index))):
            streak = list(group)
            span = _span(streak[0], streak[-1])
            if late is not None and len(streak) >= ANSWERS and machine.gave_ns(*span) >= long_ns:
                findings.append(_went_on(node, streak, late))
    return compared if compared >= LET_GO.floor else NOBODY_DEPOSED, findings


NOBODY_DEPOSED: Final = "nobody who had led was asked after a later epoch was told of"


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


def _of_itself(view: View, controllers: Mapping[str, int]) -> bool:
    """A node tells that it leads."""
    return view.leader >= 0 and controllers.get(str(view.operation.node)) == view.leader


def _of_former_leaders(
    operations: Iterable[Operation], own: Mapping[int, View], succeeded: _Succession
) -> int:
    """Answers of a node that had told that it leads, after somebody told of a later epoch."""
    led: View | None = None
    count = 0
    for each in operations:
        later = None if led is None else succeeded.after(led.epoch)
        count += later is not None and _answered(each) and later.operation.precedes(each)
        led = own.get(each.index, led)
    return count


def _went_on(node: str, streak: Sequence[Operation], epoch: int) -> Finding:
    first, last = streak[0], streak[-1]
    return finding(
        f"{node} tells that it leads epoch {epoch} in {len(streak)} answers one after another, "
        f"from {_asked_ns(first) / 1e9:.1f} s to {_ended_ns(last) / 1e9:.1f} s, though a later "
        f"epoch had been told of before (operations {first.index} to {last.index})",
        [first, last],
        clause=LET_GO.name,
    )


def _asked_ns(operation: Operation) -> int:
    return operation.invoked_ns or 0


def _ended_ns(operation: Operation) -> int:
    return operation.completed_ns or _asked_ns(operation)


def _span(first: Operation, last: Operation) -> tuple[int, int]:
    return _asked_ns(first), _ended_ns(last)


# --- lists of brokers ---------------------------------------------------------------------


def _by_node(lists: Iterable[BrokerList]) -> Mapping[str, list[BrokerList]]:
    found: dict[str, list[BrokerList]] = defaultdict(list)
    for each in lists:
        found[str(each.operation.node)].append(each)
    return found


def _live_listed(
    lists: Sequence[BrokerList], quiet: Sequence[Quiet], events: RunEvents, recovery_ns: int
) -> Judgement:
    brokers = ids_in(events.plan, BROKER)
    patience = Patience(events.machines.cluster, Upset.of(events), recovery_ns)
    findings, compared = [], Counter[str]()
    for peace in quiet:
        ends = partial(patience.ends, peace.settled)
        owing = [each for each in lists if peace.holds(each.operation)]
        for node, own in _by_node(owing).items():
            compared[node] += len(own)
            findings += [
                _listing(node, "does not tell of", name, number, streak, LIVE_LISTED)
                for name, number in brokers.items()
                for streak in _wrong_lists(own, partial(_keeps_quiet_of, number), ends)
            ]
    if not quiet:
        return NO_PEACE, findings
    enough = sum(min(ANSWERS, count) for count in compared.values())
    return (enough, ANSWERS * len(brokers)), findings


NO_PEACE: Final = "there was no peace after which brokers owe this"


@dataclass(frozen=True, slots=True)
class Patience:
    """With a list that is wrong in peace."""

    machine: Machine
    upset: Upset
    recovery_ns: int

    def ends(self, settled: bool, streak: Lists, of: Lists) -> bool:
        """After as long as recovery takes; in a cluster that was seen to settle also where no list
        was ever right, and that is not the machine's doing. `of`: the lists of this peace."""
        begin_ns, end_ns = _span(streak[0].operation, streak[-1].operation)
        whole = settled and len(streak) == len(of)
        long = self.machine.gave_ns(begin_ns, end_ns) >= self.recovery_ns
        return long or (whole and not self.upset.at(end_ns))


Answer = TypeVar("Answer")


def _streaks(
    answers: Sequence[Answer], wrong: Callable[[Answer], bool]
) -> Iterator[Sequence[Answer]]:
    """Wrong ones that follow each other, where there are enough."""
    for is_wrong, group in groupby(answers, key=wrong):
        streak = list(group)
        if is_wrong and len(streak) >= ANSWERS:
            yield streak


def _wrong_lists(
    own: Lists,
    wrong: Callable[[BrokerList], bool],
    counts: Callable[[Lists, Lists], bool] | None = None,
) -> Sequence[Lists]:
    """Streaks of all the lists of a node, or else of those of one kind: one may be right, and the
    other wrong. `counts`: whether a streak does, of those lists; None: each does."""
    kinds = ([each for each in own if each.operation.f == f] for f in LISTS)
    for some in (own, *kinds):
        streaks = list(_streaks(some, wrong))
        if found := [each for each in streaks if counts is None or counts(each, some)]:
            return found
    return ()


def _dead_unlisted(lists: Sequence[BrokerList], events: RunEvents, nodes: Nodes) -> Judgement:
    brokers = ids_in(events.plan, BROKER)
    occasion, compared, findings = False, 0, []
    for fault, since_ns in _deaths(events, nodes):
        dead = [name for name in brokers if name in fault.gone]
        spared = fault.spared(nodes)
        owing = [
            each
            for each in lists
            if each.operation.node in spared
            and since_ns <= _asked_ns(each.operation)
            and _ended_ns(each.operation) <= (fault.over_ns or FOREVER_NS)
        ]
        occasion |= bool(dead)
        compared += len(owing) if dead else 0  # one list is one sighting, however many are gone
        for name in dead:
            for node, own in _by_node(owing).items():
                findings += [
                    _listing(node, "tells of", name, brokers[name], streak, DEAD_UNLISTED)
                    for streak in _wrong_lists(own, partial(_tells_of, brokers[name]))
                ]
    return compared if occasion else NOBODY_DEAD, findings


NOBODY_DEAD: Final = "no broker was gone for longer than it takes to fence one"


def _deaths(events: RunEvents, nodes: Nodes) -> Iterator[tuple[FaultRecord, int]]:
    """Faults that took nodes from the system and left most of it alone, as did no other meanwhile;
    and by when the others missed those nodes."""
    for fault in events.faults:
        since_ns = missed_by_ns(events, nodes, fault.injected_ns or 0)
        until_ns = fault.over_ns or FOREVER_NS
        if fault.gone and fault.effective and since_ns < until_ns:
            meanwhile = [each for each in events.faults if _meets(each, fault)]
            if meanwhile == [fault] and any(not each.calm for each in owed_in(events, meanwhile)):
                yield fault, since_ns


def _meets(one: FaultRecord, other: FaultRecord) -> bool:
    """Whether both may have held at a time."""
    return one.since_ns <= (other.over_ns or FOREVER_NS) and other.since_ns <= (
        one.over_ns or FOREVER_NS
    )


def _tells_of(number: int, each: BrokerList) -> bool:
    """As one that is there, or that leads."""
    return number in each.brokers or number in each.leaders


def _keeps_quiet_of(number: int, each: BrokerList) -> bool:
    return number not in each.brokers


def _listing(
    node: str, does: str, name: str, number: int, streak: Sequence[BrokerList], clause: Clause
) -> Finding:
    last, listed = streak[-1].operation, sorted(streak[-1].brokers)
    leads = ", which leads by that," if number in streak[-1].leaders else ""
    return finding(
        f"{node} {does} broker {number} ({name}){leads} in {len(streak)} answers one after "
        f"another, till {_ended_ns(last) / 1e9:.1f} s; operation {last.index}: {listed}",
        [each.operation for each in (streak[0], streak[-1])],
        clause=clause.name,
    )


@dataclass(frozen=True, slots=True)
class Partition:
    """What an answer tells of one. `behind`: replicas that are not in sync; `heirs`: those that
    are, and nobody leads."""

    operation: Operation
    name: str
    behind: frozenset[int]
    heirs: frozenset[int]


def _partitions(
    observations: Iterable[Operation], peace: Quiet
) -> Mapping[tuple[str, str, int], Sequence[Partition]]:
    """By who told, topic id and number: all that was told of it in peace."""
    found: dict[tuple[str, str, int], list[Partition]] = defaultdict(list)
    for each in observations:
        if each.ok and each.f == TOPICS and peace.holds(each):
            for topic in cluster_view(each).get("topics") or ():
                for partition in topic["partitions"]:
                    name = f"{topic['name']}-{partition['partition']}"
                    isr = frozenset(partition["isr"])
                    behind = frozenset(partition["replicas"]) - isr
                    heirs = isr if partition["leader"] == NO_LEADER else frozenset[int]()
                    key = (str(each.node), topic["topic_id"], partition["partition"])
                    found[key].append(Partition(each, name, behind, heirs))
    return found


def _all_in_sync(events: RunEvents, quiet: Sequence[Quiet], recovery_ns: int) -> Judgement:
    brokers = ids_in(events.plan, BROKER)
    machine = events.machines.cluster
    answers = [
        (node, own)
        for peace in quiet
        for (node, _, _), own in _partitions(events.observations, peace).items()
    ]
    findings = [
        say(node, broker, number, streak)
        for node, own in answers
        for broker, number in brokers.items()
        for wrong, say in ((_lacks, _out_of_sync), (_could_lead, _leaderless))
        for streak in _streaks(own, partial(wrong, number))
        if machine.gave_ns(*_span(streak[0].operation, streak[-1].operation)) >= recovery_ns
    ]
    compared = ALL_IN_SYNC.sightings(each.operation.index for _, own in answers for each in own)
    return compared if compared >= ALL_IN_SYNC.floor else NO_PARTITIONS, findings


NO_PARTITIONS: Final = "brokers hardly told of a partition in peace"


def _lacks(number: int, each: Partition) -> bool:
    return number in each.behind


def _could_lead(number: int, each: Partition) -> bool:
    return number in each.heirs


def _out_of_sync(node: str, broker: str, number: int, streak: Sequence[Partition]) -> Finding:
    what = f"the replica of {streak[0].name} on broker {number} ({broker}) is not in sync"
    return _for_long(node, what, streak)


def _leaderless(node: str, broker: str, number: int, streak: Sequence[Partition]) -> Finding:
    what = f"{streak[0].name} has no leader, and broker {number} ({broker}) in its ISR,"
    return _for_long(node, what, streak)


def _for_long(node: str, what: str, streak: Sequence[Partition]) -> Finding:
    first, last = streak[0].operation, streak[-1].operation
    return finding(
        f"{what} in {len(streak)} answers of {node} one after another, from "
        f"{_asked_ns(first) / 1e9:.1f} s to {_ended_ns(last) / 1e9:.1f} s, though no fault held "
        f"(operations {first.index} to {last.index})",
        [first, last],
        clause=ALL_IN_SYNC.name,
    )


def _one_address(lists: Iterable[BrokerList], names: Mapping[int, str]) -> Judgement:
    first: dict[int, BrokerList] = {}
    compared, findings = 0, dict[int, Finding]()
    for each in lists:
        for number, other in _of_one_address(each, names):
            findings.setdefault(number, _shared(each, number, other))
        for number in each.others.keys() & names.keys():
            findings.setdefault(number, _named_twice(each, number))
        for number in each.brokers.keys() & names.keys():
            compared += number in first
            before = first.setdefault(number, each)
            reported = before.brokers[number], each.brokers[number]
            if reported[0] != reported[1] and number not in findings:
                findings[number] = finding(
                    f"broker {number} ({names[number]}) has two addresses: {reported[0]} by "
                    f"{before.operation.node} (operation {before.operation.index}), "
                    f"{reported[1]} by {each.operation.node} (operation {each.operation.index})",
                    [before.operation, each.operation],
                    clause=ONE_ADDRESS.name,
                )
    return compared, list(findings.values())


def _of_one_address(each: BrokerList, names: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Brokers of the plan that an answer has at the address of another one."""
    at: dict[str, int] = {}
    for number in sorted(each.brokers.keys() & set(names)):
        other = at.setdefault(each.brokers[number], number)
        if other != number:
            yield number, other


def _shared(each: BrokerList, number: int, other: int) -> Finding:
    return finding(
        f"brokers {other} and {number} have one address by {each.operation.node} (operation "
        f"{each.operation.index}): {each.brokers[number]}",
        [each.operation],
        clause=ONE_ADDRESS.name,
    )


def _named_twice(each: BrokerList, number: int) -> Finding:
    return finding(
        f"broker {number} has two addresses by one answer of {each.operation.node} (operation "
        f"{each.operation.index}): {each.brokers[number]} and {each.others[number]}",
        [each.operation],
        clause=ONE_ADDRESS.name,
    )


# --- silence ------------------------------------------------------------------------------


def _heard(events: RunEvents, nodes: Nodes, recovery_ns: int) -> Judgement:
    asked: dict[str, list[Operation]] = {name: [] for name in nodes}
    for each in events.observations:
        asked.setdefault(str(each.node), []).append(each)
    machines = events.machines
    findings = [
        _silence(node, silent)
        for stretch in owed_in(events)
        if stretch.calm
        for node, own in asked.items()
        for silent in _silences(own, stretch) or _silences(_own_views(own), stretch, _untold)
        if machines.of_clients(node).gave_ns(*_span(silent[0], silent[-1])) >= recovery_ns
    ]
    enough = sum(min(ANSWERS, sum(map(_answered, own))) for own in asked.values())
    return (enough, ANSWERS * len(asked)), findings


def _own_views(asked: Iterable[Operation]) -> list[Operation]:
    return [each for each in asked if each.f == OWN_VIEW]


def _untold(own_view: Operation) -> bool:
    """Each node has a view of its own: whatever it answers instead, or does not, that is none; and
    one that for long has no leader in it does not work."""
    return not own_view.ok or quorum_view(own_view)["leader"] < 0


def _silences(
    asked: Iterable[Operation],
    stretch: Stretch,
    silent: Callable[[Operation], bool] = _unanswered,
) -> list[Sequence[Operation]]:
    """Questions in vain within the stretch that follow each other, where there are enough."""
    within = [
        each
        for each in asked
        if stretch.begin_ns <= _asked_ns(each) and _ended_ns(each) <= stretch.end_ns
    ]
    groups = [(is_silent, list(group)) for is_silent, group in groupby(within, key=silent)]
    return [group for is_silent, group in groups if is_silent and len(group) >= TRIES]


def _silence(node: str, silent: Sequence[Operation]) -> Finding:
    answers = filter(_answered, silent)
    codes = sorted({"that nobody leads" if each.ok else str(each.error_code) for each in answers})
    but = f" but {' or '.join(codes)}" if codes else ""
    asked = ", ".join(sorted({each.f for each in silent}))
    return finding(
        f"{node} answered nothing{but} from {_asked_ns(silent[0]) / 1e9:.1f} s to "
        f"{_ended_ns(silent[-1]) / 1e9:.1f} s, {len(silent)} questions ({asked}), though no fault "
        "held",
        [silent[0], silent[-1]],
        clause=HEARD.name,
    )


class ObservedCluster(RunChecker):
    name = "observed-cluster"
    summary = (
        "What nodes tell anybody fits together: who leads the quorum and how far it is, which "
        "brokers there are and where; and nodes that live answer"
    )
    requires = frozenset({NODE_ANSWERS})
    clauses = CLAUSES
    live = (ONE_LEADER, ALL_VOTE, ONE_ADDRESS)
    check_run = RunCheck(observed_cluster, observations=True, nemesis=True, faults=True)
