"""Processes run until they are told to stop, and never stand still (D.22).

An exception that nothing handled, as the process tells or as its log has it, an exit with a fatal
reason (B.2 rules 6 and 11 among them) or with an exit code, a process that ended although nothing
was done to it, a node that fell silent, a part of one that stood still for longer than `stall`:
each is a finding. Stalls while a fault held the node are not; nor is the time for which the kernel
says that it had no core for the process, nor what the machine took or the node waited for a core,
as the harness measured it, nor, of a stall, when anybody waited for a disk or memory. That
another node stood still as well excuses nothing: the two may wait for each other.

Each clause wants to have heard of every node of the plan. Where nodes report nothing of themselves,
as those of Apache Kafka, their logs, how their processes ended, and the pauses that they wrote down
are judged.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest
from typing import Final

import numpy as np

from checkers.folds.history.peace import FOREVER_NS
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.brokers import LeaseGranted
from framework.evidence.clocks import earliest_ns, latest_ns
from framework.evidence.kinds import DISK, Evidence, disk_of, evidence_of
from framework.evidence.machine import Machine
from framework.evidence.processes import Booted, Exited, Failed, ProcessEnded, Stalled, Ticked
from framework.evidence.quorum import Committed, ImageDigest
from framework.evidence.relations import relation
from framework.evidence.run_events import (
    FaultRecord,
    RunEvents,
    from_no_disk,
    incarnations,
    of_kinds,
    phase_ns,
    unable,
    unshown,
)
from framework.history.pairing import Operation
from framework.plugins.capabilities import OR
from framework.plugins.checker import DISKS, EVENTS, LEDGER, Clause, Count, Finding
from framework.plugins.options import need_positive
from framework.verdict import Verdict

LIFE: Final = (Booted, Exited, Failed, Stalled, Ticked, ImageDigest, Committed, LeaseGranted)
"""What shows that a process lives."""
FS: Final = ("drain", "kill", "bounce", "replace", "restart", "start")
"""Operations that end or start processes; their key names the process, or its node."""
(PAUSES,) = disk_of(Stalled)
"""Of a system whose processes leave on disk each time at which they stood still, however short."""
MISSED: Final = 3
"""So many ticks are not missed by chance."""
SETTLING_NS: Final = 1_000_000_000
"""What was done to a process shows within this time."""
BY_REQUEST: Final = frozenset({2, 9, 15})
"""Signals that people and the harness end processes with."""
SHELL: Final = 128
"""A program may turn a signal into an exit code, which is then this much more."""
EVERY_NODE: Final = "all of the plan's, for of one that tells nothing nothing is known"

UNBROKEN: Final = Clause(
    name="unbroken",
    says="No process meets an error that nothing handles, gives up, or ends with an exit code",
    compares="nodes of the plan whose processes told of themselves, or were seen to have ended",
    floor=2,
    because=EVERY_NODE,
    sources=(LEDGER, DISKS, EVENTS),
    blind="an error that is neither told nor logged, of a process that goes on; of nodes that log "
    "errors in the course of things, all but last words and exceptions that ended a thread",
)
ENDS: Final = Clause(
    name="explained-ends",
    says="No process ends to which nothing was done, and one that is started again comes back",
    compares="nodes of the plan whose processes were followed",
    floor=2,
    because=EVERY_NODE,
    sources=(LEDGER, EVENTS),
    blind="a process that ends and is followed by none before the run is over, if it does not tell "
    "that it ends",
)
SILENCE: Final = Clause(
    name="never-silent",
    says="No process stops telling that it lives while nothing holds it",
    compares="nodes of the plan that tell that they live",
    floor=2,
    because=EVERY_NODE,
    sources=(LEDGER, EVENTS),
    blind="silences shorter than three times what lies between two signs of life",
)
STALLS: Final = Clause(
    name="never-still",
    says="No part of a process stands still for long while it has a core and nothing holds it",
    compares="nodes of the plan that watch their own parts, or leave a log of their pauses",
    floor=2,
    because=EVERY_NODE,
    sources=(LEDGER, DISKS, EVENTS),
    blind="a stall that the process does not tell of, and whose parts nobody waits for; in a log "
    "of pauses, one that was not over when its process was killed, and those for which nobody "
    "measured what the machine gave: before the run, after it, of a process of a workload's, of "
    "nodes on other machines than the harness's",
)
ELSEWHERE: Final = "nobody measured what other machines than the harness's gave their nodes"


@dataclass(frozen=True, slots=True)
class ProcessHealthOptions:
    """In s. `stall`: how long a part of a process stands still at most. `silence`: how long one
    that ticks tells nothing at most; None: `MISSED` times what lies between two of its ticks.
    `boot`: within what time one that was started again tells of its boot."""

    stall: float = 1.0
    silence: float | None = None
    boot: float = 10.0

    def __post_init__(self) -> None:
        need_positive(stall=self.stall, silence=self.silence, boot=self.boot)


def process_health(
    events: RunEvents, options: ProcessHealthOptions = ProcessHealthOptions()
) -> Outcome:
    stalls, planned = list(events.of(Stalled)), set(events.plan.get("nodes") or ())
    long_ns = round(options.stall * 1e9)
    findings = [
        *_errors(events.of(Failed)),
        *_fatal(events.of(Exited)),
        *_exit_codes(events.of(ProcessEnded)),
        *_stalls(stalls, events, long_ns),
        *_unexplained(events),
        *_left(events, planned),
        *_silent(events, options),
        *_never_back(events, options.boot),
    ]
    longest = max((each.lasted_ns / 1e6 for each in stalls), default=0.0)
    figures = {
        "processes": sum(1 for _ in events.of(Booted)),
        "stalls": sum(each.lasted_ns - each.delayed_ns >= long_ns for each in stalls),
        "max_stall_ms": round(longest, 1),
    }
    booted = {each.node for each in events.of(Booted)} & planned
    ended = {each.node for each in events.of(ProcessEnded)} & planned
    ticking = {each.node for each in events.of(Ticked)} & planned
    unreported = unshown(events.plan, Booted)
    no_ticks = unshown(events.plan, Ticked)
    watched, no_stalls = planned, no_ticks
    if no_ticks and not unable(events.plan, PAUSES):
        watched = {node for node in planned if events.machines.are_here([node])}
        no_stalls = "" if watched else ELSEWHERE
    pausing = {each.node for each in stalls if each.source == DISK}
    counts: dict[str, Count] = {
        UNBROKEN.name: (len(booted | ended), len(planned)),
        ENDS.name: unreported or (len(booted), len(planned)),
        SILENCE.name: no_ticks or (len(ticking), len(planned)),
        STALLS.name: no_stalls or (len((ticking | pausing) & watched), len(watched)),
    }
    outcome = weighed(counts, findings, figures)
    missing = () if unreported else sorted(planned - booted)
    if outcome.verdict is not Verdict.VALID or not missing:
        return outcome
    return replace(
        outcome, verdict=Verdict.UNKNOWN, note=f"no process of {', '.join(missing)} told of itself"
    )


def _reported(events: RunEvents) -> Sequence[Evidence]:
    """What shows that a process lived, and when: what is on its disk says only that it did."""
    return from_no_disk(events.of(*LIFE))


def _errors(errors: Iterable[Failed]) -> Iterator[Finding]:
    for each in errors:
        yield finding(
            f"{each.node}: nothing handled an error in {each.where}: {each.message}",
            evidence=[each],
            clause=UNBROKEN.name,
        )


def _fatal(exits: Iterable[Exited]) -> Iterator[Finding]:
    for each in exits:
        if each.fatal:
            yield finding(
                f"{each.node} gave up: {each.reason}", evidence=[each], clause=UNBROKEN.name
            )


def _exit_codes(ends: Iterable[ProcessEnded]) -> Iterator[Finding]:
    for each in ends:
        code = each.exit_code
        if code and (-code if code < 0 else code - SHELL) not in BY_REQUEST:
            how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            yield finding(
                f"a process of {each.node} ended {how}",
                evidence=[each],
                clause=UNBROKEN.name,
                by=[LEDGER],
            )


# --- stalls -------------------------------------------------------------------------------


def _stalls(stalls: Iterable[Stalled], events: RunEvents, long_ns: int) -> Iterator[Finding]:
    """Of a stall counts what the machine gave its node, by what the harness or the kernel measured
    of that node, whichever was less. A log of pauses says nothing of what the kernel measured: of
    those counts what was measured by the harness, within the run, and of the plan's nodes that are
    on its machine."""
    planned = set(events.plan.get("nodes") or ())
    over_ns = max((each.time_ns for each in events.nemesis), default=FOREVER_NS)
    for each in stalls:
        begin_ns, end_ns = earliest_ns(each) - each.lasted_ns, latest_ns(each)
        if each.source == DISK:
            begin_ns, end_ns = max(begin_ns, 0), min(end_ns, over_ns)
            if each.node not in planned or not events.machines.are_here([each.node]):
                continue
        if _acted_on(events.faults, each.node, begin_ns, end_ns):
            continue
        given_ns = events.machines.of_files(each.node).gave_ns(begin_ns, end_ns)
        if min(given_ns, each.lasted_ns - each.delayed_ns) >= long_ns:
            yield finding(
                f"{each.node}'s {each.part} stood still for {each.lasted_ns / 1e6:.0f} ms",
                evidence=[each],
                clause=STALLS.name,
            )


def _outside_ns(
    begin_ns: int, end_ns: int, spans: Iterable[tuple[int, int]], machine: Machine
) -> int:
    """How much of the time from begin to end lies in none of the spans, and was given."""
    outside_ns, reached_ns = 0, begin_ns
    for since_ns, till_ns in sorted(spans):
        if since_ns > reached_ns:
            outside_ns += machine.gave_ns(reached_ns, min(since_ns, end_ns))
        reached_ns = max(reached_ns, till_ns)
    return outside_ns + machine.gave_ns(reached_ns, end_ns)


def _acted_on(faults: Iterable[FaultRecord], node: str, begin: int, end: int) -> bool:
    """Whether a fault held the node at some time in between, by the harness's clock."""
    return any(since <= end and till >= begin for since, till in _held(faults, node))


