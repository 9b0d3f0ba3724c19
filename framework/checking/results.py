"""What checkers' outcome rows add up to: a verdict for each run and checker."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, NoReturn, cast

import pyarrow as pa
import pyarrow.compute as pc

from framework.checking.clauses import (
    ClauseResult,
    clauses_of,
    held_against_floors,
    nothing_seen,
    too_little,
)
from framework.checking.documents import CheckerDocument, VerdictDocument
from framework.checking.keyed import NOTHING
from framework.errors import UsageError
from framework.history.event import Json, Recorded
from framework.history.pairing import Operation
from framework.plugins.checker import CLIENTS, Clause
from framework.verdict import Verdict, worst
from framework.whole_files import write_whole

VERDICT_FILE: Final = "verdict.json"
MAX_FINDINGS: Final = 100
"""Findings kept of one checker; a note tells of the rest."""
READING: Final = "reading"
"""The name under which it is UNKNOWN what could not be read."""
_MAX_NOTES: Final = 3
_REFUSALS_NAMED: Final = 3
NO_FINDINGS: Final = (None, "", "[]")
"""What an outcome's `findings` are where there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedFinding:
    """A finding and the key it is about."""

    key: str
    message: str
    operations: Sequence[int] = ()
    events: Sequence[Mapping[str, Json]] = ()
    contracts: Sequence[str] = ()
    picture: Mapping[str, Json] | None = None
    clause: str = ""
    promise: str = ""
    """By what the clause is promised, as the system says (`framework.plugins.promise`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckerResult:
    """What one checker says of one run."""

    name: str
    summary: str
    verdict: Verdict
    seen: int
    keys: int
    note: str = ""
    contracts: Sequence[str] = ()
    """Which contracts the verdict rests on (`framework.plugins.checker`)."""
    options: str = ""
    """What it was given: `KEY=VALUE,...`."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    findings: Sequence[KeyedFinding] = ()
    clauses: Sequence[ClauseResult] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What all checkers say of one run, or one model of one history file."""

    run: str
    path: Path
    verdict: Verdict
    checkers: Sequence[CheckerResult]
    notes: Sequence[str] = ()
    timings: Mapping[str, float] = field(default_factory=dict)
    cited: Mapping[int, Operation] = field(default_factory=dict)
    """The operations that findings name."""
    not_applicable: Mapping[str, str] = field(default_factory=dict)
    """Checkers that had nothing to check in this run, and why. They count as nothing."""
    error: str = ""
    """Why it could not be read, if so."""
    judged: str = ""
    """What it follows from, as a digest (`judged`); empty: it may be another one next time."""
    interrupted: bool | None = None
    """Whether somebody ended the run early; None: whoever checked it does not know."""


def checker_result(
    name: str,
    summary: str,
    rows: Sequence[Mapping[str, Any]],
    contracts: Sequence[str] = (CLIENTS,),
    options: str = "",
    clauses: Sequence[Clause] = (),
) -> CheckerResult:
    """The rows of one checker and run, added up.

    The worst verdict counts, of the rows and of the clauses. One that saw nothing is UNKNOWN.
    Figures of several rows are added, but for names that begin with `max_` or `min_`.
    """
    rows = sorted(rows, key=lambda row: row["key"])
    seen = sum(row["seen"] for row in rows)
    findings = _findings(rows, contracts)
    clauses = clauses or clauses_of(None, name, summary)
    held = held_against_floors(clauses, rows, (each.clause for each in findings))
    verdict = worst(map(Verdict, {row["verdict"] for row in rows}))
    notes = _notes(rows)
    if seen and (few := too_little(held)):
        verdict = worst([verdict, Verdict.UNKNOWN])
        notes += few
    if len(notes) > _MAX_NOTES:
        notes[_MAX_NOTES:] = [f"and {len(notes) - _MAX_NOTES} more"]
    if not seen and verdict is not Verdict.INVALID:
        verdict = Verdict.UNKNOWN
        notes = [each for each in notes if not each.endswith(NOTHING)] or [nothing_seen(held)]
    if len(findings) > MAX_FINDINGS:
        notes.append(f"{len(findings)} findings, of which the first {MAX_FINDINGS} are kept")
    return CheckerResult(
        name=name,
        summary=summary,
        verdict=verdict,
        seen=seen,
        keys=len({row["key"] for row in rows if row["key"]}),
        note="; ".join(notes),
        contracts=tuple(contracts) if seen or findings else (),
        options=options,
        figures=_figures(rows),
        findings=findings[:MAX_FINDINGS],
        clauses=held,
    )


def failed_result(name: str, summary: str, why: str) -> CheckerResult:
    """A checker that did not work."""
    return CheckerResult(
        name=name, summary=summary, verdict=Verdict.UNKNOWN, seen=0, keys=0, note=why
    )


def unread_result(path: Path, why: str) -> RunResult:
    """What is said of a run or a history that cannot be read."""
    reading = failed_result(READING, "It can be read", why)
    return RunResult(
        run=str(path), path=path, verdict=reading.verdict, checkers=[reading], error=why
    )


def refuse_all(refused: Sequence[str]) -> NoReturn:
    """Raises one `UsageError` for all that could not be read."""
    more = len(refused) - _REFUSALS_NAMED
    named = "; ".join(refused[:_REFUSALS_NAMED])
    raise UsageError(f"{named}; and {more} more" if more > 0 else named)


def run_result(
    run: str,
    path: Path,
    checkers: Sequence[CheckerResult],
    *,
    operations: Sequence[Operation] = (),
    notes: Sequence[str] = (),
    timings: Mapping[str, float] | None = None,
    not_applicable: Mapping[str, str] | None = None,
    judged: str = "",
) -> RunResult:
    """The results of one run, with the operations that findings name."""
    named = {
        index for checker in checkers for found in checker.findings for index in found.operations
    }
    return RunResult(
        run=run,
        path=path,
        verdict=worst(checker.verdict for checker in checkers),
        checkers=checkers,
        notes=notes,
        timings=timings or {},
        cited={operation.index: operation for operation in operations if operation.index in named},
        not_applicable=not_applicable or {},
        judged=judged,
    )


def result_of(document: Mapping[str, Recorded], run: str, path: Path) -> RunResult:
    """What verdict.json says, but for the operations that it cites. Raises `KeyError`, `TypeError`
    or `ValueError` for what is none of today's."""
    return RunResult(
        run=run,
        path=path,
        verdict=Verdict(document["verdict"]),
        checkers=[_checker_of(each) for each in document["checkers"]],
        notes=document["notes"],
        timings=document["timings"],
        not_applicable=document["not_applicable"],
        judged=document["judged"],
    )


