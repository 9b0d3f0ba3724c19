"""A fault that was not seen to bite is not a fault; one not seen to end still holds.

Each kind that was asked for has to bite at least once (`least`). Never INVALID: it says what the
other verdicts are worth.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.run_events import FaultRecord, RunEvents
from framework.history.event import Json
from framework.plugins.capabilities import FAULTS
from framework.plugins.options import need_positive
from framework.verdict import Verdict

NO_FAULTS: Final = "no faults asked"


@dataclass(frozen=True, slots=True)
class FaultsBitOptions:
    """`least`: how often each kind of fault that was asked for has to bite."""

    least: int = 1

    def __post_init__(self) -> None:
        need_positive(least=self.least)


def faults_bit(events: RunEvents, options: FaultsBitOptions = FaultsBitOptions()) -> Outcome:
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
    else:
        notes += _too_few(asked, bit, options.least)
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


def _too_few(asked: Sequence[str], bit: Sequence[FaultRecord], least: int) -> Iterator[str]:
    """Which kinds bit less often than they have to."""
    times = Counter(each.fault for each in bit)
    if idle := sorted(fault for fault in set(asked) if not times[fault]):
        yield f"never seen to bite: {', '.join(idle)}"
    for fault in sorted(fault for fault in set(asked) if 0 < times[fault] < least):
        yield f"{fault} was seen to bite {times[fault]} times, {least} are asked for"


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
    Options = FaultsBitOptions
    check_run = RunCheck(faults_bit, faults=True)