# --- ends ---------------------------------------------------------------------------------


def _unexplained(events: RunEvents) -> Iterator[Finding]:
    """A process that said nothing of its end, followed by another one, that nothing killed."""
    deadly = [each for each in events.faults if each.ends_processes is not False]
    for node, lives in incarnations(_reported(events)).items():
        for life, following in pairwise(lives):
            if of_kinds(life, Exited):
                continue
            last, boot = life[-1], following[0]
            begin = min(earliest_ns(last), earliest_ns(boot))
            end = max(latest_ns(last), latest_ns(boot))
            if _acted_on(deadly, node, begin, end):
                continue
            if not any(_asked(events, life[0], begin, end)):
                yield finding(
                    f"a process of {node} ended without a word, and nothing had been done to it",
                    evidence=[last, boot],
                    clause=ENDS.name,
                )


def _left(events: RunEvents, planned: Set[str]) -> Iterator[Finding]:
    """A process of the plan's that ended in good order before the final phase, and was not asked
    to. Others, as a workload's own, may end when they have lost their id."""
    until_ns = phase_ns(events.nemesis, "final") or 0
    deadly = [each for each in events.faults if each.ends_processes is not False]
    for node, lives in incarnations(_reported(events)).items():
        for life in lives if node in planned else ():
            exited = next(iter(of_kinds(life, Exited)), None)
            if exited is None or exited.fatal or earliest_ns(exited) < 0:
                continue
            begin, end = earliest_ns(exited), latest_ns(exited)
            done = _acted_on(deadly, node, begin, end) or any(_asked(events, life[0], begin, end))
            if end < until_ns and not done:
                yield finding(
                    f"{node} ended by itself, {end / 1e9:.0f} s after the run began: "
                    f"{exited.reason}",
                    evidence=[exited],
                    clause=ENDS.name,
                )


