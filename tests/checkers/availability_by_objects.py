"""The rule of availability by one object an operation, as plainly as it can be said: what the one
over columns has to find."""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from checkers.availability import (
    FLOOR,
    KINDS,
    NODES,
    PARTITION_KINDS,
    PARTITIONS,
    PROCESS_FS,
    READ_FS,
    AvailabilityOptions,
    Window,
)
from checkers.folds.history.operations import is_zombie, on_demand
from checkers.folds.history.peace import FOREVER_NS, Stretch, owed
from checkers.folds.serving.streaks import TRIES
from framework.checking.findings import concluded, finding
from framework.checking.keyed import Outcome
from framework.evidence.machine import UNMEASURED, Machine
from framework.evidence.quorum import Elected
from framework.evidence.run_events import FaultRecord, RunEvents
from framework.history.event import Recorded
from framework.history.pairing import Operation
from framework.plugins.checker import LEDGER, Clause, Count, Finding
from framework.plugins.outcomes import OF_NO_NODE, OF_THE_ASKER
from framework.plugins.system import RECOVERY_S
from framework.verdict import Verdict

NEVER = {*PROCESS_FS, "produce with acks=0"}
"""They are no client's, or nobody answers them."""


def availability(events: RunEvents, options: AvailabilityOptions) -> Outcome:
    operations = [
        replace(each, f=_kind_of(each)) for each in events.operations if each.invoked_ns is not None
    ]
    windows = _windows(events.faults)
    elections = sorted(each.at_ns for each in events.of(Elected))
    figures: dict[str, float] = {
        **_by_function(operations),
        **_around_faults(operations, windows),
        "elections": len(elections),
        "elections_in_faults": sum(_inside(time, windows) for time in elections),
    }
    for window in windows:
        figures |= _recovery(operations, window, elections)
    ends = (each.completed_ns or each.began_ns for each in operations)
    bound_s = _bound_s(events.plan, options)
    judge = Judge(bound_s, max(ends, default=0), events.machines.cluster)
    findings, stuck = _stuck(operations, events, judge)
    signs, few = _signs(operations, events, bound_s)
    outcome = concluded(len(operations), findings, {**figures, **stuck})
    if outcome.verdict is Verdict.VALID and few:
        outcome = replace(outcome, verdict=Verdict.UNKNOWN, note="; ".join(few))
    counts = {
        KINDS.name: signs,
        PARTITIONS.name: _partitions(operations, events, judge),
        NODES.name: _nodes(operations, events),
    }
    return replace(outcome, clauses=counts)


def _kind_of(operation: Operation) -> str:
    f, value = operation.f, operation.value
    acks = value.get("acks") if isinstance(value, dict) else None
    if f == "produce" and acks in ("all", "1", "0"):
        return f"produce with acks={acks}"
    return f"{f} on demand" if on_demand(value) else f


def _bound_s(plan: Mapping[str, Recorded], options: AvailabilityOptions) -> float:
    reported = options.recovery or plan.get("recovery_s")
    return float(reported) if isinstance(reported, int | float) and reported > 0 else RECOVERY_S


def _windows(injections: Iterable[FaultRecord]) -> list[Window]:
    found = [
        Window(each, each.injected_ns, each.healed_ns)
        for each in injections
        if each.injected_ns is not None and each.healed_ns is not None
    ]
    return sorted(found, key=lambda window: (window.begin_ns, window.fault.id))


def _inside(time_ns: int, windows: Iterable[Window]) -> bool:
    return any(window.begin_ns <= time_ns < window.end_ns for window in windows)


# --- figures ------------------------------------------------------------------------------


def _by_function(operations: Sequence[Operation]) -> Mapping[str, float]:
    figures: dict[str, float] = {}
    for f in sorted({each.f for each in operations}):
        mine = [each for each in operations if each.f == f]
        counts = Counter(_kind(each) for each in mine)
        figures |= {f"{f}.{kind}": counts[kind] for kind in ("ok", "fail", "info")}
        took = sorted(
            (each.completed_ns - each.began_ns) / 1e6
            for each in mine
            if each.ok and each.completed_ns is not None
        )
        for percent in (50, 95, 99) if took else ():
            figures[f"{f}.p{percent}_ms"] = round(_percentile(took, percent), 3)
    return figures


def _kind(operation: Operation) -> str:
    return operation.type if operation.ok or operation.failed else "info"


