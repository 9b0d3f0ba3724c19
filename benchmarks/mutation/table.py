"""What runs measured, kept beside in a file a row, and the table of it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from benchmarks.mutation.digests import Digests, digests, functions
from benchmarks.mutation.mutants import Key
from benchmarks.mutation.run import Target
from benchmarks.mutation.survivors import Known

FOLDER: Final = Path(__file__).with_name("measured")
FLOOR: Final = 0.9
"""Of the mutants that change something, so many have to be killed."""
HEADER: Final = (
    "| code of | mutants | equivalent | killed | survive with a reason | without | |",
    "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Of a target. `digests`: of the code as it was; `asked` of its mutants, `of` so many, if not
    in this run, in one before; those `alive` were killed by no test, be they equivalent or not."""

    digests: Digests
    of: int
    asked: int
    alive: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    """Of those asked, by what is known today of those alive."""

    changing: int
    """That are not equivalent."""
    killed: int
    explained: int
    unexplained: int

    @property
    def share(self) -> float:
        return self.killed / max(1, self.changing)


def counts(found: Measured, known: Known) -> Counts:
    alive = [each for each in found.alive if each not in known.equivalent]
    explained = sum(each in known.survivors for each in alive)
    return Counts(
        found.asked - len(found.alive) + len(alive),
        found.asked - len(found.alive),
        explained,
        len(alive) - explained,
    )


def read(folder: Path = FOLDER) -> dict[str, Measured]:
    return {
        path.relative_to(folder).with_suffix("").as_posix(): _measured(path)
        for path in sorted(folder.rglob("*.json"))
    }


def measured_before(target: Target, folder: Path = FOLDER) -> Measured | None:
    path = _path(target.name, folder)
    return _measured(path) if path.exists() else None


def _path(name: str, folder: Path) -> Path:
    return folder / f"{name}.json"


def _measured(path: Path) -> Measured:
    found = json.loads(path.read_text())
    return Measured(**{**found, "alive": tuple(tuple(each) for each in found["alive"])})


def write(name: str, found: Measured, folder: Path = FOLDER) -> None:
    path = _path(name, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(found), indent=1, ensure_ascii=False) + "\n")


def table(targets: Sequence[Target], found: Mapping[str, Measured], known: Known) -> Iterator[str]:
    yield from HEADER
    for target in targets:
        each = found.get(target.name)
        yield (
            f"| `{target.name}` | | | | | | not measured |"
            if each is None
            else _row(target, each, counts(each, known))
        )


def _row(target: Target, each: Measured, by: Counts) -> str:
    notes = [] if by.share >= FLOOR else ["too few"]
    if functions(each.digests) != functions(digests(target)):
        notes.append("the code has changed since")
    if each.of > each.asked:
        notes.append(f"a sample of {each.of:,}")
    return (
        f"| `{target.name}` | {each.asked:,} | {each.asked - by.changing} | {by.killed:,} "
        f"({by.share:.0%}) | {by.explained} | {by.unexplained or ''} | {', '.join(notes)} |"
    )
