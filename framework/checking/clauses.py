"""Clauses of checkers: what was compared for each in a run, held against its floor.

`python -m framework.checking.clauses > docs/clauses.md` makes the page of all of them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from framework.checking.keyed import NOTHING
from framework.plugins import registry
from framework.plugins.checker import CLIENTS, Checker, Clause, Count
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
    compared, asked, note = _read(count)
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


def _read(count: Count) -> tuple[int, int, str]:
    """How many were compared, how many this run must have, and why there was no occasion."""
    if isinstance(count, str):
        return 0, 0, count
    return (count, 0, "") if isinstance(count, int) else (*count, "")


def _added(clauses: Sequence[Clause], rows: Sequence[Row]) -> dict[str, Count]:
    """A part of a run that gave no occasion is none of the whole's."""
    total: dict[str, Count] = {}
    for row in rows:
        found = row.get("clauses")
        counts = {clauses[0].name: row["seen"]} if not found else json.loads(found)
        for name, count in counts.items():
            before = total.get(name, count)
            if name in total and not isinstance(count, str):
                compared, asked, _ = _read(count)
                more, also, _ = _read(before)
                total[name] = (compared + more, asked + also)
            else:
                total[name] = before
    return total


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
