"""Around all that `serve` answers: who may ask, and what a browser may do with the answer.

A page of somebody else's can make a browser ask here under its own name (DNS rebinding), so a
request has to name this machine as its host. Starlette's TrustedHostMiddleware takes a list of
names; here every address is as good as another where more than loopback is bound, and no name is.
"""

from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from framework.serve import pages

POLICY: Final = "Content-Security-Policy"
_HEADERS: Final = {
    POLICY: "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
"""Of every answer that does not say otherwise."""


class Guard:
    """`app`, for requests that name this machine. `bound`: what it is bound to."""

    def __init__(self, app: ASGIApp, bound: str) -> None:
        self._app, self._bound = app, bound

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        named = Headers(scope=scope).get("host")
        app = self._app if allowed_host(named, self._bound) else _refusal(named, self._bound)
        await app(scope, receive, guarded)


def _refusal(named: str | None, bound: str) -> HTMLResponse:
    why = f"this is no page of {named}: use {bound}, as the terminal says"
    return HTMLResponse(pages.refused(403, why), 403)


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
