"""HTTP for one user on one machine: requests in, responses out, nothing of runs.

Loopback alone unless asked otherwise. A page of somebody else's can make a browser ask here under
its own name (DNS rebinding), so a request has to name this machine as its host.
"""

import logging
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import parse_qsl, unquote, urlsplit

log: Final = logging.getLogger(__name__)

HTML: Final = "text/html; charset=utf-8"
TEXT: Final = "text/plain; charset=utf-8"
OWN_PAGES: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_MAX_FORM: Final = 1 << 16
_PART: Final = 1 << 18
_IDLE_S: Final = 60
"""A connection that says nothing so long is closed, and with it its thread."""


class Refused(Exception):
    """What is asked cannot be had: a status, and a line for people."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


def not_found(why: str) -> Refused:
    return Refused(HTTPStatus.NOT_FOUND, why)


@dataclass(frozen=True, slots=True)
class Request:
    path: tuple[str, ...]
    """Decoded, between the slashes; "/a/" is ("a", "")."""
    query: tuple[tuple[str, str], ...] = ()
    form: tuple[tuple[str, str], ...] | None = None
    """Of a POST; None: a GET."""

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.query if key == name]


@dataclass(frozen=True, slots=True)
class Response:
    body: bytes | Path
    """A path: that file."""
    type: str = HTML
    status: HTTPStatus = HTTPStatus.OK
    policy: str = OWN_PAGES
    """Content-Security-Policy."""
    headers: Mapping[str, str] = field(default_factory=dict)


App = Callable[[Request], Response]


def allowed_host(header: str | None, bound: str) -> bool:
    """Whether a Host header names this machine: what it is bound to, localhost, or where it is
    bound to more than loopback any address. No name that somebody else can point here."""
    try:
        name = urlsplit(f"//{header or ''}").hostname or ""
    except ValueError:
        return False
    if name in ("localhost", bound):
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or not _loopback(bound)


def _loopback(bound: str) -> bool:
    try:
        return ip_address(bound).is_loopback
    except ValueError:
        return bound == "localhost"


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Instead of a traceback on the terminal."""
        log.warning("a request could not be answered: %s", sys.exc_info()[1])


def server(host: str, port: int, app: App, refusal: Callable[[Refused], Response]) -> _Server:
    """A server that is bound, and has not begun. Port 0: any that is free. Raises `OSError`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = _IDLE_S

        def do_GET(self) -> None:
            self._answer(None)

        def do_HEAD(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if not length.isdigit() or int(length) > _MAX_FORM:
                self.close_connection = True
                return self._send(refusal(Refused(HTTPStatus.BAD_REQUEST, "no form was sent")))
            text = self.rfile.read(int(length)).decode(errors="replace")
            return self._answer(tuple(parse_qsl(text, keep_blank_values=True)))

        def _answer(self, form: tuple[tuple[str, str], ...] | None) -> None:
            try:
                response = app(self._request(form))
            except Refused as error:
                response = refusal(error)
            except Exception as error:
                log.warning("%s could not be shown: %s", self.path, error)
                log.info("there", exc_info=error)
                why = f"this could not be shown: {type(error).__name__}: {error}"
                response = refusal(Refused(HTTPStatus.INTERNAL_SERVER_ERROR, why))
            self._send(response)

        def _request(self, form: tuple[tuple[str, str], ...] | None) -> Request:
            if not allowed_host(self.headers.get("Host"), host):
                raise Refused(
                    HTTPStatus.FORBIDDEN,
                    f"this is no page of {self.headers.get('Host')}: use http://{host}:{port}/",
                )
            try:
                parts = urlsplit(self.path)
            except ValueError:
                raise Refused(HTTPStatus.BAD_REQUEST, f"{self.path} is no address") from None
            path = tuple(unquote(part) for part in parts.path.split("/")[1:])
            return Request(path, tuple(parse_qsl(parts.query, keep_blank_values=True)), form)

        def _send(self, response: Response) -> None:
            try:
                self._write(response)
            except OSError as error:  # mostly that nobody waits for it any more
                log.info("%s was not sent: %s", self.path, error)
                self.close_connection = True

        def _write(self, response: Response) -> None:
            if isinstance(response.body, Path):
                with response.body.open("rb") as file:
                    length = file.seek(0, 2)
                    file.seek(0)
                    self._head(response, length)
                    if self.command != "HEAD":
                        self._copy(file, length)
                return
            self._head(response, len(response.body))
            if self.command != "HEAD":
                self.wfile.write(response.body)

        def _copy(self, file: BinaryIO, length: int) -> None:
            """So much of it: one that is written to grows meanwhile."""
            while length > 0 and (part := file.read(min(length, _PART))):
                self.wfile.write(part)
                length -= len(part)

        def _head(self, response: Response, length: int) -> None:
            self.send_response(response.status)
            said = {
                "Content-Type": response.type,
                "Content-Length": str(length),
                "Content-Security-Policy": response.policy,
                "X-Content-Type-Options": "nosniff",
                "Referrer-Policy": "no-referrer",
                "Cache-Control": "no-store",
                **response.headers,
            }
            for name, value in said.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            log.debug(format, *args)

    return _Server((host, port), Handler)
