"""Whether the system works for its clients, again after each fault, and how well (D.21).

`stuck`: operations of a kind, or on a partition, or at a node, were tried again and again, and
failed for longer than the system's own time-outs allow. That is judged on what clients saw and on
what the ledger says of faults; no node is asked. Floors: a run in which hardly anything succeeded
shows nothing, nor does one in which something never succeeded again after the first fault, though
too soon to be stuck: both are UNKNOWN. The other figures are for the report.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

import numpy as np

from checkers.folds.history.operations import ACKS, UNANSWERED, produce_with
from checkers.folds.history.peace import FOREVER_NS, Stretch, owed_in
from checkers.folds.serving.asked import Asked, Flags, Numbers, Places, Times, asked_of, grouped
from checkers.folds.serving.away import met_nobody
from checkers.folds.serving.placed import Placed
from checkers.folds.serving.recovering import refused_at_first
from checkers.folds.serving.streaks import TRIES, Judge, Streak, limits
from framework.checking.findings import concluded, finding
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.quorum import Elected
from framework.evidence.run_events import FaultRecord, RunEvents
from framework.history.event import Recorded
from framework.history.pairing import Operation
from framework.history.rows import OperationRows
from framework.plugins.checker import CLIENTS, LEDGER, Clause, Count, Finding
from framework.plugins.options import need_positive
from framework.plugins.system import RECOVERY_S
from framework.verdict import Verdict

READ_FS: Final = frozenset({"describe", "follow", "metadata"})
PROCESS_FS: Final = frozenset({"start", "restart", "drain", "kill", "bounce", "replace"})
"""What is done to processes, which no client waits for, and which a fault may well keep from
being done in time."""
PARTITION_FS: Final = ("produce", "fetch")
"""What a partition is there for, each partition by itself."""
PARTITION_KINDS: Final = (*PARTITION_FS, *map(produce_with, ACKS))
"""Those are tried in these kinds."""
OF_NO_ANSWER: Final = frozenset({UNANSWERED, *PROCESS_FS})
"""No node's answer says whether they were done."""

FLOOR: Final = 10
"""Successes a kind, on average: with fewer, hardly two of a kind are under way at once, or one on
each side of a fault, and no checker had anything to compare. Of a kind by itself a quarter of those
that were asked for will do, so many at most: some are asked for once or twice in a run, as the
creation of what is worked on, and of others most are refused for good reasons. Of what nobody
refused, and was in vain in peace, a tenth as many at least succeed. What failed while a
fault held is not counted, nor what was refused because of who asked: workloads ask as former
members on purpose; nor what found no connection at a node that was killed and is not yet back: that
says nothing of what was asked for, and clients that nobody answers ask all the more."""
SHOWN: Final = 10
"""Of those that were tried in vain so many are named."""

KINDS: Final = Clause(
    name="kinds",
    says="No kind of operation is stuck, nor all of them together",
    compares="signs that kinds work, one that enough succeeded and one that it did again after the "
    "first fault",
    floor=4,
    because="two of each kind, and two of all together; this run needs those of all that were "
    "asked for, but for a kind that was asked for fewer than ten times and never succeeded, if "
    "fewer than three could: the others met faults, or a node that was killed and not yet back, or "
    "were refused because of who asked, or after a fault before any of the kind was done again",
    sources=(CLIENTS, LEDGER),
    blind="what recovers just within the bound, however often, and what is answered late; kinds "
    "that nobody asks for while they are out, or fewer than three; kinds that are out, and hardly "
    "asked for but under faults; what differs within a kind, as objects that are no partitions; "
    "produces with acks=0, which nobody answers",
)
PARTITIONS: Final = Clause(
    name="partitions",
    says="No partition is stuck, where produces or fetches succeed on others",
    compares="kinds of use of a partition that succeeded",
    floor=2,
    because="with one alone it is the kind that is stuck; this run needs all that were tried in "
    "peace, and more than twice, and none of them in vain to the end, from "
    "the final reads on or, for as long as the bound in peace, from the first fault on",
    sources=(CLIENTS, LEDGER),
    blind="partitions that nobody asks in peace, or for too short a time in all, of which short "
    "gaps between faults count half; under faults of their replicas",
)
NODES: Final = Clause(
    name="nodes",
    says="No node that clients ask is silent",
    compares="nodes that answered, clients or the observer",
    floor=2,
    because="with one alone all is stuck; this run needs all that were asked in peace, and more "
    "than twice: who was asked while it started, and then not again, need only answer the observer",
    sources=(CLIENTS, LEDGER),
    blind="nodes that no client asks, as most of those that vote; a node that answers some kinds "
    "of operations and not others, or nothing but errors, where others do what it does not",
)


