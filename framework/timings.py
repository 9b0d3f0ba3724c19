"""Where the time of a run goes: its phases, and the two waits that a user feels."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

PHASE: Final = "phase_"
"""Names of phases in verdict.json begin with it, and end with the unit, s."""


@dataclass(slots=True)
class Timings:
    """Moments of a run, on the monotonic clock, in s. They end in verdict.json."""

    clock: Callable[[], float] = monotonic
    first_operation: float | None = None
    last_operation: float | None = None
    _began: list[tuple[str, float]] = field(default_factory=list)

    def phase(self, name: str) -> None:
        """What went on before ends, and this begins. The first one is when the run was started."""
        self._began.append((name, self.clock()))

    def operation(self) -> None:
        """A client did something."""
        self.last_operation = self.clock()
        self.first_operation = self.first_operation or self.last_operation

    def figures(self) -> dict[str, float]:
        """In s: the two waits, up to now, and how long each phase took, in their order."""
        now = self.clock()
        found: dict[str, float] = {}
        if self.first_operation is not None and self._began:
            found["start_to_first_operation_s"] = self.first_operation - self._began[0][1]
        if self.last_operation is not None:
            found["last_operation_to_verdict_s"] = now - self.last_operation
        ends = [*(moment for _, moment in self._began[1:]), now]
        for (name, began), end in zip(self._began, ends, strict=True):
            key = f"{PHASE}{name.replace(' ', '_')}_s"
            found[key] = found.get(key, 0.0) + end - began
        return {name: round(value, 2) for name, value in found.items()}
