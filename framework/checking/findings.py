"""Findings of rules over evidence, in a form and number that a reader can use."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from framework.checking.keyed import Outcome, judged
from framework.evidence.kinds import DISK, Evidence
from framework.history.event import is_observer
from framework.history.pairing import Operation
from framework.plugins.checker import CLIENTS, DISKS, EVENTS, LEDGER, Count, Finding
from framework.verdict import Verdict

MAX_FINDINGS: Final = 25
"""Findings kept for one key; the rest are counted in the figure `findings`."""


def finding(
    message: str,
    operations: Iterable[Operation] = (),
    evidence: Iterable[Evidence] = (),
    *,
    clause: str = "",
    by: Iterable[str] = (),
) -> Finding:
    """A finding of a clause with its witnesses, which say which contracts proved it; `by`: those
    that did although no witness shows it, as where something is missing."""
    asked = tuple(operations)
    shown = tuple(evidence)
    sources = {DISKS if each.source == DISK else EVENTS for each in shown}
    askers = {LEDGER if is_observer(each.process) else CLIENTS for each in asked}
    return Finding(
        message=message,
        operations=tuple(sorted({each.index for each in asked})),
        events=tuple(each.as_json() for each in shown),
        contracts=tuple(sorted({*by, *sources, *askers})),
        clause=clause,
    )


def named(operations: Iterable[Operation]) -> str:
    """The operations that clients may have noticed something by, for the end of a message."""
    indices = ", ".join(str(each.index) for each in operations)
    return f"(operations: {indices or 'none recorded'})"


def concluded(
    seen: int,
    findings: Sequence[Finding],
    figures: Mapping[str, float] | None = None,
    *,
    part: bool = False,
) -> Outcome:
    """`judged`, with the findings in a fixed order - those that name operations first - and no
    more of them than a reader can use. `part`: of one key of many, which may well show nothing:
    a run is UNKNOWN where no key of it does."""
    ordered = sorted(
        findings,
        key=lambda each: (not each.operations, list(each.operations)[:1], each.message),
    )
    numbers = dict(figures or {})
    if len(ordered) > MAX_FINDINGS:
        numbers["findings"] = len(ordered)
    if part and not seen and not ordered:
        return Outcome(verdict=Verdict.VALID, seen=0, figures=numbers)
    return judged(seen, ordered[:MAX_FINDINGS], numbers)


def compared(count: Count) -> int:
    """How many comparisons it tells of."""
    match count:
        case int():
            return count
        case Mapping():
            return sum(count.values())
        case (number, _):
            return int(number)
    return 0


def weighed(
    clauses: Mapping[str, Count],
    findings: Sequence[Finding],
    figures: Mapping[str, float] | None = None,
    *,
    part: bool = False,
) -> Outcome:
    """What a rule found, and how much it compared for each of its clauses: whether that is enough
    is for the engine to say, which adds up all parts of a run. The rest as in `concluded`."""
    seen = sum(compared(each) for each in clauses.values())
    found = concluded(seen, findings, figures, part=part)
    return replace(found, clauses=clauses)
