"""Ctrl-C at any point ends a run early, in good order."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interruptible(
    then: str = "healing, collecting, checking what there is",
) -> Iterator[threading.Event]:
    """Ctrl-C sets the event, and the run ends early in good order; a second one kills. `then` is
    what the user is told of the end."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def on_signal(number: int, frame: object) -> None:
        if stop.is_set():
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        stop.set()
        print(f"\ninterrupted: {then}", file=sys.stderr)

    previous = {each: signal.signal(each, on_signal) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
