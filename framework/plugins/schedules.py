"""When faults start and stop: the schedules that nemeses choose from.

A gap that is drawn lies evenly between half and one and a half times its mean, so that a fault
always lasts long enough to bite. What is drawn waits for nodes that another fault has taken down.
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

NS_PER_S: Final = 1_000_000_000
_WHICH: Final = 0x7768696368
"""Label of the draws that choose a fault."""

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
    drawn = partial(_in_turns, tuple(faults), interval_s * NS_PER_S)
    return Timetable(drawn, patient=True)


def sequence(steps: Sequence[tuple[float, FaultOp]]) -> Generator:
    """A script: each step so many seconds after the one before. Then no more."""
    exact = tuple((round(wait_s * NS_PER_S), what) for wait_s, what in steps)
    return Timetable(partial(_scripted, exact))


def one_shot(fault: str, after_s: float, lasts_s: float | None = None) -> Generator:
    """Starts a fault once, and stops it after `lasts_s` (None: it holds until the runner heals
    everything, or for good where there is nothing to heal)."""
    steps = [(after_s, FaultOp("start", fault))]
    return sequence(steps if lasts_s is None else [*steps, (lasts_s, FaultOp("stop", fault))])


def _in_turns(faults: tuple[str, ...], mean_ns: float, seed: int, turn: int) -> Step:
    gap_ns = round(mean_ns * (0.5 + unit(seed, 2 * turn)))
    fault = faults[below(seed, _WHICH + turn // 2, len(faults))]
    return gap_ns, FaultOp("stop" if turn % 2 else "start", fault)


def _scripted(steps: tuple[Step, ...], seed: int, turn: int) -> Step | None:
    return steps[turn] if turn < len(steps) else None
