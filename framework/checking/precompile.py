"""Compiling what checkers are made of before it is waited for, while something else goes on.

`python -m framework.checking.precompile` calls what the entry points of the group
`framework.precompile` name, each a function of a list of arguments, at low priority. What was
compiled is kept on disk (`framework/compiled.py`), and so is that it was, for the same sources:
the next time this takes a second.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from framework.compiled import folder_of

GROUP: Final = "framework.precompile"
NICENESS: Final = 10
_ALSO: Final = "framework.history.reader"
"""Its kernels read every history."""


class Precompiling:
    """Runs the above beside what is done in a `with` block. `say` gets its lines."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # Ctrl-C is for us
        )
        self._thread = threading.Thread(target=self._listen, name="precompile", daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._say(line.rstrip())

    def hurry(self) -> None:
        """Nothing else goes on any more: what is left gets as much of the cores as we do, if we may
        give it that. At low priority it would get next to nothing of a machine that is busy."""
        if self._process.poll() is None:
            with suppress(OSError):
                ours = os.getpriority(os.PRIO_PROCESS, 0)
                os.setpriority(os.PRIO_PGRP, self._process.pid, ours)

    def wait(self) -> None:
        """Until it is done. That it failed does not matter: a check compiles what it misses."""
        self._process.wait()
        self._thread.join()

    def __enter__(self) -> "Precompiling":
        return self

    def __exit__(self, *exc: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self.wait()


def main() -> None:
    os.nice(NICENESS)
    stamps = [(point, _stamp(point)) for point in entry_points(group=GROUP)]
    todo = [(point, stamp) for point, stamp in stamps if stamp and not stamp.exists()]
    if todo:
        print("compiling the checkers' kernels beside it, once a machine", flush=True)
    for point, stamp in todo:
        point.load()([])
        with suppress(OSError):  # then it is tried again the next time, which does no harm
            stamp.parent.mkdir(parents=True, exist_ok=True)
            stamp.touch()


def _stamp(point: EntryPoint) -> Path | None:
    """What exists once the code of an entry point's kernels does; None: there is no such code."""
    spec = find_spec(point.module)
    if spec is None or spec.origin is None:
        return None
    name = "-".join(folder_of(module).name for module in (point.module, _ALSO))
    return Path(spec.origin).parent / "__pycache__" / "kernels" / f"{name}.done"


if __name__ == "__main__":
    main()
