"""Processes run until they are told to stop, and never stand still (D.22).

An exception that nothing handled, an exit with a fatal reason (B.2 rules 6 and 11 among them),
a process that ended although nothing was done to it, a node that fell silent, a part of one
that stood still for longer than STALL_NS: each is a finding. Stalls while the process was
paused, and those that processes share because the machine itself had no time, are not.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from framework.checking.findings import concluded, finding
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.clocks import earliest_ns, latest_ns, moment_of, surely_before
from framework.evidence.kinds import (
    Booted,
    Committed,
    Evidence,
    Exited,
    Failed,
    ImageDigest,
    LeaseGranted,
    Stalled,
    Ticked,
    evidence_of,
)
from framework.evidence.run_events import FaultRecord, RunEvents, incarnations, phase_ns
from framework.plugins.checker import Finding

LIFE: Final = (Booted, Exited, Failed, Stalled, Ticked, ImageDigest, Committed, LeaseGranted)
"""What shows that a process lives."""
FS: Final = ("drain", "bounce", "replace", "restart", "start")
"""Operations that end or start processes; their key is `broker-<id>`, or a node's name."""
STALL_NS: Final = 1_000_000_000
SILENT_NS: Final = 30_000_000_000
"""Three times what lies between two ticks."""
BACK_NS: Final = 10_000_000_000
"""A process that was started again tells of its boot within this time."""
SETTLING_NS: Final = 1_000_000_000
"""What was done to a process shows within this time."""
NO_DEATH: Final = frozenset({"partition", "pause", "clock", "slow", "latency", "loss"})
"""Faults that end no process."""


def process_health(events: RunEvents) -> Outcome:
    stalls = [each for each in events.of(Stalled) if each.lasted_ns >= STALL_NS]
    findings = [
        *_errors(events.of(Failed)),
        *_fatal(events.of(Exited)),
        *_stalls(stalls, events.faults),
        *_unexplained(events),
        *_silent(events),
        *_never_back(events),
    ]
    processes = sum(1 for _ in events.of(Booted))
    longest = max((each.lasted_ns / 1e6 for each in events.of(Stalled)), default=0.0)
    figures = {"processes": processes, "stalls": len(stalls), "max_stall_ms": round(longest, 1)}
    return concluded(processes, findings, figures)


def _errors(errors: Iterable[Failed]) -> Iterator[Finding]:
    for each in errors:
        yield finding(
            f"{each.node}: nothing handled an error in {each.where}: {each.message}",
            evidence=[each],
        )


def _fatal(exits: Iterable[Exited]) -> Iterator[Finding]:
    for each in exits:
        if each.fatal:
            yield finding(f"{each.node} gave up: {each.reason}", evidence=[each])


# --- stalls -------------------------------------------------------------------------------


def _stalls(stalls: Sequence[Stalled], faults: Sequence[FaultRecord]) -> Iterator[Finding]:
    for each in stalls:
        shared = any(other.node != each.node and _overlap(each, other) for other in stalls)
        begin = earliest_ns(each) - each.lasted_ns
        if not shared and not _acted_on(faults, each.node, begin, latest_ns(each)):
            yield finding(
                f"{each.node}'s {each.part} stood still for {each.lasted_ns / 1e6:.0f} ms",
                evidence=[each],
            )


def _overlap(one: Stalled, other: Stalled) -> bool:
    """Whether they may have been at one time."""

    def over(first: Stalled, second: Stalled) -> bool:
        return surely_before(moment_of(first), moment_of(second, second.at_ns - second.lasted_ns))

    return not over(one, other) and not over(other, one)


def _acted_on(
    faults: Iterable[FaultRecord],
    node: str,
    begin: int,
    end: int,
    but: frozenset[str] = frozenset(),
) -> bool:
    """Whether a fault, of a kind not in `but`, held the node at some time in between, by the
    harness's clock."""
    return any(
        each.fault not in but
        and isinstance(each.victims, Mapping)
        and node in each.victims
        and _since(each) <= end
        and (each.healed_ns is None or each.healed_ns + SETTLING_NS >= begin)
        for each in faults
    )


def _since(fault: FaultRecord) -> int:
    """A fault may hold from the moment at which it was planned."""
    times = [entry.get("time") for entry in fault.entries]
    known = [each for each in times if isinstance(each, int)]
    return min(known, default=fault.injected_ns or 0)


# --- ends ---------------------------------------------------------------------------------


def _unexplained(events: RunEvents) -> Iterator[Finding]:
    """A process that said nothing of its end, followed by another one, that nothing killed."""
    for node, lives in incarnations(events.of(*LIFE)).items():
        for life, following in pairwise(lives):
            if any(isinstance(each, Exited) for each in life):
                continue
            last, boot = life[-1], following[0]
            begin = min(earliest_ns(last), earliest_ns(boot))
            end = max(latest_ns(last), latest_ns(boot))
            if _acted_on(events.faults, node, begin, end, NO_DEATH):
                continue
            if not _asked_for(events, life[0], begin, end):
                yield finding(
                    f"a process of {node} ended without a word, and nothing had been done to it",
                    evidence=[last, boot],
                )


def _asked_for(events: RunEvents, first: Evidence, begin: int, end: int) -> bool:
    """Whether an operation may have ended the process that began so, within that time."""
    broker_id = first.broker_id if isinstance(first, Booted) else None
    names = (first.node, f"broker-{broker_id}")
    return any(
        operation.key in names
        and (operation.invoked_ns or 0) <= end
        and (operation.completed_ns is None or operation.completed_ns + SETTLING_NS >= begin)
        for operation in events.operations
        if operation.f in FS
    )


def _silent(events: RunEvents) -> Iterator[Finding]:
    """A process that ticks, and told nothing for long before the final phase."""
    final = phase_ns(events.nemesis, "final")
    if final is None:
        return
    for node, lives in incarnations(events.of(*LIFE)).items():
        last = lives[-1][-1]
        ticks = any(isinstance(each, Ticked) for each in lives[-1])
        if isinstance(last, Exited) or not ticks or final - latest_ns(last) < SILENT_NS:
            continue
        if _acted_on(events.faults, node, earliest_ns(last), final):
            continue
        if not _asked_for(events, lives[-1][0], earliest_ns(last), final):
            yield finding(
                f"{node} fell silent {(final - last.at_ns) / 1e9:.0f} s before the final phase",
                evidence=[last],
            )


def _never_back(events: RunEvents) -> Iterator[Finding]:
    """A node that was killed and started again, and did not come as far as its boot."""
    last_ns = max((each.at_ns for each in events.of(*LIFE)), default=0)
    for node, lives in incarnations(events.of(*LIFE)).items():
        last = lives[-1][-1]
        killed = [
            each
            for each in events.faults
            if each.fault == "kill" and isinstance(each.victims, Mapping) and node in each.victims
        ]
        since = max(killed, key=_since, default=None)
        if since is None or since.healed_ns is None or last_ns - since.healed_ns < BACK_NS:
            continue
        if latest_ns(lives[-1][0]) < _since(since) and latest_ns(last) < since.healed_ns:
            yield finding(
                f"{node} was killed and started again {(last_ns - since.healed_ns) / 1e9:.0f} s "
                f"before the end, and did not boot",
                evidence=[last],
            )


class ProcessHealth(RunChecker):
    name = "process-health"
    summary = (
        "No unhandled error, no fatal exit, no process that ends without a fault, and no "
        "event loop that stands still without one"
    )
    requires = evidence_of(Booted)
    check_run = RunCheck(process_health, evidence=LIFE, fs=FS, nemesis=True, faults=True)
