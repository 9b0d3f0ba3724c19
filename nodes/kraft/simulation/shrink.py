"""From a seed that fails to the least that has to happen for it.

Delta debugging (Zeller & Hildebrandt 2002, ddmin) over the schedule's faults, operations and the
mishaps of single messages: a part that the failure does not need is left out, as long as the same
rule is still broken. Each try is a run of the simulation, which is deterministic.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from nodes.kraft.simulation.schedule import Mishap, Schedule
from nodes.kraft.simulation.violation import Violation
from nodes.kraft.simulation.world import MAX_STEPS, Note, World

Part = TypeVar("Part")
BUDGET_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Execution:
    """What came of a run. `mishaps`: what became of single messages."""

    violation: Violation | None
    time_ms: int
    steps: int
    committed: int
    answers: int
    operations: int
    digest: int
    mishaps: tuple[Mishap, ...]


def play(schedule: Schedule, *, trace: Note | None = None, max_steps: int = MAX_STEPS) -> Execution:
    """Run a schedule to its end, or to the first rule that it breaks."""
    world = World(schedule, trace=trace, max_steps=max_steps)
    violation = None
    try:
        world.run()
    except Violation as error:
        violation = error
    return Execution(
        violation,
        world.now,
        world.steps,
        world.ledger.end,
        world.judge.answers,
        sum(row["type"] == "ok" for row in world.clients.rows),
        world.digest,
        tuple(world.network.mishaps),
    )


def minimal(schedule: Schedule, failed: Execution, *, budget_s: float = BUDGET_S) -> Schedule:
    """The smallest schedule found within the budget that breaks the same rule."""
    assert failed.violation is not None
    signature, deadline = failed.violation.signature, time.monotonic() + budget_s
    parts = [
        *(item for item in schedule.items if item.at <= failed.time_ms),
        *failed.mishaps,
    ]

    def build(kept: Sequence[object]) -> Schedule:
        items = tuple(each for each in kept if not isinstance(each, Mishap))
        mishaps = tuple(each for each in kept if isinstance(each, Mishap))
        return replace(schedule, items=items, mishaps=mishaps)  # type: ignore[arg-type]

    def fails(kept: Sequence[object]) -> bool:
        execution = play(build(kept))
        return execution.violation is not None and execution.violation.signature == signature

    if not fails(parts):  # it needs a fault that a run with its own mishaps draws otherwise
        return schedule
    return build(ddmin(parts, fails, lambda: time.monotonic() > deadline))


def ddmin(
    parts: Sequence[Part], fails: Callable[[Sequence[Part]], bool], out_of_time: Callable[[], bool]
) -> list[Part]:
    """A part of `parts` that still fails, and from which nothing single can be left out (unless
    time runs out first)."""
    kept, size = list(parts), max(1, len(parts) // 2)
    while kept and not out_of_time():
        start, removed = 0, False
        while start < len(kept) and not out_of_time():
            rest = kept[:start] + kept[start + size :]
            if fails(rest):
                kept, removed = rest, True
            else:
                start += size
        if size == 1 and not removed:
            break
        size = size if removed and size == 1 else max(1, size // 2)
    return kept
