"""Results of thousands of runs in little memory."""

import pickle
import zlib
from collections.abc import Iterable, Iterator
from operator import itemgetter
from pathlib import Path

from framework.checking.results import RunResult


class Packed(Iterable[RunResult]):
    """Results of which each is packed, and made anew when it is its turn: some KB of a run rather
    than more than a hundred."""

    def __init__(self, results: Iterable[RunResult] = ()) -> None:
        self._packed: list[tuple[Path, bytes]] = []
        self.extend(results)

    def append(self, result: RunResult) -> None:
        self._packed.append((result.path, zlib.compress(pickle.dumps(result), level=1)))

    def extend(self, results: Iterable[RunResult]) -> None:
        """Keeps one after another, as they come."""
        for result in results:
            self.append(result)

    def sort(self) -> None:
        """By path."""
        self._packed.sort(key=itemgetter(0))

    @property
    def paths(self) -> list[Path]:
        """Of each in turn."""
        return [path for path, _ in self._packed]

    def __len__(self) -> int:
        return len(self._packed)

    def __iter__(self) -> Iterator[RunResult]:
        for _, packed in self._packed:
            result: RunResult = pickle.loads(zlib.decompress(packed))
            yield result
