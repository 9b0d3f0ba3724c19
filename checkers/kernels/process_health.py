"""Processes run until they are told to stop, and never stand still (D.22).

An exception that nothing handled, an exit with a fatal reason (B.2 rules 6 and 11 among them),
a process that ended although nothing was done to it, a node that fell silent, an event loop
that stood still for longer than STALL_MS: each is a finding. Stalls while the process was
paused, and those that processes share because the machine itself had no time, are not.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from checkers.kernels.evidence import (
    Evidence,
    Injection,
    NodeEvent,
    concluded,
    finding,
    incarnations,
    mark_ns,
)
from framework.checking.keyed import Outcome
from framework.plugins.checker import Finding

EVENTS: Final = ("boot", "exit", "error", "stall", "clock", "state", "hw", "lease")
FS: Final = ("drain", "bounce", "replace", "restart", "start")
"""Operations that end or start processes; their key is `broker-<id>`, or a node's name."""
STALL_MS: Final = 1_000
SILENT_NS: Final = 30_000_000_000
"""Three times what lies between two `clock` events."""
BACK_NS: Final = 10_000_000_000
"""A process that was started again tells of its boot within this time."""
SETTLING_NS: Final = 1_000_000_000
"""What was done to a process shows within this time."""
NO_DEATH: Final = frozenset({"partition", "pause", "clock", "slow", "latency", "loss"})
"""Faults that end no process."""


def process_health(evidence: Evidence) -> Outcome:
    stalls = [event for event in evidence.of("stall") if _stood_still(event)]
    findings = [
        *_errors(evidence.of("error")),
        *_fatal(evidence.of("exit")),
        *_stalls(stalls, evidence.injections),
        *_unexplained(evidence),
        *_silent(evidence),
        *_never_back(evidence),
    ]
    processes = sum(1 for _ in evidence.of("boot"))
    longest = max((float(event.fields["ms"]) for event in evidence.of("stall")), default=0.0)
    figures = {"processes": processes, "stalls": len(stalls), "max_stall_ms": round(longest, 1)}
    return concluded(processes, findings, figures)


def _errors(events: Iterable[NodeEvent]) -> Iterator[Finding]:
    for event in events:
        yield finding(
            f"{event.node}: nothing handled an error in {event.fields.get('where')}: "
            f"{event.fields.get('message')}",
            events=[event],
        )


def _fatal(events: Iterable[NodeEvent]) -> Iterator[Finding]:
    for event in events:
        reason = str(event.fields.get("reason"))
        if reason.startswith("fatal"):
            yield finding(f"{event.node} gave up: {reason}", events=[event])


# --- stalls -------------------------------------------------------------------------------


def _stood_still(event: NodeEvent) -> bool:
    return float(event.fields["ms"]) >= STALL_MS


def _stalls(stalls: Sequence[NodeEvent], injections: Sequence[Injection]) -> Iterator[Finding]:
    for event in stalls:
        begin = event.time_ns - round(float(event.fields["ms"]) * 1e6)
        shared = any(
            other.node != event.node and other.time_ns >= begin and _begin(other) <= event.time_ns
            for other in stalls
        )
        if not shared and not _acted_on(injections, event.node, begin, event.time_ns):
            yield finding(
                f"{event.node}'s {event.fields.get('loop')} loop stood still for "
                f"{float(event.fields['ms']):.0f} ms",
                events=[event],
            )


def _begin(stall: NodeEvent) -> int:
    return stall.time_ns - round(float(stall.fields["ms"]) * 1e6)


def _acted_on(
    injections: Iterable[Injection],
    node: str,
    begin: int,
    end: int,
    but: frozenset[str] = frozenset(),
) -> bool:
    """Whether a fault, of a kind not in `but`, held the node at some time in between."""
    return any(
        each.fault not in but
        and isinstance(each.victims, Mapping)
        and node in each.victims
        and _since(each) <= end
        and (each.healed_ns is None or each.healed_ns + SETTLING_NS >= begin)
        for each in injections
    )


def _since(injection: Injection) -> int:
    """A fault may hold from the moment at which it was planned."""
    times = [entry.get("time") for entry in injection.entries]
    known = [each for each in times if isinstance(each, int)]
    return min(known, default=injection.injected_ns or 0)


# --- ends ---------------------------------------------------------------------------------


def _unexplained(evidence: Evidence) -> Iterator[Finding]:
    """A process without an `exit`, followed by another one, that nothing killed."""
    for node, lives in incarnations(evidence.of(*EVENTS)).items():
        for life, following in pairwise(lives):
            if any(event.type == "exit" for event in life):
                continue
            last, boot = life[-1], following[0]
            begin, end = min(last.time_ns, boot.time_ns), max(last.time_ns, boot.time_ns)
            if _acted_on(evidence.injections, node, begin, end, NO_DEATH):
                continue
            if not _asked_for(evidence, life[0], begin, end):
                yield finding(
                    f"a process of {node} ended without a word, and nothing had been done to it",
                    events=[last, boot],
                )


def _asked_for(evidence: Evidence, boot: NodeEvent, begin: int, end: int) -> bool:
    """Whether an operation may have ended this process within that time."""
    names = (boot.node, f"broker-{boot.fields.get('broker_id')}")
    return any(
        operation.key in names
        and (operation.invoked_ns or 0) <= end
        and (operation.completed_ns is None or operation.completed_ns + SETTLING_NS >= begin)
        for operation in evidence.operations
        if operation.f in FS
    )


def _silent(evidence: Evidence) -> Iterator[Finding]:
    """A process that has a clock to tell, and told nothing for long before the final phase."""
    final = mark_ns(evidence.marks, "final")
    if final is None:
        return
    for node, lives in incarnations(evidence.of(*EVENTS)).items():
        last = lives[-1][-1]
        ticks = any(event.type == "clock" for event in lives[-1])
        if last.type == "exit" or not ticks or final - last.time_ns < SILENT_NS:
            continue
        if _acted_on(evidence.injections, node, last.time_ns, final):
            continue
        if not _asked_for(evidence, lives[-1][0], last.time_ns, final):
            yield finding(
                f"{node} fell silent {(final - last.time_ns) / 1e9:.0f} s before the final phase",
                events=[last],
            )


def _never_back(evidence: Evidence) -> Iterator[Finding]:
    """A node that was killed and started again, and did not come as far as its boot event."""
    last_ns = max((event.time_ns for event in evidence.events), default=0)
    for node, lives in incarnations(evidence.of(*EVENTS)).items():
        last = lives[-1][-1]
        killed = [
            each
            for each in evidence.injections
            if each.fault == "kill" and isinstance(each.victims, Mapping) and node in each.victims
        ]
        since = max(killed, key=_since, default=None)
        if since is None or since.healed_ns is None or last_ns - since.healed_ns < BACK_NS:
            continue
        if lives[-1][0].time_ns < _since(since) and last.time_ns < since.healed_ns:
            yield finding(
                f"{node} was killed and started again {(last_ns - since.healed_ns) / 1e9:.0f} s "
                f"before the end, and did not boot",
                events=[last],
            )
