"""Replays that a browser starts: by whoever has the token, as processes of their own."""

import secrets
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Thread


@dataclass(frozen=True, slots=True)
class Replays:
    """`start`: begins a run's replay; says where its output goes."""

    token: str
    start: Callable[[Path], str]

    def allowed(self, given: str) -> bool:
        return secrets.compare_digest(given.strip().encode(), self.token.encode())


def replays_in(root: Path) -> Replays:
    """Below that folder, a log each beside the runs, with a token that nobody has yet. Ctrl-C ends
    them, too, as it ends a run: it heals, collects and checks."""

    def start(folder: Path) -> str:
        output = root / f"replay-{folder.name}.log"
        command = [sys.executable, "-m", "framework", "replay", str(folder), "--results", str(root)]
        with output.open("ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        Thread(target=process.wait, daemon=True).start()  # else its end would be nobody's
        return str(output)

    return Replays(secrets.token_urlsafe(12), start)
