"""Shares of what a run's nodes left: read side by side, each by one task."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

NODES: Final = "nodes"


@dataclass(frozen=True, slots=True)
class Share:
    """The `number`th, from 0: of these nodes alone, of the first share also what is known of the
    run as a whole. None: of all."""

    number: int = 0
    nodes: tuple[str, ...] | None = None


ALL: Final = Share()


def shares(run: Path, most: int, beside: int = 0) -> Sequence[Share]:
    """So many at most, of about as many bytes. `beside`: so many has who takes the last one to read
    in any case."""
    if most < 2:
        return [ALL]
    sizes = {home: sum(map(os.path.getsize, below(home))) for home in _homes(run / NODES)}
    count = min(most, len(sizes))
    if count < 2:
        return [ALL]
    loads = [*[0] * (count - 1), beside]
    dealt: list[list[str]] = [[] for _ in loads]
    for home in sorted(sizes, key=lambda home: (-sizes[home], home)):
        least = loads.index(min(loads))
        dealt[least].append(Path(home).name)
        loads[least] += sizes[home]
    return [Share(number, tuple(sorted(nodes))) for number, nodes in enumerate(dealt)]


def below(folder: str) -> Iterator[str]:
    """All files below a folder, in a fraction of the time that `Path.rglob` takes."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from below(entry.path)
            elif entry.is_file():
                yield entry.path


def _homes(nodes: Path) -> list[str]:
    with suppress(FileNotFoundError), os.scandir(nodes) as entries:
        return [entry.path for entry in entries if entry.is_dir()]
    return []
