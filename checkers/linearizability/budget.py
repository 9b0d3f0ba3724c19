"""What deciding one key may cost."""

from dataclasses import dataclass, field
from time import monotonic
from typing import Final

_STEPS_A_LOOK: Final = 512


class OutOfBudget(Exception):
    """Undecided. The argument says what ran out."""


@dataclass(slots=True)
class Budget:
    """Time from now on, and memory at any moment. Both are looked at as work goes on."""

    seconds: float
    max_bytes: int
    _steps: int = 0
    _bytes: int = 0
    _deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self._deadline = monotonic() + self.seconds

    def step(self) -> None:
        """Raises `OutOfBudget` once the time is over."""
        self._steps += 1
        if self._steps % _STEPS_A_LOOK == 0 and monotonic() > self._deadline:
            raise OutOfBudget("time")

    def keep(self, size: int) -> None:
        """Raises `OutOfBudget` if `size` more bytes are too many."""
        self._bytes += size
        if self._bytes > self.max_bytes:
            raise OutOfBudget("memory")

    def forget(self) -> None:
        """What was kept is given back."""
        self._bytes = 0

    @property
    def left_s(self) -> float:
        return self._deadline - monotonic()
