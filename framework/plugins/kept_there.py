"""Copies what a process left on its disk; runs on the node's machine, by its Python, without
anything of ours being there.

    python3 -c SOURCE HOME PID EXIT_CODE MOST_BYTES PATTERN...
"""

import json
import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

FOLDER = "kept"
PROCESS = "process.json"


def keep(home: str, pid: str, exit_code: str, most_bytes: int, patterns: Sequence[str]) -> None:
    """Copy the files in `home` that match into `kept/<n>`, n being one more than before. A file
    that did not change since the former copy is one file with it. What would take the copies of
    all processes together beyond `most_bytes` is left out, and named."""
    kept = Path(home, FOLDER)
    number = 1 + max((int(each.name) for each in kept.glob("[0-9]*")), default=0)
    former = kept / str(number - 1)
    spent_bytes = _spent_bytes(former)
    unfinished = kept / ".unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    left_out = []
    for path in _matching(Path(home), patterns):
        name = path.relative_to(home)
        copy, size = unfinished / name, path.stat().st_size
        copy.parent.mkdir(parents=True, exist_ok=True)
        if _unchanged(former / name, path):
            os.link(former / name, copy)
        elif spent_bytes + size > most_bytes:
            left_out.append(str(name))
        else:
            shutil.copy2(path, copy)
            spent_bytes += size
    reported = {
        "process": number,
        "pid": int(pid) if pid else None,
        "exit_code": int(exit_code) if exit_code else None,
        "copied_ns": time.monotonic_ns(),
        "spent_bytes": spent_bytes,
        "left_out": left_out,
    }
    (unfinished / PROCESS).write_text(json.dumps(reported) + "\n")
    unfinished.rename(kept / str(number))  # a copy that was cut short is none


def _matching(home: Path, patterns: Sequence[str]) -> list[Path]:
    """In the order of the patterns: what matters most first."""
    found: dict[Path, None] = {}
    for pattern in patterns:
        found.update(dict.fromkeys(sorted(each for each in home.glob(pattern) if each.is_file())))
    return list(found)


def _unchanged(former: Path, path: Path) -> bool:
    if not former.is_file():
        return False
    was, now = former.stat(), path.stat()
    return (was.st_size, was.st_mtime_ns) == (now.st_size, now.st_mtime_ns)


def _spent_bytes(former: Path) -> int:
    try:
        return int(json.loads((former / PROCESS).read_text())["spent_bytes"])
    except FileNotFoundError:
        return 0


if __name__ == "__main__":
    keep(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5:])
