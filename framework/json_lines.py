"""Files of one JSON object a line whose writers may be killed and begin again at any point."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any


def json_lines(path: Path, marks: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file, each with the number of its line, from 1.

    A killed writer leaves half a line, and its successor's first line may follow in the same
    line; the half is dropped, the rest kept: an object that has one of the names `marks`.
    """
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        start = 0
        while start >= 0 and start < len(line):
            try:
                parsed = json.loads(line[start:])
            except ValueError:
                start = line.find(b'{"', start + 1)
                continue
            if isinstance(parsed, dict) and (start == 0 or any(name in parsed for name in marks)):
                yield number, parsed
                break
            start = line.find(b'{"', start + 1)
