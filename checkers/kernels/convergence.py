"""Once nothing is broken any more, all nodes come to one state (D.13).

Judged on the time from the "final" mark until the first node is stopped: every node has applied
what was committed, with one digest; every broker is ACTIVE; every topic can be described, and
every partition read that is fetched from; no partition is without a leader though a broker of its
ISR works. Two digests of one offset are wrong at any time: a state is what its log makes it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from checkers.kernels.evidence import (
    Evidence,
    NodeEvent,
    Operation,
    concluded,
    finding,
    mark_ns,
    settled,
    unhealed,
)
from framework.checking.keyed import Outcome
from framework.history.event import Json
from framework.plugins.checker import Finding
from framework.verdict import Verdict

EVENTS: Final = ("boot", "exit", "state", "hw", "bstate")
FS: Final = ("describe", "fetch")
CATCH_UP_NS: Final = 2_000_000_000
"""What was committed in the last moments before the end need not be everywhere yet."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The time in which convergence shows. `mark`, `stop`: ns since the run began."""

    mark_ns: int
    stop_ns: int


def convergence(evidence: Evidence) -> Outcome:
    digests = list(_two_digests(evidence.of("state")))
    seen = sum(1 for _ in evidence.of("state"))
    why = _cannot_tell(evidence)
    mark = mark_ns(evidence.marks, "final")
    if why is not None or mark is None:
        if digests:
            return concluded(seen, digests)
        return Outcome(verdict=Verdict.UNKNOWN, seen=seen, note=why or "")
    ending = Ending(mark, _stop_ns(evidence, mark))
    before = [event for event in evidence.events if event.time_ns < ending.stop_ns]
    findings = [
        *digests,
        *_not_settled(evidence),
        *_nodes(before, evidence.plan, ending),
        *_brokers(before, evidence.plan),
        *_reads(evidence.operations),
        *_leaderless(evidence.operations, before),
    ]
    final_reads = sum(operation.phase == "final" for operation in evidence.operations)
    return concluded(seen + final_reads, findings, _figures(evidence))


def _cannot_tell(evidence: Evidence) -> str | None:
    if mark_ns(evidence.marks, "final") is None:
        return "the run ended before its final phase: the cluster was never left in peace"
    broken = unhealed(evidence.injections)
    if broken:
        names = ", ".join(f"{each.fault} {each.id}" for each in broken)
        return f"not known to be healed: {names}"
    silent = sorted(set(_roles(evidence.plan)) - {event.node for event in evidence.of("state")})
    if silent:
        return f"no state digests of {', '.join(silent)}"
    return None


def _roles(plan: Mapping[str, Json]) -> Mapping[str, list[str]]:
    return {node: spec.get("roles") or [] for node, spec in (plan.get("nodes") or {}).items()}


def _stop_ns(evidence: Evidence, mark: int) -> int:
    """When the end of the test began to show: the first node on its way out. Brokers of a
    workload's own are none of the cluster's nodes, and leave when they like."""
    nodes = _roles(evidence.plan)
    ends = [
        event.time_ns
        for event in evidence.of("exit", "bstate")
        if event.node in nodes
        and event.time_ns > mark
        and (event.type == "exit" or event.fields["after"] == "SHUTDOWN")
    ]
    last = max((event.time_ns for event in evidence.events), default=mark)
    return min(ends, default=last + 1)


# --- states -------------------------------------------------------------------------------


def _two_digests(states: Iterable[NodeEvent]) -> Iterator[Finding]:
    by_offset: dict[int, dict[str, NodeEvent]] = defaultdict(dict)
    for event in states:
        by_offset[event.fields["offset"]].setdefault(event.fields["digest"], event)
    for offset, digests in sorted(by_offset.items()):
        if len(digests) > 1:
            who = ", ".join(f"{event.node} {digest}" for digest, event in sorted(digests.items()))
            yield finding(
                f"the records below offset {offset} made different states: {who}",
                events=list(digests.values()),
            )


