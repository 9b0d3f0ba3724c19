"""Ctrl-C at any point ends a run early, in good order; of a check, that can be done again."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from framework.errors import EngineError


@contextmanager
def interruptible(
    then: str = "healing, collecting, checking what there is",
) -> Iterator[threading.Event]:
    """Ctrl-C sets the event, and the run ends early in good order; a second one kills. `then` is
    what the user is told of the end."""
    stop, asked = threading.Event(), threading.Event()  # who else ends the run kills nobody
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def on_signal(number: int, frame: object) -> None:
        if asked.is_set():
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        asked.set()
        stop.set()
        print(f"\ninterrupted: {then}", file=sys.stderr)

    previous = {each: signal.signal(each, on_signal) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def left_to_check(folder: Path) -> Iterator[None]:
    """Whatever ends the check of a run says how to go on with it, Ctrl-C too, which ends it at
    once. Raises `EngineError`."""
    goes_on = f"what was recorded is kept; to go on: python -m framework check {folder}"
    here = threading.current_thread() is threading.main_thread()
    numbers = [signal.SIGINT, signal.SIGTERM] if here else []
    previous = {each: signal.signal(each, signal.default_int_handler) for each in numbers}
    try:
        yield
    except KeyboardInterrupt:
        raise EngineError(f"interrupted before the verdict; {goes_on}") from None
    except EngineError as error:
        raise EngineError(f"{error}; {goes_on}") from error
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
