"""Mutants that somebody has looked at: those that change nothing, and those that survive.

`known/MODULE.toml` has an entry for each: `line` is the source's, without indentation, `change` as
the run prints it.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.mutation.mutants import Key, Mutant

FOLDER: Final = Path(__file__).with_name("known")


@dataclass(frozen=True, slots=True)
class Known:
    """Reasons. `equivalent`: no test can tell them from the code as it is, so that they count
    nowhere. `survivors`: a test could, and there is none."""

    equivalent: Mapping[Key, str]
    survivors: Mapping[Key, str]

    @classmethod
    def read(cls, folder: Path = FOLDER) -> "Known":
        found: dict[str, dict[Key, str]] = {"equivalent": {}, "survivor": {}}
        for path in sorted(folder.glob("*.toml")):
            for kind, entries in tomllib.loads(path.read_text()).items():
                found[kind] |= {_key(path.stem, each): each["reason"] for each in entries}
        return cls(found["equivalent"], found["survivor"])

    def complaints(
        self, made: Iterable[Mutant], asked: Iterable[Mutant], survived: Iterable[Mutant]
    ) -> Iterator[str]:
        """About entries of the mutants' modules that are no longer so. `asked`: of those made."""
        every, alive = list(made), {each.key for each in survived}
        keys, modules = {each.key for each in every}, {each.module.name for each in every}
        tried = {each.key for each in asked}
        for key in [*self.equivalent, *self.survivors]:
            if key[0] in modules and key not in keys:
                yield f"known: there is no such mutant any more: {' | '.join(key)}"
            elif key in tried and key not in alive:
                yield f"known: a test kills this: {' | '.join(key)}"


def _key(module: str, entry: Mapping[str, str]) -> Key:
    return module, entry["function"], entry["line"], entry["change"]