def _not_settled(evidence: Evidence) -> Iterator[Finding]:
    if settled(evidence.marks) is not False:
        return
    mark = [each for each in evidence.marks if each.f == "settle"][-1]
    missing = mark.value.get("missing") if isinstance(mark.value, dict) else None
    yield Finding(
        message=f"all faults were healed, and the cluster did not settle: {missing}",
        operations=(mark.index,),
    )


def _nodes(events: list[NodeEvent], plan: Mapping[str, Json], ending: Ending) -> Iterator[Finding]:
    """Each node's last digest stands at the offset of the last one anywhere, or at least its
    high watermark reached what had been committed some time before the end."""
    last: dict[str, NodeEvent] = {}
    reached: dict[str, NodeEvent] = {}
    committed: NodeEvent | None = None
    for event in sorted(events, key=lambda each: each.time_ns):
        if event.type == "boot":
            reached.pop(event.node, None)
        elif event.type == "state":
            last[event.node] = event
        elif event.type == "hw":
            reached[event.node] = event
            due = event.time_ns <= max(ending.mark_ns, ending.stop_ns - CATCH_UP_NS)
            if due and (committed is None or event.fields["offset"] > committed.fields["offset"]):
                committed = event
    if committed is None:
        return
    for node in sorted(_roles(plan)):
        own = max((each[node] for each in (last, reached) if node in each), key=_offset)
        if _offset(own) < _offset(committed):
            yield finding(
                f"{node} had come to offset {_offset(own)} at the end; {committed.node} reported "
                f"{_offset(committed)} committed "
                f"{(ending.stop_ns - committed.time_ns) / 1e9:.1f} s before the end",
                events=[committed, own],
            )


def _offset(event: NodeEvent) -> int:
    return int(event.fields["offset"])


# --- brokers and partitions ---------------------------------------------------------------


def _brokers(events: list[NodeEvent], plan: Mapping[str, Json]) -> Iterator[Finding]:
    last: dict[str, NodeEvent] = {}
    for event in sorted(events, key=lambda each: (each.time_ns, each.seq)):
        if event.type in ("bstate", "boot"):
            last[event.node] = event
    for node, roles in sorted(_roles(plan).items()):
        if "broker" not in roles or node not in last:
            continue
        state = last[node].fields.get("after", "INITIAL")
        if state != "ACTIVE":
            yield finding(f"broker {node} was {state} at the end", events=[last[node]])


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


def _leaderless(operations: Iterable[Operation], events: list[NodeEvent]) -> Iterator[Finding]:
    """Brokers that a workload plays have no events, and count as dead."""
    working = _working(events)
    for operation in operations:
        if not operation.ok or operation.phase != "final" or operation.invoked_ns is None:
            continue
        for shown in (operation.result or {}).get("partitions") or ():
            if shown["leader"] != -1:
                continue
            able = [
                broker
                for broker in shown["isr"]
                if broker in working and working[broker].time_ns < operation.invoked_ns
            ]
            if able:
                yield finding(
                    f"operation {operation.index} found {operation.key}/{shown['partition']} "
                    f"without a leader, though broker {able[0]} of its ISR works",
                    [operation],
                    [working[broker] for broker in able],
                )


def _working(events: list[NodeEvent]) -> dict[int, NodeEvent]:
    """Brokers whose last word is that they are ACTIVE."""
    ids: dict[str, int] = {}
    found: dict[int, NodeEvent] = {}
    for event in sorted(events, key=lambda each: (each.time_ns, each.seq)):
        if event.type == "boot" and event.fields.get("broker_id") is not None:
            ids[event.node] = event.fields["broker_id"]
            found.pop(ids[event.node], None)
        elif event.type == "bstate" and event.node in ids:
            if event.fields["after"] == "ACTIVE":
                found[ids[event.node]] = event
            else:
                found.pop(ids[event.node], None)
    return found


def _figures(evidence: Evidence) -> dict[str, float]:
    times = [mark.time_ns for mark in evidence.marks if mark.f == "settle"]
    figures: dict[str, float] = {"nodes": len(_roles(evidence.plan))}
    if len(times) > 1:
        figures["settle_s"] = round((times[-1] - times[0]) / 1e9, 3)
    return figures
