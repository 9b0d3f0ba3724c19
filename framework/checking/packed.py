"""Results of thousands of runs in little memory."""

import pickle
import zlib
from collections.abc import Iterable, Iterator
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryFile

from framework.checking.results import RunResult


class Packed(Iterable[RunResult]):
    """Results that lie in a temporary file, each made anew when it is its turn: a hundred bytes of
    memory a run rather than more than a hundred KB."""

    def __init__(self, results: Iterable[RunResult] = ()) -> None:
        self._file = TemporaryFile(prefix="kraft-proof-")  # noqa: SIM115 - as long as itself
        self._places: list[tuple[Path, int, int]] = []
        """Path, first byte, bytes of each in turn."""
        self.extend(results)

    def append(self, result: RunResult) -> None:
        packed = zlib.compress(pickle.dumps(result), level=1)
        self._places.append((result.path, self._file.seek(0, 2), len(packed)))
        self._file.write(packed)

    def extend(self, results: Iterable[RunResult]) -> None:
        """Keeps one after another, as they come."""
        for result in results:
            self.append(result)

    def sort(self) -> None:
        """By path."""
        self._places.sort(key=itemgetter(0))

    @property
    def paths(self) -> list[Path]:
        """Of each in turn."""
        return [path for path, _, _ in self._places]

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[RunResult]:
        for _, first, size in self._places:
            self._file.seek(first)
            result: RunResult = pickle.loads(zlib.decompress(self._file.read(size)))
            yield result
