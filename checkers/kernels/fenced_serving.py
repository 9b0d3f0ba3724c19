"""A broker that is not ACTIVE serves nobody (D.11; KIP-631: a fenced broker processes no client
request).

Judged by the node's events: no success under a state other than ACTIVE. And by clients alone,
once the fenced intervals of a process are known: no client operation that began and ended within
one is answered with success. An interval runs from the process's start, or from its lease's end
or the transition out of ACTIVE, to its next transition to ACTIVE.

Threads of one process write their events in any order within a short time, so a `serve` that
follows its transition closely needs a client that began later to be held against it.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from checkers.kernels.evidence import (
    Evidence,
    NodeEvent,
    Operation,
    concluded,
    finding,
    incarnations,
)
from checkers.kernels.leases import ROUNDING_NS, THREADS_LAG_NS, by_node, is_success, under_way
from framework.checking.keyed import Outcome
from framework.plugins.checker import Finding

EVENTS: Final = ("boot", "exit", "bstate", "lease", "serve")
FS: Final = ("metadata", "create", "delete", "produce", "fetch", "list-offsets")
"""Operations that a client sends to a broker."""


@dataclass(frozen=True, slots=True)
class Fenced:
    """From `begin_ns` on, the process was not ACTIVE until `end_ns`, and knew that it was not."""

    begin_ns: int
    end_ns: int
    why: NodeEvent


def fenced_serve_nothing(evidence: Evidence) -> Outcome:
    clients = [each for each in evidence.operations if each.f in FS]
    asked = by_node(clients)
    judged, findings = 0, list(_at_controllers(evidence, clients))
    for node, lives in incarnations(evidence.of(*EVENTS)).items():
        operations = asked.get(node, [])
        for life in lives:
            for served in _serves(life):
                judged += 1
                findings += _served(served, operations)
        intervals = _fenced(lives, evidence.plan.get("time_zero_ns"))
        seen, found = _clients(operations, intervals)
        judged += seen
        findings += found
    return concluded(judged, findings, {"judged": judged})


# --- by the node's events -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Served:
    """A success, the transition that the broker's state rests on, and the one after it."""

    event: NodeEvent
    state: NodeEvent | None
    following: NodeEvent | None


def _serves(life: Sequence[NodeEvent]) -> Iterator[Served]:
    transitions = [event for event in life if event.type == "bstate"]
    seqs = [event.seq for event in transitions]
    for event in life:
        if event.type == "serve" and is_success(event):
            at = bisect_left(seqs, event.seq)
            state = transitions[at - 1] if at else None
            yield Served(event, state, transitions[at] if at < len(transitions) else None)


def _served(served: Served, operations: list[Operation]) -> Iterator[Finding]:
    serve, state = served.event, served.state
    told = serve.fields.get("broker_state") or "ACTIVE"
    after = "INITIAL" if state is None else state.fields["after"]
    if told == after == "ACTIVE" or _just_active(served, told):
        return
    beside = under_way(serve, operations)
    if state is not None and serve.time_ns - state.time_ns <= THREADS_LAG_NS:
        beside = [each for each in beside if (each.invoked_ns or 0) > state.time_ns]
        if not beside:
            return
    was = f"{told} by its own word" if told != "ACTIVE" else after
    yield finding(
        f"{serve.node} served {serve.fields['api']} while it was {was}",
        beside,
        [each for each in (state, serve) if each is not None],
    )


def _just_active(served: Served, told: str) -> bool:
    """Whether another thread had made it ACTIVE, and wrote that down a moment later."""
    following = served.following
    return (
        told == "ACTIVE"
        and following is not None
        and following.fields["after"] == "ACTIVE"
        and following.time_ns - served.event.time_ns <= THREADS_LAG_NS
    )


# --- by what clients were answered --------------------------------------------------------


def _fenced(lives: Sequence[Sequence[NodeEvent]], zero_ns: int | None) -> list[Fenced]:
    """The intervals in which no process of this node was ACTIVE. Processes may overlap, where a
    second one was started: only what is fenced in all of them counts."""
    found = []
    for number, life in enumerate(lives):
        next_ns = lives[number + 1][0].time_ns if number + 1 < len(lives) else None
        for each in _of_process(life, zero_ns):
            others = any(older[-1].time_ns >= each.begin_ns for older in lives[:number])
            end_ns = each.end_ns if next_ns is None else min(each.end_ns, next_ns)
            if end_ns > each.begin_ns and not others:
                found.append(Fenced(each.begin_ns, end_ns, each.why))
    return found


def _of_process(life: Sequence[NodeEvent], zero_ns: int | None) -> Iterator[Fenced]:
    """The last interval of a process ends with its last event: it may have died there."""
    begin: int | None = life[0].time_ns if life[0].type == "boot" else None
    why = life[0]
    lease: NodeEvent | None = None
    for event in life:
        if event.type == "lease":
            lease = event
        elif event.type == "bstate" and event.fields["after"] == "ACTIVE":
            if begin is not None:
                yield Fenced(begin, event.time_ns - THREADS_LAG_NS, why)
            begin = None
        elif event.type == "bstate" and begin is None:
            begin, why = event.time_ns, event
            if lease is not None and zero_ns is not None:
                over = lease.fields["end_ns"] - zero_ns + ROUNDING_NS
                if event.fields.get("why") == "lease expired" and over < begin:
                    begin, why = over, lease
    if begin is not None and life[-1].time_ns > begin:
        yield Fenced(begin, life[-1].time_ns, why)


def _clients(
    operations: Sequence[Operation], intervals: Iterable[Fenced]
) -> tuple[int, list[Finding]]:
    """How many answers lay within a fenced interval, and the successes among them.
    `operations` of the node, by their completion."""
    ends = [each.completed_ns or 0 for each in operations]
    seen, findings = 0, []
    for interval in intervals:
        for operation in operations[bisect_left(ends, interval.begin_ns) :]:
            if (operation.completed_ns or 0) >= interval.end_ns:
                break
            if (operation.invoked_ns or 0) <= interval.begin_ns:
                continue
            seen += 1
            if operation.ok:
                findings.append(
                    finding(
                        f"operation {operation.index} ({operation.f} of {operation.key}) was "
                        f"answered ok by {operation.node}, which was not active from before "
                        f"its begin to after its end",
                        [operation],
                        [interval.why],
                    )
                )
    return seen, findings


def _at_controllers(evidence: Evidence, clients: Iterable[Operation]) -> Iterator[Finding]:
    """Controllers refuse what is a client's."""
    nodes = evidence.plan.get("nodes") or {}
    for operation in clients:
        spec = nodes.get(operation.node)
        if operation.ok and spec is not None and "broker" not in (spec.get("roles") or ()):
            yield finding(
                f"operation {operation.index} ({operation.f} of {operation.key}) was answered ok "
                f"by {operation.node}, which is no broker",
                [operation],
            )
