"""Once nothing is broken any more, all nodes come to one state (D.13).

Judged on the time from the "final" mark until the first node is stopped: every node has applied
what was committed, with one digest; every broker is active; every topic can be described, and
every partition read that is fetched from; no partition is without a leader though a broker of its
ISR works. Two digests of one offset are wrong at any time: a state is what its log makes it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from framework.checking.findings import concluded, finding
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import NO_LEADER
from framework.evidence.clocks import (
    Moment,
    earliest_ns,
    latest_ns,
    moment_of,
    surely_before,
    surely_not_after,
)
from framework.evidence.kinds import (
    Booted,
    BrokerStateChanged,
    Committed,
    Evidence,
    Exited,
    ImageDigest,
    evidence_of,
)
from framework.evidence.run_events import RunEvents, phase_ns, settled, unhealed
from framework.history.event import Recorded
from framework.history.pairing import Operation
from framework.plugins.checker import LEDGER, Finding
from framework.plugins.options import need_positive
from framework.verdict import Verdict

FS: Final = ("describe", "fetch")


@dataclass(frozen=True, slots=True)
class ConvergenceOptions:
    """`catch_up`: what was committed in the last so many s before the end need not be everywhere
    yet."""

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
    digests = list(_two_digests(events.of(ImageDigest)))
    seen = sum(1 for _ in events.of(ImageDigest))
    why = _cannot_tell(events)
    mark = phase_ns(events.nemesis, "final")
    if why is not None or mark is None:
        if digests:
            return concluded(seen, digests)
        return Outcome(verdict=Verdict.UNKNOWN, seen=seen, note=why or "")
    stop = _stop_ns(events, mark)
    ending = Ending(mark, max(mark, stop - round(options.catch_up * 1e9)), stop)
    before = sorted(
        (each for each in events.evidence if earliest_ns(each) < ending.stop_ns),
        key=lambda each: (each.at_ns, each.seq),
    )
    findings = [
        *digests,
        *_not_settled(events),
        *_nodes(before, events.plan, ending),
        *_brokers(before, events.plan, ending),
        *_reads(events.operations),
        *_leaderless(events.operations, before, ending),
    ]
    final_reads = sum(operation.phase == "final" for operation in events.operations)
    return concluded(seen + final_reads, findings, _figures(events))


def _cannot_tell(events: RunEvents) -> str | None:
    if phase_ns(events.nemesis, "final") is None:
        return "the run ended before its final phase: the cluster was never left in peace"
    broken = unhealed(events.faults)
    if broken:
        names = ", ".join(f"{each.fault} {each.id}" for each in broken)
        return f"not known to be healed: {names}"
    silent = sorted(set(_nodes_of(events.plan)) - {each.node for each in events.of(ImageDigest)})
    if silent:
        return f"no state digests of {', '.join(silent)}"
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
        own = max(shown, key=lambda each: each.offset)
        if own.offset < committed.offset:
            yield finding(
                f"{node} had come to offset {own.offset} at the end; {committed.node} reported "
                f"{committed.offset} committed "
                f"{(ending.stop_ns - committed.at_ns) / 1e9:.1f} s before the end",
                evidence=[committed, own],
            )


# --- brokers and partitions ---------------------------------------------------------------


def _brokers(
    before: list[Evidence], plan: Mapping[str, Recorded], ending: Ending
) -> Iterator[Finding]:
    """By their last state that clocks tell to be before the end, if there is no later one that
    may be, too. A node that never tells a state is no broker."""
    last: dict[str, Booted | BrokerStateChanged] = {}
    for each in before:
        if isinstance(each, Booted | BrokerStateChanged):
            last[each.node] = each
    for node in _nodes_of(plan):
        told = last.get(node)
        if told is None or latest_ns(told) >= ending.stop_ns:
            continue
        if isinstance(told, Booted) and told.broker_id is None:
            continue
        state = "starting" if isinstance(told, Booted) else told.after
        if state != "active":
            yield finding(f"broker {node} was {state} at the end", evidence=[told])


def _reads(operations: Iterable[Operation]) -> Iterator[Finding]:
    by_key: dict[str, list[Operation]] = defaultdict(list)
    for operation in operations:
        if operation.f in FS and operation.phase == "final":
            by_key[str(operation.key)].append(operation)
    for key, reads in sorted(by_key.items()):
        if not any(read.ok for read in reads):
            yield finding(
                f"{key} could not be read after the cluster was healed: {len(reads)} tries, the "
                f"last one {reads[-1].type} {reads[-1].error_code}",
                reads,
            )


def _leaderless(
    operations: Iterable[Operation], before: list[Evidence], ending: Ending
) -> Iterator[Finding]:
    """Brokers that a workload plays leave no evidence, and count as dead."""
    working = _working(before, ending)
    for operation in operations:
        if not operation.ok or operation.phase != "final" or operation.invoked_ns is None:
            continue
        for shown in (operation.result or {}).get("partitions") or ():
            if shown["leader"] != NO_LEADER:
                continue
            able = [
                broker
                for broker in shown["isr"]
                if broker in working
                and surely_before(moment_of(working[broker]), Moment(operation.invoked_ns))
            ]
            if able:
                yield finding(
                    f"operation {operation.index} found {operation.key}/{shown['partition']} "
                    f"without a leader, though broker {able[0]} of its ISR works",
                    [operation],
                    [working[broker] for broker in able],
                )


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
        "Once all faults are healed, every node reaches what is committed with the same "
        "state, every broker is active, and every partition that can have a leader has one"
    )
    requires = evidence_of(Committed, ImageDigest)
    Options = ConvergenceOptions
    check_run = RunCheck(
        convergence,
        evidence=(Booted, Exited, ImageDigest, Committed, BrokerStateChanged),
        fs=FS,
        nemesis=True,
        faults=True,
    )
