"""What runs measured, kept beside, and the table of it."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NotRequired, TypedDict

from benchmarks.mutation.known import Known
from benchmarks.mutation.run import Outcome, Target

FILE: Final = Path(__file__).with_name("measured.json")
FLOOR: Final = 0.9
"""Of the mutants that change something, so many have to be killed."""


class Measured(TypedDict):
    """Of a target. `digest`: of the code as it was; `mutants`: that were asked, `of` so many."""

    digest: str
    of: NotRequired[int]
    mutants: int
    equivalent: int
    killed: int
    ran_out: int
    explained: int


def measured(target: Target, outcome: Outcome, known: Known, of: int) -> Measured:
    alive = [each.key for each in outcome.survived]
    return {
        "digest": digest(target),
        "of": of,
        "mutants": len(outcome.mutants),
        "equivalent": sum(each in known.equivalent for each in alive),
        "killed": len(outcome.mutants) - len(alive),
        "ran_out": len(outcome.ran_out),
        "explained": sum(each in known.survivors for each in alive),
    }


def digest(target: Target) -> str:
    made = hashlib.sha256()
    for module in target.modules:
        made.update(module.path.read_bytes())
    return made.hexdigest()[:16]


def share(found: Measured) -> float:
    """Killed, of those that change something."""
    return found["killed"] / max(1, found["mutants"] - found["equivalent"])


def read(path: Path = FILE) -> dict[str, Measured]:
    found: dict[str, Measured] = json.loads(path.read_text()) if path.exists() else {}
    return found


def write(found: Mapping[str, Measured], path: Path = FILE) -> None:
    path.write_text(json.dumps(dict(sorted(found.items())), indent=1) + "\n")


def table(targets: Sequence[Target], found: Mapping[str, Measured]) -> Iterator[str]:
    yield "| code of | mutants | equivalent | killed | survive | |"
    yield "| --- | ---: | ---: | ---: | ---: | --- |"
    for target in targets:
        each = found.get(target.name)
        if each is None:
            yield f"| `{target.name}` | | | | | not measured |"
            continue
        alive = each["mutants"] - each["equivalent"] - each["killed"]
        notes = [] if share(each) >= FLOOR else ["too few"]
        if each["digest"] != digest(target):
            notes.append("the code has changed since")
        every = each.get("of", each["mutants"])
        if every > each["mutants"]:
            notes.append(f"a sample of {every:,}")
        yield (
            f"| `{target.name}` | {each['mutants']:,} | {each['equivalent']} "
            f"| {each['killed']:,} ({share(each):.0%}) | {alive} | {', '.join(notes)} |"
        )
