"""A flood of data requests delays no control request, and unsettles no cluster (D.17).

KIP-291's promise: what the controllers' listener is asked has a queue of its own, so it never
waits behind what clients ask for. A workload floods the brokers for some seconds and then not, in
turns; what nodes are asked meanwhile at their controllers' listeners is held against that.

A machine that has no time slows both down, and a client sees only sums. So no time is held against
a bound in ms: a control request that stands in line with a flood waits for as long as the flood's
own requests do, and one that does not waits for a small part of that, however slow the machine.
Medians are held against `share` of it; against those without a flood as well, of the same node and
run. A flood whose requests waited for less than `busy`, whose moments the harness itself was late
for, or during which a fault held, shows nothing. What a leader does of its own will, as letting go
to write a snapshot, no flood did: nodes' events are believed there, in their favour.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from statistics import median
from typing import Final, TypeAlias

from checkers.folds.history.peace import Stretch, owed, recovery_ns
from checkers.folds.history.roles import BROKER, CONTROLLER, nodes_by_id, roles_of, with_roles
from checkers.folds.history.values import cluster_view, flood_report, quorum_view
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.clocks import earliest_ns, latest_ns
from framework.evidence.machine import Machine
from framework.evidence.quorum import SnapshotWritten
from framework.evidence.run_events import RunEvents, unreported
from framework.history.pairing import Operation
from framework.plugins.capabilities import DATA_FLOODS, NODE_ANSWERS
from framework.plugins.checker import CLIENTS, EVENTS, LEDGER, Clause, Count, Finding
from framework.plugins.options import need_positive
from framework.plugins.outcomes import NO_CLIENT, SILENCE

FLOOD: Final = "flood"
VIEWS: Final = ("describe-node", "describe-quorum")
LISTS: Final = ("describe-cluster", "describe-topics")
CONTROL: Final = frozenset({*VIEWS, "heartbeat"})
"""What a node with that role is asked at its controllers' listener."""
ALL_KINDS: Final = "a control request"
MEDIAN_OF: Final = 5
"""So many times at least, beside floods and without one: what two or three tell may be chance."""
SLOWER: Final = 4
"""By so much more than without a flood: queues that a flood fills hold hundreds of requests."""
LATE_PART: Final = 4
"""The harness's own lateness is less than the flood's requests' times by this factor, or nothing
can be told from its clock."""
LATE_MS: Final = 250.0
"""A harness that was this late once was on a machine on which a node may miss an election, too."""
SNAPSHOTS: Final = "snapshots"
"""The capability of a system whose leaders may let go to write one."""
SNAPSHOT_NS: Final = 5_000_000_000
"""So soon after it has let go for that, a leader has written it."""
AFTER_NS: Final = 2_000_000_000
"""What a flood did to a cluster is told by answers up to this long after it."""
FLOODS: Final = 2
"""Floods that unsettled a cluster: one may have met a bad moment of the machine's disk."""

UNDELAYED: Final = Clause(
    name="undelayed",
    says="A control request does not wait in line with a flood of data requests, nor is it refused "
    "for one",
    compares="nodes of which five control requests beside floods whose own waited for long were "
    "held against five without one",
    floor=2,
    because="medians of five on two nodes, and each node of the plan that is controller and broker "
    "has to be among them: a node that was spared tells nothing of the others",
    sources=(LEDGER, CLIENTS),
    blind="a delay below the share of the flood's own that is asked for; controllers that are no "
    "brokers, which have no data requests; what nodes ask each other",
)
NO_ELECTION: Final = Clause(
    name="no-election",
    says="No controller loses its leadership to a flood of data requests",
    compares="floods in peace beside which most controllers told their leader epoch twice and more",
    floor=2,
    because="what one flood did or did not do may be chance",
    sources=(LEDGER, CLIENTS, EVENTS),
    blind="an election that was over before anybody was asked, or whose leader before wrote a "
    "snapshot just then; floods on a machine that has no time for the harness, either; elections "
    "that are no rarer without a flood",
)
NONE_FENCED: Final = Clause(
    name="none-fenced",
    says="No broker is fenced, for want of heartbeats, by a flood of data requests",
    compares="floods in peace beside which most brokers told twice and more who can be used",
    floor=2,
    because="what one flood did or did not do may be chance",
    sources=(LEDGER, CLIENTS),
    blind="a broker that is fenced between two answers of each of the others, and back; the rest "
    "as for elections",
)