@dataclass(frozen=True, slots=True)
class AvailabilityOptions:
    """`recovery`: for how many s operations may fail though nothing keeps the system from doing
    them. By default what it says of itself, as the plan has it; 30 where it does not."""

    recovery: float | None = None

    def __post_init__(self) -> None:
        need_positive(recovery=self.recovery)


@dataclass(frozen=True, slots=True)
class Window:
    """A fault held from `begin_ns` to `end_ns`."""

    fault: FaultRecord
    begin_ns: int
    end_ns: int


def availability(
    events: RunEvents, options: AvailabilityOptions = AvailabilityOptions()
) -> Outcome:
    rows = OperationRows.of(events.operations)
    asked = asked_of(rows, keys_of=PARTITION_FS)
    stretches = owed_in(events)
    peace = [each for each in stretches if each.calm]
    calm, since = _within(asked, peace), _since_first_fault(asked, events)
    windows = _windows(events.faults)
    elections = sorted(each.at_ns for each in events.of(Elected))
    figures: dict[str, float] = {
        **_by_function(asked),
        **_around_faults(asked, windows),
        "elections": len(elections),
        "elections_in_faults": int(_inside(np.array(elections, np.int64), windows).sum()),
    }
    writes = Writes.of(asked)
    for window in windows:
        figures |= _recovery(writes, window, elections)
    bound_s = _bound_s(events.plan, options)
    judge = Judge(bound_s, events.machines.cluster)
    placed = Placed.of(events, asked.fs)
    stuck, longest = _stuck(asked, stretches, placed, events.plan.get("nodes") or {}, judge)
    findings = _told(stuck, asked, rows, bound_s)
    unmet = met_nobody(asked, events, bound_s)
    early = refused_at_first(asked, events, bound_s)
    signs, few = _signs(asked, calm, since, unmet, early)
    outcome = concluded(len(asked), findings, {**figures, **longest})
    if outcome.verdict is Verdict.VALID and few:
        outcome = replace(outcome, verdict=Verdict.UNKNOWN, note="; ".join(few))
    counts = {
        KINDS.name: signs,
        PARTITIONS.name: _partitions(asked, calm, since, peace, judge),
        NODES.name: _nodes(asked, calm, events),
    }
    return replace(outcome, clauses=counts)


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


def _inside(times: Times, windows: Sequence[Window]) -> Flags:
    """Which of them lie in a window: those before which more have begun than ended."""
    begins = np.array(sorted(each.begin_ns for each in windows), np.int64)
    ends = np.array(sorted(each.end_ns for each in windows), np.int64)
    begun = np.searchsorted(begins, times, side="right")
    inside: Flags = begun > np.searchsorted(ends, times, side="right")
    return inside


# --- figures ------------------------------------------------------------------------------


def _by_function(asked: Asked) -> Mapping[str, float]:
    figures: dict[str, float] = {}
    kinds = {"ok": asked.ok, "fail": asked.failed, "info": ~(asked.ok | asked.failed)}
    counts = {kind: asked.counted(chosen) for kind, chosen in kinds.items()}
    answered = asked.ok & asked.timed
    for number, f in enumerate(asked.fs):
        figures |= {f"{f}.{kind}": counts[kind].get(f, 0) for kind in counts}
        mine = np.flatnonzero(answered & (asked.f == number))
        took_ns = np.sort(asked.ended_ns[mine] - asked.began_ns[mine])
        for percent in (50, 95, 99) if len(took_ns) else ():
            figures[f"{f}.p{percent}_ms"] = round(_percentile(took_ns, percent) / 1e6, 3)
    return figures


