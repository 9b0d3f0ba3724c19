"""Some of very many operations, spread evenly, taken while they are read."""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

MOST: Final = 1 << 18
"""Operations held at most, beside those that findings name: objects of a thousand bytes."""


@dataclass(slots=True)
class Some:
    """Every operation, until there are more than `most`; then every second one, every fourth, ...
    `named`: indices of operations, of either of their events, that are all kept."""

    named: frozenset[int]
    most: int = MOST
    _step: int = 1
    _met: int = 0
    _places: list[NDArray[np.int64]] = field(default_factory=list)
    _held: list[pa.Table] = field(default_factory=list)
    """Of each piece the operations that are held, and their places among all."""

    def add(self, operations: pa.Table) -> None:
        """The next piece; there is one at least."""
        places = np.arange(self._met, self._met + len(operations))
        self._met += len(operations)
        self._hold(places, operations)
        while sum(map(len, self._held)) > self.most and self._step < self._met:
            self._step *= 2
            before = zip(self._places, self._held, strict=True)
            self._places, self._held = [], []
            for each, table in before:
                self._hold(each, table)

    def _hold(self, places: NDArray[np.int64], operations: pa.Table) -> None:
        if self._step > 1:
            kept = (places % self._step == 0) | self._are_named(operations)
            places, operations = places[kept], operations.filter(pa.array(kept))
        self._places.append(places)
        self._held.append(operations)

    def _are_named(self, operations: pa.Table) -> NDArray[np.bool_]:
        named = pa.array(sorted(self.named), pa.int64())
        found = np.zeros(len(operations), bool)
        for name in ("index", "end"):
            found |= pc.is_in(operations.column(name), value_set=named).to_numpy()
        return found

    @property
    def table(self) -> pa.Table:
        """Those that are held, in order."""
        return pa.concat_tables(self._held)