def _checker_of(document: Mapping[str, Recorded]) -> CheckerResult:
    fields = {
        **document,
        "verdict": Verdict(document["verdict"]),
        "findings": [KeyedFinding(**each) for each in document["findings"]],
        "clauses": [
            ClauseResult(**{**each, "verdict": each["verdict"] and Verdict(each["verdict"])})
            for each in document["clauses"]
        ],
    }
    return CheckerResult(**fields)


def verdict_document(result: RunResult) -> VerdictDocument:
    """`verdict.json`."""
    document: VerdictDocument = {
        "verdict": result.verdict.value,
        "run": result.run,
        "checkers": [_checker_document(checker) for checker in result.checkers],
        "not_applicable": dict(result.not_applicable),
        "notes": list(result.notes),
        "timings": dict(result.timings),
        "judged": result.judged,
    }
    if result.interrupted is not None:
        document["interrupted"] = result.interrupted
    return document


def _checker_document(checker: CheckerResult) -> CheckerDocument:
    document = asdict(checker) | {
        "verdict": checker.verdict.value,
        "clauses": [
            asdict(each) | {"verdict": None if each.verdict is None else each.verdict.value}
            for each in checker.clauses
        ],
    }
    for finding in document["findings"]:
        if finding["picture"] is None:
            del finding["picture"]
        if not finding["promise"]:
            del finding["promise"]
    return cast("CheckerDocument", document)


def write_verdict(result: RunResult) -> VerdictDocument:
    """Replaces the run's verdict.json, whole or not at all; what is in it. What the run itself
    wrote there, its waits and whether it was interrupted, stays."""
    target = result.path / VERDICT_FILE
    document = verdict_document(result)
    before = _written(target)
    if isinstance(before.get("timings"), dict):
        document["timings"] = {**before["timings"], **document["timings"]}
    if "interrupted" in before:
        document.setdefault("interrupted", before["interrupted"])
    write_whole(target, json.dumps(document, indent=1, sort_keys=False) + "\n")
    return document


def _written(target: Path) -> dict[str, Recorded]:
    try:
        document = json.loads(target.read_text())
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _notes(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Each note once, with the first of the keys that it is about."""
    keys: dict[str, list[str]] = {}
    for row in rows:
        if row["note"]:
            keys.setdefault(row["note"], []).append(row["key"])
    notes = []
    for note, about in keys.items():
        named = [key for key in about if key]
        more = f" and {len(named) - _MAX_NOTES} more" if len(named) > _MAX_NOTES else ""
        notes.append(f"{', '.join(named[:_MAX_NOTES])}{more}: {note}" if named else note)
    return notes


def _findings(rows: Iterable[Mapping[str, Any]], contracts: Sequence[str]) -> list[KeyedFinding]:
    found = [
        KeyedFinding(
            key=row["key"],
            message=finding["message"],
            operations=finding.get("operations") or [],
            events=finding.get("events") or [],
            contracts=finding.get("contracts") or contracts,
            picture=finding.get("picture"),
            clause=finding.get("clause") or "",
        )
        for row in rows
        if row["findings"] not in NO_FINDINGS
        for finding in json.loads(row["findings"])
    ]
    return sorted(found, key=_place)


def by_checker(outcomes: Iterable[pa.Table]) -> dict[str, list[Mapping[str, Any]]]:
    """Checker -> its rows."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for table in outcomes:
        for row in table.to_pylist():
            found.setdefault(row["checker"], []).append(row)
    return found


def operations_named(outcomes: Iterable[pa.Table]) -> set[int]:
    """The indices of operations that those findings name in these outcomes of one run that are
    kept."""
    found = (each.filter(~pc.field("findings").isin(NO_FINDINGS)) for each in outcomes)
    return {
        index
        for rows in by_checker(found).values()
        for each in _findings(rows, ())[:MAX_FINDINGS]
        for index in each.operations
    }


def _place(finding: KeyedFinding) -> tuple[int, str, str]:
    """Which is shown first: however many tasks found them."""
    return min(finding.operations, default=0), finding.key, finding.message


def _figures(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    total: dict[str, Any] = {}
    read = cache(json.loads)  # thousands of keys have the same
    for row in rows:
        for name, value in read(row["figures"] or "{}").items():
            if name not in total:
                total[name] = value
            elif not isinstance(value, int | float):
                continue
            elif name.startswith("max_"):
                total[name] = max(total[name], value)
            elif name.startswith("min_"):
                total[name] = min(total[name], value)
            else:
                total[name] += value
    return dict(sorted(total.items()))
