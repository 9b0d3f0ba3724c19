"""When faults start and stop: the schedules that nemeses choose from.

A gap that is drawn lies evenly between half and one and a half times its mean, so that a fault
always lasts long enough to bite; `some_last` has some of them last longer. What is drawn waits for
nodes that another fault has taken down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias

from framework.generators import PENDING, Context, Generator, Offer, Pending, assign
from framework.generators.randomness import below, unit
from framework.history.event import Event
from framework.plugins.fault import DOWN, FaultOp
from framework.plugins.targets import FEW

NS_PER_S: Final = 1_000_000_000
_WHICH: Final = 0x7768696368
"""Label of the draws that choose a fault."""
LASTING_OF: Final = 2
"""One of so many lasts long, where some do."""

Step: TypeAlias = tuple[int, FaultOp]
"""How long to wait (ns) after the step before, and what to do then."""


@dataclass(frozen=True, slots=True)
class Timetable:
    """Steps one after another. `step` gives the one of a turn (0, 1, ...) from the seed; None:
    that was the last. A step that finds the nemesis busy is late; the next waits all its time.
    `patient`: a start that found its victims down is made again when a fault has been stopped;
    `waiting`: for that."""

    step: Callable[[int, int], Step | None]
    patient: bool = False
    turn: int = 0
    due: int | None = None
    waiting: bool = False

    def offer(self, context: Context) -> Offer | None:
        if self.waiting:
            return Offer(PENDING, self)
        step = self.step(context.seed, self.turn)
        if step is None:
            return None
        gap_ns, what = step
        if self.due is None:
            return replace(self, due=context.time + gap_ns).offer(context)
        if context.time < self.due:
            return Offer(Pending(self.due), self)
        taken = assign(context, what.op())
        if isinstance(taken, Pending):
            return Offer(taken, self)
        return Offer(taken, replace(self, turn=self.turn + 1, due=None))

    def update(self, context: Context, event: Event) -> Generator:
        what = FaultOp.parse(event.f)
        if event.type == "invoke" or what is None or not self.patient:
            return self
        if self.waiting:
            return self if what.verb == "start" else replace(self, due=context.time, waiting=False)
        mine = self.step(context.seed, self.turn - 1) if self.turn else None
        if mine is None or mine[1] != what or not _found_down(event):
            return self
        return replace(self, turn=self.turn - 1, waiting=True)


def _found_down(started: Event) -> bool:
    return isinstance(started.value, Mapping) and DOWN in started.value


def alternate(fault: str, interval_s: float) -> Generator:
    """Starts and stops a fault in turns, endlessly; drawn gaps with this mean."""
    return once_at_a_time([fault], interval_s)


def once_at_a_time(faults: Sequence[str], interval_s: float) -> Generator:
    """Starts and stops in turns, endlessly, one of the faults drawn for each turn: never two of
    them at once. Drawn gaps with this mean."""
    return Timetable(Turns(tuple(faults), interval_s * NS_PER_S), patient=True)


def some_last(schedule: Generator, lasting_s: float, first: int = 0) -> Generator:
    """The schedule, and every second fault that it draws in turns, from the `first` on, lasts at
    least so long, and leaves most nodes alone, so that they can be asked for those that they miss.
    A script stays as it is."""
    if isinstance(schedule, Timetable) and isinstance(schedule.step, Turns):
        step = replace(schedule.step, lasting_ns=round(lasting_s * NS_PER_S), first=first)
        return replace(schedule, step=step)
    return schedule


@dataclass(frozen=True, slots=True)
class Turns:
    """The steps of starts and stops in turns."""

    faults: tuple[str, ...]
    mean_ns: float
    lasting_ns: int = 0
    first: int = 0

    def __call__(self, seed: int, turn: int) -> Step:
        gap_ns, number = round(self.mean_ns * (0.5 + unit(seed, 2 * turn))), turn // 2
        fault = self.faults[below(seed, _WHICH + number, len(self.faults))]
        lasts = self.lasting_ns > 0 and number % LASTING_OF == self.first % LASTING_OF
        if turn % 2 == 0:
            return gap_ns, FaultOp("start", fault, FEW if lasts else "")
        return max(gap_ns, self.lasting_ns if lasts else 0), FaultOp("stop", fault)


def sequence(steps: Sequence[tuple[float, FaultOp]]) -> Generator:
    """A script: each step so many seconds after the one before. Then no more."""
    exact = tuple((round(wait_s * NS_PER_S), what) for wait_s, what in steps)
    return Timetable(partial(_scripted, exact))


def one_shot(fault: str, after_s: float, lasts_s: float | None = None) -> Generator:
    """Starts a fault once, and stops it after `lasts_s` (None: it holds until the runner heals
    everything, or for good where there is nothing to heal)."""
    steps = [(after_s, FaultOp("start", fault))]
    return sequence(steps if lasts_s is None else [*steps, (lasts_s, FaultOp("stop", fault))])


def _scripted(steps: tuple[Step, ...], seed: int, turn: int) -> Step | None:
    return steps[turn] if turn < len(steps) else None