def _percentile(ordered: Times, percent: int) -> int:
    """The nearest-rank percentile."""
    return int(ordered[max(0, -(-len(ordered) * percent // 100) - 1)])


def _around_faults(asked: Asked, windows: Sequence[Window]) -> Mapping[str, float]:
    """The share of honest operations that were answered ok, by when they were invoked."""
    inside = _inside(asked.began_ns, windows)
    figures = {}
    for chosen, name in ((inside, "ok_rate_in_faults"), (~inside, "ok_rate_outside_faults")):
        honest = chosen & ~asked.zombie
        if total := int(honest.sum()):
            figures[name] = round(int((honest & asked.ok).sum()) / total, 4)
    return figures


@dataclass(frozen=True, slots=True)
class Writes:
    """Those that were answered ok, by when they were invoked. `first_ns`: when the first was
    answered of each and those after it."""

    began_ns: Times
    first_ns: Times

    @classmethod
    def of(cls, asked: Asked) -> "Writes":
        own = np.flatnonzero(asked.ok & asked.timed & ~asked.are(READ_FS))
        own = own[np.argsort(asked.began_ns[own], kind="stable")]
        first_ns = np.minimum.accumulate(asked.ended_ns[own][::-1])[::-1]
        return cls(asked.began_ns[own], first_ns)

    def first_since(self, begin_ns: int) -> int | None:
        """When the first was answered of those that were invoked from then on."""
        at = int(np.searchsorted(self.began_ns, begin_ns))
        return int(self.first_ns[at]) if at < len(self.first_ns) else None


def _recovery(writes: Writes, window: Window, elections: Iterable[int]) -> Mapping[str, float]:
    name = f"fault.{window.fault.id}"
    figures: dict[str, float] = {
        f"{name}.lasted_s": round((window.end_ns - window.begin_ns) / 1e9, 3),
        f"{name}.elections": sum(window.begin_ns <= at < window.end_ns for at in elections),
    }
    for f, begin in (("during", window.begin_ns), ("after", window.end_ns)):
        first = writes.first_since(begin)
        if first is not None and (f == "after" or first < window.end_ns):
            figures[f"{name}.first_write_{f}_s"] = round((first - begin) / 1e9, 3)
    return figures


# --- floors -------------------------------------------------------------------------------


def _signs(
    asked: Asked, calm: Flags, since: Flags, unmet: Flags, early: Flags
) -> tuple[Count, list[str]]:
    """Two of each kind of operation, of what is done to processes, and of all together: that enough
    succeeded, and again after the first fault. Also what too little was seen of. What met nobody
    (`unmet`) asks for no success, nor what was refused while the system recovered (`early`)."""
    of_processes = asked.are(PROCESS_FS)
    clients = ~asked.are(OF_NO_ANSWER) & ~asked.zombie
    main = clients & asked.main
    tried = asked.counted(main)
    succeeded = Counter(asked.counted(main & asked.done))
    met = calm & ~unmet
    fair = Counter(asked.counted(main & (asked.done | (met & ~asked.unfit & ~early))))
    lost = Counter(asked.counted(main & met & ~asked.done & ~asked.refused))
    few = []
    rare = {f for f, count in tried.items() if count < FLOOR and fair[f] < min(TRIES, count)}
    in_all = Counter(asked.counted(clients & asked.done))
    judged = [f for f in sorted(tried) if succeeded[f] or f not in rare]
    for f in judged:
        count, least = tried[f], max(1, min(FLOOR, fair[f] // 4), lost[f] // 10)
        if (in_all if count < FLOOR else succeeded)[f] < least:
            few.append(f"{succeeded[f]} of {count} {f} ({least} at least)")
    if succeeded.total() < FLOOR * len(tried):
        few.append(f"{succeeded.total()} of all ({FLOOR * len(tried)} at least)")
    processes = int(of_processes.sum())
    if processes and not (of_processes & asked.ok).any():
        few.append(f"0 of {processes} that start and end processes (1 at least)")
    gone = _gone(asked, clients & since, calm)
    mute = _gone(asked, clients & ~asked.main, calm)
    notes = [f"too little succeeded to judge the run: {', '.join(few)}"] if few else []
    notes += [f"never again after the first fault: {', '.join(gone)}"] if gone else []
    notes += [f"never once it was to have settled: {', '.join(mute)}"] if mute else []
    due = 2 * (len(judged) + bool(tried) + bool(processes))
    return (max(0, due - len(few) - len(gone) - len(mute)), due), notes


def _since_first_fault(asked: Asked, events: RunEvents) -> Flags:
    """None, where there was no fault."""
    first_ns = min((each.since_ns for each in events.faults), default=FOREVER_NS)
    after: Flags = asked.began_ns >= first_ns
    return after


def _within(asked: Asked, peace: Sequence[Stretch]) -> Flags:
    """Which of them began and ended in one of those stretches."""
    if not peace:
        return np.zeros(len(asked), np.bool_)
    begins, ends = limits(peace)
    at = np.searchsorted(begins, asked.began_ns, side="right") - 1
    held: Flags = (at >= 0) & asked.timed & (asked.ended_ns <= ends[at])
    return held


def _gone(asked: Asked, own: Flags, calm: Flags) -> list[str]:
    """What of these, up to the end, never succeeded: all of it, or else kinds."""
    tries = int(own.sum())
    if tries >= TRIES and not (own & asked.done).any():
        return [f"all of {tries} operations"]
    tried = asked.counted(own)
    gone = [asked.fs[number] for number in _never_again(asked, asked.f, own, calm)]
    return [f"{f}, of which {tried[f]} were tried" for f in gone]


def _never_again(asked: Asked, uses: Numbers | Times, own: Flags, calm: Flags) -> Places:
    """Of the uses of some operations, by their numbers, those that were tried in peace, and in
    vain. Whether that is stuck is another question, for which a run may be too short."""
    return np.setdiff1d(_tried(uses[own & calm]), uses[own & asked.done])


def _tried(uses: Numbers | Times) -> Places:
    """Those that are there often enough."""
    return np.flatnonzero(np.bincount(uses) >= TRIES)


def _partitions(
    asked: Asked, calm: Flags, since: Flags, peace: Sequence[Stretch], judge: Judge
) -> Count:
    """Of kinds of use of a partition, so many as were answered ok, of those that were tried in
    peace; not those that ended for good, with the first fault or before the final reads."""
    own = asked.are({*PARTITION_KINDS} - OF_NO_ANSWER) & ~asked.zombie
    if not own.any():
        return "nobody asked for a partition"
    uses = asked.f * np.int64(len(asked.keys)) + asked.key
    worked = np.unique(uses[own & asked.ok])
    over = [*_never_again(asked, uses, own & ~asked.main, calm)]
    adding_up = replace(judge, shortest=0.0)
    for use in _never_again(asked, uses, own & since, calm):
        mine = np.flatnonzero(own & since & (uses == use))
        if judge.is_stuck(adding_up.worst(asked, mine, peace, asked.done)):
            over.append(use)
    due = np.union1d(worked, _tried(uses[own & calm]))
    return len(np.setdiff1d(worked, over)), len(due)


def _nodes(asked: Asked, calm: Flags, events: RunEvents) -> Count:
    """So many nodes as answered, of those that were asked in peace. Clients that have found a
    leader ask nobody else; the observer asks everybody to the end."""
    nodes = events.plan.get("nodes") or {}
    if len(nodes) < 2:
        return "no nodes that could be told apart"
    own = np.flatnonzero((asked.node >= 0) & ~asked.are(OF_NO_ANSWER))
    found = {asked.nodes[number]: mine for number, mine in grouped(own, asked.node)}
    known = {node: mine for node, mine in found.items() if node in nodes}
    if not known:
        return "clients do not say whom they ask"
    heard = {node for node, mine in known.items() if asked.heard[mine].any()}
    heard |= {str(each.node) for each in events.observations if each.node in known and each.ok}
    tried = {node for node, mine in known.items() if calm[mine].sum() >= TRIES}
    return len(heard), len(heard | tried)


# --- stuck --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stuck:
    """What is stuck, in words, and the streak that shows it."""

    what: str
    streak: Streak
    clause: Clause = KINDS

    @property
    def shown(self) -> Places:
        """The first of those that were tried, and the last one."""
        return np.append(self.streak.tried[:SHOWN], self.streak.tried[-1])

    def finding(self, shown: Sequence[Operation], bound_s: float) -> Finding:
        """`shown`: those, as objects."""
        *first, last = shown
        return finding(
            f"stuck since {self.streak.since_ns / 1e9:.1f} s: {self.what} until "
            f"{self.streak.until_ns / 1e9:.1f} s, though for {self.streak.owed_ns / 1e9:.1f} s of "
            f"that no fault stood in the way, and {bound_s:g} s are enough; "
            f"{len(self.streak.tried)} were tried, the last one {last.type} "
            f"{last.error_code or 'without an answer'}",
            first,
            clause=self.clause.name,
            by=[LEDGER],
        )


def _stuck(
    asked: Asked,
    stretches: Sequence[Stretch],
    placed: Placed,
    nodes: Collection[str],
    judge: Judge,
) -> tuple[list[Stuck], dict[str, float]]:
    """What is stuck: all of it, or else kinds of operations, partitions and nodes; and of each
    kind, for how long it was at most.

    Kinds are owed while most of the system is left alone. A partition's replicas, or a node, may be
    just what a fault is about: they are owed in peace, and the former while all are left alone.
    """
    honest = np.flatnonzero(~asked.are(OF_NO_ANSWER) & ~asked.zombie)
    kinds = {asked.fs[number]: _telling(asked, mine) for number, mine in grouped(honest, asked.f)}
    worst = {f: judge.worst(asked, mine, stretches, asked.done) for f, mine in kinds.items()}
    figures = {
        f"{f}.stuck_s": round(max(each.owed_ns, each.longest_ns) / 1e9, 3)
        for f, each in worst.items()
    }
    telling = _telling(asked, honest)
    every = Stuck(
        "no operation succeeded",
        judge.worst(asked, telling, stretches, asked.done, whole=True),
    )
    if judge.is_stuck(every.streak):
        return [every], figures
    found = [Stuck(f"no {f} succeeded", each) for f, each in worst.items()]
    for f in PARTITION_KINDS:
        if f in kinds and not judge.is_stuck(worst[f]):
            found += _stuck_partitions(asked, f, kinds[f], stretches, placed, judge)
    found += _stuck_nodes(asked, nodes, [each for each in stretches if each.calm], judge)
    return [each for each in found if judge.is_stuck(each.streak)], figures


def _stuck_partitions(
    asked: Asked,
    f: str,
    own: Places,
    stretches: Sequence[Stretch],
    placed: Placed,
    judge: Judge,
) -> Iterator[Stuck]:
    """The worst of each."""
    for number, mine in grouped(own, asked.key):
        key = asked.keys[number]
        streak = judge.worst(asked, mine, placed.owed(key, stretches), asked.done)
        yield Stuck(f"no {f} on {key} succeeded", streak, PARTITIONS)


def _stuck_nodes(
    asked: Asked, nodes: Collection[str], peace: Sequence[Stretch], judge: Judge
) -> Iterator[Stuck]:
    """The worst of each."""
    clients = np.flatnonzero((asked.node >= 0) & ~asked.are(OF_NO_ANSWER))
    for number, mine in grouped(clients, asked.node):
        if asked.nodes[number] in nodes:
            streak = judge.worst(asked, mine, peace, asked.heard)
            yield Stuck(f"{asked.nodes[number]} answered nobody", streak, NODES)


def _told(
    found: Sequence[Stuck], asked: Asked, rows: OperationRows, bound_s: float
) -> list[Finding]:
    """Findings of what is stuck: of all operations, those that show it become objects."""
    places = [asked.place[each.shown].tolist() for each in found]
    shown = iter(rows.at(place for own in places for place in own))
    return [
        each.finding(list(islice(shown, len(own))), bound_s)
        for each, own in zip(found, places, strict=True)
    ]


def _telling(asked: Asked, own: Places) -> Places:
    """Where none ever succeeded, refusals tell nothing: maybe they are right."""
    return own if asked.done[own].any() else own[~asked.refused[own]]


class Availability(RunChecker):
    name = "availability"
    summary = (
        "Every kind of operation succeeds, often enough to show something, and again soon after "
        "each fault: by the system's own time-outs, or what recovery says"
    )
    requires = frozenset[str]()
    clauses = (KINDS, PARTITIONS, NODES)
    Options = AvailabilityOptions
    check_run = RunCheck(
        availability,
        evidence=(Elected,),
        fs=None,
        as_rows=True,
        observations=True,
        faults=True,
    )
