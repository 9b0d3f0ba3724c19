"""When the operations of a run were asked and answered, and how: all of them, as columns. Pure.

An hour at 5,000 operations a second is 18 million: 17 bytes each here, a thousand as objects.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from framework.history.pairing import Operation

OutcomeName = Literal["ok", "fail", "info"]
OUTCOMES: Final[tuple[OutcomeName, ...]] = ("ok", "fail", "info")


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """A place an operation in each column. Times are ns since the run began; NaN: not known, or
    never answered. `outcome`: places in `OUTCOMES`."""

    asked_ns: NDArray[np.float64]
    answered_ns: NDArray[np.float64]
    outcome: NDArray[np.int8]

    @classmethod
    def of(cls, operations: Iterable[Operation]) -> Self:
        rows = [(each.invoked_ns, each.completed_ns, each.type) for each in operations]
        return cls(
            _times([asked for asked, _, _ in rows]),
            _times([answered for _, answered, _ in rows]),
            np.array([OUTCOMES.index(type_) for _, _, type_ in rows], np.int8),
        )

    @classmethod
    def of_table(cls, operations: pa.Table) -> Self:
        """Of columns as a history is read into."""
        outcome = pc.index_in(operations.column("type"), pa.array(OUTCOMES))
        return cls(
            _times(operations.column("invoked_ns")),
            _times(operations.column("completed_ns")),
            outcome.to_numpy().astype(np.int8),
        )

    @classmethod
    def together(cls, parts: Sequence[Self]) -> Self:
        """One after another; one at least."""
        return cls(
            np.concatenate([each.asked_ns for each in parts]),
            np.concatenate([each.answered_ns for each in parts]),
            np.concatenate([each.outcome for each in parts]),
        )

    def __len__(self) -> int:
        return len(self.outcome)

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Those that succeeded."""
        found: NDArray[np.bool_] = self.outcome == OUTCOMES.index("ok")
        return found

    def count(self, outcome: OutcomeName) -> int:
        return int(np.count_nonzero(self.outcome == OUTCOMES.index(outcome)))

    @property
    def last_ns(self) -> float:
        """The latest time of all; 0: none is known."""
        known = [column[~np.isnan(column)] for column in (self.asked_ns, self.answered_ns)]
        return max((float(column.max()) for column in known if len(column)), default=0.0)


def _times(times_ns: Sequence[int | None] | pa.ChunkedArray) -> NDArray[np.float64]:
    """Exact, for runs of less than a hundred days."""
    if not isinstance(times_ns, pa.ChunkedArray):
        times_ns = pa.chunked_array([pa.array(times_ns, pa.int64())])
    found: NDArray[np.float64] = pc.fill_null(pc.cast(times_ns, pa.float64()), np.nan).to_numpy()
    return found
