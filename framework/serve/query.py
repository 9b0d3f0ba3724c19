"""Which runs the list shows, and in which order: what the address asks for. Pure."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final
from urllib.parse import urlencode

from framework.serve.runs import STATES, RunRow

PAGE: Final = 100
"""Rows of one page."""
SORTS: Final[Mapping[str, Callable[[RunRow], Any]]] = {
    "verdict": lambda row: STATES.index(row.state),
    "when": lambda row: row.stamp,
    "seed": lambda row: -1 if row.seed is None else row.seed,
    "series": lambda row: row.name,
    "nemesis": lambda row: row.nemeses,
    "workload": lambda row: row.workloads,
    "system": lambda row: (row.system, row.hosts),
    "duration": lambda row: row.seconds or 0.0,
    "findings": lambda row: row.findings,
}
_DOWN: Final = "-"
"""Before a column's name: the largest first."""


@dataclass(frozen=True, slots=True)
class Query:
    """Every field narrows the list; empty: it does not."""

    q: str = ""
    """Words that a run has, all of them, anywhere."""
    state: str = ""
    series: str = ""
    checker: str = ""
    """A checker that is not VALID."""
    fault: str = ""
    seed: str = ""
    sort: str = "-when"
    page: int = 0

    def link(self, **changes: str | int) -> str:
        """The address of the list with these changes; what is not said is left out."""
        asked = replace(self, **{"page": 0, **changes})  # type: ignore[arg-type]
        plain = Query()
        said = {
            field.name: getattr(asked, field.name)
            for field in fields(Query)
            if getattr(asked, field.name) != getattr(plain, field.name)
        }
        return f"/?{urlencode(said)}" if said else "/"

    def by(self, column: str) -> str:
        """The address of the list in the order of a column; again: the other way round. Numbers
        begin with the largest."""
        other = _DOWN + column
        largest_first = column in ("when", "duration", "findings")
        first, second = (other, column) if largest_first else (column, other)
        return self.link(sort=second if self.sort == first else first)

    @property
    def narrows(self) -> bool:
        return replace(self, sort="-when", page=0) != Query()


def query_of(given: Mapping[str, str]) -> Query:
    """What cannot be is as if it were not asked."""
    sort = given.get("sort", "")
    page = given.get("page", "")
    return Query(
        q=given.get("q", "").strip(),
        state=given.get("state", "") if given.get("state") in STATES else "",
        series=given.get("series", ""),
        checker=given.get("checker", ""),
        fault=given.get("fault", ""),
        seed=given.get("seed", "").strip(),
        sort=sort if sort.removeprefix(_DOWN) in SORTS else "-when",
        page=min(int(page), 10**6) if page.isascii() and page.isdigit() and len(page) < 9 else 0,
    )


def chosen(rows: Sequence[RunRow], query: Query) -> list[RunRow]:
    """Those that are asked for, in that order; of equals the newest first, as they came."""
    words = query.q.lower().split()
    found = [
        row
        for row in rows
        if (not query.state or row.state == query.state)
        and (not query.series or row.name == query.series)
        and (not query.checker or query.checker in (*row.invalid, *row.unknown))
        and (not query.fault or query.fault in row.nemeses)
        and (not query.seed or str(row.seed) == query.seed)
        and all(word in row.words for word in words)
    ]
    key = SORTS[query.sort.removeprefix(_DOWN)]
    return sorted(found, key=key, reverse=query.sort.startswith(_DOWN))


@dataclass(frozen=True, slots=True)
class Series:
    """Runs that belong together: a nightly, a campaign; those of one folder."""

    name: str
    counts: Mapping[str, int]
    """Runs by state, those that there are, the worst first."""
    newest: Sequence[RunRow]
    """The oldest of them first, so that the right end is now."""


def series_of(rows: Sequence[RunRow], shown: int = 30) -> list[Series]:
    """`rows`: newest first. The series with the newest run first."""
    by_name: dict[str, list[RunRow]] = {}
    for row in rows:
        by_name.setdefault(row.name, []).append(row)
    found = []
    for name, own in by_name.items():
        counts = Counter(row.state for row in own)
        ordered = {state: counts[state] for state in STATES if counts[state]}
        found.append(Series(name, ordered, own[:shown][::-1]))
    return found
