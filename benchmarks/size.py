"""`python -m benchmarks.size BEFORE [AFTER]`: lines of product code of two commits, a folder a row.

Lines that are neither blank nor only a comment, of Python files that git has; docstrings count.
Tests, benchmarks and what is generated are not product code.
"""

import io
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Final

PRODUCT: Final = ("framework", "nodes", "nemesis", "workloads", "checkers", "examples")
ROOT: Final = Path(__file__).parents[1]


def main(arguments: Sequence[str]) -> None:
    if not 1 <= len(arguments) <= 2:
        raise SystemExit(__doc__)
    before, after = lines(arguments[0]), lines(arguments[1] if len(arguments) > 1 else "HEAD")
    print("| folder | before | after | change |")
    print("| --- | ---: | ---: | ---: |")
    for folder in sorted(before | after):
        print(row(folder, before[folder], after[folder]))
    print(row("all", before.total(), after.total()))


def row(folder: str, before: int, after: int) -> str:
    return f"| `{folder}` | {before:,} | {after:,} | {after - before:+,} |"


def lines(commit: str) -> Counter[str]:
    """Lines by folder: `framework/run`, `nodes/kraft/raft`, or the top folder's own files."""
    archive = subprocess.run(
        ["git", "-C", ROOT, "archive", commit], capture_output=True, check=True
    )
    found: Counter[str] = Counter()
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
        for member in tar:
            parts = PurePosixPath(member.name).parts
            file = tar.extractfile(member)
            if (
                file
                and parts[0] in PRODUCT
                and member.name.endswith(".py")
                and "tests" not in parts
            ):
                text = file.read().decode()
                depth = 3 if parts[0] == "nodes" else 2
                found["/".join(parts[:-1][:depth])] += sum(map(counts, text.splitlines()))
    return found


def counts(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


if __name__ == "__main__":
    main(sys.argv[1:])
