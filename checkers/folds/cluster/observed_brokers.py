"""What nodes tell anybody of the cluster's brokers: who is there, and where (D.13, D.19)."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol, TypeAlias

from checkers.folds.cluster.observed import (
    ANSWERS,
    Judgement,
    Nodes,
    asked_ns,
    ended_ns,
    span_ns,
    wrong_streaks,
)
from checkers.folds.history.peace import Quiet, Upset, held_ns, missed_by_ns, observe_ns, owed_in
from checkers.folds.history.roles import BROKER, ids_in
from checkers.folds.history.values import cluster_view
from framework.checking.findings import finding
from framework.evidence.machine import Machine
from framework.evidence.run_events import FaultRecord, RunEvents
from framework.history.pairing import Operation
from framework.plugins.checker import LEDGER, Clause, Finding

TOPICS: Final = "describe-topics"
LISTS: Final = ("describe-cluster", TOPICS)
Lists: TypeAlias = "Sequence[BrokerList]"
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
ONE_ADDRESS: Final = Clause(
    name="one-address",
    says="A broker's id has one address, whoever tells it, and no other's",
    compares="mentions of an id's address beside another one",
    floor=6,
    because="two rounds of three brokers",
    sources=(LEDGER,),
    blind="brokers that are none of the plan's; a second process of an id that never gets it",
)
NO_PEACE: Final = "there was no peace after which brokers owe this"
NOBODY_DEAD: Final = "no broker was gone for so long that it was fenced and lists were due"
ROUNDS: Final = 2
"""So many rounds of an observer's questions hold a whole one, whenever the first begins."""


@dataclass(frozen=True, slots=True)
class BrokerList:
    """Brokers by an answer: id -> address, and of those that it names twice, another one.
    `leaders`: of the partitions that it tells of."""

    operation: Operation
    brokers: Mapping[int, str]
    others: Mapping[int, str]
    leaders: frozenset[int]


def broker_lists(observations: Iterable[Operation]) -> Iterator[BrokerList]:
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


def _by_node(lists: Iterable[BrokerList]) -> Mapping[str, list[BrokerList]]:
    found: dict[str, list[BrokerList]] = defaultdict(list)
    for each in lists:
        found[str(each.operation.node)].append(each)
    return found


def live_listed(
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


class Told(Protocol):
    """A list that is right or wrong, by an answer."""

    @property
    def operation(self) -> Operation: ...


@dataclass(frozen=True, slots=True)
class Patience:
    """With a list that is wrong in peace."""

    machine: Machine
    upset: Upset
    recovery_ns: int

    def ends(self, settled: bool, streak: Sequence[Told], of: Sequence[Told]) -> bool:
        """After as long as recovery takes; in a cluster that was seen to settle also where no list
        was ever right, and that is not the machine's doing. `of`: the lists of this peace."""
        begin_ns, end_ns = span_ns(streak[0].operation, streak[-1].operation)
        whole = settled and len(streak) == len(of)
        long = self.machine.gave_ns(begin_ns, end_ns) >= self.recovery_ns
        return long or (whole and not self.upset.at(end_ns))


def _wrong_lists(
    own: Lists,
    wrong: Callable[[BrokerList], bool],
    counts: Callable[[Lists, Lists], bool] | None = None,
) -> Sequence[Lists]:
    """Streaks of all the lists of a node, or else of those of one kind: one may be right, and the
    other wrong. `counts`: whether a streak does, of those lists; None: each does."""
    kinds = ([each for each in own if each.operation.f == f] for f in LISTS)
    for some in (own, *kinds):
        streaks = list(wrong_streaks(some, wrong))
        if found := [each for each in streaks if counts is None or counts(each, some)]:
            return found
    return ()


def dead_unlisted(lists: Sequence[BrokerList], events: RunEvents, nodes: Nodes) -> Judgement:
    brokers = ids_in(events.plan, BROKER)
    round_ns = ROUNDS * observe_ns(events.plan)
    occasion, compared, findings = False, 0, []
    for fault, since_ns, until_ns in _deaths(events, nodes):
        dead = [name for name in brokers if name in fault.gone]
        spared = fault.spared(nodes)
        owing = [
            each
            for each in lists
            if each.operation.node in spared
            and since_ns <= asked_ns(each.operation)
            and ended_ns(each.operation) <= until_ns
        ]
        gave_ns = events.machines.among(*spared).gave_ns(since_ns, until_ns)
        occasion |= bool(dead) and gave_ns >= round_ns
        compared += len(owing) if dead else 0  # one list is one sighting, however many are gone
        for name in dead:
            for node, own in _by_node(owing).items():
                findings += [
                    _listing(node, "tells of", name, brokers[name], streak, DEAD_UNLISTED)
                    for streak in _wrong_lists(own, partial(_tells_of, brokers[name]))
                ]
    enough = occasion or compared >= DEAD_UNLISTED.floor
    return compared if enough else NOBODY_DEAD, findings


def _deaths(events: RunEvents, nodes: Nodes) -> Iterator[tuple[FaultRecord, int, int]]:
    """Faults that took nodes from the system and left most of it alone, as did no other meanwhile;
    by when the others missed those nodes, and until when those may be gone."""
    for fault in events.faults:
        since_ns = missed_by_ns(events, nodes, fault.injected_ns or 0)
        _, until_ns = held_ns(fault)
        if fault.gone and fault.effective:
            meanwhile = [each for each in events.faults if _meets(each, fault)]
            if meanwhile == [fault] and any(not each.calm for each in owed_in(events, meanwhile)):
                yield fault, since_ns, until_ns


def _meets(one: FaultRecord, other: FaultRecord) -> bool:
    """Whether both may have held at a time."""
    (since_ns, until_ns), (begin_ns, end_ns) = held_ns(one), held_ns(other)
    return since_ns <= end_ns and begin_ns <= until_ns


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
        f"another, till {ended_ns(last) / 1e9:.1f} s; operation {last.index}: {listed}",
        [each.operation for each in (streak[0], streak[-1])],
        clause=clause.name,
    )


def one_address(lists: Iterable[BrokerList], names: Mapping[int, str]) -> Judgement:
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
