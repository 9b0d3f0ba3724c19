"""Clauses and what the system that was tested promises: what nobody promises is not judged, and a
finding says by what that is promised which it breaks."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from framework.checking.findings import compared
from framework.checking.observed import system_of
from framework.checking.results import CheckerResult, KeyedFinding
from framework.errors import UsageError
from framework.history.event import Recorded
from framework.plugins.checker import Clause
from framework.plugins.promise import Promised
from framework.verdict import Verdict

Row: TypeAlias = Mapping[str, Any]
"""Of `OUTCOME_SCHEMA`."""
CUT: Final = "more was found than is kept, of what nobody promises; the rest may be something else"


def promises_of(plan: Mapping[str, Recorded]) -> Mapping[str, Promised]:
    """`checker/clause` -> what the run's system says of it, if it is installed."""
    try:
        return system_of(plan).promises(plan)
    except UsageError:
        return {}


def said_of(
    name: str, clauses: Iterable[Clause], promises: Mapping[str, Promised]
) -> dict[str, Promised]:
    """Clause -> what is said of it."""
    said = {each.name: promises.get(f"{name}/{each.name}") for each in clauses}
    return {clause: each for clause, each in said.items() if each is not None}


def judged_rows(
    rows: Sequence[Row], clauses: Sequence[Clause], said: Mapping[str, Promised]
) -> Sequence[Row]:
    """The rows of a checker, in which clauses that nobody promises had no occasion, and why."""
    unmade = {clause: each.source for clause, each in said.items() if not each.made}
    return [_without(row, clauses, unmade) for row in rows] if unmade else rows


def _named(clause: str, clauses: Sequence[Clause]) -> str:
    """The clause that a finding breaks: of a checker that has but one, that."""
    return clause if len(clauses) > 1 else clauses[0].name


def _without(row: Row, clauses: Sequence[Clause], unmade: Mapping[str, str]) -> Row:
    found = json.loads(row["findings"] or "[]")
    kept = [each for each in found if _named(each.get("clause") or "", clauses) not in unmade]
    alone = {clauses[0].name: row["seen"]}
    counts = json.loads(row["clauses"]) if row.get("clauses") else alone
    gone = sum(compared(count) for name, count in counts.items() if name in unmade)
    without = {
        "findings": json.dumps(kept),
        "clauses": json.dumps({**counts, **unmade}),
        "seen": max(0, row["seen"] - gone),
    }
    if found and not kept and row["verdict"] == Verdict.INVALID.value:
        cut = json.loads(row["figures"] or "{}").get("findings", 0) > len(found)
        without["verdict"] = (Verdict.UNKNOWN if cut else Verdict.VALID).value
        without["note"] = CUT if cut else row["note"]
    return {**row, **without}


def attributed(
    result: CheckerResult, clauses: Sequence[Clause], said: Mapping[str, Promised]
) -> CheckerResult:
    """The result, in which each finding says by what that is promised which it breaks."""
    if not result.findings or not said:
        return result
    return replace(result, findings=[_attributed(each, clauses, said) for each in result.findings])


def _attributed(
    each: KeyedFinding, clauses: Sequence[Clause], said: Mapping[str, Promised]
) -> KeyedFinding:
    promise = said.get(_named(each.clause, clauses))
    return each if promise is None else replace(each, promise=promise.source)
