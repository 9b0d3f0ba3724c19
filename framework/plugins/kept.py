"""What a process left on its disk is copied before the next one changes it: a log that is cut back
later, or wiped, can still be read as it was.

`<home>/kept/<n>/` holds the files as the node's `n`th process (from 1) left them, by the same
names, and `process.json`; it is collected with the rest of the node's files. They are copied on the
node's own machine while no process runs, so that a copy is of one moment and nothing travels during
the run.
"""

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from framework.plugins import kept_there
from framework.plugins.host import CommandFailed, Host

log: Final = logging.getLogger(__name__)

MOST_BYTES: Final = 256 * 2**20
"""Of the copies of one node, all together."""
_SOURCE: Final = Path(kept_there.__file__).read_text()


def keep(
    host: Host,
    home: str,
    patterns: Sequence[str],
    pid: int | None,
    *,
    most_bytes: int = MOST_BYTES,
) -> None:
    """Copy the files below `home`, a directory on the host, that match one of the patterns. `pid`:
    of the process that has ended. A failure is logged: no node stays down for it."""
    if not patterns:
        return
    try:
        code = None if pid is None else host.exit_code(pid)
        reported = ["" if each is None else str(each) for each in (pid, code)]
        # -I -S: nothing but what Python itself has, which starts twice as fast.
        python = [host.python, "-I", "-S", "-c", _SOURCE]
        host.run([*python, home, *reported, str(most_bytes), *patterns])
    except (CommandFailed, OSError) as error:
        log.warning("what %s left in %s could not be kept: %s", host.name, home, error)


def conclude(host: Host, home: str, pid: int | None) -> None:
    """Write beside the files whether and how the last process ended, as `process.json`."""
    ended = pid is not None and not host.alive(pid)
    code = host.exit_code(pid) if pid is not None and ended else None
    reported = {"pid": pid, "ended": ended, "exit_code": code}
    host.write(f"{home}/{kept_there.PROCESS}", (json.dumps(reported) + "\n").encode())
