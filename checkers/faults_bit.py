"""A fault that was not seen to bite is not a fault; one not seen to end still holds.

Each kind that was asked for has to bite in half of its injections, and `least` times at all. Never
INVALID: it says what the other verdicts are worth.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.run_events import FaultRecord, RunEvents
from framework.history.event import Recorded
from framework.plugins.capabilities import FAULTS
from framework.plugins.checker import LEDGER, Clause, Count
from framework.plugins.options import need_positive
from framework.verdict import Verdict

NO_FAULTS: Final = "no faults asked"

PROBED: Final = Clause(
    name="probed-before",
    says="Each injection was looked at before it was made, so that what is seen in it is its doing",
    compares="injections that were looked at before",
    floor=2,
    because="what holds once may hold by chance; this run needs all of them",
    sources=(LEDGER,),
    blind="what a probe does not look at",
)
BIT: Final = Clause(
    name="bit",
    says="Each kind that was asked for was seen to bite, in half of its injections at least",
    compares="injections that bit, as many as each kind owes",
    floor=2,
    because="one may have bitten by chance; this run needs half of each kind's, or `least`",
    sources=(LEDGER,),
    blind="a fault that ends between its probe and its healing",
)
OVER: Final = Clause(
    name="over",
    says="Each injection was seen to be over after it was healed",
    compares="injections that were over",
    floor=2,
    because="one may have ended by chance; this run needs all of them",
    sources=(LEDGER,),
)
CLAUSES: Final = (PROBED, BIT, OVER)


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
        none: dict[str, Count] = {each.name: NO_FAULTS for each in CLAUSES}
        return Outcome(verdict=Verdict.VALID, seen=1, note=NO_FAULTS, clauses=none)
    bit = [each for each in injections if _bit(each)]
    over = [each for each in injections if each.healed is True]
    looked = [each for each in injections if _held_before(each) is not None]
    due = _due(asked, injections, options.least)
    notes = list(_wanting(asked, injections, due))
    notes += _named("not looked at before", injections, looked)
    notes += _named("not seen to be healed", injections, over)
    verdict = Verdict.UNKNOWN if notes else Verdict.VALID
    notes += _named("not seen to bite", injections, bit)
    times = _times(bit)
    figures: dict[str, float] = {
        "injections": len(injections),
        "bit": len(bit),
        "healed": len(over),
        **{f"bit.{fault}": count for fault, count in sorted(times.items())},
    }
    owed = sum(min(times[fault], least) for fault, least in due.items())
    counts: dict[str, Count] = {
        PROBED.name: (len(looked), len(injections)),
        BIT.name: (owed if owed < due.total() else len(bit), due.total()),
        OVER.name: (len(over), len(injections)),
    }
    return Outcome(
        verdict=verdict,
        seen=len(injections),
        figures=figures,
        note="; ".join(notes),
        clauses=counts,
    )


def _due(asked: Iterable[str], injections: Iterable[FaultRecord], least: int) -> Counter[str]:
    """How often each kind has to bite. What nobody asked for by name needs to in half of its
    injections, too."""
    made = _times(injections)
    due = Counter({fault: -(-count // 2) for fault, count in made.items()})
    for fault in asked:
        due[fault] = max(due[fault], least)
    return due


def _wanting(
    asked: Iterable[str], injections: Sequence[FaultRecord], due: Mapping[str, int]
) -> Iterator[str]:
    """Which kinds bit less often than they have to."""
    made, times = _times(injections), _times(each for each in injections if _bit(each))
    if not injections:
        yield f"faults were asked for ({', '.join(asked)}), and none was injected"
        return
    if not times:
        yield "faults were injected, and none was seen to bite"
        return
    if idle := sorted(fault for fault in due if not times[fault]):
        yield f"never seen to bite: {', '.join(idle)}"
    for fault, least in sorted(due.items()):
        if 0 < times[fault] < least:
            yield (
                f"{fault} was seen to bite {times[fault]} times in {made[fault]} injections, "
                f"{least} are asked for"
            )


def _times(injections: Iterable[FaultRecord]) -> Counter[str]:
    return Counter(each.fault for each in injections)


def _asked(plan: Mapping[str, Recorded]) -> list[str]:
    """The faults of the nemeses that were asked for. Older plans name the nemeses alone, of which
    each had one fault, called as itself."""
    named = plan.get("faults") or plan.get("nemeses") or ()
    return [str(name) for name in named if name != "none"]


def _bit(injection: FaultRecord) -> bool:
    """It was seen to hold, and had not held before."""
    return injection.effective is True and _held_before(injection) is False


def _held_before(injection: FaultRecord) -> bool | None:
    """None: nobody looked, or could not tell."""
    for entry in injection.entries:
        if entry.get("step") == "probed-before":
            probe = entry.get("probe")
            bites = probe.get("bites") if isinstance(probe, Mapping) else None
            return bites if isinstance(bites, bool) else None
    return None


def _named(
    what: str, injections: Iterable[FaultRecord], right: Sequence[FaultRecord]
) -> Iterator[str]:
    """Which injections are not among the right ones, if some are not."""
    others = [
        f"{each.fault} {each.shape} (injection {each.id})"
        for each in injections
        if each not in right
    ]
    if others:
        yield f"{what}: {', '.join(others)}"


class FaultsBit(RunChecker):
    name = "faults-bit"
    summary = (
        "The faults that were asked for were seen to bite while they were injected, and seen to be "
        "over after they were healed"
    )
    requires = frozenset({FAULTS})
    clauses = CLAUSES
    Options = FaultsBitOptions
    check_run = RunCheck(faults_bit, faults=True)