@dataclass(frozen=True, slots=True)
class IsolationOptions:
    """`share`: of the time for which a flood's own requests wait at the median, so much is what a
    control request waits for at most. `busy`: how long, in s, a flood's requests wait at the
    median at least, or the data plane was not busy."""

    share: float = 0.5
    busy: float = 0.1

    def __post_init__(self) -> None:
        need_positive(share=self.share, busy=self.busy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flooded:
    """A flood that took place. All of it was under way from `begin_ns` to `end_ns`. `waited_ms`:
    of each node's data requests, the median time. `late_ms`, `latest_ms`: how late the harness was
    at 99 of 100 moments, and at the worst one."""

    operation: Operation
    begin_ns: int
    end_ns: int
    waited_ms: Mapping[str, float]
    late_ms: float
    latest_ms: float

    def busy(self, busy_ms: float) -> Mapping[str, float]:
        """Of the nodes whose data requests waited, where the harness's clock tells."""
        return {
            node: waited
            for node, waited in self.waited_ms.items()
            if waited >= max(busy_ms, LATE_PART * self.late_ms)
        }


Judgement: TypeAlias = tuple[Count, Sequence[Finding]]
"""Of a clause: how much was compared, and what breaks it."""


def isolation(events: RunEvents, options: IsolationOptions = IsolationOptions()) -> Outcome:
    asked = [each for each in events.operations if each.f == FLOOD]
    floods = list(_floods(asked))
    machine = events.machines.harness
    # Which nodes are left matters to no stretch that is calm.
    times = Times(asked, owed(events.faults, {}), machine)
    calm = [each for each in floods if times.calm(each.begin_ns, each.end_ns)]
    found = _beside_floods(events, calm, times, options.busy * 1000)
    disturbed = Disturbed(events, times, calm, options.busy * 1000)
    judgements: dict[Clause, Judgement] = {
        UNDELAYED: _undelayed(found, events, options.share),
        NO_ELECTION: disturbed.by(
            _epochs(events), NO_ELECTION, CONTROLLER, _hand_overs_unreported(events)
        ),
        NONE_FENCED: disturbed.by(_lists(events), NONE_FENCED, BROKER),
    }
    counts: dict[str, Count] = {clause.name: count for clause, (count, _) in judgements.items()}
    if floods and not calm:
        counts = dict.fromkeys(counts, "a fault held during every flood")
    findings = [each for _, broken in judgements.values() for each in broken]
    waited = [each for flood in calm for each in flood.waited_ms.values()]
    shares = [_share(beside) for beside, _ in found.values()]
    figures = {
        "floods": len(floods),
        "floods_in_peace": len(calm),
        "data_request_ms": round(median(waited), 1) if waited else 0.0,
        "control_request_share": round(max((s for s in shares if s != inf), default=0.0), 4),
    }
    return weighed(counts, findings, figures)


# --- floods, and times without one ----------------------------------------------------------------


def _floods(asked: Iterable[Operation]) -> Iterator[Flooded]:
    for each in asked:
        if not each.ok or each.invoked_ns is None:
            continue
        reported = flood_report(each)
        begin_ns = each.invoked_ns + round(reported["after_ms"] * 1e6)
        yield Flooded(
            operation=each,
            begin_ns=begin_ns,
            end_ns=begin_ns + round(reported["lasted_ms"] * 1e6),
            waited_ms={
                node["node"]: float(node["p50_ms"])
                for node in reported["nodes"]
                if node["p50_ms"] is not None and 2 * node["refused"] < node["connections"]
            },
            late_ms=float(reported["late_p99_ms"]),
            latest_ms=float(reported["late_max_ms"]),
        )


class Times:
    """When a fault held, and when there was a flood, or might have been."""

    def __init__(
        self,
        asked: Iterable[Operation],
        stretches: Iterable[Stretch],
        machine: Machine,
    ) -> None:
        self._machine = machine
        self._calm = [each for each in stretches if each.calm]
        self._begins = [each.begin_ns for each in self._calm]
        self._flooded = [
            (each.began_ns, inf if each.end is None else _ended_ns(each) + AFTER_NS)
            for each in asked
        ]

    def calm(self, begin_ns: float, end_ns: float, recovery_ns: int = 0) -> bool:
        """No fault held from begin to end, and none had within `recovery_ns` of the machine's
        before."""
        at = bisect_right(self._begins, begin_ns) - 1
        if at < 0 or end_ns > self._calm[at].end_ns:
            return False
        since_ns = self._begins[at]
        return not since_ns or self._machine.until_ns(since_ns, recovery_ns) <= begin_ns

    def quiet(self, begin_ns: float, end_ns: float) -> bool:
        """No flood then, nor so shortly before that it might still tell."""
        return all(end_ns < since or begin_ns > till for since, till in self._flooded)


def _ended_ns(operation: Operation) -> int:
    return operation.completed_ns or operation.began_ns


def _span(first: Operation, last: Operation) -> tuple[int, int]:
    return first.began_ns, _ended_ns(last)


# --- control requests -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Waited:
    """A control request beside a flood. `share`: its time by that of the node's data requests;
    infinite, as `ms`, of one that was asked in vain."""

    operation: Operation
    ms: float
    share: float
    flood: Flooded


Beside: TypeAlias = tuple[Sequence[Waited], Sequence[float]]
"""Of a node and a kind of request: those beside floods; the times in ms without one."""


def _control(events: RunEvents) -> Iterator[Operation]:
    """Control requests of which something can be told."""
    serving = with_roles(events.plan, CONTROLLER)
    for each in (*events.observations, *events.operations):
        reported = each.ok or each.error_code not in (None, NO_CLIENT)
        if reported and each.f in CONTROL and each.node in serving:
            yield each


def _beside_floods(
    events: RunEvents, floods: Sequence[Flooded], times: Times, busy_ms: float
) -> Mapping[tuple[str, str], Beside]:
    """Node and kind of request -> those beside floods, and the times in ms without one; of those of
    which there are enough to tell."""
    beside: dict[tuple[str, str], list[Waited]] = defaultdict(list)
    without: dict[tuple[str, str], list[float]] = defaultdict(list)
    busy = [(flood, flood.busy(busy_ms)) for flood in floods]
    asked = [each for each in _control(events) if times.calm(*_span(each, each))]
    usual = {_refusal(each) for each in asked if times.quiet(*_span(each, each))}
    for each in asked:
        begin_ns, end_ns = _span(each, each)
        node = str(each.node)
        ms = inf if _in_vain(each, usual) else (end_ns - begin_ns) / 1e6
        if times.quiet(begin_ns, end_ns):
            without[node, each.f].append(ms)
        for flood, waited_ms in busy:
            if node in waited_ms and flood.begin_ns <= begin_ns <= flood.end_ns:
                beside[node, each.f].append(Waited(each, ms, ms / waited_ms[node], flood))
    for few in [key for key in beside if not _enough(beside[key], without[key])]:
        node, _ = few  # what is asked too seldom is judged together
        beside[node, ALL_KINDS] += beside.pop(few)
        without[node, ALL_KINDS] += without.pop(few)
    return {
        key: (own, without[key])
        for key, own in sorted(beside.items())
        if _enough(own, without[key])
    }


Refusal: TypeAlias = tuple[str, str | None]
"""What is refused, and how. By whom is left out: who leads may have changed meanwhile, and a
question for a leader is refused by all others at any time."""


def _refusal(each: Operation) -> Refusal:
    return each.f, each.error_code


def _in_vain(each: Operation, usual: Set[Refusal]) -> bool:
    """`usual`: what is refused without a flood, too. What is refused beside floods alone is not
    served; and a node that drops requests has no place for them, either."""
    return not each.ok and (each.error_code in SILENCE or _refusal(each) not in usual)


def _enough(own: Sequence[Waited], without: Sequence[float]) -> bool:
    return min(len(own), len(without)) >= MEDIAN_OF


def _undelayed(
    found: Mapping[tuple[str, str], Beside], events: RunEvents, most: float
) -> Judgement:
    findings, judged = [], set()
    for (node, f), (own, without) in found.items():
        ms, usual_ms = median(each.ms for each in own), median(without)
        if usual_ms == inf:  # nor is there an answer without a flood
            continue
        judged.add(node)
        if _share(own) < most or ms < SLOWER * usual_ms:
            continue
        codes = {each.operation.error_code for each in own if each.ms == inf}
        vain = "had no answer" if codes <= SILENCE else "was refused"
        said = vain if ms == inf else f"took {ms:.1f} ms"
        data_ms = median(each.flood.waited_ms[node] for each in own)
        findings.append(
            finding(
                f"{f} at {node} waits in line with data requests: beside floods it {said} at the "
                f"median of {len(own)}, where the floods' own requests took {data_ms:.1f} ms; "
                f"without a flood it took {usual_ms:.1f} ms, at the median of {len(without)}",
                _witnesses(own),
                clause=UNDELAYED.name,
            )
        )
    both = with_roles(events.plan, CONTROLLER, BROKER)
    if roles_of(events.plan) and not both:
        return "by its plan no node is controller and broker at once", findings
    return (len(judged), len(judged | both)), findings


def _share(own: Iterable[Waited]) -> float:
    return median(each.share for each in own)


def _witnesses(own: Sequence[Waited]) -> list[Operation]:
    """The floods, and the control requests that waited for longest beside them."""
    floods = {each.flood.operation.index: each.flood.operation for each in own}
    slowest = sorted(own, key=lambda each: -each.share)[:10]
    return [*floods.values(), *(each.operation for each in slowest)]


# --- elections, and brokers that are fenced -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pair:
    """Two answers of one node, one after the other. `in_vain`: it was asked in between, and did
    not answer. `says`: what happened in between; empty: nothing."""

    before: Operation
    after: Operation
    in_vain: bool
    says: str

    def is_beside(self, flood: Flooded) -> bool:
        """Whether both were asked for and told beside the flood, or just after it."""
        begin_ns, end_ns = _span(self.before, self.after)
        return flood.begin_ns <= begin_ns and end_ns <= flood.end_ns + AFTER_NS

    def is_around(self, flood: Flooded) -> bool:
        """Whether the node answered nothing then: of the time between both, half and more was that
        of the flood."""
        begin_ns, end_ns = _span(self.before, self.after)
        shared_ns = min(end_ns, flood.end_ns + AFTER_NS) - max(begin_ns, flood.begin_ns)
        return self.in_vain and 2 * shared_ns >= end_ns - begin_ns


def _epochs(events: RunEvents) -> list[Pair]:
    """Answers that tell a leader epoch."""
    reported = _reported_by_node(events, VIEWS)
    snapshots: dict[str, list[SnapshotWritten]] = defaultdict(list)
    for each in events.of(SnapshotWritten):
        snapshots[each.node].append(each)
    names, machines = nodes_by_id(events.plan, CONTROLLER), events.machines
    pairs = []
    for before, after, in_vain in reported:
        left = names.get(quorum_view(before)["leader"])
        own = snapshots[left] if left is not None else ()
        risen = quorum_view(before)["leader_epoch"] < quorum_view(after)["leader_epoch"]
        begin_ns, end_ns = _span(before, after)
        by_ns = machines.of_node(left or "").until_ns(end_ns, SNAPSHOT_NS)
        lost = risen and left is not None and not _handed_over(begin_ns, by_ns, own)
        pairs.append(Pair(before, after, in_vain, _risen(before, after) if lost else ""))
    return pairs


def _handed_over(begin_ns: int, by_ns: int, snapshots: Iterable[SnapshotWritten]) -> bool:
    """Whether the leader that was left wrote a snapshot then: it may have let go for that."""
    return any(latest_ns(each) >= begin_ns and earliest_ns(each) <= by_ns for each in snapshots)


def _risen(before: Operation, after: Operation) -> str:
    was, now = (quorum_view(each)["leader_epoch"] for each in (before, after))
    return f"{after.node} told leader epoch {was}, and then {now}"


def _hand_overs_unreported(events: RunEvents) -> str:
    """Why it is not known which leaders let go of their own will, by the plan; empty: it is."""
    snapshots = SNAPSHOTS in (events.plan.get("capabilities") or ())
    return unreported(events.plan) if snapshots else ""


def _lists(events: RunEvents) -> list[Pair]:
    """Lists of brokers; of the plan's own, for others come and go."""
    names = nodes_by_id(events.plan, BROKER)
    return [
        Pair(before, after, in_vain, _left_out(before, after, names))
        for before, after, in_vain in _reported_by_node(events, LISTS)
    ]


def _reported_by_node(
    events: RunEvents, fs: Sequence[str]
) -> Iterator[tuple[Operation, Operation, bool]]:
    """Answers to a question, each with the next one of its node, and whether that was asked in
    vain in between."""
    reported: dict[tuple[str, str], list[Operation]] = defaultdict(list)
    for each in events.observations:
        if each.f in fs and (each.ok or each.error_code in SILENCE):
            reported[str(each.node), each.f].append(each)
    for own in reported.values():
        answers = [place for place, each in enumerate(own) if each.ok]
        for one, other in pairwise(answers):
            yield own[one], own[other], other > one + 1


def _left_out(before: Operation, after: Operation, names: Mapping[int, str]) -> str:
    listed, still = (
        {broker["id"] for broker in cluster_view(each)["brokers"]} for each in (before, after)
    )
    gone = ", ".join(sorted(names[each] for each in listed - still if each in names))
    return f"{after.node} listed {gone}, and then no longer" if gone else ""


def _watchers(flood: Flooded, pairs: Iterable[Pair]) -> set[str | None]:
    """Nodes that told something while the flood went on, and again then or just after it."""
    return {
        each.after.node
        for each in pairs
        if each.is_beside(flood) and each.before.began_ns <= flood.end_ns
    }


class Disturbed:
    """Holds what happened beside floods against what happened without one. `floods`: those during
    which no fault held."""

    def __init__(
        self, events: RunEvents, times: Times, floods: Sequence[Flooded], busy_ms: float
    ) -> None:
        self._events = events
        self._recovery_ns = recovery_ns(events.plan)
        self._times = times
        in_peace = [
            each for each in floods if self._in_peace(each.begin_ns, each.end_ns + AFTER_NS)
        ]
        self._no_peace = "no flood was in peace" if floods and not in_peace else ""
        self._floods = [
            each for each in in_peace if each.busy(busy_ms) and each.latest_ms < LATE_MS
        ]

    def _in_peace(self, begin_ns: float, end_ns: float) -> bool:
        return self._times.calm(begin_ns, end_ns, self._recovery_ns)

    def by(
        self, pairs: Sequence[Pair], clause: Clause, role: str, no_occasion: str = ""
    ) -> Judgement:
        """What a flood did is a finding where more than one did it, and more often than it
        happens without one. Else nothing can be told from that flood. Nor can it from one beside
        which most nodes of that role are silent."""
        if no_occasion or self._no_peace:
            return no_occasion or self._no_peace, ()
        beside = [(flood, self._beside(flood, pairs)) for flood in self._floods]
        asked = len(with_roles(self._events.plan, role))
        watched = [
            (flood, own)
            for flood, own in beside
            if any(pair.says for pair in own) or 2 * len(_watchers(flood, own)) > max(asked, 1)
        ]
        hit = [(flood, pair) for flood, own in watched for pair in own if pair.says]
        unsettled = {flood.operation.index for flood, _ in hit}
        count = len(watched) - len(unsettled)
        if len(unsettled) < FLOODS or 2 * self._without(pairs) >= len(unsettled) / len(watched):
            return count, ()
        said = "; ".join(dict.fromkeys(pair.says for _, pair in hit[:4]))
        message = (
            f"{len(unsettled)} of {len(watched)} floods unsettled the cluster, though no fault "
            f"held: {said}"
        )
        witnesses = [
            each for flood, pair in hit[:10] for each in (flood.operation, pair.before, pair.after)
        ]
        return count, [finding(message, witnesses, clause=clause.name)]

    def _beside(self, flood: Flooded, pairs: Iterable[Pair]) -> list[Pair]:
        return [
            each
            for each in pairs
            if each.is_beside(flood)
            or (each.is_around(flood) and self._in_peace(*_span(each.before, each.after)))
        ]

    def _without(self, pairs: Iterable[Pair]) -> float:
        """How often it happened, in peace, in as much time without a flood as one takes."""
        spans = [(*_span(each.before, each.after), bool(each.says)) for each in pairs]
        quiet = [
            (begin_ns, end_ns, happened)
            for begin_ns, end_ns, happened in sorted(spans)
            if self._times.quiet(begin_ns, end_ns) and self._in_peace(begin_ns, end_ns)
        ]
        _, total_ns = _merged((begin_ns, end_ns) for begin_ns, end_ns, _ in quiet)
        times, _ = _merged((begin_ns, end_ns) for begin_ns, end_ns, happened in quiet if happened)
        lasts_ns = median(each.end_ns - each.begin_ns + AFTER_NS for each in self._floods)
        return times * lasts_ns / max(total_ns, 1)


def _merged(spans: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Of spans in order: how many there are once those that overlap are one, and how much time is
    in any of them."""
    count, total_ns, reached_ns = 0, 0, -1
    for begin_ns, end_ns in spans:
        count += begin_ns > reached_ns
        total_ns += max(0, end_ns - max(begin_ns, reached_ns))
        reached_ns = max(reached_ns, end_ns)
    return count, total_ns


class Isolation(RunChecker):
    name = "isolation"
    summary = (
        "A flood of data requests delays no control request, and leads to no election and no "
        "fenced broker"
    )
    requires = frozenset({DATA_FLOODS, NODE_ANSWERS})
    clauses = (UNDELAYED, NO_ELECTION, NONE_FENCED)
    Options = IsolationOptions
    check_run = RunCheck(
        isolation,
        evidence=(SnapshotWritten,),
        fs=(FLOOD, "heartbeat"),
        observations=True,
        faults=True,
    )
