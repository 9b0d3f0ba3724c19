"""What `serve` answers: the list of runs, a run, its report and files, a moment of it, two beside
each other, trends."""

import logging
import secrets
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Final
from urllib.parse import quote, urlencode

from markupsafe import Markup

from framework.errors import UsageError
from framework.report.data import Run, read_run
from framework.report.logs import read_logs, zero_of
from framework.report.render import FILE, MEANING, finding_rows, template, to_html
from framework.report.spacetime import Proof, SpaceTime
from framework.report.story import story
from framework.report.trends_page import trends_page
from framework.serve.compare import compared
from framework.serve.files import as_stored, inside
from framework.serve.live import Live
from framework.serve.moment import moment
from framework.serve.query import PAGE, chosen, query_of, series_of
from framework.serve.runs import RUNNING, STATES, UNFINISHED, Catalogue, RunRow
from framework.serve.web import HTML, Refused, Request, Response, not_found

log: Final = logging.getLogger(__name__)

TEMPLATES: Final = Path(__file__).parent / "templates"
_REPORT_PAGE: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_ASSETS: Final = {"style.css": "text/css", "serve.js": "text/javascript"}
_KEPT: Final = 4
"""Runs that are kept read: of large ones that takes seconds."""
_ROOMS_S: Final = (0.2, 0.5, 1.0, 2.0, 5.0, 15.0)
Replay = Callable[[Path], str]
"""Starts a run's replay; says where its output goes."""


