"""What checking has to reach at least: kernel times with the arrays ready, and a few whole ways."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.checking.cells import Cell
from benchmarks.checking.child import Outcome

_GIB: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Target:
    """A cell that must be decided in less than some seconds."""

    what: str
    cell: Cell
    seconds: float
    max_bytes: int | None = None
    """Of the process, while it decides."""
    end_to_end: str | None = None
    """None: the time of the kernels. Else from a Parquet file to the verdict and its explanation:
    "here", or by "spark", warm."""

    def measured_s(self, outcome: Outcome) -> float | None:
        return outcome.end_to_end_s if self.end_to_end else outcome.seconds

    def is_met(self, outcome: Outcome) -> bool:
        seconds = self.measured_s(outcome)
        verdict = outcome.end_to_end_verdict if self.end_to_end else outcome.verdict
        fits = self.max_bytes is None or outcome.peak_bytes < self.max_bytes
        return (
            verdict == self.cell.expected
            and seconds is not None
            and (seconds < self.seconds and fits)
        )


_HOT = Cell("register", 1, 1_000_000, 100, None, 0.05)
TARGETS: Final[Sequence[Target]] = (
    Target("one key, 100 clients, 5 % indeterminate, unique values", _HOT, 0.1, _GIB),
    Target("the same, from Parquet with Spark warm", _HOT, 3.0, None, "spark"),
    Target("one key, 5 clients, 5 values", Cell("register", 1, 1_000_000, 5, 5), 1.0),
    Target("100 keys, 5 clients each", Cell("register", 100, 1_000_000, 5, 5), 0.5),
    Target("100 keys, 5 clients each, unique", Cell("register", 100, 1_000_000, 5), 0.5),
    Target("one key, 20 clients, 5 values", Cell("register", 1, 10_000, 20, 5), 0.5),
    *(
        Target(
            "5 clients, 5 values, 5 % indeterminate, a violation: with its explanation",
            Cell("register", 1, 1_000, 5, 5, 0.05, plant),
            1.0,
            None,
            "here",
        )
        for plant in ("burst", "phantom")
    ),
    Target("the same, valid", Cell("register", 1, 5_000, 5, 5, 0.05), 0.1),
    *(
        Target("the same, a violation", Cell("register", 1, 5_000, 5, 5, 0.05, plant), 60.0)
        for plant in ("burst", "phantom")
    ),
    Target("FIFO queue, 100 clients, empty dequeues", Cell("queue", 1, 1_000_000, 100), 0.2),
    Target("the same, 5 % indeterminate", Cell("queue", 1, 1_000_000, 100, None, 0.05), 0.2),
)
