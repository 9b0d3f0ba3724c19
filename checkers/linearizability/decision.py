"""What a method says of one key, and what it may spend to find out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from checkers.linearizability.encoded import EncodedHistory, Ints
from framework.compiled import working_s
from framework.verdict import Verdict

DEFAULT_SECONDS: Final = 30.0
DEFAULT_BYTES: Final = 1 << 30


@dataclass(slots=True)
class Budget:
    """Time and memory for one key. Kernels work in slices of steps and ask between them. Time that
    goes into compiling does not count."""

    seconds: float = DEFAULT_SECONDS
    max_bytes: int = DEFAULT_BYTES
    began: float = field(default_factory=working_s)

    @property
    def left_s(self) -> float:
        return self.seconds - (working_s() - self.began)

    def slice(self, seconds: float) -> "Budget":
        """A part of what is left, at most `seconds`."""
        return type(self)(max(0.0, min(seconds, self.left_s)), self.max_bytes)


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict of one method. Operations are row numbers of the history that it was given."""

    verdict: Verdict
    method: str
    order: Ints | None = None
    """VALID, where the method makes one: a legal order of all completed operations and of those
    pending ones that took effect."""
    culprit: int = -1
    """INVALID: an operation whose completion no order explains."""
    involved: Sequence[int] = ()
    """INVALID: operations that show it, the culprit among them. Not necessarily the fewest."""
    note: str = ""
    """UNKNOWN: what was tried and what ran out, as in `wgl 12 s, 800,000 places`."""


Decide: TypeAlias = Callable[[EncodedHistory, Budget], Decision | None]
"""A method, of a key of which something completed. None: it does not apply here, or cannot tell.
UNKNOWN only when it applies and its budget ran out. Never raises for a history of a kind that it
names."""
