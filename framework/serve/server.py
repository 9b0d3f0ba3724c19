"""An ASGI app behind a socket, until the process ends."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import uvicorn
from starlette.types import ASGIApp


def listener(host: str, port: int) -> socket.socket:
    """Bound, and connections wait there from now on. Port 0: any that is free. Raises `OSError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family)


@contextmanager
def serving(app: ASGIApp, at: socket.socket) -> Iterator[Thread]:
    """Answers meanwhile, in a thread of its own. Neither that nor those that it begins are waited
    for when the process ends: whatever is sent or read then, Ctrl-C ends it at once."""
    # The app says what could not be shown, in a line.
    config = uvicorn.Config(app, lifespan="off", log_config=None, log_level="critical")
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, args=([at],), daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        server.should_exit = server.force_exit = True
