"""The pages that `serve` shows, as texts of HTML, from what is known of runs. Pure."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from os import stat_result
from pathlib import Path
from stat import S_ISDIR
from typing import Any, Final
from urllib.parse import quote, urlencode

from markupsafe import Markup

from framework.report.data import Run
from framework.report.logs import LogLine
from framework.report.render import MEANING, finding_rows, template
from framework.report.spacetime import Proof, SpaceTime
from framework.report.story import story
from framework.serve.compare import compared
from framework.serve.moment import moment
from framework.serve.query import PAGE, Query, chosen, series_of
from framework.serve.runs import STATES, RunRow

_TEMPLATES: Final = Path(__file__).parent / "templates"
_ROOMS_S: Final = (0.2, 0.5, 1.0, 2.0, 5.0, 15.0)


def address_of(run: str, *rest: str, **asked: str | float) -> str:
    """The address of a run's page, or of what is below it."""
    path = "/".join(quote(part, safe="+") for part in (*run.split("/"), *rest))
    return f"/run/{path}{'' if rest else '/'}" + (f"?{urlencode(asked)}" if asked else "")


def compare_address(first: str, second: str) -> str:
    return f"/compare?{urlencode([('run', first), ('run', second)])}"


def drawn(name: str, **values: Any) -> str:
    """A template, with what they all use."""
    values |= {"states": STATES, "address_of": address_of, "compare": compare_address}
    return template(name, _TEMPLATES).render(values)


def refused(status: int, why: str) -> str:
    return drawn("refused.html", status=HTTPStatus(status), why=why)


def all_runs(root: Path, rows: Sequence[RunRow], query: Query) -> str:
    """`rows`: newest first."""
    choices = {
        "series": sorted({row.name for row in rows}),
        "checker": sorted({name for row in rows for name in (*row.invalid, *row.unknown)}),
        "fault": sorted({name for row in rows for name in row.nemeses}),
    }
    return drawn(
        "list.html", root=root, choices=choices, series=series_of(rows), **_listed(rows, query)
    )


def only_rows(rows: Sequence[RunRow], query: Query) -> str:
    """The part of `all_runs` that changes while it is looked at."""
    return drawn("rows.html", **_listed(rows, query))


def _listed(rows: Sequence[RunRow], query: Query) -> dict[str, Any]:
    found = chosen(rows, query)
    return {
        "query": query,
        "rows": found[query.page * PAGE : (query.page + 1) * PAGE],
        "number": len(found),
        "total": len(rows),
        "pages": -(-len(found) // PAGE),
    }


def run_page(row: RunRow, run: Run, rows: Sequence[RunRow], *, may_replay: bool) -> str:
    """`rows`: of all runs, newest first."""
    series = [each for each in rows if each.name == row.name]
    place = next((i for i, each in enumerate(series) if each.stamp == row.stamp), 0)
    return drawn(
        "run.html",
        row=row,
        run=run,
        meaning=MEANING.get(row.state, "This run was not checked."),
        story=story(run),
        checkers=finding_rows(run),
        newer=series[place - 1] if place > 0 else None,
        older=series[place + 1] if place + 1 < len(series) else None,
        may_replay=may_replay and bool(run.plan),
    )


def broken(row: RunRow, error: Exception) -> str:
    """Instead of `run_page`, of files that cannot be understood."""
    why = f"{row.broken or 'a file is not as runs have it'} ({type(error).__name__}: {error})"
    return drawn("broken.html", row=row, why=why)


def moment_page(
    row: RunRow,
    run: Run,
    logs: Sequence[LogLine] | None,
    logs_of: Mapping[str, str],
    at_s: float,
    room_s: float,
) -> str:
    """`logs`: None: they cannot be placed. `logs_of`: the address of each node's log."""
    return drawn(
        "moment.html",
        row=row,
        it=moment(run, logs or (), at_s, room_s),
        diagram=Markup(SpaceTime(run).drawn(Proof(at_s - room_s, at_s + room_s), room_s=0.0)),
        no_logs=logs is None,
        rooms=_ROOMS_S,
        logs_of=logs_of,
    )


def folder_page(run: str, names: Sequence[str], found: Sequence[tuple[str, stat_result]]) -> str:
    """A folder of a run's, and what is in it. `names`: how one comes to it from the run's own."""
    folders_first = sorted(found, key=lambda each: (not S_ISDIR(each[1].st_mode), each[0]))
    return drawn(
        "files.html",
        run=run,
        crumbs=[(name, (*names[:place], name, "")) for place, name in enumerate(names)],
        entries=[
            (name, it.st_size, (*names, name, *([""] if S_ISDIR(it.st_mode) else [])))
            for name, it in folders_first
        ],
    )


def comparison(rows: tuple[RunRow, RunRow], runs: tuple[Run, Run]) -> str:
    return drawn(
        "compare.html",
        rows=rows,
        it=compared(*runs),
        swapped=compare_address(rows[1].id, rows[0].id),
    )
