"""Once nothing is broken any more, all nodes come to one state (D.13).

The harness saw the cluster settle after the last heal, and clients can read every topic and
partition that they ask for then. Where nodes tell of themselves, from the "final" mark until the
first one is stopped: every node has applied what was committed, with one digest; every broker is
active; no partition is without a leader though a broker of its ISR works. Two digests of one offset
are wrong at any time: a state is what its log makes it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from checkers.folds.fencing.leases import begin, ended_ns
from checkers.folds.history.brokers import FS as SYNTHETIC_FS
from checkers.folds.history.brokers import KINDS as BROKERS
from checkers.folds.history.brokers import nodes_in_service, synthetic
from checkers.folds.history.peace import Upset, recovery_ns
from checkers.folds.history.values import PartitionShown, partitions_shown
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.brokers import BrokerStateChanged
from framework.evidence.changes import NO_LEADER
from framework.evidence.clocks import (
    Moment,
    earliest_ns,
    latest_ns,
    moment_of,
    surely_before,
    surely_not_after,
)
from framework.evidence.kinds import Evidence
from framework.evidence.processes import Booted, Exited
from framework.evidence.quorum import Committed, ImageDigest
from framework.evidence.run_events import (
    RunEvents,
    alone,
    phase_ns,
    settle_marks,
    settled,
    unhealed,
    unshown,
)
from framework.history.event import Recorded
from framework.history.pairing import Operation
from framework.plugins.checker import CLIENTS, EVENTS, LEDGER, Clause, Count, Finding
from framework.plugins.options import need_positive
from framework.verdict import Verdict

TOPIC: Final = "describe"
FS: Final = (TOPIC, "metadata", "fetch")
TRIES: Final = 2
"""A read that nobody answered may have met a bad moment; two did not."""

ONE_STATE: Final = Clause(
    name="one-state",
    says="Nodes that have read a log to one offset have made one state of it",
    compares="nodes of the plan whose state was held against another's",
    floor=2,
    because="all of the plan's: it takes two to differ, and one that tells nothing may differ",
    sources=(EVENTS,),
    blind="states at offsets at which no two nodes tell a digest",
)
SETTLES: Final = Clause(
    name="settles",
    says="Once nothing is broken the cluster settles",
    compares="signs that it did, one of each node of the plan and one of all together; of a single "
    "node, looks in a row",
    floor=2,
    because="all of these: one node may keep others waiting, and each may be well though they "
    "disagree; one look at one node may have met a good moment",
    sources=(LEDGER,),
    blind="what the system does not look at before it says that it has settled",
)
CAUGHT_UP: Final = Clause(
    name="caught-up",
    says="Once nothing is broken every node comes to what is committed",
    compares="nodes of the plan whose log was followed to the end",
    floor=2,
    because="all of the plan's: each may stay behind",
    sources=(EVENTS,),
    blind="what is committed in the last seconds",
)
ACTIVE: Final = Clause(
    name="in-service",
    says="Every broker of the plan is active in the end",
    compares="brokers of the plan whose last state was told",
    floor=2,
    because="all that the metadata log ever put into service",
    sources=(EVENTS,),
    blind="a broker that left service in the last seconds",
)
READABLE: Final = Clause(
    name="readable",
    says="Every topic and partition that is read in the end can be",
    compares="reads of topics and partitions that were answered or owed",
    floor=2,
    because="one that can be read may be the only one that can, by one who answers",
    sources=(CLIENTS,),
)
LED: Final = Clause(
    name="led",
    says="No partition is without a leader in the end though a broker of its ISR works",
    compares="answers in the end with a partition that a working broker could lead",
    floor=2,
    because="one partition has its leader by chance, or by one who says so",
    sources=(CLIENTS, EVENTS),
    blind="partitions of brokers that clients play, who may be dead",
)
CLAUSES: Final = (ONE_STATE, SETTLES, CAUGHT_UP, ACTIVE, READABLE, LED)
REPORTED_AS: Final[Mapping[Clause, type[Evidence]]] = {
    ONE_STATE: ImageDigest,
    CAUGHT_UP: Committed,
    ACTIVE: BrokerStateChanged,
    LED: BrokerStateChanged,
}
"""What nodes must report of themselves for a clause to be judged."""


@dataclass(frozen=True, slots=True)
class ConvergenceOptions:
    """`catch_up`: what was committed in the last so many s that the machine gave before the end
    need not be everywhere yet."""

    catch_up: float = 2.0

    def __post_init__(self) -> None:
        need_positive(catch_up=self.catch_up)


@dataclass(frozen=True, slots=True)
class Ending:
    """The time in which convergence shows, by the harness's clock: ns since the run began.
    `due_ns`: what was committed till then is everywhere."""

    mark_ns: int
    due_ns: int
    stop_ns: int


def convergence(events: RunEvents, options: ConvergenceOptions = ConvergenceOptions()) -> Outcome:
    images = list(events.of(ImageDigest))
    digests = list(_two_digests(images))
    planned = set(_nodes_of(events.plan))
    counts: dict[str, Count] = dict.fromkeys((each.name for each in CLAUSES), 0)
    counts[ONE_STATE.name] = (len(_compared(images) & planned), len(planned))
    unreported = _unreported(events.plan)
    why = _cannot_tell(events)
    mark = phase_ns(events.nemesis, "final")
    if why is not None or mark is None:
        outcome = weighed(counts | unreported, digests)
        return outcome if digests else replace(outcome, verdict=Verdict.UNKNOWN, note=why or "")
    stop, upset = _stop_ns(events, mark), Upset.of(events)
    ending = Ending(mark, _due_ns(upset, mark, stop, round(options.catch_up * 1e9)), stop)
    before = sorted(
        (each for each in events.evidence if earliest_ns(each) < ending.stop_ns),
        key=lambda each: (each.at_ns, each.seq),
    )
    tried = _tried(events.operations, upset)
    to_lead, leaderless = _leaderless(events.operations, before, ending, upset)
    findings = [
        *digests,
        *_not_settled(events),
        *_nodes(before, events.plan, ending),
        *_brokers(before, events.plan, ending),
        *_unread(tried),
        *leaderless,
    ]
    followed = {each.node for each in before if isinstance(each, ImageDigest | Committed)}
    brokers = nodes_in_service(events)
    reported = set(_last_states(before)) & (brokers or planned)
    signs, looks = len(planned) + 1, sum(each.looks for each in settle_marks(events.nemesis)[-1:])
    counts |= {
        SETTLES.name: (looks if alone(events.plan) else signs * bool(looks), signs),
        CAUGHT_UP.name: (len(followed & planned), len(planned)),
        ACTIVE.name: (len(reported), len(brokers)),
        READABLE.name: READABLE.count(
            sum(map(len, tried.values())), _nobody_reads(events.operations)
        ),
        LED.name: to_lead or _only_synthetic(events.operations),
    }
    outcome = weighed(counts | unreported, findings, _figures(events))
    silent = sorted(planned - {each.node for each in images})
    if outcome.verdict is not Verdict.VALID or ONE_STATE.name in unreported or not silent:
        return outcome
    note = f"no state digests of {', '.join(silent)}"
    return replace(outcome, verdict=Verdict.UNKNOWN, note=note)


def _unreported(plan: Mapping[str, Recorded]) -> dict[str, str]:
    """Clauses that go by what nodes of this system do not report, and why that is."""
    reasons = ((clause, unshown(plan, kind)) for clause, kind in REPORTED_AS.items())
    return {clause.name: why for clause, why in reasons if why}


def _due_ns(upset: Upset, mark: int, stop: int, catch_up_ns: int) -> int:
    """Of what came after the mark, the last seconds need not be everywhere; of those the machine
    has to have given as many: where it upset what had settled, as many as getting over that
    takes."""
    owed_ns = max(catch_up_ns, upset.recovery_ns) if upset.at(stop) else catch_up_ns
    return upset.machine.since_ns(stop, min(owed_ns, stop - mark))


def _had_no_time(events: RunEvents) -> bool:
    """The machine gave the cluster less time than recovery takes, and less than half of what the
    harness waited, or upset it just before that was over."""
    times = [each.time_ns for each in events.nemesis if each.f == "settle"]
    machine = events.machines.of_node(*_nodes_of(events.plan))
    begin_ns, end_ns = min(times), max(times)
    needed_ns = min(recovery_ns(events.plan), (end_ns - begin_ns) // 2)
    return machine.gave_ns(begin_ns, end_ns) < needed_ns or Upset.of(events).at(end_ns)


def _compared(images: Iterable[ImageDigest]) -> set[str]:
    """Nodes that told a state at an offset at which another one did."""
    by_offset: dict[int, set[str]] = defaultdict(set)
    for each in images:
        by_offset[each.offset].add(each.node)
    return {node for nodes in by_offset.values() if len(nodes) > 1 for node in nodes}


def _cannot_tell(events: RunEvents) -> str | None:
    if phase_ns(events.nemesis, "final") is None:
        return "the run ended before its final phase: the cluster was never left in peace"
    broken = unhealed(events.faults)
    if broken:
        names = ", ".join(f"{each.fault} {each.id}" for each in broken)
        return f"not known to be healed: {names}"
    if settled(events.nemesis) is False and _had_no_time(events):
        return "the cluster did not settle, and the machine gave it too little time to"
    return None


def _nodes_of(plan: Mapping[str, Recorded]) -> list[str]:
    return sorted(plan.get("nodes") or {})


def _stop_ns(events: RunEvents, mark: int) -> int:
    """When the end of the test can have begun to show: the first node on its way out. Brokers of a
    workload's own are none of the cluster's nodes, and leave when they like."""
    nodes = _nodes_of(events.plan)
    ends = [
        earliest_ns(each)
        for each in events.of(Exited, BrokerStateChanged)
        if each.node in nodes
        and not surely_not_after(moment_of(each), Moment(mark))
        and (not isinstance(each, BrokerStateChanged) or each.after == "leaving")
    ]
    last = max((latest_ns(each) for each in events.evidence), default=mark)
    return min(ends, default=last + 1)


# --- states -------------------------------------------------------------------------------


def _two_digests(images: Iterable[ImageDigest]) -> Iterator[Finding]:
    by_offset: dict[int, dict[str, ImageDigest]] = defaultdict(dict)
    for each in images:
        by_offset[each.offset].setdefault(each.digest, each)
    for offset, digests in sorted(by_offset.items()):
        if len(digests) > 1:
            who = ", ".join(f"{each.node} {digest}" for digest, each in sorted(digests.items()))
            yield finding(
                f"the records below offset {offset} made different states: {who}",
                evidence=list(digests.values()),
                clause=ONE_STATE.name,
            )


def _not_settled(events: RunEvents) -> Iterator[Finding]:
    if settled(events.nemesis) is not False:
        return
    mark = [each for each in events.nemesis if each.f == "settle"][-1]
    missing = mark.value.get("missing") if isinstance(mark.value, dict) else None
    yield Finding(
        message=f"all faults were healed, and the cluster did not settle: {missing}",
        operations=(mark.index,),
        contracts=(LEDGER,),
        clause=SETTLES.name,
    )


def _nodes(
    before: list[Evidence], plan: Mapping[str, Recorded], ending: Ending
) -> Iterator[Finding]:
    """Each node's last digest stands at the offset of the last one anywhere, or at least its
    high watermark reached what had been committed some time before the end."""
    last: dict[str, ImageDigest] = {}
    reached: dict[str, Committed] = {}
    committed: Committed | None = None
    for each in before:
        match each:
            case Booted():
                reached.pop(each.node, None)
            case ImageDigest():
                last[each.node] = each
            case Committed():
                reached[each.node] = each
                if latest_ns(each) <= ending.due_ns and (
                    committed is None or each.offset > committed.offset
                ):
                    committed = each
    if committed is None:
        return
    for node in _nodes_of(plan):
        shown = [found[node] for found in (last, reached) if node in found]
        own = max(shown, key=lambda each: each.offset, default=None)
        if own is not None and own.offset < committed.offset:
            yield finding(
                f"{node} had come to offset {own.offset} at the end; {committed.node} reported "
                f"{committed.offset} committed "
                f"{(ending.stop_ns - committed.at_ns) / 1e9:.1f} s before the end",
                evidence=[committed, own],
                clause=CAUGHT_UP.name,
            )


# --- brokers and partitions ---------------------------------------------------------------


def _last_states(before: Iterable[Evidence]) -> dict[str, Booted | BrokerStateChanged]:
    """Node -> the last state of its broker. A node that never tells one is no broker."""
    last: dict[str, Booted | BrokerStateChanged] = {}
    for each in before:
        if isinstance(each, Booted | BrokerStateChanged):
            last[each.node] = each
    return {
        node: reported
        for node, reported in last.items()
        if not isinstance(reported, Booted) or reported.broker_id is not None
    }


def _brokers(
    before: list[Evidence], plan: Mapping[str, Recorded], ending: Ending
) -> Iterator[Finding]:
    """By their last state that clocks tell to be some time before the end, if there is no later one
    that may be, too: a machine that starves a broker may cost it a lease, which it gets again."""
    last = _last_states(before)
    for node in _nodes_of(plan):
        reported = last.get(node)
        if reported is None or latest_ns(reported) >= ending.due_ns:
            continue
        state = "starting" if isinstance(reported, Booted) else reported.after
        if state != "active":
            yield finding(
                f"broker {node} was {state} at the end", evidence=[reported], clause=ACTIVE.name
            )


Tried: TypeAlias = Mapping[tuple[str, str], Sequence[Operation]]
"""(f, key) -> the final reads of it in that way."""


def _tried(operations: Iterable[Operation], upset: Upset) -> Tried:
    """Reads that failed where the machine may have upset what had settled tell nothing."""
    tried: dict[tuple[str, str], list[Operation]] = defaultdict(list)
    for operation in operations:
        final = operation.f in FS and operation.phase == "final"
        if final and (operation.ok or not upset.at(ended_ns(operation))):
            tried[operation.f, str(operation.key)].append(operation)
    return tried


def _shown(operation: Operation) -> Sequence[PartitionShown]:
    """The partitions that an answer in the end tells of."""
    if not operation.ok or operation.phase != "final":
        return ()
    return partitions_shown(operation)


def _nobody_reads(operations: Iterable[Operation]) -> str:
    """Why there was nothing to read in the end, where clients never do."""
    return "" if any(each.f in FS for each in operations) else "no client reads a topic"


def _unread(tried: Tried) -> Iterator[Finding]:
    for (_, key), reads in sorted(tried.items()):
        ended = [each for each in reads if each.end is not None]
        answered = any(each.failed for each in ended)
        if any(read.ok for read in ended) or not (answered or len(ended) >= TRIES):
            continue
        yield finding(
            f"{key} could not be read after the cluster was healed: {len(ended)} tries, the "
            f"last one {ended[-1].type} {ended[-1].error_code}",
            ended,
            clause=READABLE.name,
        )


def _leaderless(
    operations: Iterable[Operation], before: list[Evidence], ending: Ending, upset: Upset
) -> tuple[int, list[Finding]]:
    """How many answers showed a partition that a working broker could lead, and those without a
    leader. Brokers that a workload plays leave no evidence, and count as dead; what the machine may
    have upset does not count."""
    working = _working(before, ending)
    able_to, findings = list[int](), list[Finding]()
    for operation in operations:
        for shown in _shown(operation) if operation.f == TOPIC else ():
            able = [
                broker
                for broker in shown["isr"]
                if broker in working and surely_before(moment_of(working[broker]), begin(operation))
            ]
            wrong = bool(able) and shown["leader"] == NO_LEADER
            if wrong and upset.at(ended_ns(operation)):
                continue
            able_to += [operation.index] * bool(able)
            if wrong:
                findings.append(
                    finding(
                        f"operation {operation.index} found {operation.key}/{shown['partition']} "
                        f"without a leader, though broker {able[0]} of its ISR works",
                        [operation],
                        [working[broker] for broker in able],
                        clause=LED.name,
                    )
                )
    return LED.sightings(able_to), findings


def _only_synthetic(operations: Sequence[Operation]) -> str:
    """Why no partition could be led, where clients say so: brokers that they play are in the ISRs
    of all that they were shown."""
    ids = synthetic(operations)
    topics = [operation for operation in operations if operation.f == TOPIC]
    shown = [partition for operation in topics for partition in _shown(operation)]
    if all(ids.issuperset(partition["isr"]) for partition in shown):
        return "clients were shown no partition in the end but those of brokers that they play"
    return ""


def _working(before: list[Evidence], ending: Ending) -> dict[int, BrokerStateChanged]:
    """Brokers whose last word is that they are active."""
    ids: dict[str, int] = {}
    found: dict[int, BrokerStateChanged] = {}
    for each in before:
        if isinstance(each, Booted) and each.broker_id is not None:
            ids[each.node] = each.broker_id
            found.pop(each.broker_id, None)
        elif isinstance(each, BrokerStateChanged) and each.node in ids:
            found.pop(ids[each.node], None)
            if each.after == "active" and latest_ns(each) < ending.stop_ns:
                found[ids[each.node]] = each
    return found


def _figures(events: RunEvents) -> dict[str, float]:
    times = [each.time_ns for each in events.nemesis if each.f == "settle"]
    figures: dict[str, float] = {"nodes": len(_nodes_of(events.plan))}
    if len(times) > 1:
        figures["settle_s"] = round((times[-1] - times[0]) / 1e9, 3)
    return figures


class Convergence(RunChecker):
    name = "convergence"
    summary = (
        "Once all faults are healed the cluster settles, what clients ask for can be read, every "
        "node reaches what is committed with the same state, every broker is active, and every "
        "partition that can have a leader has one"
    )
    requires = frozenset[str]()
    Options = ConvergenceOptions
    clauses = CLAUSES
    check_run = RunCheck(
        convergence,
        evidence=(Booted, Exited, ImageDigest, Committed, BrokerStateChanged, *BROKERS),
        fs=(*FS, *SYNTHETIC_FS),
        nemesis=True,
        faults=True,
    )