class App:
    """Of one results folder. `token`: what starts a replay; None: nothing does."""

    def __init__(self, root: Path, token: str | None = None, replay: Replay | None = None) -> None:
        self.root = root.resolve()
        self.catalogue = Catalogue(self.root)
        self._token, self._replay = token, replay
        self._live: dict[Path, Live] = {}
        self._lock = Lock()

    def __call__(self, request: Request) -> Response:
        match request.path:
            case ("",) | ("rows",):
                return self._list(request)
            case ("assets", str(name)) if name in _ASSETS:
                return Response(_asset(name), f"{_ASSETS[name]}; charset=utf-8")
            case ("trends",):
                return self._trends(request)
            case ("compare",):
                return self._compare(request)
            case ("run", str(series), str(stamp), *rest):
                return self._run(self._folder(series, stamp), rest, request)
        raise not_found(f"there is no page /{'/'.join(request.path)}")

    def refusal(self, error: Refused) -> Response:
        return _page("refused.html", status=error.status, why=str(error))

    # --- the list ------------------------------------------------------------------------------

    def _list(self, request: Request) -> Response:
        query = query_of(dict(request.query))
        rows = self.catalogue.rows()
        found = chosen(rows, query)
        shown = found[query.page * PAGE : (query.page + 1) * PAGE]
        return _page(
            "rows.html" if request.path == ("rows",) else "list.html",
            root=self.root,
            query=query,
            rows=shown,
            number=len(found),
            total=len(rows),
            pages=-(-len(found) // PAGE),
            choices=_choices(rows),
            series=series_of(rows),
            address_of=address_of,
        )

    # --- a run ---------------------------------------------------------------------------------

    def _folder(self, series: str, stamp: str) -> Path:
        folder = inside(self.root, (series, stamp))
        if not folder.is_dir() or len(folder.relative_to(self.root).parts) != 2:
            raise not_found(f"no run {series}/{stamp} here")
        return folder

    def _run(self, folder: Path, rest: Sequence[str], request: Request) -> Response:
        match rest:
            case [""]:
                return self._hub(folder)
            case []:
                where = address_of(self.catalogue.row(folder).id)
                return Response(b"", status=HTTPStatus.SEE_OTHER, headers={"Location": where})
            case ["live"]:
                return self._so_far(folder)
            case [name] if name == FILE:
                return self._report(folder)
            case ["moment"]:
                return self._moment(folder, request)
            case ["replay"]:
                return self._start_replay(folder, request)
            case ["files", *names]:
                return self._files(folder, [name for name in names if name])
        raise not_found(f"a run has no page {'/'.join(rest)}")

    def _hub(self, folder: Path) -> Response:
        row = self.catalogue.row(folder)
        if row.state == RUNNING:
            return _page("running.html", row=row, live=self._live_of(folder), address_of=address_of)
        try:
            run = _read(folder)
            reported, checkers = story(run), finding_rows(run)
        except Exception as error:  # of files that somebody else wrote, anything may be so
            log.info("%s is malformed", folder, exc_info=error)
            why = (
                f"{row.broken or 'a file is not as runs have it'} ({type(error).__name__}: {error})"
            )
            return _page("broken.html", row=row, why=why, address_of=address_of)
        others = [each for each in self.catalogue.rows() if each.name == row.name]
        place = next((i for i, each in enumerate(others) if each.stamp == row.stamp), 0)
        return _page(
            "run.html",
            row=row,
            run=run,
            meaning=MEANING.get(row.state, "This run was not checked."),
            story=reported,
            checkers=checkers,
            newer=others[place - 1] if place > 0 else None,
            older=others[place + 1] if place + 1 < len(others) else None,
            may_replay=self._token is not None and bool(run.plan),
            address_of=address_of,
            compare=compare_address,
        )

    def _so_far(self, folder: Path) -> Response:
        """The part of a running run's page that is fetched again and again; empty: it has ended."""
        row = self.catalogue.row(folder)
        if row.state != RUNNING:
            return Response(b"", headers={"X-Ended": "yes"})
        return _page("live.html", row=row, live=self._live_of(folder))

    def _live_of(self, folder: Path) -> Live:
        with self._lock:
            return self._live.setdefault(folder, Live(folder)).update()

    def _report(self, folder: Path) -> Response:
        """As stored; where there is none, as it would be."""
        if self.catalogue.row(folder).state == RUNNING:
            raise Refused(HTTPStatus.CONFLICT, "this run goes on: its report comes at the end")
        page = folder / FILE
        if page.is_file() and page.resolve().is_relative_to(self.root):
            return Response(page, HTML, policy=_REPORT_PAGE)
        run = _read(folder)
        text = to_html(run, story(run))
        return Response(text.encode(errors="replace"), HTML, policy=_REPORT_PAGE)

    def _moment(self, folder: Path, request: Request) -> Response:
        run = _read(folder)
        at_s = _number(request, "at", 0.0)
        room_s = min(max(_number(request, "room", 0.5), 0.01), 60.0)
        zero = zero_of(run.plan)
        logs = run.logs or (read_logs(folder, zero) if zero is not None else ())
        return _page(
            "moment.html",
            row=self.catalogue.row(folder),
            it=moment(run, logs, at_s, room_s),
            diagram=Markup(SpaceTime(run).drawn(Proof(at_s - room_s, at_s + room_s), room_s=0.0)),
            no_logs=zero is None,
            rooms=_ROOMS_S,
            logs_of=_logs_of(folder, self.catalogue.row(folder).id),
            address_of=address_of,
        )

    def _files(self, folder: Path, names: Sequence[str]) -> Response:
        path = inside(self.root, (*folder.relative_to(self.root).parts, *names))
        if not path.is_relative_to(folder):
            raise not_found(f"no {'/'.join(names)} here")
        if path.is_file():
            return as_stored(path)
        if not path.is_dir():
            raise not_found(f"{path.name} is no file")
        run = self.catalogue.row(folder).id
        return _page(
            "files.html",
            run=run,
            crumbs=[
                (name, address_of(run, "files", *names[: place + 1], ""))
                for place, name in enumerate(names)
            ],
            entries=[
                (name, size, address_of(run, "files", *names, name, *([] if is_file else [""])))
                for is_file, name, size in sorted(map(_entry, path.iterdir()))
            ],
            address_of=address_of,
        )

    def _start_replay(self, folder: Path, request: Request) -> Response:
        """By a form alone, and only with the token that the terminal showed: a page of somebody
        else's can send forms, and knows none."""
        if request.form is None:
            raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, "a replay is started by the run's form")
        if self._token is None or self._replay is None:
            raise Refused(HTTPStatus.FORBIDDEN, "replays are off; `serve --replay` allows them")
        given = dict(request.form).get("token", "")
        if not secrets.compare_digest(given.strip().encode(), self._token.encode()):
            raise Refused(HTTPStatus.FORBIDDEN, "that is not the token that the terminal shows")
        return _page("replay.html", row=self.catalogue.row(folder), output=self._replay(folder))

    # --- many runs ------------------------------------------------------------------------------

    def _trends(self, request: Request) -> Response:
        try:
            text = trends_page(self.root, dict(request.query).get("series", ""))
        except UsageError as error:
            raise not_found(str(error)) from None
        return Response(text.encode(), HTML, policy=_REPORT_PAGE)

    def _compare(self, request: Request) -> Response:
        asked = request.all("run")
        if len(asked) != 2:
            raise Refused(HTTPStatus.BAD_REQUEST, "tick two runs of the list to compare them")
        folders = []
        for each in asked:
            series, _, stamp = each.partition("/")
            folders.append(self._folder(series, stamp))
        return _page(
            "compare.html",
            rows=[self.catalogue.row(folder) for folder in folders],
            it=compared(*map(_read, folders)),
            address_of=address_of,
            swapped=compare_address(asked[1], asked[0]),
        )


