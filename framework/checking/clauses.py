"""Clauses of checkers: what was compared for each in a run, held against its floor.

`python -m framework.checking.clauses > docs/clauses.md` makes the page of all of them.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from framework.checking.findings import compared
from framework.checking.keyed import NOTHING
from framework.plugins import registry
from framework.plugins.checker import CLIENTS, OTHERS, Checker, Clause, Count
from framework.verdict import Verdict

Row = Mapping[str, Any]
"""Of `OUTCOME_SCHEMA`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseResult:
    """A clause in one run. `verdict` None: the run gave no occasion, and `note` says why. `note` of
    an UNKNOWN one: what was too little."""

    name: str
    says: str
    verdict: Verdict | None
    compared: int
    floor: int
    compares: str
    note: str = ""
    sources: Sequence[str] = ()


def clauses_of(checker: Checker | None, name: str = "", summary: str = "") -> Sequence[Clause]:
    """Those of a checker; of one that names none: one that is all it promises."""
    return getattr(checker, "clauses", None) or [
        Clause(
            name=getattr(checker, "name", name),
            says=getattr(checker, "summary", summary),
            compares="observations",
            floor=2,
            because="one may be right by chance",
            sources=(CLIENTS,),
        )
    ]


def held_against_floors(
    clauses: Sequence[Clause], rows: Sequence[Row], broken: Iterable[str]
) -> list[ClauseResult]:
    """`rows`: all of one checker and run. `broken`: the clause of each finding."""
    counts = _added(clauses, rows)
    named = {name if len(clauses) > 1 else clauses[0].name for name in broken}
    return [_held(clause, counts.get(clause.name, 0), clause.name in named) for clause in clauses]


def too_little(results: Iterable[ClauseResult]) -> list[str]:
    """Why clauses are UNKNOWN."""
    return [each.note for each in results if each.verdict is Verdict.UNKNOWN]


def share(verdicts: Iterable[Verdict | str | None]) -> str:
    """`11/12`, of clauses' verdicts, also as verdict.json has them: those that are VALID, of those
    that applied."""
    applied = [each for each in verdicts if each is not None]
    valid = sum(each in (Verdict.VALID, Verdict.VALID.value) for each in applied)
    return f"{valid}/{len(applied)}" if applied else ""


def nothing_seen(results: Sequence[ClauseResult]) -> str:
    """Why a checker that compared nothing is UNKNOWN."""
    reasons = [each.note for each in results if each.verdict is None]
    return f"{NOTHING}: {reasons[0]}" if len(reasons) == len(results) else NOTHING


def _held(clause: Clause, count: Count, broken: bool) -> ClauseResult:
    compared, asked, note = _read(clause, count)
    floor = max(clause.floor, asked)
    verdict: Verdict | None = Verdict.VALID
    if broken:
        verdict, note = Verdict.INVALID, ""
    elif note:
        verdict = None
    elif compared < floor:
        verdict = Verdict.UNKNOWN
        few = f"{compared} {clause.compares}, and no fewer than {floor} are enough"
        note = f"{clause.name}: {few}"
    return ClauseResult(
        name=clause.name,
        says=clause.says,
        verdict=verdict,
        compared=compared,
        floor=floor,
        compares=clause.compares,
        note=note,
        sources=tuple(clause.sources),
    )


def _read(clause: Clause, count: Count) -> tuple[int, int, str]:
    """How many were compared, how many this run must have, and why there was no occasion."""
    match count:
        case str():
            return 0, 0, count
        case int():
            return count, 0, ""
        case Mapping():
            enough = clause.enough(count)
            return enough if enough < clause.floor else sum(count.values()), 0, ""
    return (*count, "")


def _added(clauses: Sequence[Clause], rows: Sequence[Row]) -> dict[str, Count]:
    total: dict[str, Count] = {}
    for row in rows:
        found = row.get("clauses")
        counts = {clauses[0].name: row["seen"]} if not found else json.loads(found)
        for name, count in counts.items():
            total[name] = _and(total[name], count) if name in total else count
    return total


def _and(one: Count, other: Count) -> Count:
    """Of two parts of a run. One that gave no occasion is none of the whole's."""
    if isinstance(one, str) or isinstance(other, str):
        return one if isinstance(other, str) else other
    if isinstance(one, Mapping) or isinstance(other, Mapping):
        both = Counter[str]()
        for each in (one, other):
            both.update(each if isinstance(each, Mapping) else {OTHERS: compared(each)})
        return both
    (compared_one, asked), (compared_other, also) = map(_pair, (one, other))
    return compared_one + compared_other, asked + also


def _pair(count: int | Sequence[int]) -> tuple[int, int]:
    return (count, 0) if isinstance(count, int) else (count[0], count[1])


# --- as documentation ---------------------------------------------------------------------

_HEAD = """# Clauses

Made by `python -m framework.checking.clauses > docs/clauses.md`; a test says when that is due.

What each checker promises, sentence by sentence: by which evidence a sentence is judged (the most
trusted first), how much has to have been compared before it may be called VALID and why so much,
and what would break it and is not seen.
"""


def page() -> str:
    """docs/clauses.md."""
    return "\n".join([_HEAD, *map(section, registry.names("checkers"))])


def section(name: str) -> str:
    """What the page says of one checker."""
    return "\n".join(_lines(name))


def _lines(name: str) -> Iterator[str]:
    checker = registry.load("checkers", name)
    yield f"## {name}\n\n{checker.summary}.\n"
    yield "| clause | judged by | floor | what is not seen |"
    yield "| --- | --- | --- | --- |"
    for each in clauses_of(checker):
        floor = f"{each.floor} {each.compares}: {each.because}"
        blind = each.blind or "-"
        yield f"| **{each.name}**: {each.says} | {', '.join(each.sources)} | {floor} | {blind} |"
    yield ""


if __name__ == "__main__":
    print(page(), end="")
