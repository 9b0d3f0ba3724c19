"""The search for cycles where a history is large: suspects first, on all cores, then they alone.

`suspects` visits the windows (`cycles_windows`) until none learns anything of another, `ROUNDS`
times at most: what is passed on then is a span as well. A second job takes from the history what
the suspects depend on, and `cycles.search` finds in it what it would find in all.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.logs.cycles_edges import edges, vertices
from checkers.logs.cycles_graph import Ints, Mask
from checkers.logs.cycles_windows import (
    NEVER,
    PASSED,
    PROVEN,
    SEEN,
    SPAN,
    SUSPECT,
    WINDOW,
    Passed,
    seen,
    united,
)
from checkers.logs.rows import OK
from framework.checking.blocks import Dealt

ROUNDS: Final = 8


def suspects(dealt: Dealt, rounds: int = ROUNDS, window: int = WINDOW) -> pa.Table:
    """`SEEN` of all windows, without what they passed on."""
    known = Passed.of(SEEN.empty_table())
    for _ in range(rounds):
        found = dealt.visit(partial(seen, passed=known, window=window))
        before, known = known, Passed.of(found)
        if known == before:
            break
    what = found["what"].to_numpy()
    return pa.concat_tables([found.filter(pa.array(what != PASSED)), _unheard(found, before)])


def _unheard(found: pa.Table, known: Passed) -> pa.Table:
    """Spans of what was passed on in the last round, and others did not know by then."""
    passed = found.filter(pa.array(found["what"].to_numpy() == PASSED))
    heard = {
        (run, index): potential
        for run, index, potential in zip(known.run, known.index, known.potential, strict=True)
    }
    rows = [
        {"run": row["run"], "what": SPAN, "x": row["z"], "y": row["y"], "z": row["y"]}
        for row in passed.to_pylist()
        if heard.get((row["run"], row["x"])) != row["y"]
    ]
    return pa.Table.from_pylist(rows, SEEN)


@dataclass(frozen=True, slots=True)
class Suspects:
    """Of one run: operations that may be on cycles, and spans of indices in which all may be."""

    indices: Ints
    low: Ints
    high: Ints
    proven: int
    """How many operations of unknown outcome took effect."""

    @staticmethod
    def of(found: pa.Table) -> "dict[str, Suspects]":
        """By run."""
        made = {}
        for run in pc.unique(found["run"]).to_pylist():
            mine = found.filter(pc.equal(found["run"], run))
            what, x, y = (mine[name].to_numpy() for name in ("what", "x", "y"))
            low, high, _ = united(x[what == SPAN], y[what == SPAN])
            indices = np.unique(x[what == SUSPECT])
            made[str(run)] = Suspects(indices, low, high, len(np.unique(x[what == PROVEN])))
        return made

    @property
    def any(self) -> bool:
        return bool(len(self.indices) or len(self.low))

    def among(self, index: Ints, end: Ints) -> Mask:
        """Which operations, invoked and ended then, are. A potential is never below the index of
        an operation; and above that of its end only in a span that begins there."""
        at = np.searchsorted(self.high, index)
        at[at == len(self.high)] = -1
        within = np.zeros(len(index), np.bool_)
        if len(self.high):
            within = (at >= 0) & (self.low[at] <= end)
        return within | np.isin(index, self.indices)


def parts_among(rows: pa.Table, suspects: Mapping[str, Suspects]) -> tuple[pa.Table, pa.Table]:
    """The edges and vertices of some keys that suspects have."""
    of_any, between = vertices(rows), edges(rows)
    kept, tied = np.zeros(len(of_any), np.bool_), np.zeros(len(between), np.bool_)
    index, a, b = of_any["index"].to_numpy(), between["a"].to_numpy(), between["b"].to_numpy()
    end = of_any["end"].fill_null(NEVER).to_numpy().copy()
    end[of_any["type"].to_numpy() != OK] = NEVER
    for run, mine in suspects.items():
        own = _of(of_any, run)
        own &= mine.among(index, end)
        kept |= own
        indices = np.unique(index[own])
        tied |= _of(between, run) & np.isin(a, indices) & np.isin(b, indices)
    # A process has one operation at a time. Others may have several, so that one's edge to the next
    # may be of no suspect.
    names = pc.starts_with(of_any["client"].cast(pa.string()), "process ")
    kept |= ~names.to_numpy()
    return between.filter(pa.array(tied)), of_any.filter(pa.array(kept))


def _of(table: pa.Table, run: str) -> Mask:
    made: Mask = pc.equal(table["run"].cast(pa.string()), run).to_numpy().copy()
    return made