def _percentile(ordered: Sequence[float], percent: int) -> float:
    """The nearest-rank percentile."""
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def _around_faults(
    operations: Iterable[Operation], windows: Sequence[Window]
) -> Mapping[str, float]:
    """The share of honest operations that were answered ok, by when they were invoked."""
    counts: Counter[tuple[bool, bool]] = Counter()
    for each in operations:
        if not is_zombie(each):
            counts[_inside(each.began_ns, windows), each.ok] += 1
    figures = {}
    for inside, name in ((True, "ok_rate_in_faults"), (False, "ok_rate_outside_faults")):
        total = counts[inside, True] + counts[inside, False]
        if total:
            figures[name] = round(counts[inside, True] / total, 4)
    return figures


def _recovery(
    operations: Iterable[Operation], window: Window, elections: Iterable[int]
) -> Mapping[str, float]:
    name = f"fault.{window.fault.id}"
    figures: dict[str, float] = {
        f"{name}.lasted_s": round((window.end_ns - window.begin_ns) / 1e9, 3),
        f"{name}.elections": sum(window.begin_ns <= at < window.end_ns for at in elections),
    }
    for f, begin in (("during", window.begin_ns), ("after", window.end_ns)):
        first = min(
            (
                each.completed_ns
                for each in operations
                if each.ok and each.f not in READ_FS and each.began_ns >= begin
                if each.completed_ns is not None
            ),
            default=None,
        )
        if first is not None and (f == "after" or first < window.end_ns):
            figures[f"{name}.first_write_{f}_s"] = round((first - begin) / 1e9, 3)
    return figures


# --- floors -------------------------------------------------------------------------------