def _asked(events: RunEvents, first: Evidence, begin: int, end: int) -> Iterator[Operation]:
    """Operations that may have ended the process that began so, within that time."""
    names = (first.node, first.key if isinstance(first, Booted) else None)
    return (
        operation
        for operation in events.operations
        if operation.f in FS
        and operation.key is not None
        and operation.key in names
        and operation.began_ns <= end
        and (operation.completed_ns is None or operation.completed_ns + SETTLING_NS >= begin)
    )


def _silent(events: RunEvents, options: ProcessHealthOptions) -> Iterator[Finding]:
    """A process that told nothing for long, though such processes tick: between two things that it
    told, or from the last one to the next process of its node, or to the last that the harness did;
    or till somebody asks it to end. Time in which a fault held its node or which the machine did
    not give it does not count."""
    ticks = list(events.of(Ticked))
    long_ns = MISSED * max((each.every_ns or 0 for each in ticks), default=0)
    if options.silence is not None:
        long_ns = round(options.silence * 1e9)
    if not ticks or not long_ns:
        return
    end_ns = max((each.time_ns for each in events.nemesis), default=0)
    for node, lives in incarnations(_reported(events)).items():
        held, machine = _held(events.faults, node), events.machines.of_node(node)
        begins = [earliest_ns(life[0]) for life in lives]
        for life, after_ns in zip(lives, (*begins[1:], end_ns), strict=True):
            signs = relation(life, "at_ns", "within_ns")
            until = (signs["at_ns"] - signs["within_ns"])[1:]
            if not isinstance(life[-1], Exited):
                until = np.append(until, after_ns)
            since = (signs["at_ns"] + signs["within_ns"])[: len(until)]
            rows = np.flatnonzero(until - since >= long_ns)
            for last, next_ns in zip(signs.objects(rows), until[rows].tolist(), strict=True):
                since_ns = latest_ns(last)
                asked_ns = [each.began_ns for each in _asked(events, life[0], since_ns, next_ns)]
                till_ns = max(since_ns, min((next_ns, *asked_ns)))
                silent_ns = _outside_ns(since_ns, till_ns, held, machine)
                if silent_ns < long_ns:
                    continue
                yield finding(
                    f"{node} fell silent {since_ns / 1e9:.0f} s after the run began, for "
                    f"{silent_ns / 1e9:.0f} s in which nothing was done to it",
                    evidence=[last],
                    clause=SILENCE.name,
                )


