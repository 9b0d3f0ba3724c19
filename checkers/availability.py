"""Operation statistics, and how soon the system works again after each fault (D.21).

Thresholds, not proofs: the only failure is a system that does not come back within 30 s of a
heal although it is asked all the time. The figures are for the report.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from checkers.folds.operations import is_zombie
from framework.checking.findings import concluded, finding
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.kinds import Elected
from framework.evidence.run_events import FaultRecord, RunEvents
from framework.history.pairing import Operation
from framework.plugins.checker import LEDGER, Finding
from framework.verdict import Verdict

READ_FS: Final = frozenset({"describe", "metadata"})
RECOVERY_NS: Final = 30_000_000_000


PROCESS_FS: Final = frozenset({"start", "restart", "drain", "bounce", "replace"})
"""What is done to processes, which no client waits for, and which a fault may well keep from
being done in time."""


@dataclass(frozen=True, slots=True)
class Window:
    """A fault held from `begin_ns` to `end_ns`."""

    fault: FaultRecord
    begin_ns: int
    end_ns: int


def availability(events: RunEvents) -> Outcome:
    operations = [each for each in events.operations if each.invoked_ns is not None]
    windows = _windows(events.faults)
    elections = sorted(each.at_ns for each in events.of(Elected))
    figures: dict[str, float] = {
        **_by_function(operations),
        **_around_faults(operations, windows),
        "elections": len(elections),
        "elections_in_faults": sum(_inside(time, windows) for time in elections),
    }
    findings: list[Finding] = []
    for window in windows:
        figures |= _recovery(operations, window, elections)
        findings += _never_back(operations, window, events.faults)
    outcome = concluded(len(operations), findings, figures)
    silent = _without_success(operations)
    if outcome.verdict is Verdict.VALID and silent:
        return Outcome(
            verdict=Verdict.UNKNOWN,
            seen=outcome.seen,
            figures=figures,
            note=f"no {' and no '.join(silent)} ever succeeded in the main phase",
        )
    return outcome


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
            (each.completed_ns - (each.invoked_ns or 0)) / 1e6
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
            counts[_inside(each.invoked_ns or 0, windows), each.ok] += 1
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
                if each.ok and each.f not in READ_FS and (each.invoked_ns or 0) >= begin
                if each.completed_ns is not None
            ),
            default=None,
        )
        if first is not None and (f == "after" or first < window.end_ns):
            figures[f"{name}.first_write_{f}_s"] = round((first - begin) / 1e9, 3)
    return figures


# --- judgement ----------------------------------------------------------------------------


def _never_back(
    operations: Sequence[Operation], window: Window, injections: Iterable[FaultRecord]
) -> Iterator[Finding]:
    """Judged where the system was left in peace, and asked, all the time that it has."""
    healed, due = window.end_ns, window.end_ns + RECOVERY_NS
    for other in injections:
        begin = due if other.injected_ns is None else other.injected_ns
        end = due if other.healed_ns is None else other.healed_ns
        if other is not window.fault and begin < due and end > healed:
            return
    asked = [each for each in operations if healed <= (each.invoked_ns or 0) < due]
    if not asked:
        return
    watched_until = max(each.completed_ns or each.invoked_ns or 0 for each in operations)
    if watched_until < due:
        return
    if any(each.ok and (each.completed_ns or due) <= due for each in asked):
        return
    yield finding(
        f"nothing succeeded within {RECOVERY_NS // 10**9} s after {window.fault.fault} "
        f"{window.fault.shape} (injection {window.fault.id}) was healed: {len(asked)} operations "
        "were tried",
        asked[:10],
        by=[LEDGER],
    )


def _without_success(operations: Iterable[Operation]) -> list[str]:
    tried: dict[str, bool] = {}
    for each in operations:
        if each.phase == "main" and each.f not in PROCESS_FS and not is_zombie(each):
            tried[each.f] = tried.get(each.f, False) or each.ok
    return sorted(f for f, succeeded in tried.items() if not succeeded)


class Availability(RunChecker):
    name = "availability"
    summary = (
        "Every kind of operation succeeds, and some do within 30 s of every heal that is "
        "followed by so much peace"
    )
    requires = frozenset[str]()
    check_run = RunCheck(availability, evidence=(Elected,), fs=None, faults=True)
