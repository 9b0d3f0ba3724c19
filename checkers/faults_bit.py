"""A fault that was not seen to bite is not a fault; one not seen to end still holds.

Each kind that was asked for has to bite at least once. Never INVALID: it says what the other
verdicts are worth.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.run_events import FaultRecord, RunEvents
from framework.history.event import Json
from framework.plugins.capabilities import FAULTS
from framework.verdict import Verdict

NO_FAULTS: Final = "no faults asked"


def faults_bit(events: RunEvents) -> Outcome:
    injections = sorted(events.faults, key=lambda each: each.id)
    asked = _asked(events.plan)
    if not asked and not injections:
        return Outcome(verdict=Verdict.VALID, seen=1, note=NO_FAULTS)
    bit = [each for each in injections if _bit(each)]
    open_ended = [each for each in injections if each.healed is not True]
    notes = []
    if not injections:
        notes.append(f"faults were asked for ({', '.join(asked)}), and none was injected")
    elif not bit:
        notes.append("faults were injected, and none was seen to bite")
    elif idle := sorted(set(asked) - {each.fault for each in bit}):
        notes.append(f"never seen to bite: {', '.join(idle)}")
    if open_ended:
        notes.append(f"not seen to be healed: {_names(open_ended)}")
    verdict = Verdict.UNKNOWN if notes else Verdict.VALID
    dull = [each for each in injections if not _bit(each)]
    if bit and dull:
        notes.append(f"not seen to bite: {_names(dull)}")
    figures: dict[str, float] = {
        "injections": len(injections),
        "bit": len(bit),
        "healed": len(injections) - len(open_ended),
    }
    for fault in sorted({each.fault for each in bit}):
        figures[f"bit.{fault}"] = sum(each.fault == fault for each in bit)
    return Outcome(verdict=verdict, seen=len(injections), figures=figures, note="; ".join(notes))


def _asked(plan: Mapping[str, Json]) -> list[str]:
    """The faults of the nemeses that were asked for. Older plans name the nemeses alone, of which
    each had one fault, called as itself."""
    named = plan.get("faults") or plan.get("nemeses") or ()
    return [str(name) for name in named if name != "none"]


def _bit(injection: FaultRecord) -> bool:
    """It was seen to hold, and had not held before."""
    return injection.effective is True and _probed(injection.entries, "probed-before") is not True


def _probed(entries: Sequence[Mapping[str, Json]], step: str) -> bool | None:
    for entry in entries:
        if entry.get("step") == step:
            return (entry.get("probe") or {}).get("bites")
    return None


def _names(injections: Sequence[FaultRecord]) -> str:
    return ", ".join(f"{each.fault} {each.shape} (injection {each.id})" for each in injections)


class FaultsBit(RunChecker):
    name = "faults-bit"
    summary = (
        "The faults that were asked for were seen to bite while they were injected, and seen to be "
        "over after they were healed"
    )
    requires = frozenset({FAULTS})
    check_run = RunCheck(faults_bit, faults=True)