def _signs(
    operations: Sequence[Operation], events: RunEvents, bound_s: float
) -> tuple[Count, list[str]]:
    """Two of each kind of operation, of what is done to processes, and of all together: that enough
    succeeded, and again after the first fault. Also what too little was seen of."""
    clients = [each for each in operations if each.f not in NEVER and not is_zombie(each)]
    main = [each for each in clients if each.phase == "main"]
    asked = Counter(each.f for each in main)
    succeeded = Counter(each.f for each in main if _succeeded(each))
    peace = Peace(events)
    met = [
        each
        for each in main
        if peace.holds(each) and not _met_nobody(each, operations, events, bound_s)
    ]
    fair = Counter(each.f for each in main if _succeeded(each))
    fair += Counter(
        each.f
        for each in met
        if not _succeeded(each) and each.asserts not in OF_THE_ASKER
        if not _refused_at_first(each, operations, events, bound_s)
    )
    lost = Counter(each.f for each in met if not _succeeded(each) and not _refused(each))
    few = []
    rare = {f for f, count in asked.items() if count < FLOOR and fair[f] < min(TRIES, count)}
    in_all = Counter(each.f for each in clients if _succeeded(each))
    judged = [f for f in sorted(asked) if succeeded[f] or f not in rare]
    for f in judged:
        count, least = asked[f], max(1, min(FLOOR, fair[f] // 4), lost[f] // 10)
        if (in_all if count < FLOOR else succeeded)[f] < least:
            few.append(f"{succeeded[f]} of {count} {f} ({least} at least)")
    if succeeded.total() < FLOOR * len(asked):
        few.append(f"{succeeded.total()} of all ({FLOOR * len(asked)} at least)")
    processes = [each for each in operations if each.f in PROCESS_FS]
    if processes and not any(each.ok for each in processes):
        few.append(f"0 of {len(processes)} that start and end processes (1 at least)")
    first_ns = min((each.since_ns for each in events.faults), default=FOREVER_NS)
    gone = list(_never_again([each for each in clients if each.began_ns >= first_ns], events))
    mute = list(_never_again([each for each in clients if each.phase != "main"], events))
    notes = [f"too little succeeded to judge the run: {', '.join(few)}"] if few else []
    notes += [f"never again after the first fault: {', '.join(gone)}"] if gone else []
    notes += [f"never once it was to have settled: {', '.join(mute)}"] if mute else []
    due = 2 * (len(judged) + bool(asked) + bool(processes))
    return (max(0, due - len(few) - len(gone) - len(mute)), due), notes


def _met_nobody(
    asked: Operation, operations: Sequence[Operation], events: RunEvents, bound_s: float
) -> bool:
    """It found no connection at a node that a fault had ended, and of which nobody had heard since
    that was over, or not yet for as long as it may take."""
    ended_ns = asked.completed_ns or 0
    for fault in events.faults:
        over_ns = fault.over_ns
        if not fault.ends_processes or over_ns is None or asked.node not in fault.nodes:
            continue
        due_ns = events.machines.cluster.until_ns(over_ns, round(bound_s * 1e9))
        back = any(
            each.node == asked.node
            and each.completed_ns is not None
            and over_ns <= each.completed_ns < ended_ns
            and _heard(each)
            for each in (*operations, *events.observations)
        )
        if asked.began_ns >= over_ns and ended_ns <= due_ns and not back:
            return asked.error_code == "CONNECTION_FAILED"
    return False


def _refused_at_first(
    asked: Operation, operations: Sequence[Operation], events: RunEvents, bound_s: float
) -> bool:
    """It was refused after a fault, before anything of its kind was done again, in so much time."""
    ended_ns = asked.completed_ns or 0
    for fault in events.faults:
        over_ns = fault.over_ns
        if over_ns is None or not _refused(asked) or asked.began_ns < over_ns:
            continue
        due_ns = events.machines.cluster.until_ns(over_ns, round(bound_s * 1e9))
        again = any(
            each.f == asked.f
            and each.completed_ns is not None
            and over_ns <= each.began_ns
            and each.completed_ns < ended_ns
            and _succeeded(each)
            for each in operations
        )
        if ended_ns <= due_ns and not again:
            return True
    return False


def _never_again(after: Sequence[Operation], events: RunEvents) -> Iterator[str]:
    """What was tried in vain from a moment on, to the end: all of it, or else kinds, if they were
    tried in peace, too. Whether it is stuck is another question, for which the run may be too
    short."""
    if len(after) >= TRIES and not any(map(_succeeded, after)):
        yield f"all of {len(after)} operations"
        return
    peace = Peace(events)
    for f, own in _grouped(after, lambda each: each.f):
        if peace.held_in(own) >= TRIES and not any(map(_succeeded, own)):
            yield f"{f}, of which {len(own)} were tried"


def _partitions(operations: Iterable[Operation], events: RunEvents, judge: "Judge") -> Count:
    """Of kinds of use of a partition, so many as succeeded, of those that were tried in peace."""
    uses: dict[tuple[str, str], list[Operation]] = defaultdict(list)
    for each in operations:
        if each.f in PARTITION_KINDS and each.f not in NEVER and not is_zombie(each):
            uses[each.f, str(each.key)].append(each)
    if not uses:
        return "nobody asked for a partition"
    peace = Peace(events)
    worked = {use for use, own in uses.items() if any(each.ok for each in own)}
    tried = {use for use, own in uses.items() if peace.held_in(own) >= TRIES}
    first_ns = min((each.since_ns for each in events.faults), default=FOREVER_NS)
    calm = [each for each in owed(events.faults, events.plan.get("nodes") or {}) if each.calm]
    adding_up = replace(judge, shortest=0)
    over = set()
    for use, own in uses.items():
        final = [each for each in own if each.phase != "main"]
        after = [each for each in own if each.began_ns >= first_ns]
        if peace.held_in(final) >= TRIES and not any(map(_succeeded, final)):
            over.add(use)
        ended = peace.held_in(after) >= TRIES and not any(map(_succeeded, after))
        if ended and judge.is_stuck(adding_up.worst(after, calm, _succeeded)):
            over.add(use)
    return len(worked - over), len(worked | tried)


def _nodes(operations: Iterable[Operation], events: RunEvents) -> Count:
    """So many nodes as answered, of those that were asked in peace. Clients that have found a
    leader ask nobody else; the observer asks everybody to the end."""
    nodes = events.plan.get("nodes") or {}
    if len(nodes) < 2:
        return "no nodes that could be told apart"
    asked: dict[str, list[Operation]] = defaultdict(list)
    for each in operations:
        if each.node is not None and each.node in nodes and each.f not in NEVER:
            asked[each.node].append(each)
    if not asked:
        return "clients do not say whom they ask"
    peace = Peace(events)
    heard = {node for node, own in asked.items() if any(map(_heard, own))}
    heard |= {str(each.node) for each in events.observations if each.node in asked and each.ok}
    tried = {node for node, own in asked.items() if peace.held_in(own) >= TRIES}
    return len(heard), len(heard | tried)


class Peace:
    """The stretches of a run in which no fault held."""

    def __init__(self, events: RunEvents) -> None:
        stretches = owed(events.faults, events.plan.get("nodes") or {})
        self._calm = [each for each in stretches if each.calm]
        self._begins = [each.begin_ns for each in self._calm]

    def held_in(self, operations: Iterable[Operation]) -> int:
        """How many of them began and ended in one of those."""
        return sum(map(self.holds, operations))

    def holds(self, operation: Operation) -> bool:
        at = bisect_right(self._begins, operation.began_ns) - 1
        ended_ns = operation.completed_ns
        return at >= 0 and ended_ns is not None and ended_ns <= self._calm[at].end_ns


# --- stuck --------------------------------------------------------------------------------


@dataclass(slots=True)
class Streak:
    """Operations in vain, one after another, from `since_ns` on.

    tried: those that were asked for and given up while service was owed. until_ns: the end of the
    last one. least_ns: of a stretch in which they went on for less time half counts. machine: whose
    time is counted.
    """

    since_ns: int
    least_ns: int
    machine: Machine
    tried: list[Operation] = field(default_factory=list)
    until_ns: int = 0
    longest_ns: int = 0
    _stretch: Stretch | None = None
    _before_ns: int = 0
    _now_ns: int = 0

    @property
    def owed_ns(self) -> int:
        """How long service was owed, and not given."""
        now_ns = self._now_ns
        return self._before_ns + (now_ns if now_ns >= self.least_ns else now_ns // 2)

    def add(self, operation: Operation, ended_ns: int, stretch: Stretch) -> None:
        """The next one, if it lies within the stretch."""
        begin_ns = max(stretch.begin_ns, self.since_ns)
        if operation.began_ns < begin_ns or ended_ns > stretch.end_ns:
            return
        if stretch is not self._stretch:
            self._stretch, self._before_ns = stretch, self.owed_ns
        self._now_ns = self.machine.gave_ns(begin_ns, ended_ns)
        self.longest_ns = max(self.longest_ns, self._now_ns)
        self.until_ns = ended_ns
        self.tried.append(operation)


def _left_alone(operation: Operation, stretch: Stretch) -> bool:
    """Whether whom it asked owed an answer then, if it says whom."""
    return stretch.calm or operation.node is None or operation.node in stretch.left


@dataclass(frozen=True, slots=True)
class Judge:
    """`bound_s`: for so long service that is owed may fail; of a stretch in which it did for less
    than a third of that half counts; they add up till something succeeds. Time counts that
    the machine gave. `end_ns`: of the history; what is pending then was in vain till then."""

    bound_s: float
    end_ns: int
    machine: Machine = UNMEASURED
    shortest: float = 1 / 3

    def worst(
        self,
        operations: Iterable[Operation],
        stretches: Sequence[Stretch],
        answered: Callable[[Operation], bool],
        *,
        whole: bool = False,
    ) -> Streak:
        """The streak in which service was owed for longest; one without operations, if all were
        answered. While a fault holds a refusal may be right, as of a topic with more replicas than
        there are brokers just now; not so if the `whole` system does nothing else."""
        begins = [each.begin_ns for each in stretches]
        least_ns = round(self.bound_s * 1e9 * self.shortest)
        worst, streak, answered_ns = Streak(0, least_ns, self.machine), None, 0
        for each in sorted(operations, key=self._ended_ns):
            ended_ns = self._ended_ns(each)
            if answered(each):
                streak, answered_ns = None, ended_ns
                continue
            if streak is None:
                since_ns = max(answered_ns, each.began_ns)
                streak = Streak(since_ns, least_ns, self.machine)
            at = bisect_left(begins, ended_ns) - 1
            owes = at >= 0 and (whole or stretches[at].calm or not _refused(each))
            if owes and _left_alone(each, stretches[at]):
                streak.add(each, ended_ns, stretches[at])
            worst = max(worst, streak, key=lambda one: (one.owed_ns, one.longest_ns))
        return worst

    def is_stuck(self, streak: Streak) -> bool:
        return len(streak.tried) >= TRIES and streak.owed_ns >= self.bound_s * 1e9

    def stuck(self, streak: Streak, what: str, clause: Clause = KINDS) -> Iterator[Finding]:
        """The finding, if it is stuck."""
        if not self.is_stuck(streak):
            return
        last = streak.tried[-1]
        yield finding(
            f"stuck since {streak.since_ns / 1e9:.1f} s: {what} until "
            f"{streak.until_ns / 1e9:.1f} s, though for {streak.owed_ns / 1e9:.1f} s of that no "
            f"fault stood in the way, and {self.bound_s:g} s are enough; {len(streak.tried)} were "
            f"tried, the last one {last.type} {last.error_code or 'without an answer'}",
            streak.tried[:10],
            clause=clause.name,
            by=[LEDGER],
        )

    def _ended_ns(self, operation: Operation) -> int:
        return self.end_ns if operation.completed_ns is None else operation.completed_ns


def _stuck(
    operations: Sequence[Operation], events: RunEvents, judge: Judge
) -> tuple[list[Finding], dict[str, float]]:
    """What is stuck: all of it, or else kinds of operations, partitions and nodes; and of each
    kind, for how long it was at most.

    Kinds are owed while most of the system is left alone. A partition's replicas, or a node, may be
    just what a fault is about: they are owed in peace, and the former while all are left alone.
    """
    nodes = events.plan.get("nodes") or {}
    stretches = owed(events.faults, nodes)
    calm = [each for each in stretches if each.calm]
    replicas = _replicas(operations, events)
    brokers = {name for name, node in nodes.items() if "broker" in (node.get("roles") or ())}
    clients = [each for each in operations if each.f not in NEVER]
    honest = [each for each in clients if not is_zombie(each)]
    kinds = {
        f: judge.worst(_telling(mine), stretches, _succeeded)
        for f, mine in _grouped(honest, lambda each: each.f)
    }
    figures = {
        f"{f}.stuck_s": round(max(worst.owed_ns, worst.longest_ns) / 1e9, 3)
        for f, worst in kinds.items()
    }
    every = judge.worst(_telling(honest), stretches, _succeeded, whole=True)
    found = list(judge.stuck(every, "no operation succeeded"))
    if found:
        return found, figures
    for f, worst in kinds.items():
        found += judge.stuck(worst, f"no {f} succeeded")
        if f in PARTITION_KINDS and not judge.is_stuck(worst):
            of_f = _telling([each for each in honest if each.f == f])
            for key, mine in _grouped(of_f, lambda each: str(each.key)):
                left = [each for each in stretches if _spares(each, replicas.get(key) or brokers)]
                worst_of_key = judge.worst(mine, left, _succeeded)
                found += judge.stuck(worst_of_key, f"no {f} on {key} succeeded", PARTITIONS)
    for node, mine in _grouped(clients, lambda each: each.node or ""):
        if node in nodes:
            worst = judge.worst(mine, calm, _heard)
            found += judge.stuck(worst, f"{node} answered nobody", NODES)
    return found, figures


def _spares(stretch: Stretch, replicas: set[str]) -> bool:
    return stretch.calm or (bool(replicas) and all(each in stretch.left for each in replicas))


def _replicas(operations: Iterable[Operation], events: RunEvents) -> dict[str, set[str]]:
    """Where the observer was shown partitions, of a run in which nobody moves them."""
    if any(each.f == "reassign" for each in operations):
        return {}
    nodes = (events.plan.get("nodes") or {}).items()
    named = {(node.get("ids") or {}).get("broker"): name for name, node in nodes}
    found: dict[str, set[str]] = defaultdict(set)
    for each in events.observations:
        if each.f == "describe-topics" and each.ok and isinstance(each.result, dict):
            for topic in each.result.get("topics") or ():
                for one in topic.get("partitions") or ():
                    own = {named.get(id, str(id)) for id in one.get("replicas") or ()}
                    found[f"{topic['name']}/{one['partition']}"] |= own
    return found


def _succeeded(operation: Operation) -> bool:
    """It was done, or answered by what is: that it exists already, say, if by its own doing."""
    said = operation.asserts
    return operation.ok or (said is not None and said not in OF_THE_ASKER)


def _heard(operation: Operation) -> bool:
    """A node answered, whatever it said."""
    return operation.end is not None and operation.error_code not in OF_NO_NODE


def _refused(operation: Operation) -> bool:
    """A node answered that it does not do it, and never will."""
    return operation.failed and operation.error_code not in OF_NO_NODE


def _telling(operations: Sequence[Operation]) -> Sequence[Operation]:
    """Where none ever succeeded, refusals tell nothing: maybe they are right."""
    if any(map(_succeeded, operations)):
        return operations
    return [each for each in operations if not _refused(each)]


def _grouped(
    operations: Iterable[Operation], by: Callable[[Operation], str]
) -> list[tuple[str, list[Operation]]]:
    groups: dict[str, list[Operation]] = defaultdict(list)
    for each in operations:
        groups[by(each)].append(each)
    return sorted(groups.items())