def address_of(run: str, *rest: str, **asked: str | float) -> str:
    """The address of a run's page, or of what is below it."""
    path = "/".join(quote(part, safe="+") for part in (*run.split("/"), *rest))
    return f"/run/{path}{'' if rest else '/'}" + (f"?{urlencode(asked)}" if asked else "")


def compare_address(first: str, second: str) -> str:
    return f"/compare?{urlencode([('run', first), ('run', second)])}"


def replay_in(root: Path) -> Replay:
    """Replays as processes of their own, a log each beside the runs. Ctrl-C ends them, too, as it
    ends a run: it heals, collects and checks."""

    def start(folder: Path) -> str:
        output = root / f"replay-{folder.name}.log"
        command = [sys.executable, "-m", "framework", "replay", str(folder), "--results", str(root)]
        with output.open("ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        Thread(target=process.wait, daemon=True).start()  # else its end would be nobody's
        return str(output)

    return start


def _page(name: str, status: HTTPStatus = HTTPStatus.OK, **values: Any) -> Response:
    values |= {"status": status, "states": STATES, "running": RUNNING, "unfinished": UNFINISHED}
    text = template(name, TEMPLATES).render(values)
    return Response(text.encode(errors="replace"), status=status)


@lru_cache
def _asset(name: str) -> bytes:
    return template(name, TEMPLATES).render().encode()


def _choices(rows: Sequence[RunRow]) -> dict[str, list[str]]:
    """What the list can be narrowed to."""
    return {
        "series": sorted({row.name for row in rows}),
        "checker": sorted({name for row in rows for name in (*row.invalid, *row.unknown)}),
        "fault": sorted({name for row in rows for name in row.nemeses}),
    }


def _read(folder: Path) -> Run:
    """The run; read again only where its files are others."""
    parts = (folder / name for name in ("plan.json", "verdict.json", "history.jsonl"))
    stamps = tuple(part.stat().st_mtime_ns if part.exists() else 0 for part in parts)
    return _read_once(folder, stamps)


@lru_cache(maxsize=_KEPT)
def _read_once(folder: Path, stamps: tuple[int, ...]) -> Run:
    return read_run(folder)


def _number(request: Request, name: str, otherwise: float) -> float:
    try:
        found = float(dict(request.query)[name])
    except (KeyError, ValueError):
        return otherwise
    return found if abs(found) < 1e9 else otherwise


def _logs_of(folder: Path, run: str) -> dict[str, str]:
    """The address of each node's log, of several the first."""
    found: dict[str, str] = {}
    for path in sorted((folder / "nodes").glob("*/*.log")):
        node = path.parent.name
        found.setdefault(node, address_of(run, "files", "nodes", node, path.name))
    return found


def _entry(path: Path) -> tuple[bool, str, int]:
    """Folders first, then by name: (is a file, name, bytes)."""
    try:
        return (not path.is_dir(), path.name, path.stat().st_size if path.is_file() else 0)
    except OSError:
        return (True, path.name, 0)