def _held(faults: Iterable[FaultRecord], node: str) -> list[tuple[int, int]]:
    """When faults held a node, and for a moment after."""
    return [
        (each.since_ns, FOREVER_NS if each.healed_ns is None else each.healed_ns + SETTLING_NS)
        for each in faults
        if node in each.nodes
    ]


def _never_back(events: RunEvents, boot_s: float) -> Iterator[Finding]:
    """A node that was killed and started again, and did not come as far as its boot before it was
    killed anew, or the run was over: it told nothing all that time."""
    signs = relation(_reported(events), "at_ns", "within_ns")
    last_ns = int((signs["at_ns"] - signs["within_ns"]).max()) if len(signs) else 0
    for node, lives in incarnations(_reported(events)).items():
        killed = [each for each in events.faults if each.ends_processes and node in each.nodes]
        killed.sort(key=lambda each: each.since_ns)
        held, machine = _held(events.faults, node), events.machines.of_node(node)
        for since, anew in zip_longest(killed, killed[1:]):
            until_ns = last_ns if anew is None else anew.since_ns
            if since.healed_ns is None:
                continue
            idle = _outside_ns(since.healed_ns, until_ns, held, machine)
            told = _told_before(lives, until_ns)
            if told is None or idle < boot_s * 1e9:
                continue
            boot, before = told
            if latest_ns(boot) >= since.since_ns or latest_ns(before) >= since.healed_ns:
                continue
            when = "the end" if anew is None else "it was killed anew"
            yield finding(
                f"{node} was killed and started again {(until_ns - since.healed_ns) / 1e9:.0f} s "
                f"before {when}, and did not boot",
                evidence=[before],
                clause=ENDS.name,
            )


def _told_before(
    lives: Sequence[Sequence[Evidence]], until_ns: int
) -> tuple[Evidence, Evidence] | None:
    """How the last process of a node began that may have told anything by then, and what it told
    last."""
    for life in reversed(lives):
        signs = relation(life, "at_ns", "within_ns")
        told = np.flatnonzero(signs["at_ns"] - signs["within_ns"] <= until_ns)
        if len(told):
            return life[0], signs.objects(told[-1:])[0]
    return None


class ProcessHealth(RunChecker):
    name = "process-health"
    summary = (
        "No unhandled error, no fatal exit, no process that ends without a fault, and no "
        "event loop that stands still without one"
    )
    requires = frozenset({OR.join((*evidence_of(Booted), *disk_of(Failed)))})
    Options = ProcessHealthOptions
    clauses = (UNBROKEN, ENDS, SILENCE, STALLS)
    check_run = RunCheck(
        process_health,
        evidence=(*LIFE, ProcessEnded),
        disk=(Failed, Stalled),
        fs=FS,
        nemesis=True,
        faults=True,
    )
