"""What `serve` answers at which address: the list of runs, a run, its report and files, a moment of
it, two beside each other, trends."""

import logging
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Final
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from framework.errors import UsageError
from framework.report.data import Run, read_run
from framework.report.logs import read_logs, zero_of
from framework.report.render import FILE, to_html
from framework.report.story import story
from framework.report.trends_page import trends_page
from framework.serve import pages
from framework.serve.files import as_stored, inside, not_found
from framework.serve.guard import POLICY, Guard
from framework.serve.live import Live
from framework.serve.query import query_of
from framework.serve.replays import Replays
from framework.serve.runs import RUNNING, Catalogue

log: Final = logging.getLogger(__name__)

_DRAWS_ITSELF: Final = {
    POLICY: "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
"""Of pages that work from a file, too: reports, trends."""
_ASSETS: Final = StaticFiles(
    directory=Path(__file__).parent / "static", packages=[("framework.report", "static")]
)
_KEPT: Final = 4
"""Runs that are kept read: of large ones that takes seconds."""


def app_of(root: Path, bound: str, replays: Replays | None = None) -> ASGIApp:
    """Of one results folder. `bound`: what it is bound to. `replays`: None: nothing starts one."""
    site = _Site(root.resolve(), replays)
    run = "/run/{series}/{stamp}"
    routes = [
        Route("/", site.all_runs),
        Route("/rows", site.only_rows),
        Mount("/assets", _ASSETS),
        Route("/trends", site.trends),
        Route("/compare", site.compare),
        Route(f"{run}/", site.run),
        Route(f"{run}/live", site.so_far),
        Route(f"{run}/{FILE}", site.report),
        Route(f"{run}/moment", site.moment),
        Route(f"{run}/files/{{names:path}}", site.files),
        Route(f"{run}/replay", site.replay, methods=["POST"], max_body_size=1 << 16),
    ]
    return Guard(
        Starlette(routes=routes, exception_handlers={HTTPException: _refused, Exception: _failed}),
        bound,
    )


class _Site:
    """One results folder, and what is kept of it between requests. For several threads."""

    def __init__(self, root: Path, replays: Replays | None) -> None:
        self.root, self.replays = root, replays
        self.catalogue = Catalogue(root)
        self._live: dict[Path, Live] = {}
        self._lock = Lock()

    def all_runs(self, request: Request) -> Response:
        rows = self.catalogue.rows()
        return _page(pages.all_runs(self.root, rows, query_of(request.query_params)))

    def only_rows(self, request: Request) -> Response:
        return _page(pages.only_rows(self.catalogue.rows(), query_of(request.query_params)))

    def trends(self, request: Request) -> Response:
        try:
            text = trends_page(self.root, request.query_params.get("series", ""))
        except UsageError as error:
            raise not_found(str(error)) from None
        return _page(text, _DRAWS_ITSELF)

    def compare(self, request: Request) -> Response:
        asked = [each.partition("/")[::2] for each in request.query_params.getlist("run")]
        if len(asked) != 2:
            raise HTTPException(400, "tick two runs of the list to compare them")
        first, second = (self._folder(*names) for names in asked)
        rows = self.catalogue.row(first), self.catalogue.row(second)
        return _page(pages.comparison(rows, (_read(first), _read(second))))

    def run(self, request: Request) -> Response:
        folder = self._asked(request)
        row = self.catalogue.row(folder)
        if row.state == RUNNING:
            return _page(pages.drawn("running.html", row=row, live=self._live_of(folder)))
        rows, may_replay = self.catalogue.rows(), self.replays is not None
        try:
            return _page(pages.run_page(row, _read(folder), rows, may_replay=may_replay))
        except Exception as error:  # of files that somebody else wrote, anything may be so
            log.info("%s is malformed", folder, exc_info=error)
            return _page(pages.broken(row, error))

    def so_far(self, request: Request) -> Response:
        folder = self._asked(request)
        if self.catalogue.row(folder).state != RUNNING:
            return _page("", {"X-Ended": "yes"})
        return _page(pages.drawn("live.html", live=self._live_of(folder)))

    def report(self, request: Request) -> Response:
        """As stored; where there is none, as it would be."""
        folder = self._asked(request)
        if self.catalogue.row(folder).state == RUNNING:
            raise HTTPException(409, "this run goes on: its report comes at the end")
        page = folder / FILE
        if page.is_file() and page.resolve().is_relative_to(self.root):
            return as_stored(page, "text/html", _DRAWS_ITSELF)
        run = _read(folder)
        return _page(to_html(run, story(run)), _DRAWS_ITSELF)

    def moment(self, request: Request) -> Response:
        folder = self._asked(request)
        row, run = self.catalogue.row(folder), _read(folder)
        zero = zero_of(run.plan)
        logs = run.logs or (None if zero is None else read_logs(folder, zero))
        room_s = min(max(_number(request, "room", 0.5), 0.01), 60.0)
        at_s = _number(request, "at", 0.0)
        return _page(pages.moment_page(row, run, logs, _logs_of(folder, row.id), at_s, room_s))

    def files(self, request: Request) -> Response:
        folder = self._asked(request)
        names = [name for name in request.path_params["names"].split("/") if name]
        path = inside(self.root, (*folder.relative_to(self.root).parts, *names))
        if not path.is_relative_to(folder):
            raise not_found(f"no {'/'.join(names)} here")
        if path.is_file():
            return as_stored(path)
        if not path.is_dir():
            raise not_found(f"{path.name} is no file")
        found = [(each.name, each.stat()) for each in path.iterdir() if each.exists()]
        return _page(pages.folder_page(self.catalogue.row(folder).id, names, found))

    async def replay(self, request: Request) -> Response:
        """By a form alone, and only with the token that the terminal showed: a page of somebody
        else's can send forms, and knows none."""
        folder = self._asked(request)
        form = dict(parse_qsl((await request.body()).decode(errors="replace")))
        if self.replays is None:
            raise HTTPException(403, "replays are off; `serve --replay` allows them")
        if not self.replays.allowed(form.get("token", "")):
            raise HTTPException(403, "that is not the token that the terminal shows")
        row, output = self.catalogue.row(folder), self.replays.start(folder)
        return _page(pages.drawn("replay.html", row=row, output=output))

    def _asked(self, request: Request) -> Path:
        return self._folder(request.path_params["series"], request.path_params["stamp"])

    def _folder(self, series: str, stamp: str) -> Path:
        folder = inside(self.root, (series, stamp))
        if not folder.is_dir() or len(folder.relative_to(self.root).parts) != 2:
            raise not_found(f"no run {series}/{stamp} here")
        return folder

    def _live_of(self, folder: Path) -> Live:
        with self._lock:
            return self._live.setdefault(folder, Live(folder)).update()


def _page(text: str, headers: dict[str, str] | None = None, status: int = 200) -> HTMLResponse:
    """A text that is none, as a node may have written, is shown as it can."""
    return HTMLResponse(text.encode(errors="replace"), status, headers)


def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _page(pages.refused(error.status_code, error.detail), status=error.status_code)


def _failed(request: Request, error: Exception) -> Response:
    log.warning("%s could not be shown: %s", request.url.path, error)
    log.info("there", exc_info=error)
    why = f"this could not be shown: {type(error).__name__}: {error}"
    return _page(pages.refused(500, why), status=500)


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
        found = float(request.query_params[name])
    except (KeyError, ValueError):
        return otherwise
    return found if abs(found) < 1e9 else otherwise


def _logs_of(folder: Path, run: str) -> dict[str, str]:
    """The address of each node's log, of several the first."""
    found: dict[str, str] = {}
    for path in sorted((folder / "nodes").glob("*/*.log")):
        node = path.parent.name
        found.setdefault(node, pages.address_of(run, "files", "nodes", node, path.name))
    return found
