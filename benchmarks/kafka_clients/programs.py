"""The clients that are written in Go: how their programs are built, run, and understood.

Each client has a program in `go/`, which makes its calls one after the other on the brokers that
BOOTSTRAP_SERVERS names and prints a line of JSON a call: `name`, `ok`, and `error` where it is not.
A call ends within 20 s (`go/calls`). `go.mod` and `go.sum` fix what is built.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from framework.errors import EngineError, UsageError

GO: Final = Path(__file__).parent / "go"
CLIENTS: Final = {
    "franz-go": "github.com/twmb/franz-go",
    "sarama": "github.com/IBM/sarama",
    "kafka-go": "github.com/segmentio/kafka-go",
}
"""Each client's module; its program is the folder of that name."""
BUILD_S: Final = 600.0
LONGEST_S: Final = 1200.0
"""For a program's some 60 calls, most of which take milliseconds."""


def version(client: str) -> str:
    """That `go.mod` asks for."""
    text = (GO / "go.mod").read_text()
    found = re.search(rf"^\s*{re.escape(CLIENTS[client])} v(\S+)$", text, re.MULTILINE)
    assert found is not None, f"go.mod does not name {client}"
    return found[1]


def build(clients: Sequence[str], folder: Path) -> None:
    """Build these clients' programs into a folder, each under its client's name. Raises
    `UsageError` where this machine cannot: there is no Go, or modules cannot be had."""
    if not clients:
        return
    go = shutil.which("go")
    if go is None:
        raise UsageError(
            f"{', '.join(clients)}: Go builds their programs, and there is no go (https://go.dev); "
            "--only tools leaves them out"
        )
    argv = [go, "build", "-buildvcs=false", "-o", f"{folder}/", *(f"./{name}" for name in clients)]
    try:
        done = subprocess.run(argv, cwd=GO, capture_output=True, text=True, timeout=BUILD_S)
    except subprocess.TimeoutExpired:
        raise UsageError(f"go build did not end within {BUILD_S:.0f} s") from None
    if done.returncode != 0:
        said = next(reversed(done.stderr.splitlines()), f"exit code {done.returncode}")
        raise UsageError(f"go build failed (--only tools leaves it out): {said[:300]}")


def outcomes(client: str, argv: Sequence[str]) -> list[tuple[str, str]]:
    """Each call of a client's program, and "yes", or why it does not work. Raises `EngineError` for
    a program that did not tell of all of its calls."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        raise EngineError(f"{client} did not end within {LONGEST_S:.0f} s") from None
    if done.returncode != 0:
        first = next(iter(done.stderr.splitlines()), "")
        raise EngineError(f"{client} ended with {done.returncode}: {first[:300]}")
    if not done.stdout:
        raise EngineError(f"{client} told of no call")
    return [outcome(line) for line in done.stdout.splitlines()]


def outcome(line: str) -> tuple[str, str]:
    """What a line tells of a call, fit for a cell of a table."""
    told = json.loads(line)
    if told["ok"]:
        return told["name"], "yes"
    distinct = dict.fromkeys(line.strip() for line in told.get("error", "").splitlines())
    why = " ".join(distinct).replace("|", "/")[:200]
    return told["name"], why if why not in ("", "yes") else f"says: {why}"
